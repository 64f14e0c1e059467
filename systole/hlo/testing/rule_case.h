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

// One program, and the result of applying one rule to it.
struct RuleCase {
  std::string_view rule;
  std::vector<TensorType> parameters;
  std::function<Value(Builder& builder, std::span<const Value> p)> build;
  // The sketch of the rewritten program; empty if the rule must not apply.
  std::string_view expected = {};
};

// Returns one line per problem, "" if there is none. Each case must be rewritten as expected, stay
// valid, and compute the same values bit for bit on random and wild arguments (except for the rules
// in `inexact`). Each rule of the table must have a case in which it applies and one in which it
// does not.
std::string check_rules(std::span<const Rule> rules, std::span<const RuleCase> cases,
                        std::span<const std::string_view> inexact = {});

}  // namespace systole::hlo::testing
