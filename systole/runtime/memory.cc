#include "systole/runtime/memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "systole/base/error.h"

namespace systole::runtime {
namespace {

constexpr size_t kNamed = 3;  // tensors in a message

// Returns `otherwise` if the file does not exist or says "max".
int64_t number_in_file(const char* path, int64_t otherwise) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return otherwise;
  long long number = 0;
  const bool read = std::fscanf(file, "%lld", &number) == 1;
  std::fclose(file);
  return read ? number : otherwise;
}

struct NamedTensor {
  const hlo::Instruction* def;
  const TensorType* type;
};

void collect(const hlo::Computation& computation, std::vector<NamedTensor>& tensors) {
  for (const hlo::Instruction* x : computation.instructions()) {
    // A bitcast or barrier shares the memory of its operand.
    const bool own = !x->traits().has(hlo::kBitcast) && !x->is(hlo::Opcode::optimization_barrier);
    for (const TensorType& type : x->results()) {
      if (own) tensors.push_back({x, &type});
    }
    if (x->is(hlo::Opcode::fusion)) continue;
    for (const auto& region : x->regions()) collect(*region, tensors);
  }
}

std::string largest_tensors(const hlo::Module& module) {
  std::vector<NamedTensor> tensors;
  collect(module.entry(), tensors);
  const size_t count = std::min(kNamed, tensors.size());
  std::ranges::stable_sort(tensors, std::ranges::greater(),
                           [](const NamedTensor& t) { return t.type->byte_size(); });
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const hlo::Instruction& def = *tensors[i].def;
    const std::string source = def.metadata().to_string();
    text += fmt::format("{}{} of '{}'{}{} ({})", i == 0 ? "" : ", ", *tensors[i].type, def.opcode(),
                        source.empty() ? "" : " from ", source,
                        bytes_text(static_cast<double>(tensors[i].type->byte_size())));
  }
  return text;
}

}  // namespace

int64_t host_memory_bytes() {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max",  // version 2, version 1
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    bytes = std::min(bytes, number_in_file(path, bytes));
  }
  return bytes;
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

void check_memory(std::string_view platform, const hlo::Module& module,
                  const ExecutableStats& stats, int64_t available) {
  // As doubles: sums of sizes near 2^63 would overflow.
  const auto arguments = static_cast<double>(stats.argument_bytes);
  const auto results = static_cast<double>(stats.result_bytes);
  const auto temporaries = static_cast<double>(stats.temp_bytes);
  const double needed = arguments + results + temporaries;
  if (needed <= static_cast<double>(available)) return;
  throw make_error(Code::resource_exhausted,
                   "{}: memory of '{}', got {} (arguments {}, results {}, temporaries {}), "
                   "expected at most {}; the largest tensors: {}",
                   platform, module.name(), bytes_text(needed), bytes_text(arguments),
                   bytes_text(results), bytes_text(temporaries),
                   bytes_text(static_cast<double>(available)), largest_tensors(module));
}

}  // namespace systole::runtime
