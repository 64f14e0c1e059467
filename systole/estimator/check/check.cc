#include "systole/estimator/check/check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "systole/base/counted.h"
#include "systole/base/log.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/plan.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/tpu_generation.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/runtime/tpu_tiles.h"
#include "systole/tpu_check/compile.h"
#include "systole/train/losses/losses.h"

namespace systole::estimator {
namespace {

// The dtypes of a TPU.
bool supported(DType dtype) {
  switch (dtype) {
    case DType::pred:
    case DType::s8:
    case DType::s32:
    case DType::u8:
    case DType::u32:
    case DType::bf16:
    case DType::f32:
    case DType::c64:
    case DType::resource:
      return true;
    default:
      return false;
  }
}

// Returns all ancestors of `roots`, in the order of the graph.
std::vector<const Node*> needed(std::vector<const Node*> roots) {
  const std::unordered_set<const Node*> found = ancestors(std::move(roots));
  std::vector<const Node*> nodes(found.begin(), found.end());
  std::ranges::sort(nodes, {}, &Node::id);
  return nodes;
}

std::vector<const Node*> roots_of(const Model& model) {
  std::vector<const Node*> roots;
  if (model.spec.train_op.valid()) roots.push_back(model.spec.train_op.node());
  if (model.spec.loss.valid()) roots.push_back(model.spec.loss.node());
  for (const auto& [name, metric] : model.metrics) roots.push_back(metric.update_op.node());
  for (const Output& output : model.spec.predictions.flatten()) roots.push_back(output.node());
  return roots;
}

// 64-bit integers are accepted: the global step is s64 in checkpoints.
bool refused(DType dtype) {
  return !supported(dtype) && dtype != DType::s64 && dtype != DType::u64;
}

std::optional<DType> refused_dtype(const Node& node) {
  for (const TensorType& type : node.output_types()) {
    if (refused(type.dtype)) return type.dtype;
  }
  return std::nullopt;
}

std::string dtype_fix(DType dtype, const InputAdvice& advice, std::string_view where) {
  return dtype == DType::string
             ? std::string(advice.text)
             : fmt::format("cast it to {}{}", is_floating(dtype) ? "float32" : "int32", where);
}

// Reports the origins of refused dtypes only: fixing an origin fixes what is computed from it.
void check_dtypes(const CheckedStep& step, std::vector<Violation>& found) {
  std::set<DType> known;
  for (const Feed& input : step.inputs) {
    const DType dtype = input.type.dtype;
    if (!refused(dtype)) continue;
    known.insert(dtype);
    found.push_back({.what = fmt::format("input '{}' is {}, which a TPU does not support",
                                         input.output.name(), dtype_info(dtype).tf_name),
                     .fix = dtype_fix(dtype, step.advice, step.advice.where)});
  }
  const auto is_input = [&](const Node& node) {
    return std::ranges::any_of(step.inputs,
                               [&](const Feed& input) { return input.output.node() == &node; });
  };
  // Constants and gradients take their dtypes from other nodes: report them only if nothing else of
  // that dtype is reported.
  for (const bool derived : {false, true}) {
    const std::set<DType> before = known;
    for (const Node* node : step.nodes) {
      const std::optional<DType> dtype = refused_dtype(*node);
      if (!dtype || is_input(*node) || (derived && before.contains(*dtype))) continue;
      const bool is_derived = node->op_name() == "Const" ||
                              ("/" + node->name()).find("/gradients/") != std::string::npos;
      const bool takes_it = std::ranges::any_of(
          node->inputs(), [&](const Output& input) { return input.dtype() == *dtype; });
      if (is_derived != derived || takes_it) continue;
      known.insert(*dtype);
      found.push_back({.what = fmt::format("dtype {} of {} is not supported on a TPU",
                                           dtype_info(*dtype).tf_name, node->describe()),
                       .fix = dtype_fix(*dtype, step.advice, "")});
    }
  }
}

void check_op(const Node& node, std::vector<Violation>& found) {
  if (node.op().lower || node.op_name() == "Placeholder" || node.op_name() == "VarHandleOp") return;
  found.push_back(
      {.what = fmt::format("{} ({}) runs on the host only", node.describe(), node.op_name()),
       .fix = "move it to the input_fn, or to a host_call"});
}

void check_inputs(const CheckedStep& step, std::vector<Violation>& found) {
  for (const Feed& input : step.inputs) {
    if (!input.type.is_static()) {
      found.push_back({.what = fmt::format("input '{}' has the unknown shape {}",
                                           input.output.name(), input.type),
                       .fix = std::string(step.advice.shape)});
    }
    if (input.type.dtype == DType::s64) {
      found.push_back({.what = fmt::format("input '{}' is int64; a TPU narrows it to int32",
                                           input.output.name()),
                       .fix = fmt::format("cast it{}", step.advice.where),
                       .note = true});
    }
  }
}

void check_optimizer(const CheckedStep& step, const CheckOptions& options,
                     std::vector<Violation>& found) {
  if (!step.trains) return;
  if (std::max(options.replicas, options.reference_replicas) == 1) return;
  for (const Node* node : step.nodes) {
    if (node->op_name() == "CrossReplicaSum" || node->op_name() == "AllGather") return;
  }
  found.push_back({.what = "CrossShardOptimizer must be used for model training on TPUs.",
                   .fix = "wrap the optimizer: CrossShardOptimizer(optimizer)"});
}

// The loop of steps updates variables in place, also in a program with checks.
void update_in_place(SpecializedProgram& program, int64_t num_fetches) {
  if (program.checks.empty()) return;
  const std::vector<bool>& read = program.variable_read;
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const int variable = program.updated[i];
    if (!read[static_cast<size_t>(variable)]) continue;
    const auto parameter = std::count(read.begin(), read.begin() + variable, true);
    program.module->aliases.push_back(
        {static_cast<int>(parameter), static_cast<int>(num_fetches + static_cast<int64_t>(i))});
  }
}

// What is in a core throughout a step.
MemoryReport state_of(const CheckedStep& step) {
  constexpr size_t kShown = 10;
  MemoryReport report;
  const auto add = [&](std::string what, const TensorType& type, int64_t& sum) {
    if (!type.is_static()) {
      report.complete = false;
      return;
    }
    report.largest.push_back({.what = std::move(what),
                              .type = type,
                              .bytes = type.shape.num_elements() * dtype_info(type.dtype).size,
                              .padded_bytes = runtime::padded_bytes(type)});
    sum += report.largest.back().padded_bytes;
  };
  for (const auto key : {graph_keys::global_variables, graph_keys::local_variables}) {
    for (const Variable& variable : step.graph->collection<Variable>(key))
      add(fmt::format("variable '{}'", variable.name()), variable.value().type(), report.variables);
  }
  for (const Feed& input : step.inputs)
    add(fmt::format("input '{}'", input.output.node()->name()), input.type, report.inputs);
  std::ranges::stable_sort(report.largest, std::greater(), &TensorMemory::padded_bytes);
  if (report.largest.size() > kShown) report.largest.resize(kShown);
  return report;
}

// A training step, or what an evaluation or prediction computes of a batch.
StepProgram step_program(const CheckedStep& step, std::vector<Violation>& found) {
  StepProgram made;
  for (const Feed& input : step.inputs) {
    if (!input.type.is_static()) return made;
    made.input_bytes += input.type.byte_size();
    if (made.batch_size == 0 && input.type.shape.rank() > 0) made.batch_size = input.type.shape[0];
  }
  for (const Variable& variable :
       step.graph->collection<Variable>(graph_keys::trainable_variables)) {
    if (variable.type().is_static()) made.gradient_bytes += variable.type().byte_size();
    ++made.gradients;
  }
  try {
    SpecializedProgram program =
        specialize(*step.graph, step.fetches, step.targets, step.inputs, nullptr, step.replicas);
    update_in_place(program, std::ssize(step.fetches));
    made.module = std::move(program.module);
  } catch (const Error& error) {
    // Other violations tell what is wrong.
    const bool told = !std::ranges::all_of(found, &Violation::note);
    if (!told) found.push_back({.what = error.message(), .fix = "without it there is no program"});
  }
  return made;
}

// The train_op, the loss and the predictions; metrics are only checked.
CheckedStep step_of(const Model& model) {
  CheckedStep step{
      .graph = model.graph.get(),
      .nodes = needed(roots_of(model)),
      .fetches = model.spec.predictions.flatten(),
      .trains = model.spec.train_op.valid(),
      .advice = {.shape = "give it a known one in the input_fn: batch(batch_size, drop_remainder = "
                          "true), or set_shape()",
                 .text = "parse and decode in the input_fn",
                 .where = " in the input_fn"}};
  for (const Output& input : model.inputs)
    step.inputs.push_back({.output = input, .type = input.type()});
  if (step.trains) step.targets.push_back(model.spec.train_op.node());
  if (model.spec.loss.valid()) step.fetches.push_back(model.spec.loss);
  return step;
}

}  // namespace

CheckReport check_step(const CheckedStep& step, const CheckOptions& options) {
  CheckReport report;
  std::vector<Violation>& found = report.violations;
  check_inputs(step, found);
  for (const Node* node : step.nodes) check_op(*node, found);
  check_dtypes(step, found);
  check_optimizer(step, options, found);
  report.memory = state_of(step);
  report.step = step_program(step, found);
  report.fit_into({.limit = options.core_memory > 0
                                ? options.core_memory
                                : runtime::find_tpu_generation("v2")->memory_bytes});
  return report;
}

CheckReport check_model(const Model& model, const CheckOptions& options) {
  return check_step(step_of(model), options);
}

void ask_compiler(const TPUCheckOptions& options, CheckReport& report) {
  if (options.compile.empty()) return;
  report.compile({.system = options.compile,
                  .library = options.tpu_library,
                  .low_effort = options.low_effort,
                  .max_seconds = options.max_seconds,
                  .save = options.save});
}

void enforce(const CheckReport& report, Check check) {
  if (check == Check::off) return;
  std::string all;
  int count = 0;
  for (const Violation& violation : report.violations) {
    const std::string line = fmt::format("{}; {}", violation.what, violation.fix);
    if (violation.note || check == Check::warn) {
      log_warning("check: {}", line);
      continue;
    }
    all += fmt::format("\n  {}. {}", ++count, line);
  }
  if (count == 0) return;
  throw invalid_argument("model_fn: {} a TPU would refuse, expected none{}",
                         counted(count, "thing"), all);
}

}  // namespace systole::estimator
