#include "systole/tpu_check/program_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/tpu_model/step_memory.h"
#include "systole/profile/prediction/program_cost.h"
#include "systole/profile/prediction/tpu_system.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/stablehlo/bytecode/bytecode.h"

namespace systole::tpu_check {
namespace {

std::string size_text(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

// Adds the time of the kernels alone, without the loop of steps around them.
void predict_time(const profile::StepCost& cost, CoreEstimate& estimate) {
  const profile::TpuSystem system = profile::tpu_system(estimate.system);
  const profile::StepPrediction prediction = profile::predict(cost, system);
  estimate.seconds = prediction.compute_seconds + prediction.overhead_seconds -
                     profile::calibration_of(*system.generation).step_seconds;
  estimate.all_reduce_seconds = prediction.all_reduce_seconds;
}

std::unique_ptr<hlo::Module> read_module(std::string_view program, const std::string& file) {
  auto modules = hlo::read_modules(program, file);
  if (modules.size() != 1)
    throw invalid_argument("{}: modules, got {}, expected one", file, modules.size());
  hlo::verify(*modules[0]);
  return std::move(modules[0]);
}

std::string estimate_text(const CoreEstimate& estimate) {
  std::string text = fmt::format("  {:<9} {}: {} of {}", estimate.system,
                                 estimate.fits() ? "fits" : "does not fit",
                                 size_text(estimate.bytes), size_text(estimate.limit));
  if (estimate.seconds > 0) {
    text += fmt::format(", a step of a core {:.4g} ms", 1e3 * estimate.seconds);
    if (estimate.all_reduce_seconds > 0)
      text += fmt::format(" + sums over cores {:.4g} ms", 1e3 * estimate.all_reduce_seconds);
  }
  return text + "\n";
}

}  // namespace

std::string_view program_in(std::string_view bytes) {
  // The module is a vector of bytes in a flatbuffer: its length, and MLIR's magic number first.
  constexpr std::string_view kMagic = "ML\xefR";
  if (hlo::is_bytecode(bytes)) return bytes;
  for (size_t at = bytes.find(kMagic); at != std::string_view::npos;
       at = bytes.find(kMagic, at + 1)) {
    uint32_t size = 0;
    if (at < sizeof size) continue;
    std::memcpy(&size, bytes.data() + at - sizeof size, sizeof size);
    if (size > kMagic.size() && size <= bytes.size() - at) return bytes.substr(at, size);
  }
  return bytes;
}

nlohmann::json CoreEstimate::to_json() const {
  return {{"system", system},        {"bytes", bytes},
          {"limit", limit},          {"fits", fits()},
          {"core_seconds", seconds}, {"all_reduce_seconds", all_reduce_seconds}};
}

CoreEstimate estimate_optimized(const hlo::Module& program, const std::string& system) {
  const runtime::CoreMemory core = runtime::core_memory(*profile::tpu_system(system).generation);
  CoreEstimate result{.system = system, .limit = core.limit};
  const hlo::StepMemory memory = runtime::tpu_memory(program, core);
  result.bytes = std::llround(memory.total());
  predict_time(profile::cost_of(program, memory.recomputed), result);
  return result;
}

CoreEstimate estimate(const hlo::Module& module, const std::string& system) {
  return estimate_optimized(*hlo::tpu_program(module), system);
}

ProgramReport check_program(std::string_view program, const std::string& file,
                            const std::vector<std::string>& systems) {
  ProgramReport report;
  const bool is_text = !hlo::is_bytecode(program);
  report.findings = is_text ? findings_of(program, true)
                            : findings_of(hlo::bytecode_to_text(program, file), false);
  try {
    const auto module = read_module(program, file);
    const auto optimized = hlo::tpu_program(*module);
    for (const profile::OpCost& op : profile::cost_of(*optimized).ops)
      report.flops += op.flops * op.times;
    for (const std::string& system : systems)
      report.estimates.push_back(estimate_optimized(*optimized, system));
  } catch (const Error& error) {
    report.unknown = error.message();
    // Not a program that others may know better.
    report.is_valid = error.code() != Code::invalid_argument || !report.findings.empty();
  }
  return report;
}

std::vector<std::string> differences_of(const CoreEstimate& ours, const CompileReport& compiled) {
  std::vector<std::string> found;
  const bool theirs_fits = compiled.verdict == Verdict::fits;
  if (compiled.verdict != Verdict::fits && compiled.verdict != Verdict::too_big) return found;
  if (theirs_fits != ours.fits()) {
    found.push_back(fmt::format("memory: ours {} ({}), Google's compiler {} ({})",
                                size_text(ours.bytes), ours.fits() ? "fits" : "does not fit",
                                size_text(compiled.total), theirs_fits ? "fits" : "does not fit"));
  } else if (compiled.total > 0) {
    constexpr double kClose = 0.25;
    const double ratio = static_cast<double>(ours.bytes) / static_cast<double>(compiled.total);
    if (std::abs(ratio - 1) > kClose)
      found.push_back(fmt::format("memory: ours {}, {:.2g} times Google's compiler's {}",
                                  size_text(ours.bytes), ratio, size_text(compiled.total)));
  }
  if (ours.seconds > 0 && compiled.seconds() > 0) {
    constexpr double kClose = 0.40;
    const double ratio = ours.seconds / compiled.seconds();
    if (ratio > 1 + kClose || ratio < 1 / (1 + kClose))
      found.push_back(
          fmt::format("time of a core: ours {:.4g} ms, {:.2g} times the {:.4g} ms of "
                      "Google's compiler's cycles",
                      1e3 * ours.seconds, ratio, 1e3 * compiled.seconds()));
  }
  return found;
}

bool ProgramReport::ok() const {
  if (compiled) return compiled->fits();
  if (!is_valid) return false;
  const auto refused = [](const Finding& finding) { return finding.refused; };
  if (std::ranges::any_of(findings, refused)) return false;
  return std::ranges::all_of(estimates, &CoreEstimate::fits);
}

std::vector<std::string> ProgramReport::differences() const {
  std::vector<std::string> found;
  if (!compiled) return found;
  const bool theirs =
      compiled->verdict == Verdict::refused || compiled->verdict == Verdict::crashed;
  bool ours = false;
  for (const Finding& finding : findings) {
    if (!finding.refused) continue;
    ours = true;
    if (theirs) {
      found.push_back("yours is " + finding.to_string());
    } else if (compiled->verdict == Verdict::fits) {
      found.push_back("Google's compiler takes, and we refuse: " + finding.to_string());
    }
  }
  if (theirs && !ours) found.push_back("we found nothing to refuse in the program");
  for (const CoreEstimate& estimate : estimates) {
    if (estimate.system != compiled->system) continue;
    for (std::string& text : differences_of(estimate, *compiled)) found.push_back(std::move(text));
  }
  return found;
}

std::string ProgramReport::to_string() const {
  std::string text;
  int count = 0;
  for (const Finding& finding : findings) {
    text += fmt::format("{}. {}\n", finding.refused ? std::to_string(++count) : "note",
                        finding.to_string());
  }
  if (!is_valid) {
    text += "no valid program: " + unknown + "\n";
  } else if (count == 0) {
    text += "nothing that a TPU would refuse\n";
  }
  if (is_valid && !unknown.empty()) text += "memory and time are not known: " + unknown + "\n";
  if (flops > 0) text += fmt::format("products and convolutions: {:.4g} GFLOP\n", 1e-9 * flops);
  if (!estimates.empty()) text += "our estimate\n";
  for (const CoreEstimate& estimate : estimates) text += estimate_text(estimate);
  if (compiled) text += compiled->to_string();
  const std::vector<std::string> others = differences();
  if (!others.empty()) text += "beside our own verdict\n";
  for (const std::string& difference : others) text += "  " + difference + "\n";
  return text;
}

nlohmann::json ProgramReport::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"place", finding.place},
                    {"what", finding.what},
                    {"why", finding.why},
                    {"refused", finding.refused}});
  }
  nlohmann::json cores = nlohmann::json::array();
  for (const CoreEstimate& estimate : estimates) cores.push_back(estimate.to_json());
  nlohmann::json json = {{"ok", ok()},
                         {"valid", is_valid},
                         {"findings", list},
                         {"estimates", cores},
                         {"unknown", unknown},
                         {"flops", flops},
                         {"differences", differences()}};
  if (compiled) json["compiler"] = compiled->to_json();
  return json;
}

}  // namespace systole::tpu_check
