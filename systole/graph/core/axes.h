// Axis arguments: none, one, or a list.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "systole/base/shape.h"

namespace systole {

// The axes that an op works over: left out, all of them (TensorFlow's None); else one or a list,
// each in
// [-rank, rank). An empty vector is a list of none.
class Axes {
 public:
  Axes() = default;
  Axes(int64_t axis) : all_(false), axes_{axis} {}  // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int64_t> axes) : all_(false), axes_(axes) {}
  Axes(std::span<const int64_t> axes)  // NOLINT(google-explicit-constructor)
      : all_(false), axes_(axes.begin(), axes.end()) {}
  Axes(const std::vector<int64_t>& axes)  // NOLINT(google-explicit-constructor)
      : Axes(std::span<const int64_t>(axes)) {}
  Axes(const Dims& axes) : all_(false), axes_(axes) {}  // NOLINT(google-explicit-constructor)

  bool all() const { return all_; }
  // As given, or 0 .. rank-1 when all.
  Dims list(int rank) const;

 private:
  bool all_ = true;
  Dims axes_;
};

// Each axis in [-rank, rank) -> [0, rank), ascending. Errors: INVALID_ARGUMENT `axis, got 3,
// expected in [-2, 2)`, or names an axis that is there twice.
Dims normalize_axes(std::span<const int64_t> axes, int rank);
int64_t normalize_axis(int64_t axis, int rank);

// The axes of [0, rank) that are not in `axes`.
Dims other_axes(const Dims& axes, int rank);

}  // namespace systole
