#include <limits>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/math_op_cases.h"

namespace systole::graph_testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor vector(const std::vector<double>& elements) {
  return Tensor::of<double>({static_cast<int64_t>(elements.size())}, elements);
}

// Gradients where differences cannot tell: the outputs are the gradients themselves.
OpCase gradient_case(std::string name, const std::function<Output(const std::vector<Output>&)>& op,
                     std::vector<Tensor> inputs, std::vector<Tensor> expected) {
  return {.name = "gradient_" + std::move(name),
          .build = [op](const auto& x) { return gradients({op(x)}, x); },
          .inputs = std::move(inputs),
          .expected = std::move(expected),
          .tolerance = 1e-12,
          .gradient = false};
}

}  // namespace

std::vector<OpCase> math_gradient_cases() {
  const Tensor around_zero = vector({-2, 0, 3});
  return {
      gradient_case("abs_at_0", [](auto& x) { return abs(x[0]); }, {around_zero},
                    {vector({-1, 0, 1})}),
      gradient_case("relu_at_0", [](auto& x) { return relu(x[0]); }, {around_zero},
                    {vector({0, 0, 1})}),
      gradient_case("relu6_at_edges", [](auto& x) { return relu6(x[0]); }, {vector({0, 3, 6})},
                    {vector({0, 1, 0})}),
      gradient_case("leaky_relu_at_0", [](auto& x) { return leaky_relu(x[0]); }, {around_zero},
                    {vector({0.2, 0.2, 1})}),
      gradient_case("sign", [](auto& x) { return sign(x[0]); }, {around_zero}, {vector({0, 0, 0})}),
      gradient_case("sqrt_at_0", [](auto& x) { return sqrt(x[0]); }, {vector({0, 4})},
                    {vector({kInf, 0.25})}),
      gradient_case("softplus_far", [](auto& x) { return softplus(x[0]); },
                    {vector({-1000, 0, 1000})}, {vector({0, 0.5, 1})}),
      gradient_case("sigmoid_far", [](auto& x) { return sigmoid(x[0]); }, {vector({-1000, 1000})},
                    {vector({0, 0})}),
      gradient_case("elu_far", [](auto& x) { return elu(x[0]); }, {vector({-1000, 1000})},
                    {vector({0, 1})}),
      gradient_case("maximum_tie", [](auto& x) { return maximum(x[0], x[1]); },
                    {vector({1, 2, 3}), vector({3, 2, 1})}, {vector({0, 1, 1}), vector({1, 0, 0})}),
      gradient_case("minimum_tie", [](auto& x) { return minimum(x[0], x[1]); },
                    {vector({1, 2, 3}), vector({3, 2, 1})}, {vector({1, 1, 0}), vector({0, 0, 1})}),
      gradient_case("pow_at_0", [](auto& x) { return pow(x[0], x[1]); },
                    {vector({0, 0, -2, 0}), vector({2, 0, 3, 1})},
                    {vector({0, 0, 12, 1}), vector({0, 0, 0, 0})}),
      gradient_case("reduce_max_ties", [](auto& x) { return reduce_max(x[0]); },
                    {vector({3, 1, 3, 3})}, {vector({1.0 / 3, 0, 1.0 / 3, 1.0 / 3})}),
      gradient_case("reduce_min_ties", [](auto& x) { return reduce_min(x[0], {.keepdims = true}); },
                    {vector({1, 1, 2})}, {vector({0.5, 0.5, 0})}),
      gradient_case("reduce_prod_one_zero", [](auto& x) { return reduce_prod(x[0]); },
                    {vector({2, 0, 5})}, {vector({0, 10, 0})}),
      gradient_case("reduce_prod_two_zeros", [](auto& x) { return reduce_prod(x[0]); },
                    {vector({0, 0, 5})}, {vector({0, 0, 0})}),
      gradient_case("reduce_logsumexp_infinite", [](auto& x) { return reduce_logsumexp(x[0]); },
                    {vector({-kInf, 0})}, {vector({0, 1})}),
      gradient_case("clip_by_norm_of_0", [](auto& x) { return clip_by_norm(x[0], 2.0); },
                    {vector({0, 0})}, {vector({1, 1})}),
      gradient_case("where_hides_nan",
                    [](auto& x) { return where(x[0] > 0, log(where(x[0] > 0, x[0], 1)), 0); },
                    {vector({-1, 2})}, {vector({0, 0.5})}),
  };
}

}  // namespace systole::graph_testing
