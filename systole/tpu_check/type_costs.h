// Element types that Cloud TPUs of 2018 did not have, and what they cost with today's compiler.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace systole::tpu_check {

// Cycles of libtpu 0.0.42.1 relative to the same operation on f32, on v2, v3, v5e and v6e; 0: not
// measured, as products of f64 on v3, v5e and v6e. Additions on v5e and v6e also wait for copies
// that have no cycles.
struct TypeCost {
  std::string_view element;                // "f64"
  std::string_view how;                    // "pairs of f32"
  std::array<double, 4> product = {};      // of [1024, 1024] x [1024, 1024]
  std::array<double, 4> elementwise = {};  // an addition of such arrays

  std::string to_string() const;
};

std::span<const TypeCost> type_costs();

}  // namespace systole::tpu_check
