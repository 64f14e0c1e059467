#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

// The element of the result with number `output` at an index.
using ElementFn =
    std::function<double(const std::vector<Tensor>& inputs, size_t output, IndexSpan)>;

OpCase join_case(std::string name, const std::vector<Shape>& in, const std::vector<Shape>& out,
                 BuildFn build, ElementFn element) {
  std::vector<Tensor> inputs;
  inputs.reserve(in.size());
  for (const Shape& shape : in)
    inputs.push_back(random_tensor(shape, -1, 1, DType::f32, inputs.size()));
  return {.name = std::move(name),
          .build = std::move(build),
          .inputs = std::move(inputs),
          .compute =
              [out, element = std::move(element)](const auto& x) {
                std::vector<Tensor> results;
                for (size_t k = 0; k < out.size(); ++k) {
                  results.push_back(generate(out[k], x[0].dtype(),
                                             [&](IndexSpan i) { return element(x, k, i); }));
                }
                return results;
              },
          .tolerance = 0,
          .dtypes = {DType::bf16, DType::f64},
          .second_order = true};
}

Dims shifted(IndexSpan index, size_t axis, int64_t by) {
  Dims result(index.begin(), index.end());
  result[axis] += by;
  return result;
}

Dims without(IndexSpan index, size_t axis) {
  Dims result(index.begin(), index.end());
  result.erase(result.begin() + static_cast<int>(axis));
  return result;
}

Dims with(IndexSpan index, size_t axis, int64_t at) {
  Dims result(index.begin(), index.end());
  result.insert(result.begin() + static_cast<int>(axis), at);
  return result;
}

void add_concat(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const std::vector<Shape>& in, int64_t axis,
                       const Shape& out) {
    const size_t at = static_cast<size_t>(axis < 0 ? axis + out.rank() : axis);
    cases.push_back(join_case(
        "concat_" + name, in, {out}, [axis](auto& x) { return concat(x, axis); },
        [at](const auto& x, size_t, IndexSpan i) {
          int64_t begin = 0;
          double sum = 0;  // all but one are outside
          for (const Tensor& part : x) {
            sum += element_or_0(part, shifted(i, at, -begin));
            begin += part.dim(static_cast<int>(at));
          }
          return sum;
        }));
  };
  add("rows", {{2, 3}, {1, 3}, {4, 3}}, 0, {7, 3});
  add("columns", {{2, 3}, {2, 1}}, 1, {2, 4});
  add("last", {{2, 3, 1}, {2, 3, 2}}, -1, {2, 3, 3});
  add("empty", {{2, 0}, {2, 3}}, 1, {2, 3});
  add("one", {{2, 3}}, 1, {2, 3});
  OpCase literal = join_case(
      "concat_literal_tensor", {{2, 3}}, {{2, 4}},
      [](auto& x) {
        return concat({x[0], cast(Tensor::of<float>({2, 1}, {5, 5}), x[0].dtype())}, 1);
      },
      [](const auto& x, size_t, IndexSpan i) { return i[1] == 3 ? 5 : element_or_0(x[0], i); });
  cases.push_back(std::move(literal));
}

void add_stack(std::vector<OpCase>& cases) {
  for (const int64_t axis : {0, 1, 2, -1, -3}) {
    const size_t at = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    const Shape out(with(Dims{3, 4}, at, 2));
    cases.push_back(join_case(
        fmt::format("stack_{}", axis), {{3, 4}, {3, 4}}, {out},
        [axis](auto& x) { return stack(x, {.axis = axis}); },
        [at](const auto& x, size_t, IndexSpan i) {
          return element_or_0(x[i[at]], without(i, at));
        }));
    const std::vector<Shape> slices(2, Shape{3, 4});
    cases.push_back(join_case(
        fmt::format("unstack_{}", axis), {out}, slices,
        [axis](auto& x) { return unstack(x[0], {.num = 2, .axis = axis}); },
        [at](const auto& x, size_t k, IndexSpan i) {
          return element_or_0(x[0], with(i, at, static_cast<int64_t>(k)));
        }));
  }
  cases.push_back(join_case(
      "stack_scalars", {{}, {}}, {{3}},
      [](auto& x) {
        return stack({x[0], 7, x[1]});
      },
      [](const auto& x, size_t, IndexSpan i) {
        return i[0] == 1 ? 7 : x[i[0] == 0 ? 0 : 1].as_double(0);
      }));
}

void add_split(std::vector<OpCase>& cases) {
  cases.push_back(join_case(
      "split_columns", {{2, 6}}, std::vector<Shape>(3, Shape{2, 2}),
      [](auto& x) { return split(x[0], 3, {.axis = 1}); },
      [](const auto& x, size_t k, IndexSpan i) {
        return element_or_0(x[0], shifted(i, 1, static_cast<int64_t>(2 * k)));
      }));
  cases.push_back(join_case(
      "split_batch", {{4, 3}}, std::vector<Shape>(2, Shape{2, 3}),
      [](auto& x) { return split(x[0], 2); },
      [](const auto& x, size_t k, IndexSpan i) {
        return element_or_0(x[0], shifted(i, 0, static_cast<int64_t>(2 * k)));
      }));
  for (const int64_t last : {3, -1}) {
    cases.push_back(join_case(
        fmt::format("split_sizes_{}", last), {{2, 6}}, {{2, 1}, {2, 2}, {2, 0}, {2, 3}},
        [last](auto& x) {
          return split(x[0], std::vector<int64_t>{1, 2, 0, last}, {.axis = -1});
        },
        [](const auto& x, size_t k, IndexSpan i) {
          constexpr int64_t kBegin[] = {0, 1, 3, 3};
          return element_or_0(x[0], shifted(i, 1, kBegin[k]));
        }));
  }
  cases.push_back(join_case(
      "split_sizes_batch", {{5, 2}}, {{2, 2}, {3, 2}},
      [](auto& x) {
        return split(x[0], std::vector<int64_t>{2, -1});
      },
      [](const auto& x, size_t k, IndexSpan i) {
        return element_or_0(x[0], shifted(i, 0, k == 0 ? 0 : 2));
      }));
}

void add_slice(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Shape& out, const Dims& begin,
                       const BuildFn& build) {
    cases.push_back(join_case("slice_" + name, {{4, 5}}, {out}, build,
                              [begin](const auto& x, size_t, IndexSpan i) {
                                return element_or_0(x[0], Dims{i[0] + begin[0], i[1] + begin[1]});
                              }));
  };
  add("inner", {2, 3}, {1, 1}, [](auto& x) { return slice(x[0], {1, 1}, {2, 3}); });
  add("rest", {3, 4}, {1, 1}, [](auto& x) { return slice(x[0], {1, 1}, {-1, -1}); });
  add("all", {4, 5}, {0, 0}, [](auto& x) { return slice(x[0], {0, 0}, {-1, 5}); });
  add("nothing", {4, 0}, {0, 5}, [](auto& x) { return slice(x[0], {0, 5}, {-1, 0}); });
  add("by_shape", {3, 5}, {1, 0}, [](auto& x) {
    return slice(x[0], {1, 0}, shape(x[0]) - Tensor::of<int32_t>({2}, {1, 0}));
  });
}

// The index in [0, size) that position `i` stands for; `skip` leaves out the edge element.
int64_t mirrored(int64_t i, int64_t size, int64_t skip) {
  if (i < 0) return -1 - i + skip;
  if (i >= size) return 2 * size - 1 - i - skip;
  return i;
}

void add_pad(std::vector<OpCase>& cases) {
  const std::vector<std::pair<int64_t, int64_t>> kPaddings = {{1, 0}, {2, 1}};
  for (const double value : {0.0, 2.5}) {
    cases.push_back(join_case(
        fmt::format("pad_{}", value), {{2, 3}}, {{3, 6}},
        [=](auto& x) { return pad(x[0], kPaddings, {.constant_values = value}); },
        [value](const auto& x, size_t, IndexSpan i) {
          const bool inside = i[0] >= 1 && i[1] >= 2 && i[1] < 5;
          return inside ? element_or_0(x[0], Dims{i[0] - 1, i[1] - 2}) : value;
        }));
  }
  for (const PadMode mode : {PadMode::reflect, PadMode::symmetric}) {
    const int64_t skip = mode == PadMode::reflect ? 1 : 0;
    OpCase both = join_case(
        fmt::format("pad_mirror_{}", skip), {{2, 3}}, {{3, 6}},
        [=](auto& x) { return pad(x[0], kPaddings, {.mode = mode}); },
        [skip](const auto& x, size_t, IndexSpan i) {
          return element_or_0(x[0], Dims{mirrored(i[0] - 1, 2, skip), mirrored(i[1] - 2, 3, skip)});
        });
    both.unknown_batch = false;
    cases.push_back(std::move(both));
    cases.push_back(join_case(
        fmt::format("pad_mirror_batch_{}", skip), {{2, 3}}, {{2, 6}},
        [=](auto& x) {
          return pad(x[0], {{0, 0}, {1, 2}}, {.mode = mode});
        },
        [skip](const auto& x, size_t, IndexSpan i) {
          return element_or_0(x[0], Dims{i[0], mirrored(i[1] - 1, 3, skip)});
        }));
  }
}

void add_tile(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Shape& in,
                       const std::vector<int64_t>& multiples, const Shape& out) {
    cases.push_back(join_case(
        "tile_" + name, {in}, {out}, [=](auto& x) { return tile(x[0], multiples); },
        [](const auto& x, size_t, IndexSpan i) {
          Dims source(i.begin(), i.end());
          for (size_t d = 0; d < source.size(); ++d) source[d] %= x[0].dim(static_cast<int>(d));
          return element_or_0(x[0], source);
        }));
  };
  add("both", {2, 3}, {3, 2}, {6, 6});
  add("vector", {3}, {2}, {6});
  add("nothing", {2, 3}, {1, 0}, {2, 0});
  add("scalar", {}, {}, {});
  cases.push_back(join_case(
      "tile_by_tensors", {{2, 3}}, {{4, 9}},
      [](auto& x) {
        const Output sizes = shape(x[0]);
        return tile(x[0], {strided_slice(sizes, {0}, {1}, {.shrink_axis_mask = 1}), 3});
      },
      [](const auto& x, size_t, IndexSpan i) {
        return element_or_0(x[0], Dims{i[0] % 2, i[1] % 3});
      }));
}

}  // namespace

std::vector<OpCase> join_op_cases() {
  std::vector<OpCase> cases;
  add_concat(cases);
  add_stack(cases);
  add_split(cases);
  add_slice(cases);
  add_pad(cases);
  add_tile(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
