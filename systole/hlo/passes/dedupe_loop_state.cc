#include "systole/hlo/passes/dedupe_loop_state.h"

#include "systole/hlo/analysis/counted_loop.h"

namespace systole::hlo {
namespace {

// The class of each carried value: the smallest index of a value that it always equals.
class CarriedClasses {
 public:
  explicit CarriedClasses(const Instruction& loop) : loop_(loop) {
    classes_.resize(static_cast<size_t>(loop.num_results()));
    // Assumes that values with equal beginnings are equal, then drops what the body contradicts.
    assign([&](int i, int j) { return loop.operand(i) == loop.operand(j); });
    for (std::vector<int> before; before != classes_;) {
      before = classes_;
      assign(
          [&](int i, int j) { return before[at(i)] == before[at(j)] && same_next(before, i, j); });
    }
  }

  int of(int i) const { return classes_[at(i)]; }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }

  template <class Equal>
  void assign(const Equal& equal) {
    for (int i = 0; i < loop_.num_results(); ++i) {
      int first = 0;
      while (first < i && !equal(first, i)) ++first;
      classes_[at(i)] = first;
    }
  }

  // Whether the body sets i and j to the same value, if values of one class are equal before.
  bool same_next(const std::vector<int>& classes, int i, int j) const {
    const Computation& body = loop_.region(1);
    return representative(classes, body.results()[at(i)]) ==
           representative(classes, body.results()[at(j)]);
  }

  Value representative(const std::vector<int>& classes, Value value) const {
    const Computation& body = loop_.region(1);
    if (!value.def->is(Opcode::parameter) || &value.def->parent() != &body) return value;
    return body.parameter(classes[at(value.def->attrs<ParameterAttrs>().index)]);
  }

  const Instruction& loop_;
  std::vector<int> classes_;
};

bool has_users(Value value) {
  for (const Instruction* user : value.def->users()) {
    for (const Value& operand : user->operands()) {
      if (operand == value) return true;
    }
  }
  return false;
}

bool merge(Instruction& loop) {
  const CarriedClasses classes(loop);
  bool changed = false;
  const auto replace = [&](Value from, Value to) {
    changed |= has_users(from);
    Computation::replace_all_uses(from, to);
  };
  Computation& body = loop.region(1);
  for (int i = 0; i < loop.num_results(); ++i) {
    const int first = classes.of(i);
    if (first == i) continue;
    replace(loop.region(0).parameter(i), loop.region(0).parameter(first));
    replace(body.parameter(i), body.parameter(first));
    replace(loop.result(i), loop.result(first));
  }
  return changed;
}

}  // namespace

bool DedupeLoopState::run(Module& module) { return for_each_loop(module, merge); }

}  // namespace systole::hlo
