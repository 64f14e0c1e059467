// Index arithmetic at compile time: sums of loop variables times constants.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <utility>

namespace systole::cpu {

// Number of a variable in an IndexSpace.
using Var = int;

// constant + sum of factor * variable. A value type. Terms are sorted by variable; no factor is
// zero.
struct Affine {
  int64_t constant = 0;
  absl::InlinedVector<std::pair<Var, int64_t>, 6> terms;

  Affine() = default;
  Affine(int64_t value)
      : constant(value) {}  // NOLINT(google-explicit-constructor): reads as the number
  static Affine variable(Var var, int64_t factor = 1);

  bool is_constant() const { return terms.empty(); }
  int64_t factor(Var var) const;
  Affine& operator+=(const Affine& other);
  Affine& operator*=(int64_t by);

  friend Affine operator+(Affine a, const Affine& b) { return a += b; }
  friend Affine operator*(Affine a, int64_t by) { return a *= by; }
  friend bool operator==(const Affine&, const Affine&) = default;
};

}  // namespace systole::cpu
