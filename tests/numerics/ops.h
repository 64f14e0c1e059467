// The ops whose results are rounded, with references in long double.
#pragma once

#include <complex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::numerics {

using Real = long double;
using Complex = std::complex<Real>;

struct UnaryOp {
  std::string_view name;  // "sine", "chlo.erf"
  Real (*reference)(Real);
  double low = -HUGE_VAL;  // of the operands that count
  double high = HUGE_VAL;
};
struct BinaryOp {
  std::string_view name;
  Real (*reference)(Real, Real);
};
struct ComplexOp {
  std::string_view name;
  Complex (*reference)(const Complex&);
};

std::span<const UnaryOp> unary_ops();
std::span<const BinaryOp> binary_ops();
std::span<const ComplexOp> complex_ops();

// Runs each op on the operands, which are arrays of one type, on a backend. Returns its result, by
// op.
std::vector<Tensor> run_ops(const std::string& backend, const std::vector<std::string_view>& names,
                            const std::vector<Tensor>& operands);

// The smallest positive normal number and the largest number of a format.
struct Limits {
  double smallest_normal;
  double largest;
  int lowest_exponent;  // of normal numbers
  int highest_exponent;
};
Limits limits_of(DType dtype);
// Whether `x`, rounded to the format, is finite and normal.
bool is_normal(DType dtype, Real x);

}  // namespace systole::numerics
