#include "systole/graph/lowering/specialize.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/variable_handle.h"
#include "systole/graph/lowering/constant_folder.h"
#include "systole/graph/lowering/plan.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

// The values of one graph, or of one call of a function, while it is lowered.
struct Frame {
  const Graph* graph;
  const Plan* plan;
  hlo::Builder* b;
  std::string prefix;  // of node names: "while/"
  std::unordered_map<Output, hlo::Value> values;
  Node* node = nullptr;  // that is being lowered
};

class Specializer final : public Lowering {
 public:
  Specializer(const Graph& graph, std::span<const Output> fetches, std::span<Node* const> targets,
              std::span<const Feed> feeds, bool* wants_value, int64_t num_replicas)
      : graph_(graph),
        fetches_(fetches),
        feeds_(feeds),
        wants_value_(wants_value),
        num_replicas_(num_replicas) {
    check_feeds();
    std::unordered_set<Output> fed;
    for (const Feed& feed : feeds) fed.insert(feed.output);
    plan_ = plan_run(graph, fetches, targets, fed);
    program_.module = std::make_unique<hlo::Module>("program");
    main_ = &program_.module->add_function("main");
    builder_.emplace(*main_);
  }

  SpecializedProgram run() {
    Frame frame{&graph_, &plan_, &*builder_, "", {}};
    frame_ = &frame;
    add_variable_parameters();
    for (const Feed& feed : feeds_) {
      if (feed.value.valid()) continue;
      frame.values[feed.output] = main_->add_parameter(
          feed.type, {feed.output.node()->name(), feed.output.node()->where()});
    }
    add_random_parameter();
    for (const Feed& feed : feeds_) {
      if (feed.value.valid()) frame.values[feed.output] = builder_->constant(feed.value);
    }
    for (Node* node : plan_.order) lower_node(*node);
    finish();
    return std::move(program_);
  }

  hlo::Value read_variable(const Node& handle, bool at_start) override {
    const Variable& variable = variables_.at(&handle);
    return at_start ? variable.at_start : variable.now;
  }

  void assign_variable(const Node& handle, hlo::Value value) override {
    const TensorType wanted = variable_type(handle);
    if (value.type() != wanted) {
      throw invalid_argument("assign: value for variable '{}', got {}, expected {}", handle.name(),
                             value.type(), wanted);
    }
    Variable& variable = variables_.at(&handle);
    variable.now = value;
    variable.assigned = true;
  }

  hlo::Value random_state(const Node& node, uint64_t blocks) override {
    const auto it = random_index_.find(random_stream(node));
    if (it == random_index_.end()) {
      throw internal_error("random_state: {}, got no stream, expected one", node.describe());
    }
    return philox_state(*frame_->b, random_parameter_, it->second, node, iterations_,
                        blocks * static_cast<uint64_t>(num_replicas()));
  }

  void check(hlo::Value failed, Code code, std::string message) override {
    if (failed.type() != TensorType{DType::pred, {}}) {
      throw internal_error("check: got {}, expected pred[]", failed.type());
    }
    pending_checks_.back().push_back({failed, {code, std::move(message)}});
  }

  std::optional<Tensor> constant_value(hlo::Value value) override {
    std::optional<Tensor> constant = folder_.fold(value);
    if (!constant && wants_value_ != nullptr) *wants_value_ = true;
    return constant;
  }

  std::vector<hlo::Value> lower_function(const Graph& function, hlo::Builder& b,
                                         std::span<const hlo::Value> arguments) override {
    if (arguments.size() != function.arguments().size()) {
      throw internal_error("lower_function: arguments, got {}, expected {}", arguments.size(),
                           function.arguments().size());
    }
    const Plan& plan = plan_of(function);
    Frame frame{&function, &plan, &b, frame_->b->metadata().name + "/", {}};
    for (size_t i = 0; i < arguments.size(); ++i) {
      frame.values[function.arguments()[i]] = arguments[i];
    }
    Frame* outer = std::exchange(frame_, &frame);
    for (Node* node : plan.order) {
      if (node->op_name() != "_Arg") lower_node(*node);
    }
    frame_ = outer;
    std::vector<hlo::Value> results;
    for (const Output& result : function.results()) results.push_back(frame.values[result]);
    return results;
  }

  void keep(std::shared_ptr<const Graph> function) override {
    kept_functions_.push_back(std::move(function));
  }

  int64_t num_replicas() const override { return num_replicas_; }

  bool needed(int output) const override {
    return frame_->plan->needed.contains(frame_->node->output(output));
  }

  void begin_region(hlo::Value iteration) override {
    pending_checks_.emplace_back();
    iterations_.push_back(iteration);
  }

  std::vector<RegionCheck> end_region() override {
    std::vector<RegionCheck> checks = std::move(pending_checks_.back());
    pending_checks_.pop_back();
    iterations_.pop_back();
    folder_.forget();  // the region's instructions may be moved
    return checks;
  }

 private:
  struct Variable {
    hlo::Value at_start;
    hlo::Value now;
    bool assigned = false;
  };

  void check_feeds() {
    std::unordered_set<Output> seen;
    for (const Feed& feed : feeds_) {
      if (!feed.output.valid()) throw invalid_argument("run: feed, got none, expected a tensor");
      const std::string name = feed.output.name();
      if (&feed.output.graph() != &graph_) {
        throw invalid_argument(
            "run: feed, got '{}' of another graph, expected a tensor of this graph", name);
      }
      if (!seen.insert(feed.output).second) {
        throw invalid_argument("run: feed, got '{}' twice, expected each tensor once", name);
      }
      const TensorType& wanted = feed.output.type();
      if (feed.type.dtype != wanted.dtype || !feed.type.is_static() ||
          !feed.type.shape.compatible_with(wanted.shape)) {
        throw invalid_argument("run: feed of '{}', got {}, expected {}, {}", name, feed.type,
                               wanted, feed.output.node()->describe());
      }
    }
  }

  void add_variable_parameters() {
    for (const Node* node : plan_.order) {
      if (node->op_name() != "VarHandleOp") continue;
      const hlo::Value value =
          main_->add_parameter(variable_type(*node), {node->name(), node->where()});
      variables_[node] = {value, value};
      program_.variables.push_back(node);
    }
  }

  // Copies of a random node, which gradients of loops make, draw what it draws: they are one
  // stream.
  void collect_random_nodes(const Plan& plan) {
    for (const Node* node : plan.order) {
      if (is_random(*node)) {
        const auto index = static_cast<int>(program_.random_nodes.size());
        if (random_index_.emplace(random_stream(*node), index).second) {
          program_.random_nodes.push_back(node);
        }
      }
      for (const auto& [name, value] : node->attrs()) {
        if (const auto* function = std::get_if<FunctionRef>(&value)) {
          collect_random_nodes(plan_of(**function));
        }
      }
    }
  }

  void add_random_parameter() {
    collect_random_nodes(plan_);
    if (program_.random_nodes.empty()) return;
    const auto size = static_cast<int64_t>(1 + program_.random_nodes.size());
    random_parameter_ = main_->add_parameter({DType::u64, {size}}, {"random_state", {}});
  }

  const Plan& plan_of(const Graph& function) {
    auto it = function_plans_.find(&function);
    if (it == function_plans_.end()) {
      it =
          function_plans_.emplace(&function, std::make_unique<Plan>(plan_function(function))).first;
    }
    return *it->second;
  }

  // A node need not run when feeds stand for all that is needed of it.
  bool replaced_by_feeds(Node& node) const {
    if (frame_->graph != &graph_) return false;
    bool any = false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const bool fed = frame_->values.contains(node.output(i));
      if (!fed && frame_->plan->needed.contains(node.output(i))) return false;
      any = any || fed;
    }
    return any;
  }

  void lower_node(Node& node) {
    if (replaced_by_feeds(node)) return;
    frame_->node = &node;
    const hlo::Metadata outer = frame_->b->metadata();
    frame_->b->set_metadata({frame_->prefix + node.name(), node.where()});
    try {
      std::vector<hlo::Value> inputs;
      for (const Output& input : node.inputs()) inputs.push_back(frame_->values[input]);
      if (node.op().lower == nullptr) {
        throw unimplemented(
            "{}: lowering, got an op that runs on the host only, expected one that "
            "has an HLO form",
            node.op_name());
      }
      LowerContext context{node, *frame_->b, inputs, *this};
      store(node, node.op().lower(context));
    } catch (const Error& error) {
      if (std::exchange(error_described_, true)) throw;  // by the node of a function
      throw at_node(error, node);
    }
    frame_->b->set_metadata(outer);
  }

  void store(Node& node, const std::vector<hlo::Value>& values) {
    if (static_cast<int>(values.size()) != node.num_outputs()) {
      throw internal_error("{}: lowering, got {} values, expected {}", node.op_name(),
                           values.size(), node.num_outputs());
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Output output = node.output(i);
      const hlo::Value value = values[i];
      if (frame_->graph == &graph_ && frame_->values.contains(output)) continue;  // fed
      const bool has_value =
          output.dtype() != DType::resource && frame_->plan->needed.contains(output);
      if (has_value && (!value || value.dtype() != output.dtype() ||
                        !value.shape().compatible_with(output.shape()))) {
        throw internal_error("{}: lowering of output {}, got {}, expected {}", node.op_name(), i,
                             value ? value.type().to_string() : "none", output.type());
      }
      frame_->values[output] = value;
    }
  }

  void finish() {
    std::vector<hlo::Value> results;
    for (const Output& fetch : fetches_) results.push_back(frame_->values.at(fetch));
    const std::vector<RegionCheck>& checks = pending_checks_.front();
    for (size_t i = 0; i < program_.variables.size(); ++i) {
      const Variable& variable = variables_.at(program_.variables[i]);
      if (!variable.assigned) continue;
      program_.updated.push_back(static_cast<int>(i));
      results.push_back(variable.now);
    }
    for (const RegionCheck& check : checks) {
      results.push_back(check.failed);
      program_.checks.push_back(check.check);
    }
    main_->set_results(std::move(results));
    for (const Node* node : program_.variables) {
      program_.variable_read.push_back(!variables_.at(node).at_start.def->unused());
    }
    if (checks.empty()) alias_updates();
    for (size_t i = program_.variables.size(); i-- > 0;) {
      if (!program_.variable_read[i]) main_->erase_parameter(static_cast<int>(i));
    }
  }

  // A variable that is read and updated is updated in place.
  void alias_updates() {
    const std::vector<bool>& read = program_.variable_read;
    for (size_t i = 0; i < program_.updated.size(); ++i) {
      const int variable = program_.updated[i];
      if (!read[variable]) continue;
      const auto parameter = std::count(read.begin(), read.begin() + variable, true);
      program_.module->aliases.push_back(
          {static_cast<int>(parameter), static_cast<int>(fetches_.size() + i)});
    }
  }

  const Graph& graph_;
  std::span<const Output> fetches_;
  std::span<const Feed> feeds_;
  bool* wants_value_;
  int64_t num_replicas_;
  Plan plan_;
  SpecializedProgram program_;
  hlo::Computation* main_ = nullptr;
  std::optional<hlo::Builder> builder_;
  Frame* frame_ = nullptr;
  std::unordered_map<const Node*, Variable> variables_;
  std::unordered_map<int64_t, int> random_index_;
  hlo::Value random_parameter_;
  std::vector<std::vector<RegionCheck>> pending_checks_{1};
  std::vector<hlo::Value> iterations_;
  ConstantFolder folder_;
  bool error_described_ = false;
  std::vector<std::shared_ptr<const Graph>> kept_functions_;
  std::unordered_map<const Graph*, std::unique_ptr<Plan>> function_plans_;
};

}  // namespace

SpecializedProgram specialize(const Graph& graph, std::span<const Output> fetches,
                              std::span<Node* const> targets, std::span<const Feed> feeds,
                              bool* wants_value, int64_t num_replicas) {
  return Specializer(graph, fetches, targets, feeds, wants_value, num_replicas).run();
}

}  // namespace systole
