#include "systole/estimator/check_report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "systole/base/error.h"
#include "systole/profile/prediction/tpu_system.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/tpu_check/program_check.h"

namespace systole {
namespace {

constexpr size_t kShown = 10;
constexpr std::string_view kDoesNotFit = "a step does not fit into a core";

std::string amount(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

TensorMemory memory_of(const hlo::LiveArray& array) {
  std::string what = array.value.def->metadata().to_string();
  if (what.empty()) what = std::string(to_string(array.value.def->opcode()));
  return {.what = std::move(what),
          .type = array.type,
          .bytes = array.type.byte_size(),
          .padded_bytes = static_cast<int64_t>(array.bytes),
          .of_step = true};
}

// What stands below the compiler's own report.
std::string sums_text(const tpu_check::CompileReport& compiled,
                      const tpu_check::CoreEstimate& ours) {
  if (ours.all_reduce_seconds <= 0 || compiled.seconds() <= 0) return "";
  return fmt::format("  + sums over {} cores, by our model: {:.4g} ms; a step {:.4g} ms\n",
                     compiled.replicas, 1e3 * ours.all_reduce_seconds,
                     1e3 * (compiled.seconds() + ours.all_reduce_seconds));
}

}  // namespace

std::string MemoryReport::to_string() const {
  std::string text = fmt::format(
      "memory of a core: {} of {}{} (variables {}, inputs {}, a step {}{})\n", amount(total()),
      amount(limit), complete ? "" : ", without what has no known shape", amount(variables),
      amount(inputs), amount(step),
      recomputed == 0 ? "" : fmt::format(", {} arrays computed again to save memory", recomputed));
  for (const TensorMemory& tensor : std::span(largest).first(std::min(kShown, largest.size()))) {
    text += fmt::format("  {:>12}, padded {:>12}  {}  {}\n", amount(tensor.bytes),
                        amount(tensor.padded_bytes), tensor.type.to_string(), tensor.what);
  }
  return text;
}

void CheckReport::fit_into(const runtime::CoreMemory& core) {
  memory.limit = core.limit;
  std::erase_if(violations, [](const Violation& v) { return v.what.starts_with(kDoesNotFit); });
  std::erase_if(memory.largest, [](const TensorMemory& tensor) { return tensor.of_step; });
  if (step.module != nullptr) {
    const auto program = hlo::tpu_program(*step.module);
    const auto state = static_cast<double>(memory.variables + memory.inputs);
    const hlo::StepMemory needed = runtime::tpu_memory(*program, core, state);
    memory.step = std::llround(needed.temporaries);
    memory.recomputed = std::ssize(needed.recomputed);
    const size_t count = std::min(kShown, needed.largest.size());
    for (const hlo::LiveArray& array : std::span(needed.largest).first(count))
      memory.largest.push_back(memory_of(array));
  } else {
    memory.complete = false;
  }
  std::ranges::stable_sort(memory.largest, std::greater(), &TensorMemory::padded_bytes);
  if (memory.total() <= memory.limit) return;
  violations.push_back({.what = fmt::format("{}: {}", kDoesNotFit, memory.to_string()),
                        .fix = "a smaller batch, more cores, or bfloat16"});
}

void CheckReport::compile(const tpu_check::CompileOptions& options) {
  if (step.module == nullptr) {
    throw failed_precondition(
        "check: program of a step for {}, got none, expected one: correct what is found without "
        "Google's compiler{}{}",
        options.system, violations.empty() ? "" : ":\n", violations.empty() ? "" : to_string());
  }
  const runtime::TpuGeneration& generation = *profile::tpu_system(options.system).generation;
  compiled = tpu_check::compile_step(*step.module, options);
  fit_into(runtime::core_memory(generation));
  estimate = tpu_check::estimate(*step.module, options.system);
  estimate->bytes = memory.total();
}

std::vector<std::string> CheckReport::differences() const {
  if (!compiled || !estimate) return {};
  using tpu_check::Verdict;
  const bool refused =
      compiled->verdict == Verdict::refused || compiled->verdict == Verdict::crashed;
  std::vector<std::string> found;
  bool ours = false;
  for (const Violation& violation : violations) {
    if (violation.note || violation.what.starts_with(kDoesNotFit)) continue;
    ours = true;
    if (refused) found.push_back("yours is " + violation.what);
    if (compiled->fits())
      found.push_back("Google's compiler takes, and we refuse: " + violation.what);
  }
  if (refused && !ours) found.emplace_back("we found nothing to refuse");
  const auto figures = tpu_check::differences_of(*estimate, *compiled);
  found.insert(found.end(), figures.begin(), figures.end());
  return found;
}

bool CheckReport::ok() const {
  if (compiled) return compiled->fits();
  return std::ranges::all_of(violations, [](const Violation& violation) { return violation.note; });
}

std::string CheckReport::to_string() const {
  std::string text;
  int count = 0;
  for (const Violation& violation : violations) {
    const std::string mark = violation.note ? "note" : fmt::format("{}", ++count);
    text += fmt::format("{}. {}; {}\n", mark, violation.what, violation.fix);
  }
  if (count == 0) text += "nothing that a TPU would refuse\n";
  if (memory.total() != 0) text += memory.to_string();
  if (!compiled) return text;
  text += compiled->to_string();
  if (estimate) text += sums_text(*compiled, *estimate);
  const std::vector<std::string> others = differences();
  if (!others.empty())
    text += fmt::format("beside our own verdict\n  {}\n", fmt::join(others, "\n  "));
  return text;
}

nlohmann::json CheckReport::to_json() const {
  nlohmann::json findings = nlohmann::json::array();
  for (const Violation& violation : violations) {
    findings.push_back(
        {{"what", violation.what}, {"fix", violation.fix}, {"refused", !violation.note}});
  }
  nlohmann::json arrays = nlohmann::json::array();
  for (const TensorMemory& tensor : memory.largest) {
    arrays.push_back({{"what", tensor.what},
                      {"type", tensor.type.to_string()},
                      {"bytes", tensor.bytes},
                      {"padded_bytes", tensor.padded_bytes}});
  }
  nlohmann::json json = {{"ok", ok()},
                         {"findings", findings},
                         {"memory",
                          {{"limit", memory.limit},
                           {"total", memory.total()},
                           {"variables", memory.variables},
                           {"inputs", memory.inputs},
                           {"step", memory.step},
                           {"recomputed", memory.recomputed},
                           {"complete", memory.complete},
                           {"largest", arrays}}}};
  if (compiled) json["compiler"] = compiled->to_json();
  if (estimate) json["estimate"] = estimate->to_json();
  if (compiled && estimate) json["differences"] = differences();
  return json;
}

}  // namespace systole
