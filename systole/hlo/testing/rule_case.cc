#include "systole/hlo/testing/rule_case.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo::testing {
namespace {

std::unique_ptr<Module> build(const RuleCase& c) {
  auto module = std::make_unique<Module>();
  Computation& main = module->add_function("main");
  std::vector<Value> parameters;
  for (const TensorType& type : c.parameters) parameters.push_back(main.add_parameter(type));
  Builder builder(main);
  main.set_results({c.build(builder, parameters)});
  verify(*module);
  return module;
}

std::string check_case(const Rule& rule, const RuleCase& c, bool exact) {
  const std::unique_ptr<Module> before = build(c);
  const std::unique_ptr<Module> after = before->clone();
  const RewriteReport report = apply_rules(*after, RuleIndex({&rule, 1}));
  const std::string was = sketch(before->entry());
  const std::string is = sketch(after->entry());
  if (report.exhausted) return fmt::format("{}: does not end", was);
  if (c.expected.empty()) return report.fired.empty() ? "" : fmt::format("{} became {}", was, is);
  if (is != c.expected) return fmt::format("{} became {}, expected {}", was, is, c.expected);
  verify(*after);
  for (uint64_t seed = 0; exact && seed < 6; ++seed) {
    const std::string text = run_difference(*before, *after, seed, seed >= 2);
    if (!text.empty()) return fmt::format("{} became {}: {}", was, is, text);
  }
  return "";
}

}  // namespace

std::string check_rules(std::span<const Rule> rules, std::span<const RuleCase> cases,
                        std::span<const std::string_view> inexact) {
  std::string findings;
  for (const RuleCase& c : cases) {
    const auto rule = std::ranges::find(rules, c.rule, &Rule::name);
    if (rule == rules.end()) {
      findings += fmt::format("{}: no such rule\n", c.rule);
      continue;
    }
    const bool exact = std::ranges::find(inexact, c.rule) == inexact.end();
    std::string finding;
    try {
      finding = check_case(*rule, c, exact);
    } catch (const Error& error) {
      finding = error.what();
    }
    if (!finding.empty()) findings += fmt::format("{}: {}\n", c.rule, finding);
  }
  for (const Rule& rule : rules) {
    for (const bool applies : {true, false}) {
      const auto fits = [&](const RuleCase& c) {
        return c.rule == rule.name && c.expected.empty() != applies;
      };
      if (std::ranges::any_of(cases, fits)) continue;
      findings += fmt::format("{}: no case in which it {}\n", rule.name,
                              applies ? "applies" : "does not apply");
    }
  }
  return findings;
}

}  // namespace systole::hlo::testing
