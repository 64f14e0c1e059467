#include "systole/hlo/ir/callees.h"

#include <unordered_map>

namespace systole::hlo {
namespace {

void add_callees(const Computation& computation, std::vector<Computation*>& found) {
  for (const Instruction* instruction : computation.instructions()) {
    for (const std::string& name : callees(instruction->attrs())) {
      Computation* const callee = computation.module().find_function(name);
      if (callee != nullptr) found.push_back(callee);
    }
    for (const auto& region : instruction->regions()) add_callees(*region, found);
  }
}

// A walk along the calls of a module, depth first. Chains of calls are as long as the program has
// functions, hence no recursion.
class CallWalk {
 public:
  explicit CallWalk(const Module& module) {
    for (const auto& function : module.functions()) walk_from(*function);
  }

  std::vector<Computation*> finished;      // callees first
  const Computation* recursive = nullptr;  // the first that was met within itself

 private:
  enum class State { open, done };
  struct Frame {
    Computation* function;
    std::vector<Computation*> callees;
    size_t next = 0;
  };

  void enter(Computation& function) {
    const auto [entry, is_new] = states_.try_emplace(&function, State::open);
    if (is_new) {
      std::vector<Computation*> found;
      add_callees(function, found);
      stack_.push_back({&function, std::move(found)});
    } else if (entry->second == State::open && recursive == nullptr) {
      recursive = &function;
    }
  }

  void walk_from(Computation& root) {
    enter(root);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next < top.callees.size()) {
        enter(*top.callees[top.next++]);
        continue;
      }
      states_[top.function] = State::done;
      finished.push_back(top.function);
      stack_.pop_back();
    }
  }

  std::unordered_map<const Computation*, State> states_;
  std::vector<Frame> stack_;
};

}  // namespace

std::vector<Computation*> callees_first(const Module& module) { return CallWalk(module).finished; }

const Computation* find_recursion(const Module& module) { return CallWalk(module).recursive; }

std::vector<std::string> callees(const Attrs& attrs) {
  if (const auto* call = std::get_if<CallAttrs>(&attrs)) return {call->callee};
  if (const auto* composite = std::get_if<CompositeAttrs>(&attrs)) {
    return {composite->decomposition};
  }
  if (const auto* custom_call = std::get_if<CustomCallAttrs>(&attrs)) {
    return custom_call->called_computations;
  }
  return {};
}

std::unordered_set<const Computation*> reached_from(const Computation& function) {
  std::unordered_set<const Computation*> reached{&function};
  std::vector<const Computation*> waiting{&function};
  while (!waiting.empty()) {
    const Computation* const next = waiting.back();
    waiting.pop_back();
    std::vector<Computation*> found;
    add_callees(*next, found);
    for (const Computation* callee : found) {
      if (reached.insert(callee).second) waiting.push_back(callee);
    }
  }
  return reached;
}

}  // namespace systole::hlo
