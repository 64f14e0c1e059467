#include <algorithm>
#include <limits>
#include <numeric>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The slices of x that `indices` names along `axis`; those out of range are taken to the nearest.
Tensor gather_by_hand(const Tensor& x, const Tensor& indices, int axis) {
  Dims dims(x.shape().begin(), x.shape().begin() + axis);
  dims.insert(dims.end(), indices.shape().begin(), indices.shape().end());
  dims.insert(dims.end(), x.shape().begin() + axis + 1, x.shape().end());
  return generate(Shape(dims), x.dtype(), [&](IndexSpan at) {
    const auto named = at.subspan(static_cast<size_t>(axis), static_cast<size_t>(indices.rank()));
    const auto index = static_cast<int64_t>(element_or_0(indices, named));
    Dims source(at.begin(), at.begin() + axis);
    source.push_back(std::clamp<int64_t>(index, 0, x.dim(axis) - 1));
    source.insert(source.end(), at.begin() + axis + indices.rank(), at.end());
    return element_or_0(x, source);
  });
}

OpCase gather_case(const std::string& name, const Shape& params, const Tensor& indices,
                   int64_t axis) {
  const int at = static_cast<int>(axis < 0 ? axis + params.rank() : axis);
  return {.name = "gather_" + name,
          .build = [axis](auto& x) { return gather(x[0], x[1], {.axis = axis}); },
          .inputs = {random_tensor(params), indices},
          .compute = [at](const auto& x) { return std::vector{gather_by_hand(x[0], x[1], at)}; },
          .tolerance = 0,
          .dtypes = {DType::bf16, DType::f16},
          .second_order = true};
}

void add_gather(std::vector<OpCase>& cases) {
  const Tensor few = Tensor::of<int32_t>({3}, {2, 0, 2});
  const Tensor grid = Tensor::of<int64_t>({2, 2}, {1, 2, 0, 1});
  cases.push_back(gather_case("rows", {4, 3}, few, 0));
  cases.push_back(gather_case("columns", {2, 3}, few, 1));
  cases.push_back(gather_case("columns_of_nothing", {0, 3}, few, 1));
  cases.push_back(gather_case("empty_rows", {4, 0}, few, 0));
  cases.push_back(gather_case("middle", {2, 3, 2}, grid, 1));
  cases.push_back(gather_case("last", {2, 3}, grid, -1));
  cases.push_back(gather_case("element", {4, 3}, Tensor(3), 0));
  cases.push_back(gather_case("vector", {4}, grid, 0));
  cases.push_back(gather_case("clamped", {4, 2}, Tensor::of<int32_t>({4}, {-1, 4, 100, -100}), 0));
  cases.push_back(gather_case("none", {4, 2}, Tensor(DType::s32, {0}), 0));
  for (const DType dtype : {DType::s8, DType::u8, DType::s16, DType::u32, DType::u64}) {
    cases.push_back(gather_case(fmt::format("{}", dtype), {4, 2}, few.cast(dtype), 0));
  }
  // More rows than the indices can name.
  for (const DType dtype : {DType::s8, DType::u8}) {
    OpCase many = gather_case(fmt::format("many_{}", dtype), {300, 1},
                              Tensor::of<int32_t>({3}, {0, 127, 5}).cast(dtype), 0);
    many.second_order = false;
    cases.push_back(std::move(many));
  }
}

void add_one_hot(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Tensor& indices, int64_t depth,
                       const OneHotOptions& options) {
    const int rank = indices.rank() + 1;
    const auto axis = static_cast<size_t>(options.axis < 0 ? options.axis + rank : options.axis);
    const auto compute = [=](const auto& x) {
      Dims dims = x[0].shape().dims();
      dims.insert(dims.begin() + static_cast<int>(axis), depth);
      return std::vector{generate(Shape(dims), options.dtype, [&](IndexSpan at) {
        Dims source(at.begin(), at.end());
        source.erase(source.begin() + static_cast<int>(axis));
        const double index = element_or_0(x[0], source);
        return index == static_cast<double>(at[axis]) ? options.on_value : options.off_value;
      })};
    };
    cases.push_back({.name = "one_hot_" + name,
                     .build = [=](auto& x) { return one_hot(x[0], depth, options); },
                     .inputs = {indices},
                     .compute = compute,
                     .tolerance = 0,
                     .gradient = false});
  };
  const Tensor few = Tensor::of<int32_t>({4}, {2, 0, -1, 3});
  add("last", few, 3, {});
  add("first", few, 3, {.axis = 0});
  add("middle", Tensor::of<int64_t>({2, 2}, {0, 1, 2, 7}), 4, {.axis = 1});
  add("values", few, 3, {.on_value = 5, .off_value = -1});
  add("s32", few, 3, {.dtype = DType::s32});
  add("pred", few, 3, {.dtype = DType::pred});
  add("bf16", few, 3, {.dtype = DType::bf16});
  add("scalar", Tensor(1), 3, {});
  add("no_depth", few, 0, {});
  add("deep_u8", Tensor::of<uint8_t>({2}, {0, 255}), 300, {});
  add("deep_s8", Tensor::of<int32_t>({2}, {-1, 100}).cast(DType::s8), 300, {});
}

// The positions of a row's elements, largest first, NaN before all numbers, those that tie in
// order.
std::vector<int64_t> order_of(const Tensor& x, int64_t row) {
  const int64_t n = x.dim(x.rank() - 1);
  std::vector<int64_t> positions(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, [&](int64_t a, int64_t b) {
    const double left = x.as_double(row * n + a);
    const double right = x.as_double(row * n + b);
    return left > right || (std::isnan(left) && !std::isnan(right));
  });
  return positions;
}

std::vector<Tensor> top_k_by_hand(const Tensor& x, int64_t k) {
  Shape shape = x.shape();
  const int64_t n = shape[shape.rank() - 1];
  shape.set_dim(shape.rank() - 1, k);
  std::vector<double> values;
  std::vector<int32_t> indices;
  for (int64_t row = 0; row * k < shape.num_elements(); ++row) {
    const std::vector<int64_t> order = order_of(x, row);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = order[i];
      values.push_back(x.as_double(row * n + at));
      indices.push_back(static_cast<int32_t>(at));
    }
  }
  return {Tensor::of<double>(shape, values).cast(x.dtype()), Tensor::of<int32_t>(shape, indices)};
}

void add_top_k(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Tensor& x, int64_t k, bool gradient) {
    cases.push_back({.name = "top_k_" + name,
                     .build =
                         [k](auto& in) {
                           const TopK top = top_k(in[0], {.k = k});
                           return Outputs{top.values, top.indices};
                         },
                     .inputs = {x},
                     .compute = [k](const auto& in) { return top_k_by_hand(in[0], k); },
                     .tolerance = 0,
                     .gradient = gradient,
                     .second_order = gradient});
  };
  add("one", random_tensor({3, 5}), 1, true);
  add("some", random_tensor({2, 2, 5}), 3, true);
  add("all", random_tensor({2, 4}), 4, true);
  add("none", random_tensor({2, 4}), 0, true);
  cases.back().second_order = false;
  add("vector", random_tensor({6}), 2, true);
  add("ties", Tensor::of<float>({2, 4}, {1, 3, 3, 1, 0, -0.0F, 0, 0}), 3, false);
  add("nan", Tensor::of<double>({2, 4}, {1, kNan, 5, -kNan, kNan, kNan, 2, 3}).cast(DType::f32), 3,
      false);
  for (const DType dtype : {DType::s8, DType::s32, DType::u8, DType::u64, DType::bf16}) {
    add(fmt::format("{}", dtype), random_tensor({3, 7}, 0, 4, DType::s32).cast(dtype), 4, false);
  }
}

void add_range(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const std::function<Output()>& build,
                       const Tensor& expected) {
    cases.push_back({.name = "range_" + name,
                     .build = [build](auto&) { return build(); },
                     .inputs = {random_tensor({2})},
                     .expected = {expected},
                     .gradient = false});
  };
  add(
      "ints", [] { return range(2, 6); }, Tensor::of<int32_t>({4}, {2, 3, 4, 5}));
  add(
      "limit", [] { return range(3); }, Tensor::of<int32_t>({3}, {0, 1, 2}));
  add(
      "steps", [] { return range(0, 10, 4); }, Tensor::of<int32_t>({3}, {0, 4, 8}));
  add(
      "down", [] { return range(5, 0, -2); }, Tensor::of<int32_t>({3}, {5, 3, 1}));
  add(
      "none", [] { return range(5, 0); }, Tensor(DType::s32, {0}));
  add(
      "floats", [] { return range(0, 1, 0.25); }, Tensor::of<float>({4}, {0, 0.25, 0.5, 0.75}));
  add(
      "s64", [] { return range(Tensor(int64_t{1}), 3); }, Tensor::of<int64_t>({2}, {1, 2}));
  cases.push_back({.name = "range_of_batch",
                   .build = [](auto& x) { return range(0, size(x[0])); },
                   .inputs = {random_tensor({3, 2})},
                   .expected = {Tensor::of<int32_t>({6}, {0, 1, 2, 3, 4, 5})},
                   .gradient = false});
}

}  // namespace

std::vector<OpCase> lookup_op_cases() {
  std::vector<OpCase> cases;
  add_gather(cases);
  add_one_hot(cases);
  add_top_k(cases);
  add_range(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
