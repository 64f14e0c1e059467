#include "systole/estimator/check_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>

#include "systole/runtime/memory.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/runtime/tpu_tiles.h"

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
          .padded_bytes = runtime::padded_bytes(array.type),
          .of_step = true};
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
  return compiled ? text + compiled->to_string() : text;
}

}  // namespace systole
