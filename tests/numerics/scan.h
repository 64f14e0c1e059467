// Measures the errors of ops over all exponents.
#pragma once

#include <string>
#include <vector>

#include "tests/numerics/ops.h"

namespace systole::numerics {

// One op: its largest error in units in the last place, in f32, f64, f16 and bf16, over operands
// and results that are normal numbers.
struct Errors {
  std::string name;
  std::vector<double> ulps;
};
inline constexpr DType kScanned[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

// Scans all ops. The operands are the same in every call: of f32 and f64 `density` times 16 and 3
// numbers of each exponent and sign and more near 1, of f16 and bf16 all numbers.
std::vector<Errors> scan_ops(const std::string& backend, int density);

}  // namespace systole::numerics
