// Eigenvalues of symmetric matrices.
#pragma once

#include <cstdint>
#include <vector>

namespace systole::keras {

struct SymmetricEigen {
  std::vector<double> values;
  std::vector<double> vectors;  // [n, n]: row i belongs to values[i]; orthonormal
};

// `matrix` is [n, n] and symmetric. By Householder's tridiagonalization and the implicit QL method:
// some 6 n^3 operations. Source: Bowdler et al., "The QR and QL algorithms for symmetric matrices",
// Numerische Mathematik 11, 1968 (tred2, tql2).
SymmetricEigen symmetric_eigen(std::vector<double> matrix, int64_t n);

}  // namespace systole::keras
