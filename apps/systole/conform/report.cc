#include "apps/systole/conform/report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace systole::app::conform {
namespace {

constexpr std::string_view kFunctions[] = {
#define FUNCTION(name) #name,
#include "systole/pjrt_abi/functions.def"
};

// What the checks said of a function.
struct Tally {
  int passed = 0;
  int failed = 0;
  int absent = 0;
};

std::map<std::string, Tally, std::less<>> by_function(const Report& report) {
  std::map<std::string, Tally, std::less<>> tallies;
  for (const Result& result : report.results) {
    for (const std::string& function : result.functions) {
      Tally& tally = tallies[function];
      tally.passed += result.outcome == Outcome::pass ? 1 : 0;
      tally.failed += result.outcome == Outcome::fail ? 1 : 0;
      tally.absent += result.outcome == Outcome::absent ? 1 : 0;
    }
  }
  return tallies;
}

std::string_view verdict(const Tally& tally) {
  if (tally.failed > 0) return "FAIL";
  if (tally.passed > 0) return "pass";
  return "absent";
}

}  // namespace

int Report::count(Outcome outcome) const {
  return static_cast<int>(
      std::ranges::count(results, outcome, [](const Result& r) { return r.outcome; }));
}

bool Report::passed() const {
  return count(Outcome::fail) == 0 &&
         std::ranges::all_of(programs, [](const Programs& p) { return p.passed; });
}

std::string to_text(const Report& report) {
  std::string text = fmt::format("{}, PJRT C API {}\n\n", report.plugin, report.version);
  const auto tallies = by_function(report);
  std::vector<std::string_view> unchecked;
  for (const std::string_view function : kFunctions) {
    const auto found = tallies.find(function);
    if (found == tallies.end()) {
      unchecked.push_back(function);
      continue;
    }
    text += fmt::format("  {:<62} {:<6} {} of {} checks\n", function, verdict(found->second),
                        found->second.passed,
                        found->second.passed + found->second.failed + found->second.absent);
  }
  if (!unchecked.empty())
    text += fmt::format("\nnot called by a check: {}\n", fmt::join(unchecked, ", "));
  for (const Result& result : report.results) {
    if (result.outcome == Outcome::fail)
      text += fmt::format("\nFAIL  {}\n      {}\n", result.check, result.why);
  }
  for (const Programs& programs : report.programs)
    text += fmt::format("\nprograms: {}\n", programs.summary);
  text +=
      fmt::format("\n{} checks passed, {} failed, {} not applicable: {}\n",
                  report.count(Outcome::pass), report.count(Outcome::fail),
                  report.count(Outcome::absent), report.passed() ? "conforms" : "does NOT conform");
  return text;
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json checks = nlohmann::json::array();
  for (const Result& result : report.results) {
    const std::string_view outcome = result.outcome == Outcome::pass   ? "pass"
                                     : result.outcome == Outcome::fail ? "fail"
                                                                       : "absent";
    checks.push_back({{"check", result.check},
                      {"functions", result.functions},
                      {"outcome", outcome},
                      {"why", result.why}});
  }
  nlohmann::json functions = nlohmann::json::object();
  for (const auto& [name, tally] : by_function(report)) functions[name] = verdict(tally);
  nlohmann::json programs = nlohmann::json::array();
  for (const Programs& p : report.programs)
    programs.push_back({{"summary", p.summary}, {"passed", p.passed}});
  return {{"plugin", report.plugin}, {"api_version", report.version}, {"conforms", report.passed()},
          {"checks", checks},        {"functions", functions},        {"programs", programs}};
}

}  // namespace systole::app::conform
