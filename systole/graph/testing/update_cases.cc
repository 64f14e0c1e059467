#include <algorithm>
#include <cmath>
#include <map>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/ops/training/update_op.h"
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
  std::string_view optimizer;  // of graph/optimizers
  std::vector<std::string_view> slots;
  std::map<std::string_view, double> numbers;
  OptimizerArguments flags;
  std::function<void(Element& element, double gradient)> update;
  bool has_rows = true;

  int num_slots() const { return static_cast<int>(slots.size()); }
  // Adds the op for handles {variable, slots...}; of rows with valid indices.
  Operation build(const std::vector<Output>& handles, const Output& gradient,
                  const Output& indices) const {
    const auto number = [&](std::string_view argument) {
      return constant(numbers.at(argument), {.dtype = gradient.dtype()});
    };
    const auto defs = all_optimizer_defs();
    const OptimizerDef& def = **std::ranges::find(defs, optimizer, &OptimizerDef::name);
    const OpDef* const op = find_update_op(def, flags, indices.valid());
    if (op == nullptr) {
      return resource_scatter_add(handles[0], {-(number("lr") * gradient), indices});
    }
    return add_update_op(*op, flags, [&](std::string_view input) {
      if (input == "var") return handles[0];
      if (input == "grad") return gradient;
      if (input == "indices") return indices;
      const auto slot = std::ranges::find(slots, input);
      return slot == slots.end() ? number(input)
                                 : handles[static_cast<size_t>(slot - slots.begin()) + 1];
    });
  }
};

OptimizerArguments flag(const std::string& name, bool value) { return {.values = {{name, value}}}; }

std::vector<Rule> plain_rules() {
  const std::map<std::string_view, double> numbers = {{"lr", 0.1}, {"momentum", 0.75}};
  return {{"gradient_descent",
           "GradientDescent",
           {},
           numbers,
           {},
           [](Element& e, double g) { e.var -= 0.1 * g; }},
          {"momentum",
           "Momentum",
           {"accum"},
           numbers,
           flag("use_nesterov", false),
           [](Element& e, double g) {
             e.slots[0] = 0.75 * e.slots[0] + g;
             e.var -= 0.1 * e.slots[0];
           }},
          {"nesterov",
           "Momentum",
           {"accum"},
           numbers,
           flag("use_nesterov", true),
           [](Element& e, double g) {
             e.slots[0] = 0.75 * e.slots[0] + g;
             e.var -= 0.1 * (g + 0.75 * e.slots[0]);
           }},
          {"adagrad", "Adagrad", {"accum"}, numbers, {}, [](Element& e, double g) {
             e.slots[0] += g * g;
             e.var -= 0.1 * g / std::sqrt(e.slots[0]);
           }}};
}

void adam_rule(Element& e, double g, bool nesterov) {
  e.slots[0] += 0.5 * (g - e.slots[0]);
  e.slots[1] += 0.25 * (g * g - e.slots[1]);
  const double rate = 0.1 * std::sqrt(1 - 0.75) / (1 - 0.5);
  const double mean = nesterov ? 0.5 * e.slots[0] + 0.5 * g : e.slots[0];
  e.var -= rate * mean / (std::sqrt(e.slots[1]) + 0.01);
}

void adadelta_rule(Element& e, double g) {
  e.slots[0] += 0.25 * (g * g - e.slots[0]);
  const double update = g * std::sqrt((e.slots[1] + 0.125) / (e.slots[0] + 0.125));
  e.slots[1] += 0.25 * (update * update - e.slots[1]);
  e.var -= 0.5 * update;
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
  for (const bool nesterov : {false, true}) {
    result.push_back({nesterov ? "nesterov_adam" : "adam",
                      "Adam",
                      {"m", "v"},
                      {{"lr", 0.1},
                       {"beta1", 0.5},
                       {"beta2", 0.75},
                       {"beta1_power", 0.5},
                       {"beta2_power", 0.75},
                       {"epsilon", 0.01}},
                      flag("use_nesterov", nesterov),
                      [nesterov](Element& e, double g) { adam_rule(e, g, nesterov); },
                      /*has_rows=*/false});
  }
  result.push_back({"adadelta",
                    "Adadelta",
                    {"accum", "accum_update"},
                    {{"lr", 0.5}, {"rho", 0.75}, {"epsilon", 0.125}},
                    {},
                    adadelta_rule});
  result.push_back({"ftrl",
                    "Ftrl",
                    {"accum", "linear"},
                    {{"lr", 0.5}, {"l1", 0.75}, {"l2", 0.125}, {"lr_power", -0.5}},
                    {},
                    ftrl_rule});
  for (const bool centered : {false, true}) {
    std::vector<std::string_view> slots = {"ms", "mom"};
    if (centered) slots.push_back("mg");
    result.push_back({centered ? "centered_rms_prop" : "rms_prop",
                      "RMSProp",
                      slots,
                      {{"lr", 0.1}, {"rho", 0.75}, {"momentum", 0.5}, {"epsilon", 0.125}},
                      flag("centered", centered),
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
  for (int i = 0; i < rule.num_slots(); ++i) {
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
  for (int i = 0; i < rule.num_slots(); ++i) variables.emplace_back(Tensor::full(dtype, table, 1));
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
    const int64_t to = kRows[row];
    for (int64_t i = 0; to >= 0 && i < kWidth; ++i) {
      rule.update(elements[to * kWidth + i], g.as_double(row * kWidth + i));
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
