// Rewrite rules, and the engine that applies a table of them.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// The values that replace an instruction's results; empty if a rule does not apply.
using Replacement = absl::InlinedVector<Value, 1>;

// The opcodes to which a rule applies: one opcode, or all with a trait.
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

// Rewrites one instruction and preserves its value bit for bit (except NaN payloads). A rule that
// may round differently says so and gives the reason. `rewrite` only adds instructions, through the
// builder, which inserts before `instruction`; it adds none if the rule does not apply. A
// replacement has the types of the results. Each application must make progress, so that rewriting
// terminates.
struct Rule {
  std::string_view name;
  Subject subject;
  Replacement (*rewrite)(Instruction& instruction, Builder& builder);
};

// Rules by opcode, in the order of the table. Borrows the rules.
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
  // Whether rewriting stopped at the limit on the number of rewrites, which sound rules never
  // reach.
  bool exhausted = false;
};

// Applies the rules until none matches, and erases instructions that become unused. After a
// rewrite, only the new instructions and their users are visited again. Errors: INTERNAL if a
// replacement has other types, with the rule's name.
RewriteReport apply_rules(Module& module, const RuleIndex& rules);

}  // namespace systole::hlo
