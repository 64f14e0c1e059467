#include "systole/session/step_module.h"

#include <algorithm>
#include <map>

#include "systole/hlo/passes/replica_streams.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/session/replica_reductions.h"

namespace systole {
namespace {

using hlo::Builder;
using hlo::Computation;
using hlo::Opcode;
using hlo::Value;

SpecializedProgram specialize_step(const Graph& graph, const StepLoopOptions& options) {
  std::vector<Node*> targets;
  for (const Operation& target : options.targets) targets.push_back(target.node());
  std::vector<Feed> feeds;
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    feeds.push_back({options.inputs[i], options.input_types[i]});
  }
  SpecializedProgram step =
      specialize(graph, options.fetches, targets, feeds, nullptr, options.all_replicas());
  if (options.all_replicas() > 1) hlo::ReplicaStreams().run(*step.module);
  return step;
}

// Builds the loop around one step.
class LoopWriter {
 public:
  LoopWriter(const Graph& graph, const StepLoopOptions& options, UpdatesGo updates)
      : options_(options),
        updates_(updates),
        step_(specialize_step(graph, options)),
        one_(step_.module->entry()) {
    module_ = std::make_unique<hlo::Module>("steps");
    for (const auto& function : step_.module->functions()) {
      if (function.get() == &one_) continue;
      hlo::ValueMap none;
      module_->add_function(function->name()).clone_from(*function, none);
    }
    main_ = &module_->add_function("main");
    find_varying();
  }

  StepModule write() {
    add_parameters();
    return updates_ == UpdatesGo::aside ? write_one_step() : write_loop();
  }

 private:
  StepModule write_loop() {
    Builder b(*main_);
    std::vector<Value> initial{first_};
    for (size_t u = 0; u < num_updated(); ++u) initial.push_back(initial_value(b, u));
    for (const Value& fetch : fetches()) initial.push_back(b.splat(kept_type(fetch.type()), 0));
    for (size_t i = 0; i < step_.checks.size(); ++i) initial.push_back(b.scalar(DType::pred, 0));
    b.set_metadata({.name = std::string(hlo::kStepLoop)});
    hlo::Instruction* const loop =
        b.op_with_regions(Opcode::while_, initial, hlo::NoAttrs{}, [&](hlo::Instruction& op) {
          write_condition(op.add_region(), initial);
          Computation& body = op.add_region();
          body.set_results(add_step(body, add_carried(body, initial)));
        });
    std::vector<Value> last;
    last.reserve(static_cast<size_t>(loop->num_results()));
    for (int i = 0; i < loop->num_results(); ++i) last.push_back(loop->result(i));
    return finish(last);
  }

  // No loop: each update is computed in its destination. A loop would hoist and copy updates that
  // do not read the carried memory.
  StepModule write_one_step() {
    Builder b(*main_);
    std::vector<Value> before{first_};
    for (size_t u = 0; u < num_updated(); ++u) before.push_back(initial_value(b, u));
    before.resize(first_check() + step_.checks.size());
    for (size_t c = first_check(); c < before.size(); ++c) before[c] = b.scalar(DType::pred, 0);
    return finish(add_step(*main_, before));
  }

  std::span<const Value> fetches() const { return one_.results().first(options_.fetches.size()); }
  size_t num_updated() const { return step_.updated.size(); }
  size_t first_fetch() const { return 1 + num_updated(); }
  size_t first_check() const { return first_fetch() + options_.fetches.size(); }
  int num_read() const { return static_cast<int>(std::ranges::count(step_.variable_read, true)); }

  // Finds the results of a step that differ between replicas, given equal variables.
  void find_varying() {
    if (options_.all_replicas() == 1) {
      varying_.assign(one_.results().size(), false);
      return;
    }
    std::vector<bool> replicated(static_cast<size_t>(one_.num_parameters()), true);
    for (size_t i = 0; i < options_.inputs.size(); ++i) {
      replicated[static_cast<size_t>(num_read()) + i] = false;
    }
    varying_ = hlo::varying_results(*step_.module, {.num_replicas = options_.all_replicas(),
                                                    .replicated_parameters = replicated});
  }

  Value add_parameter(const TensorType& type, const hlo::Metadata& metadata, bool replicated) {
    result_.replicated_parameters.push_back(replicated);
    return main_->add_parameter(type, metadata);
  }

  void add_parameters() {
    int p = 0;
    for (size_t v = 0; v < step_.variables.size(); ++v) {
      if (!step_.variable_read[v]) continue;
      const Value old = one_.parameter(p++);
      variables_[step_.variables[v]] = add_parameter(old.type(), old.def->metadata(), true);
      result_.variables.push_back(step_.variables[v]);
    }
    for (size_t i = 0; i < options_.inputs.size(); ++i) {
      const Value old = one_.parameter(p++);
      Dims dims = old.shape().dims();
      dims.insert(dims.begin(), options_.max_steps);
      stacks_.push_back(add_parameter({old.dtype(), Shape(dims)}, old.def->metadata(), false));
    }
    if (!step_.random_nodes.empty()) {
      const Value old = one_.parameter(p++);
      random_state_ = add_parameter(old.type(), old.def->metadata(), true);
    }
    first_ = add_parameter({DType::s32, {}}, {"first", {}}, true);
    steps_ = add_parameter({DType::s32, {}}, {"steps", {}}, true);
    if (updates_ == UpdatesGo::in_place) return;
    for (size_t u = 0; u < num_updated(); ++u) {
      if (in_place(u)) aside_[u] = add_parameter(variable_of(u).type(), {"aside", {}}, true);
    }
  }

  // A loop with checks must not change variables if it fails.
  bool in_place(size_t u) const {
    return step_.checks.empty() && step_.variable_read[step_.updated[u]];
  }
  // The value of the u-th updated variable at the start of the loop. REQUIRES: it is read.
  Value variable_of(size_t u) const { return variables_.at(step_.variables[step_.updated[u]]); }

  // For a variable that a step assigns without reading it, the value does not matter.
  Value initial_value(Builder& b, size_t u) {
    if (const auto aside = aside_.find(u); aside != aside_.end()) return aside->second;
    if (step_.variable_read[step_.updated[u]]) return variable_of(u);
    return b.splat(one_.results()[options_.fetches.size() + u].type(), 0);
  }

  // The u-th updated variable before the step. Where updates go aside, there is one step only.
  Value before_step(size_t u, std::span<const Value> carried) const {
    return aside_.contains(u) ? variable_of(u) : carried[1 + u];
  }

  TensorType kept_type(const TensorType& type) const {
    if (options_.keep == StepLoopOptions::Keep::last) return type;
    Dims dims = type.shape.dims();
    dims.insert(dims.begin(), options_.max_steps);
    return {type.dtype, Shape(dims)};
  }

  static std::vector<Value> add_carried(Computation& region, std::span<const Value> initial) {
    std::vector<Value> carried;
    for (const Value& value : initial) carried.push_back(region.add_parameter(value.type()));
    return carried;
  }

  void write_condition(Computation& region, std::span<const Value> initial) {
    const std::vector<Value> carried = add_carried(region, initial);
    Builder b(region);
    Value goes_on = b.compare(carried[0], steps_, hlo::ComparisonDirection::lt);
    for (size_t i = first_check(); i < carried.size(); ++i) {
      goes_on = b.binary(Opcode::and_, goes_on, b.unary(Opcode::not_, carried[i]));
    }
    region.set_results({goes_on});
  }

  static std::vector<Value> starts_at(Builder& b, Value i, int rank) {
    std::vector<Value> starts(static_cast<size_t>(rank), b.scalar(DType::s32, 0));
    starts[0] = i;
    return starts;
  }

  Value slice_of(Builder& b, Value stack, Value i, const TensorType& type) {
    Dims sizes = type.shape.dims();
    sizes.insert(sizes.begin(), 1);
    return b.reshape(b.dynamic_slice(stack, starts_at(b, i, stack.shape().rank()), sizes),
                     type.shape);
  }

  // Each step counts one more run of every random node.
  Value random_state_at(Builder& b, Value i) {
    Tensor counts = Tensor::full(DType::u64, random_state_.shape(), 1);
    counts.data<uint64_t>()[0] = 0;
    const Value steps = b.broadcast(b.convert(i, DType::u64), random_state_.shape());
    return b.add(random_state_, b.multiply(steps, b.constant(counts)));
  }

  // Adds a step. Maps carried values (step number, variables, fetches, checks) to the next ones.
  std::vector<Value> add_step(Computation& region, const std::vector<Value>& carried) {
    const Value i = carried[0];
    Builder b(region);
    hlo::ValueMap map;
    int p = 0;
    for (size_t v = 0; v < step_.variables.size(); ++v) {
      if (!step_.variable_read[v]) continue;
      const auto updated = std::ranges::find(step_.updated, static_cast<int>(v));
      map[one_.parameter(p++)] =
          updated == step_.updated.end()
              ? variables_.at(step_.variables[v])
              : before_step(static_cast<size_t>(updated - step_.updated.begin()), carried);
    }
    for (const Value& stack : stacks_) {
      const Value old = one_.parameter(p++);
      map[old] = slice_of(b, stack, i, old.type());
    }
    if (random_state_) map[one_.parameter(p++)] = random_state_at(b, i);
    const std::vector<Value> made = region.inline_from(one_, map);
    std::vector<Value> next{b.add(i, b.scalar(DType::s32, 1))};
    const size_t num_fetches = options_.fetches.size();
    for (size_t u = 0; u < num_updated(); ++u) {
      next.push_back(uniform(b, u, before_step(u, carried), made[num_fetches + u]));
    }
    for (size_t f = 0; f < num_fetches; ++f) {
      next.push_back(kept(b, carried[first_fetch() + f], made[f], i));
    }
    for (size_t c = 0; c < step_.checks.size(); ++c) {
      const size_t k = num_fetches + num_updated() + c;
      const Value failed = varying_[k] ? all_reduce(b, made[k], Opcode::or_) : made[k];
      next.push_back(b.binary(Opcode::or_, carried[first_check() + c], failed));
    }
    return next;
  }

  Value kept(Builder& b, Value carried, Value value, Value i) {
    if (options_.keep == StepLoopOptions::Keep::last) return value;
    Dims dims = value.shape().dims();
    dims.insert(dims.begin(), 1);
    return b.dynamic_update_slice(carried, b.reshape(value, Shape(dims)),
                                  starts_at(b, i, carried.shape().rank()));
  }

  // Returns one value of the update for all replicas.
  Value uniform(Builder& b, size_t u, Value before, Value after) {
    if (!varying_[options_.fetches.size() + u]) return after;
    const Node* variable = step_.variables[step_.updated[u]];
    const bool adds_up = std::ranges::any_of(
        options_.summed, [&](const Variable& v) { return v.handle().node() == variable; });
    if (adds_up) {
      const hlo::Instruction& sum = *after.def;
      const bool plain = sum.is(Opcode::add) && sum.operand(0) == before;
      const Value seen = plain ? sum.operand(1) : b.subtract(after, before);
      return b.add(before, all_reduce(b, seen, Opcode::add));
    }
    result_.averaged.push_back(variable->name());
    return mean_or_first(b, after, options_.all_replicas());
  }

  // `last`: the values after the last step.
  StepModule finish(std::span<const Value> last) {
    std::vector<Value> results;
    for (size_t f = 0; f < options_.fetches.size(); ++f) {
      results.push_back(last[first_fetch() + f]);
      result_.fetch_types.push_back(fetches()[f].type());
    }
    for (size_t u = 0; u < num_updated(); ++u) {
      const auto v = static_cast<size_t>(step_.updated[u]);
      const Node* variable = step_.variables[v];
      if (in_place(u)) {
        const Value memory = aside_.contains(u) ? aside_.at(u) : variable_of(u);
        module_->aliases.push_back(
            {memory.def->attrs<hlo::ParameterAttrs>().index, static_cast<int>(results.size())});
      }
      result_.updated.push_back(variable);
      result_.updated_types.push_back(last[1 + u].type());
      result_.in_place.push_back(in_place(u));
      results.push_back(last[1 + u]);
    }
    for (size_t c = 0; c < step_.checks.size(); ++c) {
      results.push_back(last[first_check() + c]);
    }
    main_->set_results(results);
    result_.update_of_variable.assign(result_.variables.size(), -1);
    for (size_t u = 0; updates_ == UpdatesGo::in_place && u < num_updated(); ++u) {
      if (!in_place(u)) continue;
      const auto variable = std::ranges::find(result_.variables, result_.updated[u]);
      result_.update_of_variable[variable - result_.variables.begin()] = static_cast<int>(u);
    }
    result_.updates = updates_;
    result_.module = std::move(module_);
    result_.random_nodes = step_.random_nodes;
    result_.checks = step_.checks;
    return std::move(result_);
  }

  const StepLoopOptions& options_;
  const UpdatesGo updates_;
  SpecializedProgram step_;
  const Computation& one_;  // main of step_
  std::vector<bool> varying_;
  std::unique_ptr<hlo::Module> module_;
  Computation* main_ = nullptr;
  std::unordered_map<const Node*, Value> variables_;
  std::vector<Value> stacks_;
  Value random_state_;
  Value first_;
  Value steps_;
  std::map<size_t, Value> aside_;  // parameters, by update
  StepModule result_;
};

}  // namespace

StepModule make_step_module(const Graph& graph, const StepLoopOptions& options, UpdatesGo updates) {
  return LoopWriter(graph, options, updates).write();
}

}  // namespace systole
