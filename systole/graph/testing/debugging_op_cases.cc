#include "systole/graph/testing/debugging_op_cases.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/gradient_override.h"
#include "systole/graph/gradients/custom_gradient.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/gradients/recompute_grad.h"

namespace systole::graph_testing {
namespace {

Output under(const Operation& assertion, const Output& x) {
  const ControlDependencies after({assertion});
  return identity(x);
}

CustomGradient log1pexp_with_gradient(const Output& x) {
  const Output e = exp(x);
  return {log(1.0F + e), [e](const Output& dy) { return dy * (1.0F - 1.0F / (1.0F + e)); }};
}

// x * y, whose gradients read the inputs.
CustomGradients product_with_gradients(const std::vector<Output>& x) {
  return {{x[0] * x[1], x[0] + x[1]}, [x](const std::vector<Output>& dys) {
            return std::vector{dys[0] * x[1] + dys[1], dys[0] * x[0] + dys[1]};
          }};
}

Output softplus_in_loop(const Output& x) {
  return while_loop([](auto& v) { return less(v[0], 3); },
                    [](auto& v) {
                      return std::vector{
                          add(v[0], 1),
                          custom_gradient(CustomGradientFn(log1pexp_with_gradient))(v[1])};
                    },
                    {0, x})[1];
}

// stop_gradient inside, with the gradient of an identity.
Output doubled_in_loop(const Output& x) {
  return while_loop([](auto& v) { return less(v[0], 3); },
                    [](auto& v) {
                      const GradientOverrideMap map({{"StopGradient", "Identity"}});
                      return std::vector{add(v[0], 1), stop_gradient(v[1]) * 2.0F};
                    },
                    {0, x})[1];
}

OpCase row(std::string name, BuildFn build, BuildFn reference) {
  return {.name = std::move(name),
          .build = std::move(build),
          .inputs = {random_tensor({2, 3}), random_tensor({2, 3}, 0.5, 2, DType::f32, 2)},
          .reference = std::move(reference)};
}

void add_values(std::vector<OpCase>& cases) {
  cases.push_back(row(
      "print",
      [](auto& x) {
        return print_op(x[0] * x[1], {x[1], 1}, {.message = "x"});
      },
      [](auto& x) { return x[0] * x[1]; }));
  cases.push_back(row(
      "check_numerics", [](auto& x) { return check_numerics(x[0] * x[1], "product"); },
      [](auto& x) { return x[0] * x[1]; }));
  cases.push_back(row(
      "assertions_that_hold",
      [](auto& x) {
        const Output a = under(assert_less(x[0], x[1] + 1.5F), x[0]);
        const Output b = under(assert_positive(x[1]), x[1]);
        return under(assert_near(a, x[0]), a) * under(assert_rank(b, 2), b);
      },
      [](auto& x) { return x[0] * x[1]; }));
}

Output product_of_tanh(const std::vector<Output>& x) { return tanh(x[0] * x[1]) * x[0]; }

// A value and the gradient that it is computed again for.
Output recomputed(const std::vector<Output>& x) {
  const Output y = recompute_grad([](const std::vector<Output>& v) {
    return std::vector{product_of_tanh(v)};
  })({x[0], x[1]})[0];
  return y + gradients(y, x[0])[0];
}

Output kept(const std::vector<Output>& x) {
  const Output y = product_of_tanh(x);
  return y + gradients(y, x[0])[0];
}

void add_custom_gradients(std::vector<OpCase>& cases) {
  cases.push_back(row("recompute_grad", recomputed, kept));
  cases.push_back(row(
      "custom_gradient",
      [](auto& x) {
        const auto log1pexp = custom_gradient(CustomGradientFn(log1pexp_with_gradient));
        return log1pexp(x[0]) * x[1];
      },
      [](auto& x) { return softplus(x[0]) * x[1]; }));
  cases.back().second_order = true;
  cases.push_back(row(
      "custom_gradients",
      [](auto& x) {
        return custom_gradient(CustomGradientsFn(product_with_gradients))({x[0], x[1]});
      },
      [](auto& x) {
        return std::vector{x[0] * x[1], x[0] + x[1]};
      }));
  cases.push_back(row(
      "custom_gradient_in_loop", [](auto& x) { return softplus_in_loop(x[0]) * x[1]; },
      [](auto& x) { return softplus(softplus(softplus(x[0]))) * x[1]; }));
  cases.push_back(row(
      "gradient_of_another_op",
      [](auto& x) {
        const GradientOverrideMap map({{"StopGradient", "Identity"}});
        return stop_gradient(x[0]) * x[1];
      },
      [](auto& x) { return x[0] * x[1]; }));
  cases.push_back(row(
      "gradient_of_another_op_in_loop", [](auto& x) { return doubled_in_loop(x[0]) * x[1]; },
      [](auto& x) { return x[0] * x[1] * 8.0F; }));
}

void add_errors(std::vector<OpCase>& cases) {
  const auto error = [&](std::string name, BuildFn build, std::string text) {
    cases.push_back({.name = "error_" + std::move(name),
                     .build = std::move(build),
                     .inputs = {Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::s32, {2})},
                     .error = std::move(text)});
  };
  error(
      "assert_condition", [](auto& x) { return under(assert_op(x[0]), x[0]); },
      "Assert: condition, got f32[2,3], expected pred[], node 'Assert' at debugging_op_cases.cc:");
  error(
      "assert_known", [](auto& x) { return under(assert_op(false, {.message = "never"}), x[0]); },
      "Assert: assertion failed: never, node 'Assert' at debugging_op_cases.cc:");
  error(
      "assert_rank", [](auto& x) { return under(assert_rank(x[0], 1, {.message = "m"}), x[0]); },
      "m: assert_rank: x, got f32[2,3], expected rank 1, at debugging_op_cases.cc:");
  error(
      "assert_rank_at_least", [](auto& x) { return under(assert_rank_at_least(x[1], 2), x[0]); },
      "assert_rank_at_least: x, got s32[2], expected rank 2 or more");
  error(
      "assert_scalar", [](auto& x) { return under(assert_scalar(x[1]), x[0]); },
      "assert_scalar: x, got s32[2], expected a scalar");
  error(
      "assert_type", [](auto& x) { return under(assert_type(x[1], DType::f32), x[0]); },
      "assert_type: x, got s32[2], expected f32");
  error(
      "assert_integer", [](auto& x) { return under(assert_integer(x[0]), x[0]); },
      "assert_integer: x, got f32[2,3], expected an integer dtype");
  error(
      "assert_near_dtype", [](auto& x) { return under(assert_near(x[1], x[1]), x[0]); },
      "assert_near: dtype, got s32, expected a floating one");
  error(
      "assert_dtypes", [](auto& x) { return under(assert_equal(x[0], x[1]), x[0]); },
      "Equal: dtypes, got");
  error(
      "check_numerics_dtype", [](auto& x) { return cast(check_numerics(x[1], "m"), DType::f32); },
      "CheckNumerics: dtype, got s32, expected a floating one");
  error(
      "print_in_branch",
      [](auto& x) {
        return cond(
            less(reduce_sum(x[0]), 0), [&] { return print_op(x[0], {x[0]}); },
            [&] { return x[0]; });
      },
      "Print: place, got the body of a loop, a branch or the gradient of a custom_gradient, "
      "expected the graph around it: ");
  error(
      "custom_gradient_type",
      [](auto& x) {
        const auto f = custom_gradient([](const Output& y) {
          return CustomGradient{y * 2, [](const Output& dy) { return reduce_sum(dy); }};
        });
        return f(x[0]);
      },
      "custom_gradient: gradient of input 0, got f32[], expected f32[2,3], at "
      "debugging_op_cases.cc:");
  error(
      "custom_gradient_count",
      [](auto& x) {
        const auto f = custom_gradient([](const std::vector<Output>& y) {
          return CustomGradients{{y[0] * 2}, [](const std::vector<Output>& dys) {
                                   return std::vector{dys[0], dys[0]};
                                 }};
        });
        return f({x[0]});
      },
      "custom_gradient: number of gradients, got 2, expected 1, one for each input, at "
      "debugging_op_cases.cc:");
  error(
      "override_of_unknown_op",
      [](auto& x) {
        const GradientOverrideMap map({{"Reluu", "Identity"}});
        return x[0];
      },
      "'Reluu'");
}

}  // namespace

std::vector<OpCase> debugging_op_cases() {
  std::vector<OpCase> cases;
  add_values(cases);
  add_custom_gradients(cases);
  add_errors(cases);
  return cases;
}

}  // namespace systole::graph_testing
