#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/testing/array_op_cases.h"

namespace systole::graph_testing {
namespace {

std::vector<DType> dtypes() {
  std::vector<DType> result;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_graph_dtype(dtype) && !is_complex(dtype)) result.push_back(dtype);
  }
  return result;
}

// Every way to make the tensor [[5, 5, 5], [5, 5, 5]] or one like the input, in every dtype.
void add_all_dtypes(std::vector<OpCase>& cases) {
  for (const DType dtype : dtypes()) {
    const Shape shape = {2, 3};
    const double five = dtype == DType::pred ? 1 : 5;
    const Tensor x = random_tensor(shape, 0, 7, DType::s32).cast(dtype);
    const auto add = [&](std::string_view name, BuildFn build, Tensor expected) {
      cases.push_back({.name = fmt::format("{}_{}", name, dtype),
                       .build = std::move(build),
                       .inputs = {x},
                       .expected = {std::move(expected)},
                       .gradient = false});
    };
    add(
        "zeros_like", [](auto& in) { return zeros_like(in[0]); }, Tensor::zeros(dtype, shape));
    add(
        "ones_like", [](auto& in) { return ones_like(in[0]); }, Tensor::full(dtype, shape, 1));
    add(
        "identity", [](auto& in) { return identity(in[0]); }, x);
    add(
        "stop_gradient", [](auto& in) { return stop_gradient(in[0]); }, x);
    add(
        "constant", [x](auto&) { return constant(x); }, x);
    add(
        "constant_spread",
        [five, dtype, shape](auto&) {
          return constant(Tensor::full(dtype, {}, five), {.shape = shape});
        },
        Tensor::full(dtype, shape, five));
    add(
        "fill", [five, dtype, shape](auto&) { return fill(shape, Tensor::full(dtype, {}, five)); },
        Tensor::full(dtype, shape, five));
    add(
        "fill_like",
        [five, dtype](auto& in) {
          return fill(systole::shape(in[0]), Tensor::full(dtype, {}, five));
        },
        Tensor::full(dtype, shape, five));
  }
}

void add_gradients(std::vector<OpCase>& cases) {
  cases.push_back({.name = "fill_gradient",
                   .build =
                       [](auto& x) {
                         return square(fill({2, 3}, x[0]));
                       },
                   .inputs = {Tensor(1.5)},
                   .expected = {Tensor::full(DType::f64, {2, 3}, 2.25)},
                   .dtypes = {DType::f32, DType::bf16, DType::f16},
                   .second_order = true});
  cases.push_back({.name = "identity_gradient",
                   .build = [](auto& x) { return square(identity(x[0])); },
                   .inputs = {random_tensor({2, 3})},
                   .reference = [](auto& x) { return x[0] * x[0]; },
                   .second_order = true});
  cases.push_back({.name = "stop_gradient_gradient",
                   .build = [](auto& x) { return stop_gradient(square(x[0])) * x[1]; },
                   .inputs = {random_tensor({2, 3}), random_tensor({3})},
                   .reference = [](auto& x) { return x[0] * x[0] * x[1]; },
                   .no_gradient = {0},
                   .known_inputs = {1}});
}

}  // namespace

std::vector<OpCase> fill_op_cases() {
  std::vector<OpCase> cases;
  add_all_dtypes(cases);
  add_gradients(cases);
  return cases;
}

}  // namespace systole::graph_testing
