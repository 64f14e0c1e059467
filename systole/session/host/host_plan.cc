#include "systole/session/host/host_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/plan.h"
#include "systole/session/host/host_kernel.h"
#include "systole/session/host/print_text.h"

namespace systole {
namespace {

bool is_constant(const Node& node) { return node.op_name() == "Const"; }

bool touches_variables(const Node& node) {
  return std::ranges::any_of(node.inputs(),
                             [](const Output& o) { return o.dtype() == DType::resource; });
}

// (Assertions have effects, too, but change no variable.)
bool changes_variables(const Node& node) { return has_effect(node) && touches_variables(node); }

// Whether the node can fail the run on a device.
bool checks(const Node& node) {
  return node.op_name() == "CheckNumerics" ||
         (has_effect(node) && !runs_on_host(node) && !touches_variables(node));
}

// Whether the node prints a device value. Device programs do not wait for the output.
bool prints_of_device(const Node& node) { return node.op_name() == "Print" && !runs_on_host(node); }

// Even levels are host steps, odd levels device programs.
bool on_host_level(int level) { return level % 2 == 0; }

// Whether the input has an unknown dimension besides the batch (images of many sizes) and the op
// has a host kernel. A device would need one program for each size.
bool takes_any_size(const Node& node) {
  if (node.op().host != nullptr || find_host_kernel(node.op_name()) == nullptr) return false;
  const Shape& shape = node.input(0).shape();
  for (int d = 1; d < shape.rank(); ++d) {
    if (shape[d] == kUnknown) return true;
  }
  return false;
}

class HostPlanner {
 public:
  HostPlanner(std::span<const FetchKey> fetches, std::span<const Output> fed, bool is_function)
      : fetches_(fetches),
        fed_(fed.begin(), fed.end()),
        fed_order_(fed),
        is_function_(is_function) {
    collect();
  }

  bool needs_host() const {
    const auto string_fetch = [](const FetchKey& f) {
      return !f.is_operation() && Output(f.node, f.index).dtype() == DType::string;
    };
    const auto of_host = [](const Node* node) {
      return runs_on_host(*node) || prints_of_device(*node);
    };
    return std::ranges::any_of(order_, of_host) || std::ranges::any_of(fetches_, string_fetch);
  }

  HostPlan build() {
    set_levels();
    set_print_levels();
    check_variables();
    for (const Output& output : fed_order_) slot(output);
    for (int level = last_level_; level >= 0; --level) {
      if (!on_host_level(level)) collect_device_inputs(level);
    }
    for (int level = 0; level <= last_level_; ++level) add_steps(level);
    for (const FetchKey& fetch : fetches_) {
      plan_.fetch_slots.push_back(fetch.is_operation() ? -1 : slot({fetch.node, fetch.index}));
    }
    plan_.num_slots = static_cast<int>(slots_.size());
    return std::move(plan_);
  }

 private:
  // A device program under construction.
  struct Part {
    std::vector<Output> fetched;
    std::vector<Node*> targets;
    std::vector<Output> fed;
  };

  bool on_host(const Node& node) const {
    return runs_on_host(node) || (is_function_ && (takes_any_size(node) || keeps_elements(node)));
  }
  // Whether the node only changes the shape of a host value, needs nothing else and has a host
  // kernel; a device would copy the elements.
  bool keeps_elements(const Node& node) const {
    const bool keeps = node.op().traits.passes_on != PassesOn::nothing && node.num_inputs() == 1 &&
                       find_host_kernel(node.op_name()) != nullptr;
    return keeps && !fed_.contains(node.input(0)) && on_host(*node.input(0).node());
  }

  void collect() {
    std::unordered_set<Node*> needed;
    std::vector<Node*> stack;
    const auto need = [&](Node* node) {
      if (needed.insert(node).second) stack.push_back(node);
    };
    for (const FetchKey& fetch : fetches_) {
      if (fetch.is_operation() || !fed_.contains({fetch.node, fetch.index})) need(fetch.node);
    }
    while (!stack.empty()) {
      Node* const node = stack.back();
      stack.pop_back();
      for (const Output& input : node->inputs()) {
        if (!fed_.contains(input)) need(input.node());
      }
      for (Node* control : node->control_inputs()) need(control);
    }
    order_.assign(needed.begin(), needed.end());
    std::ranges::sort(order_, {}, &Node::id);
  }

  // The level of `node`, given those of its inputs; at least `floor` on a device.
  int level_of(const Node& node, int floor) const {
    const bool host = on_host(node);
    int level = host ? 0 : std::max(1, floor);
    const auto follow = [&](Node* producer) {
      const auto it = levels_.find(producer);
      if (it == levels_.end() || is_constant(*producer)) return;
      const bool same_side = on_host_level(it->second) == host;
      level = std::max(level, it->second + (same_side ? 0 : 1));
    };
    for (const Output& input : node.inputs()) {
      if (!fed_.contains(input)) follow(input.node());
    }
    for (Node* control : node.control_inputs()) follow(control);
    return level;
  }

  // Sets all levels. Returns the last level of a node that touches variables or, `with_checks`, can
  // fail the run.
  int set_levels(int variable_floor, bool with_checks) {
    int last_joined_level = 0;
    levels_.clear();
    last_level_ = 0;
    for (Node* node : order_) {
      const bool variable = touches_variables(*node);
      const int level = level_of(*node, variable ? variable_floor : 0);
      levels_[node] = level;
      last_level_ = std::max(last_level_, level);
      if (variable || (with_checks && checks(*node))) {
        last_joined_level = std::max(last_joined_level, level);
      }
    }
    return last_joined_level;
  }

  // If possible, puts all nodes that touch variables into one program, so that they see the values
  // at the start of the run, and puts this program at or after the last check, so that a failed run
  // changes no variable.
  void set_levels() {
    if (!join_variables(/*with_checks=*/true) && !join_variables(false)) set_levels(0, false);
    for (Node* node : order_) set_static(*node);
  }

  bool join_variables(bool with_checks) {
    const int wanted = set_levels(0, with_checks);
    return wanted <= 1 || set_levels(wanted, with_checks) <= wanted;
  }

  // A value is printed as soon as it is computed.
  void set_print_levels() {
    for (Node* node : order_) {
      if (!prints_of_device(*node)) continue;
      int& level = print_levels_[node];
      for (const Output& value : printed_data(*node)) {
        if (fed_.contains(value) || is_constant(*value.node())) continue;
        const int from = levels_.at(value.node());
        level = std::max(level, on_host_level(from) ? from : from + 1);
      }
      last_level_ = std::max(last_level_, level);
    }
  }

  // Marks a node whose value depends on constants and static shapes alone.
  void set_static(Node& node) {
    if (on_host(node)) return;
    const auto is_static = [&](const Output& input) {
      return !fed_.contains(input) && static_.contains(input.node());
    };
    if (node.op().traits.static_source ||
        (!node.op().traits.stateful && node.num_inputs() > 0 && node.control_inputs().empty() &&
         std::ranges::all_of(node.inputs(), is_static))) {
      static_.insert(&node);
    }
  }

  void check_variables() const {
    int first_change = last_level_ + 1;
    for (Node* node : order_) {
      if (!on_host(*node) && changes_variables(*node)) {
        first_change = std::min(first_change, levels_.at(node));
      }
    }
    for (Node* node : order_) {
      if (touches_variables(*node) && levels_.at(node) > first_change) {
        throw unimplemented(
            "Session.run: {} needs what the host computes from a program that changes variables, "
            "got both in one run, expected them in two",
            node->describe());
      }
    }
  }

  void export_value(const Output& output) {
    std::vector<Output>& fetched = parts_[levels_.at(output.node())].fetched;
    if (std::ranges::find(fetched, output) == fetched.end()) fetched.push_back(output);
  }

  void export_effect(Node* node) {
    std::vector<Node*>& targets = parts_[levels_.at(node)].targets;
    if (std::ranges::find(targets, node) == targets.end()) targets.push_back(node);
  }

  bool is_device_value(const Output& output) const {
    return !fed_.contains(output) && !on_host_level(levels_.at(output.node())) &&
           !is_constant(*output.node());
  }

  // Called from the last level to the first, so that the needs of later levels are known.
  void collect_device_inputs(int level) {
    for (const FetchKey& fetch : fetches_) {
      if (!fetch.is_operation() && fed_.contains({fetch.node, fetch.index})) continue;
      if (levels_.at(fetch.node) != level) continue;
      if (fetch.is_operation()) {
        export_effect(fetch.node);
      } else if (!(is_constant(*fetch.node) && fetch.node->output().dtype() == DType::string)) {
        export_value({fetch.node, fetch.index});
      }
    }
    for (const auto& [node, print_level] : print_levels_) {
      for (const Output& value : printed_data(*node)) {
        if (is_device_value(value) && levels_.at(value.node()) == level) export_value(value);
      }
    }
    for (Node* node : order_) {
      if (levels_.at(node) <= level) continue;
      for (Node* control : node->control_inputs()) {
        if (levels_.at(control) == level) export_effect(control);
      }
      if (!on_host(*node)) continue;
      for (const Output& input : node->inputs()) {
        if (is_device_value(input) && levels_.at(input.node()) == level) export_value(input);
      }
    }
    const auto it = parts_.find(level);
    if (it != parts_.end()) collect_fed(level, it->second);
  }

  void collect_fed(int level, Part& part) {
    std::set<std::pair<int, int>> seen_fed;
    std::unordered_set<Node*> seen;
    std::vector<Node*> stack;
    const auto enter = [&](Node* node) {
      if (seen.insert(node).second) stack.push_back(node);
    };
    const auto feed = [&](const Output& output) {
      if (seen_fed.emplace(output.node()->id(), output.index()).second) part.fed.push_back(output);
    };
    const auto need = [&](const Output& input) {
      Node* const producer = input.node();
      if (fed_.contains(input)) return feed(input);
      const int from = levels_.at(producer);
      if (on_host_level(from)) return feed(input);
      if (from == level || static_.contains(producer)) return enter(producer);
      export_value(input);
      feed(input);
    };
    for (const Output& output : part.fetched) enter(output.node());
    for (Node* target : part.targets) enter(target);
    while (!stack.empty()) {
      Node* const node = stack.back();
      stack.pop_back();
      for (const Output& input : node->inputs()) need(input);
      for (Node* control : node->control_inputs()) {
        if (on_host(*control)) continue;
        if (levels_.at(control) != level && changes_variables(*control)) {
          throw unimplemented(
              "Session.run: {} waits for {}, with what the host computes between them, got both "
              "in one run, expected them in two",
              node->describe(), control->describe());
        }
        enter(control);  // repeats an assertion of an earlier program
      }
    }
  }

  void add_steps(int level) {
    if (on_host_level(level)) {
      for (Node* node : order_) {
        if (levels_.at(node) == level) add_host_step(node);
        const auto print = print_levels_.find(node);
        if (print != print_levels_.end() && print->second == level) add_print_step(node);
      }
      return;
    }
    const auto it = parts_.find(level);
    if (it == parts_.end()) return;
    HostPlan::Step step;
    step.fed = std::move(it->second.fed);
    step.fetched = std::move(it->second.fetched);
    step.targets = std::move(it->second.targets);
    for (const Output& output : step.fed) step.inputs.push_back(slot(output));
    for (const Output& output : step.fetched) step.outputs.push_back(slot(output));
    plan_.steps.push_back(std::move(step));
  }

  void add_host_step(Node* node) {
    HostPlan::Step step{.node = node, .kernel = kernel_of(*node)};
    for (const Output& input : node->inputs()) step.inputs.push_back(slot(input));
    for (int i = 0; i < node->num_outputs(); ++i) step.outputs.push_back(slot(node->output(i)));
    plan_.steps.push_back(std::move(step));
  }

  void add_print_step(Node* node) {
    HostPlan::Step step{.node = node, .kernel = kernel_of(*node)};
    for (const Output& value : printed_data(*node)) step.inputs.push_back(slot(value));
    plan_.steps.push_back(std::move(step));
  }

  int slot(const Output& output) {
    const auto [it, added] = slots_.emplace(output, static_cast<int>(slots_.size()));
    if (added && is_constant(*output.node()) && !fed_.contains(output)) {
      plan_.constants.emplace_back(it->second, output.node()->attr<Tensor>("value"));
    }
    return it->second;
  }

  std::span<const FetchKey> fetches_;
  std::unordered_set<Output> fed_;
  std::span<const Output> fed_order_;
  const bool is_function_;
  std::vector<Node*> order_;  // needed nodes, inputs first
  std::unordered_map<const Node*, int> levels_;
  int last_level_ = 0;
  std::unordered_map<Node*, int> print_levels_;
  std::unordered_set<const Node*> static_;
  std::map<int, Part> parts_;
  std::unordered_map<Output, int> slots_;
  HostPlan plan_;
};

}  // namespace

std::unique_ptr<HostPlan> plan_host_ops(std::span<const FetchKey> fetches,
                                        std::span<const Output> fed, bool is_function) {
  HostPlanner planner(fetches, fed, is_function);
  if (!is_function && !planner.needs_host()) return nullptr;
  return std::make_unique<HostPlan>(planner.build());
}

}  // namespace systole
