// What a rewrite rule is, and the engine that applies a table of them.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// The values that stand for an instruction's results from now on; empty when a rule does not apply.
using Replacement = absl::InlinedVector<Value, 1>;

// The opcodes that a rule is tried on: one, or all that have a trait.
class Subject {
 public:
  constexpr Subject(Opcode opcode)  // NOLINT(google-explicit-constructor): a column of a table
      : opcode_(opcode), any_(false) {}
  static constexpr Subject having(uint32_t flag) {
    Subject subject{Opcode{}};
    subject.any_ = true;
    subject.flag_ = flag;
    return subject;
  }

  constexpr bool covers(Opcode opcode) const {
    return any_ ? traits(opcode).has(flag_) : opcode == opcode_;
  }

 private:
  Opcode opcode_;
  bool any_;
  uint32_t flag_ = 0;
};

// A rewrite of one instruction that keeps its value to the bit (the payloads of NaNs apart); a rule
// that may round differently says so, and why that is right. `rewrite` changes nothing but what it
// builds: new instructions go through the builder, which stands before `instruction`, and a rule
// that does not apply builds none. A replacement has the types of the results. Every rule leads
// nearer to an end, so that rewriting stops.
struct Rule {
  std::string_view name;
  Subject subject;
  Replacement (*rewrite)(Instruction& instruction, Builder& builder);
};

// Rules by the opcode that they are tried on, in the order of the table. Borrows the rules.
class RuleIndex {
 public:
  explicit RuleIndex(std::span<const Rule> rules) { add(rules); }
  RuleIndex() = default;
  void add(std::span<const Rule> rules);

  std::span<const Rule* const> rules_for(Opcode opcode) const {
    return by_opcode_[static_cast<size_t>(opcode)];
  }

 private:
  std::array<std::vector<const Rule*>, kNumOpcodes> by_opcode_;
};

struct RewriteReport {
  std::vector<std::string_view> fired;  // a rule's name for each time it applied, in order
  // Stopped at a bound on the number of rewrites, which a set of sound rules never reaches.
  bool exhausted = false;
};

// Applies the rules wherever they match, until none does, and erases what becomes unused by that. A
// worklist: after a rewrite only what it made and what uses it is looked at again. Errors: INTERNAL
// when a rule's replacement has other types, naming the rule.
RewriteReport apply_rules(Module& module, const RuleIndex& rules);

}  // namespace systole::hlo
