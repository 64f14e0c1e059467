#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Build = std::function<Output(const std::vector<Output>&)>;

OpCase same_elements(std::string name, const Shape& in, const Shape& out, const Build& build) {
  return {.name = std::move(name),
          .build = build,
          .inputs = {random_tensor(in)},
          .compute = [out](const auto& x) { return std::vector{x[0].reshape(out)}; },
          .tolerance = 0,
          .dtypes = {DType::bf16, DType::f64},
          .second_order = true};
}

// Element i of the result is the input's at source(i).
OpCase moved(std::string name, const Shape& in, const Shape& out, const Build& build,
             const std::function<Dims(IndexSpan)>& source) {
  OpCase row = same_elements(std::move(name), in, out, build);
  row.compute = [out, source](const auto& x) {
    return std::vector{
        generate(out, x[0].dtype(), [&](IndexSpan i) { return element_or_0(x[0], source(i)); })};
  };
  return row;
}

void add_reshapes(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Shape& in, const std::vector<int64_t>& sizes,
                       const Shape& out) {
    cases.push_back(same_elements("reshape_" + name, in, out,
                                  [sizes](auto& x) { return reshape(x[0], sizes); }));
  };
  add("two_axes", {2, 3, 4}, {6, 4}, {6, 4});
  add("rest", {2, 3, 4}, {-1, 4}, {6, 4});
  add("flat", {2, 3, 4}, {-1}, {24});
  add("rest_behind", {2, 3, 4}, {3, 2, -1}, {3, 2, 4});
  add("scalar", {1, 1}, {}, {});
  add("from_scalar", {}, {1, -1}, {1, 1});
  add("nothing", {2, 0, 3}, {3, -1}, {3, 0});
  cases.push_back(same_elements("reshape_like", {2, 6}, {3, 4}, [](auto& x) {
    return reshape(x[0], shape(reshape(x[0], {3, 4})));
  }));
  cases.push_back(same_elements("reshape_batch_kept", {2, 3, 4}, {2, 12}, [](auto& x) {
    return reshape(x[0], stack({reshape(slice(shape(x[0]), {0}, {1}), Shape()), 12}));
  }));
}

// As set_shape adds it where less is known.
void add_declared(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{2, 3}, Shape{kUnknown, 3}}) {
    cases.push_back(same_elements(
        shape.is_static() ? "set_shape" : "set_shape_in_part", {2, 3}, {2, 3}, [shape](auto& x) {
          return Graph::current()
              .add_node("EnsureShape", {x[0]}, {{"T", x[0].dtype()}, {"shape", shape}})
              ->output();
        }));
  }
}

void add_ranks(std::vector<OpCase>& cases) {
  for (const auto& [axis, out] : std::vector<std::pair<int64_t, Shape>>{
           {0, {1, 2, 3}}, {1, {2, 1, 3}}, {-1, {2, 3, 1}}, {-2, {2, 1, 3}}}) {
    cases.push_back(same_elements(fmt::format("expand_dims_{}", axis), {2, 3}, out,
                                  [a = axis](auto& x) { return expand_dims(x[0], a); }));
  }
  const auto squeezed = [&](const std::string& name, const Shape& in, const Axes& axes,
                            const Shape& out) {
    cases.push_back(same_elements("squeeze_" + name, in, out,
                                  [axes](auto& x) { return squeeze(x[0], {.axis = axes}); }));
  };
  squeezed("all", {2, 1, 3, 1}, {}, {2, 3});
  squeezed("one", {2, 1, 3, 1}, 1, {2, 3, 1});
  squeezed("batch", {1, 3}, 0, {3});
  squeezed("list", {1, 2, 1}, {-1, 0}, {2});
  squeezed("none", {2, 3}, {}, {2, 3});
}

void add_sizes(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Build& build, const Tensor& expected) {
    cases.push_back({.name = name,
                     .build = build,
                     .inputs = {random_tensor({2, 3, 4})},
                     .expected = {expected},
                     .gradient = false});
  };
  add(
      "size", [](auto& x) { return size(x[0]); }, Tensor(24));
  add(
      "size_s64", [](auto& x) { return size(x[0], {.out_type = DType::s64}); },
      Tensor(int64_t{24}));
  add(
      "rank", [](auto& x) { return rank(x[0]); }, Tensor(3));
  add(
      "shape", [](auto& x) { return shape(x[0]); }, Tensor::of<int32_t>({3}, {2, 3, 4}));
}

void add_broadcasts(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Shape& in, const Shape& out) {
    OpCase row = same_elements("broadcast_to_" + name, in, out,
                               [out](auto& x) { return broadcast_to(x[0], out); });
    row.compute = [out](const auto& x) {
      const std::vector<Tensor> terms{x[0], Tensor::zeros(x[0].dtype(), out)};
      return std::vector{map_elements(terms, x[0].dtype(), [](auto v) { return v[0]; })};
    };
    cases.push_back(std::move(row));
  };
  add("scalar", {}, {2, 3});
  add("rows", {3}, {2, 3});
  add("columns", {2, 1}, {2, 3});
  add("same", {2, 3}, {2, 3});
  add("both", {1, 3, 1}, {4, 2, 3, 5});
  add("nothing", {1, 3}, {0, 3});
}

void add_orders(std::vector<OpCase>& cases) {
  cases.push_back(moved(
      "transpose", {2, 3, 4}, {4, 3, 2}, [](auto& x) { return transpose(x[0]); },
      [](IndexSpan i) {
        return Dims{i[2], i[1], i[0]};
      }));
  cases.push_back(moved(
      "transpose_perm", {2, 3, 4}, {4, 2, 3},
      [](auto& x) {
        return transpose(x[0], {.perm = {2, 0, 1}});
      },
      [](IndexSpan i) {
        return Dims{i[1], i[2], i[0]};
      }));
  cases.push_back(moved(
      "transpose_scalar", {}, {}, [](auto& x) { return transpose(x[0]); },
      [](IndexSpan) { return Dims(); }));
  cases.push_back(moved(
      "matrix_transpose", {2, 3, 4}, {2, 4, 3}, [](auto& x) { return matrix_transpose(x[0]); },
      [](IndexSpan i) {
        return Dims{i[0], i[2], i[1]};
      }));
  cases.push_back(moved(
      "reverse", {2, 3}, {2, 3}, [](auto& x) { return reverse(x[0], 1); },
      [](IndexSpan i) {
        return Dims{i[0], 2 - i[1]};
      }));
  cases.push_back(moved(
      "reverse_list", {2, 3}, {2, 3},
      [](auto& x) {
        return reverse(x[0], {-1, 0});
      },
      [](IndexSpan i) {
        return Dims{1 - i[0], 2 - i[1]};
      }));
  cases.push_back(moved(
      "reverse_none", {2, 3}, {2, 3}, [](auto& x) { return reverse(x[0], std::vector<int64_t>()); },
      [](IndexSpan i) { return Dims(i.begin(), i.end()); }));
}

// Movement of elements of every dtype.
void add_dtypes(std::vector<OpCase>& cases) {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    const DTypeInfo& info = dtype_info(dtype);
    if (dtype != DType::pred &&
        ((!info.integer && !info.floating) || info.bits < 8 || is_small_float(dtype)))
      continue;
    OpCase row = moved(
        fmt::format("move_{}", dtype), {2, 3}, {3, 2},
        [](auto& x) { return reverse(matrix_transpose(x[0]), 0); },
        [](IndexSpan i) {
          return Dims{i[1], 2 - i[0]};
        });
    row.inputs = {random_tensor({2, 3}, 0, 100, DType::s32).cast(dtype)};
    row.dtypes = {};
    row.gradient = row.second_order = false;
    cases.push_back(std::move(row));
  }
}

}  // namespace

std::vector<OpCase> shape_op_cases() {
  std::vector<OpCase> cases;
  add_reshapes(cases);
  add_declared(cases);
  add_ranks(cases);
  add_sizes(cases);
  add_broadcasts(cases);
  add_orders(cases);
  add_dtypes(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
