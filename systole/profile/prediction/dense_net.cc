#include "systole/profile/prediction/dense_net.h"

#include <algorithm>
#include <cmath>

#include "systole/hlo/ir/builder.h"
#include "systole/profile/prediction/measured_table.h"
#include "systole/profile/prediction/program_cost.h"

namespace systole::profile {
namespace {

using hlo::Opcode;
using hlo::Value;

constexpr DType kSmall = DType::bf16;  // of activations
constexpr DType kWide = DType::f32;    // of weights and their gradients

// Writes the program of a training step.
class DenseStep {
 public:
  explicit DenseStep(hlo::Module& module)
      : module_(module), main_(module.add_function("main")), b_(main_) {}

  void write(const DenseNet& net, int64_t rows);

 private:
  // A weight or a bias, with what RMSProp keeps of it.
  struct Variable {
    int parameter = 0;  // of the value; the others follow
    Value value;
    Value square;
    Value momentum;
  };
  struct Layer {
    Variable weights;
    Variable bias;
    Value operand;  // of the product
  };

  Value parameter(DType dtype, const Shape& shape) { return main_.add_parameter({dtype, shape}); }
  Variable variable(const Shape& shape);
  Value product(Value x, Value y, int64_t x_axis, int64_t y_axis);
  Value add_layer(Value x, int64_t units);
  Value gradient_of_loss(Value logits, Value labels);
  void add_gradients(Value gradient);
  void update(const Variable& variable, Value gradient);

  hlo::Module& module_;
  hlo::Computation& main_;
  hlo::Builder b_;
  std::vector<Layer> layers_;
  std::vector<Value> results_;
};

DenseStep::Variable DenseStep::variable(const Shape& shape) {
  Variable made{.parameter = main_.num_parameters()};
  for (Value* value : {&made.value, &made.square, &made.momentum}) *value = parameter(kWide, shape);
  return made;
}

Value DenseStep::product(Value x, Value y, int64_t x_axis, int64_t y_axis) {
  return b_.dot_general(
      x, y, {.lhs_contracting_dimensions = {x_axis}, .rhs_contracting_dimensions = {y_axis}});
}

// Returns the result of a layer without its activation.
Value DenseStep::add_layer(Value x, int64_t units) {
  const Layer& layer = layers_.emplace_back(
      Layer{.weights = variable({x.shape()[1], units}), .bias = variable({units}), .operand = x});
  const Value y = product(x, b_.convert(layer.weights.value, kSmall), 1, 0);
  return b_.add(y, b_.broadcast(b_.convert(layer.bias.value, kSmall), y.shape()));
}

// Returns the gradient of the cross entropy of softmax by the logits.
Value DenseStep::gradient_of_loss(Value logits, Value labels) {
  const Value x = b_.convert(logits, kWide);
  const auto along_rows = [&](Value rows) { return b_.broadcast_in_dim(rows, x.shape(), {0}); };
  const Value highest = b_.reduce(x, Opcode::maximum, {1});
  const Value exponents = b_.unary(Opcode::exponential, b_.subtract(x, along_rows(highest)));
  const Value sums = b_.reduce(exponents, Opcode::add, {1});
  return b_.convert(b_.subtract(b_.divide(exponents, along_rows(sums)), labels), kSmall);
}

// Sums the gradient over cores and writes the new values.
void DenseStep::update(const Variable& variable, Value gradient) {
  constexpr double kDecay = 0.9;
  constexpr double kRate = 0.01;
  constexpr double kEpsilon = 1e-10;
  const Value sum =
      b_.op_with_regions(
            Opcode::all_reduce, {gradient},
            hlo::CollectiveAttrs{.replica_groups = Tensor::zeros(DType::s64, {0, 0})},
            [](hlo::Instruction& x) { hlo::fill_reducer(x.add_region(), Opcode::add, kWide); })
          ->result();
  const auto scaled = [&](Value x, double factor) {
    return b_.multiply(x, b_.splat_like(x, factor));
  };
  const Value square =
      b_.add(scaled(variable.square, kDecay), scaled(b_.multiply(sum, sum), 1 - kDecay));
  const Value root = b_.unary(Opcode::rsqrt, b_.add(square, b_.splat_like(square, kEpsilon)));
  const Value momentum =
      b_.add(scaled(variable.momentum, kDecay), scaled(b_.multiply(sum, root), kRate));
  int parameter = variable.parameter;
  for (const Value updated : {b_.subtract(variable.value, momentum), square, momentum}) {
    module_.aliases.push_back(
        {.parameter = parameter++, .result = static_cast<int>(results_.size())});
    results_.push_back(updated);
  }
}

void DenseStep::add_gradients(Value gradient) {
  for (size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    const Value of_weights = product(layer.operand, gradient, 0, 0);
    const Value of_bias = b_.reduce(b_.convert(gradient, kWide), Opcode::add, {0});
    if (i > 0) {
      const Value of_operand = product(gradient, b_.convert(layer.weights.value, kSmall), 1, 1);
      const Value zero = b_.splat_like(of_operand, 0);
      gradient = b_.select(b_.compare(layer.operand, zero, hlo::ComparisonDirection::gt),
                           of_operand, zero);
    }
    update(layer.weights, b_.convert(of_weights, kWide));
    update(layer.bias, of_bias);
  }
}

void DenseStep::write(const DenseNet& net, int64_t rows) {
  Value x = parameter(kSmall, {rows, net.input});
  const Value labels = parameter(kWide, {rows, net.output});
  for (int64_t i = 0; i < net.hidden_layers; ++i) {
    const Value y = add_layer(x, net.nodes);
    x = b_.maximum(y, b_.splat_like(y, 0));
  }
  add_gradients(gradient_of_loss(add_layer(x, net.output), labels));
  main_.set_results(results_);
}

int64_t rows_of(const DenseNet& net, int cores) {
  return std::max<int64_t>((net.global_batch + cores - 1) / cores, 1);
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted.empty()
             ? 0
             : sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

std::vector<DenseNet> read_dense_nets(std::string_view text, const std::string& file) {
  MeasuredTable table(text, file, {"hidden_layers", "nodes", "input", "output", "global_batch"});
  std::vector<DenseNet> nets;
  while (table.next()) {
    DenseNet& net = nets.emplace_back();
    net.hidden_layers = table.count("hidden_layers");
    net.nodes = table.count("nodes");
    net.input = table.count("input");
    net.output = table.count("output");
    net.global_batch = table.count("global_batch");
    const std::string_view rate = table.field("steps_per_second");
    net.out_of_memory = rate == "OOM";
    if (!rate.empty() && !net.out_of_memory)
      net.steps_per_second = table.positive("steps_per_second", ", OOM or nothing");
  }
  return nets;
}

std::unique_ptr<hlo::Module> program_of(const DenseNet& net, int cores) {
  auto module = std::make_unique<hlo::Module>("dense_net");
  DenseStep(*module).write(net, rows_of(net, cores));
  return module;
}

StepCost cost_of(const DenseNet& net, const TpuSystem& system) {
  const int64_t rows = rows_of(net, system.cores);
  StepCost step = step_of(*program_of(net, system.cores), *system.generation);
  step.infeed_bytes =
      static_cast<double>(rows * (size_of(kSmall) * net.input + size_of(kWide) * net.output));
  return step;
}

bool is_of_training_half(const DenseNet& net) {
  // FNV-1a.
  uint32_t hash = 2166136261U;
  const std::string sizes = fmt::format("{}-{}-{}-{}-{}", net.hidden_layers, net.nodes, net.input,
                                        net.output, net.global_batch);
  for (const char c : sizes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 16 & 1) == 0;
}

PredictionErrors prediction_errors(std::span<const DenseNet> nets,
                                   std::span<const StepPrediction> predictions,
                                   bool of_training_half) {
  PredictionErrors result;
  std::vector<double> errors;
  for (size_t i = 0; i < nets.size(); ++i) {
    const DenseNet& net = nets[i];
    if (!net.is_measured() || is_of_training_half(net) != of_training_half) continue;
    ++result.memory_count;
    if (predictions[i].fits() == !net.out_of_memory) ++result.memory_right;
    if (net.steps_per_second)
      errors.push_back(std::abs(predictions[i].step_seconds * *net.steps_per_second - 1));
  }
  std::ranges::sort(errors);
  result.count = static_cast<int>(errors.size());
  result.median = at_share(errors, 0.5);
  result.percentile_90 = at_share(errors, 0.9);
  return result;
}

}  // namespace systole::profile
