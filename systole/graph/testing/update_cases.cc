#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/training_ops.h"
#include "systole/graph/api/variable.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/testing/op_tester.h"
#include "systole/graph/testing/session_cases.h"

namespace systole::graph_testing {
namespace {

// One element of a variable and of up to three slots.
struct Element {
  double var;
  double slots[3];
};

struct Rule {
  std::string name;
  int num_slots;
  // Adds the op for handles {variable, slots...}; of rows with valid indices.
  std::function<Operation(const std::vector<Output>& handles, Output gradient,
                          const Output& indices)>
      build;
  std::function<void(Element& element, double gradient)> update;
  bool has_rows = true;
};

Output number(const Output& like, double value) { return constant(value, {.dtype = like.dtype()}); }

std::vector<Rule> plain_rules() {
  const auto momentum = [](bool nesterov) {
    return [nesterov](const std::vector<Output>& v, Output g, const Output& indices) {
      return apply_momentum(v[0], v[1], number(g, 0.1), g, number(g, 0.75), nesterov, indices);
    };
  };
  return {{"gradient_descent", 0,
           [](auto& v, Output g, const Output& indices) {
             const Output rate = number(g, 0.1);
             return indices.valid() ? resource_scatter_add(v[0], {-(rate * g), indices})
                                    : apply_gradient_descent(v[0], rate, g);
           },
           [](Element& e, double g) { e.var -= 0.1 * g; }},
          {"momentum", 1, momentum(false),
           [](Element& e, double g) {
             e.slots[0] = 0.75 * e.slots[0] + g;
             e.var -= 0.1 * e.slots[0];
           }},
          {"nesterov", 1, momentum(true),
           [](Element& e, double g) {
             e.slots[0] = 0.75 * e.slots[0] + g;
             e.var -= 0.1 * (g + 0.75 * e.slots[0]);
           }},
          {"adagrad", 1,
           [](auto& v, Output g, const Output& indices) {
             return apply_adagrad(v[0], v[1], number(g, 0.1), g, indices);
           },
           [](Element& e, double g) {
             e.slots[0] += g * g;
             e.var -= 0.1 * g / std::sqrt(e.slots[0]);
           }}};
}

Operation adam(const std::vector<Output>& v, const Output& g, const Output& /*indices*/) {
  return apply_adam({.var = v[0],
                     .m = v[1],
                     .v = v[2],
                     .beta1_power = number(g, 0.5),
                     .beta2_power = number(g, 0.75),
                     .learning_rate = number(g, 0.1),
                     .beta1 = number(g, 0.5),
                     .beta2 = number(g, 0.75),
                     .epsilon = number(g, 0.01),
                     .gradient = g});
}

void adam_rule(Element& e, double g) {
  e.slots[0] += 0.5 * (g - e.slots[0]);
  e.slots[1] += 0.25 * (g * g - e.slots[1]);
  const double rate = 0.1 * std::sqrt(1 - 0.75) / (1 - 0.5);
  e.var -= rate * e.slots[0] / (std::sqrt(e.slots[1]) + 0.01);
}

Operation adadelta(const std::vector<Output>& v, const Output& g, const Output& indices) {
  return apply_adadelta({.var = v[0],
                         .accum = v[1],
                         .accum_update = v[2],
                         .learning_rate = number(g, 0.5),
                         .rho = number(g, 0.75),
                         .epsilon = number(g, 0.125),
                         .gradient = g,
                         .indices = indices});
}

void adadelta_rule(Element& e, double g) {
  e.slots[0] += 0.25 * (g * g - e.slots[0]);
  const double update = g * std::sqrt((e.slots[1] + 0.125) / (e.slots[0] + 0.125));
  e.slots[1] += 0.25 * (update * update - e.slots[1]);
  e.var -= 0.5 * update;
}

Operation ftrl(const std::vector<Output>& v, const Output& g, const Output& indices) {
  return apply_ftrl({.var = v[0],
                     .accum = v[1],
                     .linear = v[2],
                     .learning_rate = number(g, 0.5),
                     .l1 = number(g, 0.75),
                     .l2 = number(g, 0.125),
                     .learning_rate_power = number(g, -0.5),
                     .gradient = g,
                     .indices = indices});
}

// Slots: sum of squares, linear.
void ftrl_rule(Element& e, double g) {
  const double before = std::sqrt(e.slots[0]);
  e.slots[0] += g * g;
  const double strength = std::sqrt(e.slots[0]);
  e.slots[1] += g - (strength - before) / 0.5 * e.var;
  const double sign = e.slots[1] < 0 ? -1 : 1;
  e.var =
      std::abs(e.slots[1]) > 0.75 ? (0.75 * sign - e.slots[1]) / (strength / 0.5 + 2 * 0.125) : 0;
}

Operation rms_prop(const std::vector<Output>& v, const Output& g, const Output& indices,
                   bool centered) {
  const RMSPropInputs inputs{.var = v[0],
                             .mean_square = v[1],
                             .momentum_slot = v[2],
                             .mean_gradient = centered ? v[3] : Output(),
                             .learning_rate = number(g, 0.1),
                             .rho = number(g, 0.75),
                             .momentum = number(g, 0.5),
                             .epsilon = number(g, 0.125),
                             .gradient = g,
                             .indices = indices};
  return centered ? apply_centered_rms_prop(inputs) : apply_rms_prop(inputs);
}

// Slots: mean square, momentum, mean gradient.
void rms_prop_rule(Element& e, double g, bool centered) {
  e.slots[0] += 0.25 * (g * g - e.slots[0]);
  if (centered) e.slots[2] += 0.25 * (g - e.slots[2]);
  const double variance = e.slots[0] - (centered ? e.slots[2] * e.slots[2] : 0);
  e.slots[1] = 0.5 * e.slots[1] + 0.1 * g / std::sqrt(variance + 0.125);
  e.var -= e.slots[1];
}

std::vector<Rule> rules() {
  std::vector<Rule> result = plain_rules();
  result.push_back({"adam", 2, adam, adam_rule, /*has_rows=*/false});
  result.push_back({"adadelta", 2, adadelta, adadelta_rule});
  result.push_back({"ftrl", 2, ftrl, ftrl_rule});
  for (const bool centered : {false, true}) {
    result.push_back({centered ? "centered_rms_prop" : "rms_prop", centered ? 3 : 2,
                      [centered](auto& v, Output g, const Output& indices) {
                        return rms_prop(v, g, indices, centered);
                      },
                      [centered](Element& e, double g) { rms_prop_rule(e, g, centered); }});
  }
  return result;
}

// Two steps of every element; slots start at 1.
void check_rule(MiniSession& session, const Rule& rule, DType dtype, double tolerance) {
  constexpr int64_t kCount = 7;
  const Tensor start = random_tensor({kCount}, -2, 2, dtype, 1);
  const Output gradient = placeholder(dtype, {kCount}, "gradient");
  std::vector<Variable> variables = {Variable(start)};
  for (int i = 0; i < rule.num_slots; ++i) {
    variables.emplace_back(Tensor::full(dtype, {kCount}, 1));
  }
  std::vector<Output> handles;
  for (const Variable& v : variables) handles.push_back(v.handle());
  const Operation update = rule.build(handles, gradient, {});
  session.run(global_variables_initializer());
  std::vector<Element> elements(kCount);
  for (int64_t i = 0; i < kCount; ++i) elements[i] = {start.as_double(i), {1, 1, 1}};
  for (const uint64_t step : {2, 3}) {
    const Tensor g = random_tensor({kCount}, -1, 1, dtype, step);
    session.run(update, {{gradient, g}});
    for (int64_t i = 0; i < kCount; ++i) rule.update(elements[i], g.as_double(i));
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    std::vector<double> want;
    for (const Element& e : elements) want.push_back(v == 0 ? e.var : e.slots[v - 1]);
    SCOPED_TRACE(fmt::format("variable {}", v));
    expect_close(session.run(variables[v].value()).cast(DType::f64),
                 Tensor::of<double>({kCount}, want), tolerance);
  }
}

// Updates rows 3 and 0 of a table with four rows. The index -1 stands for no row. Rows 1 and 2 must
// keep every bit.
void check_rows_of_rule(MiniSession& session, const Rule& rule, DType dtype, double tolerance) {
  const std::vector<int64_t> kRows = {3, -1, 0};
  constexpr int64_t kWidth = 5;
  const Shape table{4, kWidth};
  const Tensor start = random_tensor(table, -2, 2, dtype, 1);
  std::vector<Variable> variables = {Variable(start)};
  for (int i = 0; i < rule.num_slots; ++i) variables.emplace_back(Tensor::full(dtype, table, 1));
  std::vector<Output> handles;
  for (const Variable& v : variables) handles.push_back(v.handle());
  const Tensor g = random_tensor({3, kWidth}, -1, 1, dtype, 2);
  const Operation update =
      rule.build(handles, constant(g), constant(Tensor::of<int64_t>({3}, kRows)));
  session.run(global_variables_initializer());
  session.run(update);
  std::vector<Element> elements(static_cast<size_t>(table.num_elements()));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = {start.as_double(static_cast<int64_t>(i)), {1, 1, 1}};
  }
  for (int64_t row = 0; row < 3; ++row) {
    const int64_t to = kRows[static_cast<size_t>(row)];
    for (int64_t i = 0; to >= 0 && i < kWidth; ++i) {
      rule.update(elements[static_cast<size_t>(to * kWidth + i)], g.as_double(row * kWidth + i));
    }
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    std::vector<double> want;
    for (const Element& e : elements) want.push_back(v == 0 ? e.var : e.slots[v - 1]);
    SCOPED_TRACE(fmt::format("variable {}", v));
    const Tensor got = session.run(variables[v].value()).cast(DType::f64);
    expect_close(got, Tensor::of<double>(table, want), tolerance);
    for (int64_t i = kWidth; i < 3 * kWidth; ++i) {
      EXPECT_EQ(got.as_double(i), v == 0 ? start.as_double(i) : 1);
    }
  }
}

}  // namespace

std::vector<SessionCase> update_cases() {
  const std::vector<std::pair<DType, double>> dtypes = {
      {DType::f64, 1e-14}, {DType::f32, 1e-5}, {DType::bf16, 0.06}, {DType::f16, 0.008}};
  std::vector<SessionCase> cases;
  for (const Rule& rule : rules()) {
    for (const auto& [dtype, tolerance] : dtypes) {
      cases.push_back({fmt::format("{}_{}", rule.name, dtype),
                       [rule, dtype = dtype, tolerance = tolerance](MiniSession& session) {
                         check_rule(session, rule, dtype, tolerance);
                       }});
      if (!rule.has_rows) continue;
      cases.push_back({fmt::format("rows_of_{}_{}", rule.name, dtype),
                       [rule, dtype = dtype, tolerance = tolerance](MiniSession& session) {
                         check_rows_of_rule(session, rule, dtype, tolerance);
                       }});
    }
  }
  return cases;
}

}  // namespace systole::graph_testing
