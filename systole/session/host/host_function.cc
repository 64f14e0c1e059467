#include "systole/session/host/host_function.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/capture_scope.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/random_state.h"
#include "systole/session/host/captures.h"
#include "systole/session/host/compiled_part.h"
#include "systole/session/host/host_executor.h"
#include "systole/session/host/vectorize.h"

namespace systole {
namespace {

// A CompiledPart for each device program of the plan.
class Parts {
 public:
  Parts(const Graph& graph, const HostPlan& plan, uint64_t entropy) {
    for (const HostPlan::Step& step : plan.steps) {
      if (step.node != nullptr) continue;
      parts_.emplace(&step, std::make_unique<CompiledPart>(graph, step.fed, step.fetched,
                                                           step.targets, entropy));
    }
  }
  CompiledPart& of(const HostPlan::Step& step) const { return *parts_.at(&step); }

 private:
  std::map<const HostPlan::Step*, std::unique_ptr<CompiledPart>> parts_;
};

// Runs the parts of one call.
class PartRunner final : public DeviceRunner {
 public:
  PartRunner(const Parts& parts, const RandomDraw& draw) : parts_(parts), draw_(draw) {}
  void run(const HostPlan::Step& step, std::span<const Tensor* const> fed,
           std::span<Tensor> fetched) override {
    parts_.of(step).run(fed, fetched, draw_);
  }

 private:
  const Parts& parts_;
  const RandomDraw draw_;
};

Nest<TensorType> types_of(const std::vector<Output>& outputs) {
  std::vector<Nest<TensorType>> types;
  types.reserve(outputs.size());
  for (const Output& output : outputs) types.emplace_back(output.type());
  return Nest<TensorType>::tuple(std::move(types));
}

void check_outputs(const Graph& graph, const std::vector<Output>& outputs, std::string_view what) {
  for (const Output& output : outputs) {
    if (!output.valid()) throw invalid_argument("HostFunction: {}, got an empty handle", what);
    if (&output.graph() != &graph) {
      throw invalid_argument("HostFunction: {}, got '{}' of another graph ({})", what,
                             output.name(), output.node()->describe());
    }
  }
}

void check_no_variables(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "VarHandleOp") {
      throw unimplemented("HostFunction: variable, got {}, expected values of its arguments",
                          node->describe());
    }
  }
}

}  // namespace

struct HostFunction::Impl {
  std::shared_ptr<Graph> graph;
  std::vector<Output> args;
  std::vector<Output> results;
  std::vector<Output> captures;
  Nest<TensorType> spec;
  Nest<TensorType> result_spec;
  uint64_t entropy;
  std::unique_ptr<HostPlan> plan;
  std::unique_ptr<Parts> parts;
  bool random = false;
  mutable HostContextState state;
  mutable std::atomic<uint64_t> calls{0};
  mutable std::once_flag vectorized_once;
  mutable std::optional<HostFunction> vectorized;
};

std::shared_ptr<const HostFunction::Impl> HostFunction::make(
    std::shared_ptr<Graph> graph, std::vector<Output> args, std::vector<Output> results,
    Nest<TensorType> spec, Nest<TensorType> result_spec, uint64_t entropy,
    std::vector<Output> captures) {
  check_outputs(*graph, args, "argument");
  check_outputs(*graph, results, "result");
  auto impl = std::make_shared<Impl>();
  impl->graph = std::move(graph);
  impl->args = std::move(args);
  impl->results = std::move(results);
  impl->captures = std::move(captures);
  impl->spec = std::move(spec);
  impl->result_spec = std::move(result_spec);
  impl->entropy = entropy;
  std::vector<FetchKey> fetches;
  for (const Output& result : impl->results) fetches.push_back({result.node(), result.index()});
  impl->plan = plan_host_ops(fetches, impl->args, true);
  impl->parts = std::make_unique<Parts>(*impl->graph, *impl->plan, entropy);
  impl->random = std::ranges::any_of(impl->graph->nodes(),
                                     [](const auto& node) { return systole::is_random(*node); });
  return impl;
}

HostFunction::HostFunction(std::shared_ptr<Graph> graph, std::vector<Output> args,
                           std::vector<Output> results, const HostFunctionOptions& options) {
  Nest<TensorType> spec = types_of(args);
  Nest<TensorType> result_spec = types_of(results);
  impl_ = make(std::move(graph), std::move(args), std::move(results), std::move(spec),
               std::move(result_spec), options.entropy);
}

HostFunction HostFunction::trace(const Nest<TensorType>& spec, const Traced& fn,
                                 const HostFunctionOptions& options) {
  auto graph = std::make_shared<Graph>();
  graph->set_seed(Graph::current().seed());
  Captures captures(*graph, Graph::current(), options.takes_values);
  const GraphScope scope(*graph);
  const CaptureScope capture(*graph, [&](const Output& value) { return captures.capture(value); });
  const Nest<Output> arguments =
      spec.map([](const TensorType& type) { return placeholder(type.dtype, type.shape, "arg"); });
  const Nest<Output> results = fn(arguments).map(
      [&](const Output& output) { return output.valid() ? graph->capture(output) : output; });
  check_outputs(*graph, results.flatten(), "result");
  check_no_variables(*graph);
  auto result_spec = results.map([](const Output& output) { return output.type(); });
  std::vector<Output> all = arguments.flatten();
  all.insert(all.end(), captures.arguments().begin(), captures.arguments().end());
  return HostFunction(make(graph, std::move(all), results.flatten(), spec, std::move(result_spec),
                           options.entropy, captures.values()));
}

std::vector<Tensor> HostFunction::operator()(std::span<const Tensor> arguments) const {
  return run(arguments,
             {.number = impl_->random ? impl_->calls.fetch_add(1, std::memory_order_relaxed) : 0});
}

std::vector<Tensor> HostFunction::run(std::span<const Tensor> arguments,
                                      const RandomDraw& draw) const {
  std::vector<Tensor> results(impl_->results.size());
  run_into(arguments, draw, results);
  return results;
}

void HostFunction::run_into(std::span<const Tensor> arguments, const RandomDraw& draw,
                            std::span<Tensor> results) const {
  if (arguments.size() != impl_->args.size()) {
    throw invalid_argument("HostFunction: number of arguments, got {}, expected {}",
                           arguments.size(), impl_->args.size());
  }
  std::vector<const Tensor*> feeds;
  feeds.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorType& wanted = impl_->args[i].type();
    if (arguments[i].dtype() != wanted.dtype ||
        !arguments[i].shape().compatible_with(wanted.shape)) {
      throw invalid_argument("HostFunction: argument {}, got {}, expected {}", i,
                             arguments[i].type(), wanted);
    }
    feeds.push_back(&arguments[i]);
  }
  static const HostEnvironment environment;
  PartRunner runner(*impl_->parts, draw);
  run_host_plan(*impl_->plan, feeds, environment, impl_->state, runner, results);
}

const Graph& HostFunction::graph() const { return *impl_->graph; }
std::span<const Output> HostFunction::arguments() const { return impl_->args; }
std::span<const Output> HostFunction::results() const { return impl_->results; }
std::span<const Output> HostFunction::captures() const { return impl_->captures; }
const Nest<TensorType>& HostFunction::argument_spec() const { return impl_->spec; }
const Nest<TensorType>& HostFunction::result_spec() const { return impl_->result_spec; }
bool HostFunction::is_random() const { return impl_->random; }

std::optional<HostFunction> HostFunction::vectorized() const {
  const Impl& impl = *impl_;
  std::call_once(impl.vectorized_once, [&] {
    auto batched = vectorize(impl.args, impl.results, impl.captures.size());
    if (!batched) return;
    const auto with_batch = [](const TensorType& type) {
      Dims dims{kUnknown};
      dims.insert(dims.end(), type.shape.begin(), type.shape.end());
      return TensorType{type.dtype, Shape(std::move(dims))};
    };
    impl.vectorized = HostFunction(make(batched->graph, batched->args, batched->results,
                                        impl.spec.map(with_batch), impl.result_spec.map(with_batch),
                                        impl.entropy, impl.captures));
  });
  return impl.vectorized;
}

}  // namespace systole
