#include "systole/estimator/check_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "systole/runtime/memory.h"

namespace systole {
namespace {

std::string amount(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

}  // namespace

std::string MemoryReport::to_string() const {
  std::string text = fmt::format(
      "memory of a core: {} of {}{} (variables {}, inputs {}, a step {})\n", amount(total()),
      amount(limit), complete ? "" : ", without what has no known shape", amount(variables),
      amount(inputs), amount(step));
  for (const TensorMemory& tensor : largest) {
    text += fmt::format("  {:>12}, padded {:>12}  {}  {}\n", amount(tensor.bytes),
                        amount(tensor.padded_bytes), tensor.type.to_string(), tensor.what);
  }
  return text;
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
