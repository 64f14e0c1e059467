#include <algorithm>

#include "systole/base/random.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

bool has_bit(int64_t mask, size_t i) { return ((mask >> i) & 1) != 0; }

struct Slice {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  StridedSliceOptions options;
};

// The positions that Python's slice(begin, end, stride) names in a list of n.
std::vector<int64_t> python_slice(int64_t n, std::optional<int64_t> begin,
                                  std::optional<int64_t> end, int64_t stride) {
  const int64_t lowest = stride > 0 ? 0 : -1;
  const int64_t highest = stride > 0 ? n : n - 1;
  const auto position = [&](int64_t p) { return std::clamp(p < 0 ? p + n : p, lowest, highest); };
  const int64_t first = begin ? position(*begin) : (stride > 0 ? lowest : highest);
  const int64_t last = end ? position(*end) : (stride > 0 ? highest : lowest);
  std::vector<int64_t> result;
  for (int64_t i = first; stride > 0 ? i < last : i > last; i += stride) result.push_back(i);
  return result;
}

// An axis of the result: the input's axis (none for a new one) and its positions.
struct Walk {
  int input_axis;
  std::vector<int64_t> positions;
  bool kept = true;
};

std::vector<Walk> walks(const Shape& x, const Slice& s) {
  const StridedSliceOptions& o = s.options;
  int named = 0;
  for (size_t i = 0; i < s.begin.size(); ++i) {
    named += has_bit(o.ellipsis_mask, i) || has_bit(o.new_axis_mask, i) ? 0 : 1;
  }
  std::vector<Walk> result;
  int axis = 0;
  const auto whole = [&](int count) {
    for (; count > 0; --count, ++axis) result.push_back({axis, python_slice(x[axis], {}, {}, 1)});
  };
  for (size_t i = 0; i < s.begin.size(); ++i) {
    if (has_bit(o.ellipsis_mask, i)) {
      whole(x.rank() - named);
    } else if (has_bit(o.new_axis_mask, i)) {
      result.push_back({-1, {0}});
    } else if (has_bit(o.shrink_axis_mask, i)) {
      const int64_t at = s.begin[i] < 0 ? s.begin[i] + x[axis] : s.begin[i];
      result.push_back({axis++, {at}, false});
    } else {
      const auto unless = [&](int64_t mask, int64_t value) {
        return has_bit(mask, i) ? std::nullopt : std::optional(value);
      };
      result.push_back(
          {axis, python_slice(x[axis], unless(o.begin_mask, s.begin[i]),
                              unless(o.end_mask, s.end[i]), o.strides.empty() ? 1 : o.strides[i])});
      ++axis;
    }
  }
  whole(x.rank() - axis);
  return result;
}

Tensor by_hand(const Tensor& x, const Slice& slice) {
  const std::vector<Walk> all = walks(x.shape(), slice);
  Dims dims;
  for (const Walk& walk : all) {
    if (walk.kept) dims.push_back(static_cast<int64_t>(walk.positions.size()));
  }
  return generate(Shape(dims), x.dtype(), [&](IndexSpan index) {
    Dims source(static_cast<size_t>(x.rank()), 0);
    size_t next = 0;
    for (const Walk& walk : all) {
      const int64_t at = walk.kept ? index[next++] : 0;
      if (walk.input_axis < 0) continue;
      source[walk.input_axis] = walk.positions[at];
    }
    return element_or_0(x, source);
  });
}

OpCase slice_case(std::string name, const Shape& in, const Slice& slice) {
  return {
      .name = "strided_slice_" + std::move(name),
      .build =
          [slice](auto& x) { return strided_slice(x[0], slice.begin, slice.end, slice.options); },
      .inputs = {random_tensor(in)},
      .compute = [slice](const auto& x) { return std::vector{by_hand(x[0], slice)}; },
      .tolerance = 0,
      .second_order = true};
}

// Any masks, positions also far outside. Each entry is a slice, mostly.
Slice random_slice(const Shape& in, RandomStream& random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random.next_uniform() * static_cast<double>(high - low + 1));
  };
  Slice s;
  bool ellipsis = false;
  int axis = 0;
  while (axis < in.rank() && draw(0, 5) > 0) {
    const size_t i = s.begin.size();
    const int64_t bit = int64_t{1} << i;
    const int64_t n = in[axis];
    s.begin.push_back(draw(-n - 2, n + 2));
    s.end.push_back(draw(-n - 2, n + 2));
    const int64_t stride = draw(1, 3) * (draw(0, 1) == 0 ? 1 : -1);
    s.options.strides.push_back(stride);
    if (draw(0, 3) == 0) s.options.begin_mask |= bit;
    if (draw(0, 3) == 0) s.options.end_mask |= bit;
    const int64_t kind = draw(0, 9);
    if (kind == 0 && !ellipsis) {
      s.options.ellipsis_mask |= bit;
      ellipsis = true;
    } else if (kind == 1) {
      s.options.new_axis_mask |= bit;
    } else {
      if (kind == 2) {
        s.options.shrink_axis_mask |= bit;
        const int64_t least = ellipsis ? *std::ranges::min_element(in) : n;
        s.begin[i] = draw(-least, least - 1);
        s.options.strides[i] = 1;
      }
      ++axis;
    }
  }
  return s;
}

}  // namespace

std::vector<OpCase> strided_slice_op_cases() {
  std::vector<OpCase> cases = {
      slice_case("from_1", {5, 3}, {{1}, {0}, {.end_mask = 1}}),
      slice_case("every_other", {2, 5},
                 {{0, 0}, {0, 0}, {.strides = {1, 2}, .begin_mask = 3, .end_mask = 3}}),
      slice_case("reversed", {4, 3},
                 {{0, 0}, {0, 0}, {.strides = {-1, -1}, .begin_mask = 3, .end_mask = 3}}),
      slice_case("backwards", {7}, {{5}, {1}, {.strides = {-2}}}),
      slice_case("element", {4, 3}, {{2}, {3}, {.shrink_axis_mask = 1}}),
      slice_case("last_element", {4, 3}, {{-1}, {0}, {.shrink_axis_mask = 1}}),
      slice_case("last_column", {4, 3},
                 {{0, -1}, {0, 0}, {.ellipsis_mask = 1, .shrink_axis_mask = 2}}),
      slice_case("ellipsis_between", {2, 3, 4, 5}, {{1, 0, 2}, {2, 0, 4}, {.ellipsis_mask = 2}}),
      slice_case("ellipsis_of_none", {2, 3}, {{0, 0, 1}, {2, 0, 3}, {.ellipsis_mask = 2}}),
      slice_case("new_axes", {2, 3}, {{0, 0, 0}, {0, 2, 0}, {.new_axis_mask = 5}}),
      slice_case("nothing", {4, 3}, {{3}, {1}, {}}),
      slice_case("beyond", {4}, {{-100}, {100}, {}}),
      slice_case("scalar", {}, {{}, {}, {}}),
      slice_case("scalar_new_axis", {}, {{0}, {0}, {.new_axis_mask = 1}}),
      slice_case("empty_axis", {0, 3}, {{-1, 1}, {2, 3}, {.strides = {-1, 1}}}),
  };
  RandomStream random(5, 0);
  const Shape shapes[] = {{4}, {3, 5}, {2, 4, 3}, {2, 3, 2, 2}};
  for (int i = 0; i < 60; ++i) {
    const Shape& in = shapes[i % 4];
    cases.push_back(slice_case(fmt::format("random_{}", i), in, random_slice(in, random)));
  }
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
