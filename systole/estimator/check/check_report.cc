#include "systole/estimator/check/check_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "systole/runtime/memory.h"

namespace systole {
namespace {

std::string amount(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

int64_t padded_bytes(const TensorType& type) {
  constexpr int64_t kLanes = 128;
  constexpr int64_t kSublaneBytes = 32;  // 8 words of 32 bits
  const int64_t size = std::max<int64_t>(dtype_info(type.dtype).size, 1);
  const int64_t rank = type.shape.rank();
  const int64_t elements = type.shape.num_elements();
  if (rank == 0 || elements == 0) return elements * size;
  if (rank == 1) return round_up(elements, kLanes) * size;
  const int64_t sublanes = std::max<int64_t>(kSublaneBytes / size, 1);
  int64_t least = INT64_MAX;
  for (int lane = 0; lane < rank; ++lane) {
    for (int sublane = 0; sublane < rank; ++sublane) {
      if (lane == sublane) continue;
      const int64_t others = elements / type.shape[lane] / type.shape[sublane];
      least = std::min(least, others * round_up(type.shape[lane], kLanes) *
                                  round_up(type.shape[sublane], sublanes));
    }
  }
  return least * size;
}

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
  return memory.total() == 0 ? text : text + memory.to_string();
}

}  // namespace systole
