#include "systole/backends/cpu/analysis/liveness.h"

#include <algorithm>

namespace systole::cpu {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

bool has_programs(const Instruction& x) {
  return x.is(Opcode::while_) || x.is(Opcode::if_) || x.is(Opcode::case_);
}

bool overlap(const Lifetime& a, const Lifetime& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (i->end < j->begin) {
      ++i;
    } else if (j->end < i->begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

void add_interval(Lifetime& lifetime, Interval interval) {
  Lifetime result;
  for (const Interval& other : lifetime) {
    if (other.end < interval.begin || interval.end < other.begin) {
      result.push_back(other);
    } else {
      interval = {std::min(interval.begin, other.begin), std::max(interval.end, other.end)};
    }
  }
  result.push_back(interval);
  std::ranges::sort(result, {}, &Interval::begin);
  lifetime = std::move(result);
}

Liveness::Liveness(const Computation& entry) {
  visit(entry);
  for (const Value& value : values_) {
    const int begin =
        value.def->is(Opcode::parameter) ? runs_.at(value.def).begin : runs_.at(value.def).end;
    lifetimes_[value] = {{begin, std::max(begin, last_use(value))}};
  }
}

void Liveness::define(const Instruction& instruction) {
  for (int i = 0; i < instruction.num_results(); ++i) {
    values_.push_back(const_cast<Instruction&>(instruction).result(i));
  }
}

void Liveness::visit(const Computation& computation) {
  for (const Instruction* x : computation.instructions()) {
    program_.push_back(x);
    const int begin = now_++;
    if (has_programs(*x)) {
      for (int r = 0; r < x->num_regions(); ++r) visit(x->region(r));
      runs_[x] = {begin, now_++};
    } else {
      runs_[x] = {begin, begin};
    }
    define(*x);
  }
}

int Liveness::last_use(Value value) const {
  int last = -1;
  for (const Instruction* user : value.def->users()) {
    // The user in the value's computation: instructions in a region of elements have no time.
    const Instruction* seen = user;
    bool nested = false;
    while (&seen->parent() != &value.def->parent()) {
      seen = seen->parent().owner();
      nested = true;
    }
    const Interval run = runs_.at(seen);
    if (!nested) {
      const auto operands = user->operands();
      if (std::ranges::find(operands, value) != operands.end()) last = std::max(last, run.begin);
    } else {
      // Until the loop's end, for the next round; in a branch that is as good as its own time.
      last = std::max(last, run.end);
    }
  }
  return last;
}

bool is_program_input(const hlo::Value& value) {
  const hlo::Instruction* x = value.def;
  while (x->traits().has(hlo::kBitcast)) x = x->operand(0).def;
  return x->is(hlo::Opcode::constant) ||
         (x->is(hlo::Opcode::parameter) && x->parent().owner() == nullptr);
}

}  // namespace systole::cpu
