// Tables of cases for rewrite rules.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/algebraic_simplifier/rule.h"

namespace systole::hlo::testing {

// One program, and what one rule, applied alone, makes of it.
struct RuleCase {
  std::string_view rule;
  std::vector<TensorType> parameters;
  std::function<Value(Builder& builder, std::span<const Value> p)> build;
  // The sketch of the rewritten program; empty when the rule must not apply.
  std::string_view expected = {};
};

// What is wrong, a line a finding; "" when all is well: each case's program is rewritten as
// expected, stays valid, and computes the same to the bit on random and on wild arguments (but for
// the rules named in `inexact`); and each rule of the table has a case in which it applies and one
// in which it does not.
std::string check_rules(std::span<const Rule> rules, std::span<const RuleCase> cases,
                        std::span<const std::string_view> inexact = {});

}  // namespace systole::hlo::testing
