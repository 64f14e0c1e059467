// Axes as arguments of layers: one number, or a list.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/core/axes.h"
#include "systole/keras/base/fields.h"

namespace systole::keras {

// -1, or {1, 2}. Negative axes count from the end; axis 0 is the batch.
struct AxisList {
  AxisList(int64_t axis) : values{axis} {}  // NOLINT(google-explicit-constructor)
  AxisList(int axis) : values{axis} {}      // NOLINT(google-explicit-constructor)
  AxisList(std::initializer_list<int64_t> axes) : values(axes) {}
  explicit AxisList(std::vector<int64_t> axes) : values(std::move(axes)) {}

  // Returns the axes as indices of a tensor of this rank, in ascending order; negative axes count
  // from the end. Errors: INVALID_ARGUMENT for an axis out
  // of range or named twice, and for an empty list.
  Dims of_rank(int rank) const {
    if (values.empty()) throw invalid_argument("axis, got an empty list, expected an axis");
    return normalize_axes(values, rank);
  }

  std::vector<int64_t> values;
};

template <>
struct JsonType<AxisList> {
  static constexpr std::string_view name = "an integer or a list of integers";
  static Json to_json(const AxisList& axes) {
    return axes.values.size() == 1 ? Json(axes.values[0]) : Json(axes.values);
  }
  static AxisList from_json(const Json& json) {
    return AxisList(JsonType<std::vector<int64_t>>::from_json(json));
  }
};

}  // namespace systole::keras
