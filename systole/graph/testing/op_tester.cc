#include "systole/graph/testing/op_tester.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/base/random.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"

namespace systole::graph_testing {
namespace {

bool contains(const std::vector<int>& list, size_t i) {
  return std::ranges::find(list, static_cast<int>(i)) != list.end();
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return std::ldexp(1.0, -8);
    case DType::f16:
      return std::ldexp(1.0, -11);
    case DType::f32:
      return std::ldexp(1.0, -24);
    default:
      return std::ldexp(1.0, -53);
  }
}

std::vector<Tensor> floats_as(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> result = tensors;
  for (Tensor& tensor : result) {
    if (is_floating(tensor.dtype())) tensor = tensor.cast(dtype);
  }
  return result;
}

// A graph of its own with a case's op on placeholders.
struct BuiltOp {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Output> inputs;
  std::vector<Output> outputs;
  std::vector<Output> gradients;  // for each input, when asked for; invalid where there is none

  FeedList feeds(const std::vector<Tensor>& values) const {
    FeedList result;
    for (size_t i = 0; i < inputs.size(); ++i) result.emplace_back(inputs[i], values[i]);
    return result;
  }
};

BuiltOp build(const BuildFn& function, const std::vector<Tensor>& inputs,
              const std::function<Shape(size_t)>& shape_of) {
  BuiltOp built;
  const GraphScope scope(*built.graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    built.inputs.push_back(placeholder(inputs[i].dtype(), shape_of(i), fmt::format("x{}", i)));
  }
  built.outputs = function(built.inputs);
  return built;
}

BuiltOp build_static(const BuildFn& function, const std::vector<Tensor>& inputs) {
  return build(function, inputs, [&](size_t i) { return inputs[i].shape(); });
}

BuiltOp build_unknown(const OpCase& op_case, const std::vector<Tensor>& inputs) {
  return build(op_case.build, inputs, [&](size_t i) {
    Shape shape = inputs[i].shape();
    if (shape.rank() > 0 && !contains(op_case.known_inputs, i)) shape.set_dim(0, kUnknown);
    return shape;
  });
}

// Weights of the outputs' elements, so that one number is differentiated.
std::vector<Tensor> weights_for(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    result.push_back(random_tensor(outputs[i].shape(), 0.5, 1.5, outputs[i].dtype(), 77 + i));
  }
  return result;
}

double weighted_sum(const std::vector<Tensor>& values, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (int64_t k = 0; k < values[i].num_elements(); ++k) {
      sum += values[i].as_double(k) * weights[i].as_double(k);
    }
  }
  return sum;
}

void add_gradients(BuiltOp& built, const std::vector<Tensor>& weights) {
  const GraphScope scope(*built.graph);
  GradientsOptions options;
  for (const Tensor& weight : weights) options.grad_ys.push_back(constant(weight));
  std::vector<Output> xs;
  for (const Output& x : built.inputs) xs.push_back(x);
  built.gradients = gradients(built.outputs, xs, options);
}

// A function of f64 tensors to f64 tensors, specialised once.
class Program {
 public:
  Program(const BuiltOp& built, std::vector<Output> fetches, const std::vector<Tensor>& inputs,
          const Executor& executor)
      : num_fetches_(fetches.size()) {
    std::vector<Feed> feeds;
    for (size_t i = 0; i < inputs.size(); ++i) feeds.push_back({built.inputs[i], inputs[i].type()});
    program_ = specialize(*built.graph, fetches, {}, feeds);
    run_ = executor(*program_.module);
  }

  std::vector<Tensor> operator()(std::vector<Tensor> inputs) const {
    if (!program_.random_nodes.empty()) {  // the same numbers every time
      const auto size = static_cast<int64_t>(1 + program_.random_nodes.size());
      inputs.push_back(Tensor::zeros(DType::u64, {size}));
    }
    std::vector<Tensor> results = run_(inputs);
    results.resize(num_fetches_);
    return results;
  }

 private:
  size_t num_fetches_;
  SpecializedProgram program_;
  Runner run_;
};

// d(weighted sum of the program's results)/d(input i), by central differences.
Tensor numeric_gradient(const Program& program, const std::vector<Tensor>& inputs, size_t i,
                        const std::vector<Tensor>& weights, double step) {
  std::vector<Tensor> moved = inputs;
  moved[i] = inputs[i].clone();
  Tensor result(DType::f64, inputs[i].shape());
  for (size_t k = 0; k < static_cast<size_t>(inputs[i].num_elements()); ++k) {
    const double x = inputs[i].data<double>()[k];
    moved[i].data<double>()[k] = x + step;
    const double above = weighted_sum(program(moved), weights);
    moved[i].data<double>()[k] = x - step;
    const double below = weighted_sum(program(moved), weights);
    moved[i].data<double>()[k] = x;
    result.data<double>()[k] = (above - below) / (2 * step);
  }
  return result;
}

// The values of all gradients, from one program; invalid where there is none.
std::vector<Tensor> gradient_values(const BuiltOp& built, const std::vector<Tensor>& inputs,
                                    const Executor& executor) {
  std::vector<Output> fetches;
  for (const Output& gradient : built.gradients) {
    if (gradient.valid()) fetches.push_back(gradient);
  }
  std::vector<Tensor> result(built.gradients.size());
  if (fetches.empty()) return result;
  std::vector<Tensor> values = Program(built, fetches, inputs, executor)(inputs);
  for (size_t i = 0, next = 0; i < result.size(); ++i) {
    if (built.gradients[i].valid()) result[i] = std::move(values[next++]);
  }
  return result;
}

// The outputs through which gradients flow, alone.
BuildFn floating_outputs(const BuildFn& function) {
  return [&function](const std::vector<Output>& inputs) {
    std::vector<Output> result;
    for (const Output& output : function(inputs)) {
      if (is_floating(output.dtype())) result.push_back(output);
    }
    return Outputs(std::move(result));
  };
}

// The gradients of a function of floating outputs, where there are any.
BuildFn gradients_of(const BuildFn& function) {
  return [&function](const std::vector<Output>& xs) {
    std::vector<Output> wanted;
    const Outputs outputs = function(xs);
    for (const Output& gradient : gradients(outputs, xs)) {
      if (gradient.valid()) wanted.push_back(gradient);
    }
    return Outputs(std::move(wanted));
  };
}

void check_gradient_of(const OpCase& op_case, const BuildFn& function,
                       const std::vector<Tensor>& inputs, const Executor& executor) {
  BuiltOp built = build_static(function, inputs);
  const Program value(built, built.outputs, inputs, executor);
  const std::vector<Tensor> weights = weights_for(value(inputs));
  add_gradients(built, weights);
  const std::vector<Tensor> got = gradient_values(built, inputs, executor);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    SCOPED_TRACE(fmt::format("gradient for input {}", i));
    const bool wanted = !contains(op_case.no_gradient, i);
    EXPECT_EQ(built.gradients[i].valid(), wanted);
    if (!wanted || !built.gradients[i].valid()) continue;
    const Tensor want = numeric_gradient(value, inputs, i, weights, op_case.step);
    expect_close(got[i], want, op_case.gradient_tolerance);
  }
}

void check_gradient(const OpCase& op_case, const Executor& executor) {
  const std::vector<Tensor> inputs = floats_as(op_case.inputs, DType::f64);
  const BuildFn function = floating_outputs(op_case.build);
  check_gradient_of(op_case, function, inputs, executor);
  if (!op_case.second_order) return;
  SCOPED_TRACE("second order");
  check_gradient_of(op_case, gradients_of(function), inputs, executor);
}

void expect_identical(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].valid(), want[i].valid());
    if (!want[i].valid()) continue;
    EXPECT_TRUE(got[i].identical(want[i])) << got[i].to_string() << "\nexpected\n"
                                           << want[i].to_string();
  }
}

void check_unknown_batch(const OpCase& op_case, const Executor& executor) {
  SCOPED_TRACE("unknown first dimensions");
  const std::vector<Tensor> inputs =
      op_case.gradient ? floats_as(op_case.inputs, DType::f64) : op_case.inputs;
  BuiltOp known = build_static(op_case.build, inputs);
  BuiltOp unknown = build_unknown(op_case, inputs);
  const std::vector<Tensor> values = Program(known, known.outputs, inputs, executor)(inputs);
  expect_identical(Program(unknown, unknown.outputs, inputs, executor)(inputs), values);
  if (!op_case.gradient) return;
  const BuildFn function = floating_outputs(op_case.build);
  known = build_static(function, inputs);
  const std::vector<Tensor> weights =
      weights_for(Program(known, known.outputs, inputs, executor)(inputs));
  OpCase floating_case = op_case;
  floating_case.build = function;
  unknown = build_unknown(floating_case, inputs);
  add_gradients(known, weights);
  add_gradients(unknown, weights);
  expect_identical(gradient_values(unknown, inputs, executor),
                   gradient_values(known, inputs, executor));
}

void expect_all_close(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                      double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (!want[i].valid()) continue;
    SCOPED_TRACE(fmt::format("output {}", i));
    expect_close(got[i], want[i], tolerance);
  }
}

std::vector<Tensor> values_of(const BuildFn& function, const std::vector<Tensor>& inputs,
                              const Executor& executor) {
  const BuiltOp built = build_static(function, inputs);
  return Program(built, built.outputs, inputs, executor)(inputs);
}

void check_value(const OpCase& op_case, const Executor& executor) {
  const std::vector<Tensor> got = values_of(op_case.build, op_case.inputs, executor);
  if (!op_case.expected.empty()) expect_all_close(got, op_case.expected, op_case.tolerance);
  if (op_case.reference) {
    expect_all_close(got, values_of(op_case.reference, op_case.inputs, executor),
                     op_case.tolerance);
  }
  if (op_case.compute) expect_all_close(got, op_case.compute(op_case.inputs), op_case.tolerance);
}

// The same values from inputs rounded to each dtype, computed in that dtype and in f64.
void check_dtypes(const OpCase& op_case, const Executor& executor) {
  if (op_case.dtypes.empty()) return;
  const std::vector<Tensor> wide = floats_as(op_case.inputs, DType::f64);
  const BuiltOp built = build_static(op_case.build, wide);
  const Program in_f64(built, built.outputs, wide, executor);
  for (const DType dtype : op_case.dtypes) {
    SCOPED_TRACE(to_string(dtype));
    const std::vector<Tensor> inputs = floats_as(op_case.inputs, dtype);
    const std::vector<Tensor> got = values_of(op_case.build, inputs, executor);
    expect_all_close(floats_as(got, DType::f64), in_f64(floats_as(inputs, DType::f64)),
                     op_case.ulps * epsilon_of(dtype));
  }
}

void check_error(const OpCase& op_case, const Executor& executor) {
  const std::string got = error_of([&] {
    const BuiltOp built = build_static(op_case.build, op_case.inputs);
    const Program program(built, built.outputs, op_case.inputs, executor);
  });
  EXPECT_NE(got.find(op_case.error), std::string::npos)
      << "got: " << got << "\nexpected: " << op_case.error;
}

}  // namespace

void expect_close(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(got.type(), want.type());
  const bool exact = !is_floating(got.dtype()) && !is_complex(got.dtype());
  for (int64_t k = 0; k < got.num_elements(); ++k) {
    const double a = got.as_double(k);
    const double b = want.as_double(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double limit = exact ? 0 : tolerance * std::max(1.0, std::abs(b));
    if (std::abs(a - b) <= limit) continue;  // false for NaN
    ADD_FAILURE() << fmt::format("element {}: got {}, expected {} +- {}\ngot {}\nexpected {}", k, a,
                                 b, limit, got.to_string(), want.to_string());
    return;
  }
}

Tensor random_tensor(const Shape& shape, double low, double high, DType dtype, uint64_t seed) {
  RandomStream stream(seed, static_cast<uint64_t>(shape.num_elements()));
  Tensor result(DType::f64, shape);
  for (double& element : result.data<double>())
    element = low + (high - low) * stream.next_uniform();
  return result.cast(dtype);
}

Shape random_shape(uint64_t seed) {
  constexpr double kLargest[] = {64, 8, 4};  // by rank
  RandomStream stream(seed, 0);
  const auto rank = static_cast<size_t>(1 + 3 * stream.next_uniform());
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    dims.push_back(static_cast<int64_t>(1 + kLargest[rank - 1] * stream.next_uniform()));
  }
  return Shape(std::move(dims));
}

CaseGraph graph_of(const OpCase& op_case) {
  const std::vector<Tensor> inputs =
      op_case.gradient ? floats_as(op_case.inputs, DType::f64) : op_case.inputs;
  const BuildFn first = floating_outputs(op_case.build);
  const BuildFn second = gradients_of(first);
  const BuiltOp built = build_static(
      [&](const std::vector<Output>& xs) {
        Outputs outputs = op_case.build(xs);
        if (op_case.gradient) outputs = gradients_of(first)(xs);
        if (op_case.gradient && op_case.second_order) outputs = gradients_of(second)(xs);
        return outputs;
      },
      inputs);
  return {built.graph, built.feeds(inputs)};
}

OpCase squared(OpCase op_case) {
  op_case.name += "_squared";
  op_case.build = [build = op_case.build](const std::vector<Output>& inputs) {
    Outputs outputs = build(inputs);
    for (Output& output : outputs) {
      if (is_floating(output.dtype())) output = square(output);
    }
    return outputs;
  };
  op_case.expected.clear();
  op_case.reference = nullptr;
  op_case.compute = nullptr;
  op_case.dtypes.clear();
  op_case.second_order = true;
  return op_case;
}

std::vector<OpCase> with_squares(std::vector<OpCase> cases) {
  std::vector<OpCase> result;
  for (OpCase& row : cases) {
    if (std::exchange(row.second_order, false)) result.push_back(squared(row));
    result.push_back(std::move(row));
  }
  return result;
}

std::string op_case_name(const ::testing::TestParamInfo<OpCase>& info) { return info.param.name; }

void check_op(const OpCase& op_case, const Executor& executor) {
  SCOPED_TRACE(op_case.name);
  if (!op_case.error.empty()) return check_error(op_case, executor);
  try {
    check_value(op_case, executor);
    check_dtypes(op_case, executor);
    if (op_case.gradient) check_gradient(op_case, executor);
    if (op_case.unknown_batch) check_unknown_batch(op_case, executor);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

void check_ops(const std::vector<OpCase>& op_cases) {
  for (const OpCase& op_case : op_cases) check_op(op_case);
}

}  // namespace systole::graph_testing
