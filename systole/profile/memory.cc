#include "systole/profile/memory.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <set>

#include "systole/base/error.h"
#include "systole/profile/hlo_proto.h"
#include "systole/profile/pages.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::profile {
namespace {

using nlohmann::json;
using tracing::Allocation;

bool is_temporary(const Allocation& a) { return a.kind == "temporary"; }

int num_positions(const tracing::Program& program) {
  int last = 0;
  for (const Allocation& a : program.allocations) last = std::max({last, a.first, a.last});
  return last + 1;
}

// Bytes that the intervals cover together. `alive` is sorted by begin.
int64_t covered(const std::multiset<std::pair<int64_t, int64_t>>& alive) {
  int64_t bytes = 0;
  int64_t end = 0;
  for (const auto& [first, last] : alive) {
    bytes += std::max<int64_t>(last - std::max(first, end), 0);
    end = std::max(end, last);
  }
  return bytes;
}

std::vector<const Allocation*> alive_at(const tracing::Program& program, int position) {
  std::vector<const Allocation*> result;
  std::set<std::pair<int64_t, int64_t>> places;
  for (const Allocation& a : program.allocations) {
    const bool alive = a.first <= position && position <= a.last && a.bytes > 0;
    if (!is_temporary(a) || !alive) continue;
    if (places.emplace(a.offset, a.bytes).second) result.push_back(&a);
  }
  std::ranges::stable_sort(result, std::greater(), &Allocation::bytes);
  return result;
}

json array_row(const Allocation& a) {
  return {{"name", a.name},
          {"kind", a.kind},
          {"type", a.type.to_string()},
          {"scope", a.scope},
          {"source", a.source},
          {"bytes", a.bytes},
          {"padded_bytes", runtime::padded_bytes(a.type)},
          {"first", a.first},
          {"last", a.last}};
}

}  // namespace

MemoryProfile memory_profile(const tracing::Program& program) {
  MemoryProfile result;
  const int positions = num_positions(program);
  std::map<int, std::vector<const Allocation*>> begins;
  std::map<int, std::vector<const Allocation*>> ends;
  for (const Allocation& a : program.allocations) {
    result.padding_bytes +=
        std::max<int64_t>(runtime::padded_bytes(a.type) - a.type.byte_size(), 0);
    if (a.kind == "constant") result.constant_bytes += a.bytes;
    if (!is_temporary(a) || a.bytes == 0) continue;
    begins[a.first].push_back(&a);
    ends[a.last].push_back(&a);
  }
  std::multiset<std::pair<int64_t, int64_t>> alive;
  for (int position = 0; position < positions; ++position) {
    for (const Allocation* a : begins[position]) alive.emplace(a->offset, a->offset + a->bytes);
    const int64_t bytes = covered(alive);
    result.temporary_bytes.push_back(bytes);
    if (bytes > result.peak_bytes) {
      result.peak_bytes = bytes;
      result.peak_position = position;
    }
    for (const Allocation* a : ends[position])
      alive.erase(alive.find({a->offset, a->offset + a->bytes}));
  }
  return result;
}

const tracing::Program* main_program(const tracing::Recording& recording,
                                     const Analysis& analysis) {
  std::map<const tracing::Program*, double> seconds;
  for (const OpTime& op : analysis.ops) seconds[op.program] += op.seconds;
  const tracing::Program* best = nullptr;
  double most = -1;
  for (const auto& [id, program] : recording.programs) {
    const auto found = seconds.find(program.get());
    const double time = found == seconds.end() ? 0 : found->second;
    if (time <= most) continue;
    most = time;
    best = program.get();
  }
  return best;
}

json memory_summary(const tracing::Recording& recording, const Analysis& analysis) {
  const tracing::Program* const program = main_program(recording, analysis);
  if (program == nullptr) return json::object();
  const MemoryProfile profile = memory_profile(*program);
  json at_peak = json::array();
  for (const Allocation* a : alive_at(*program, profile.peak_position)) {
    if (at_peak.size() == 50) break;
    at_peak.push_back(array_row(*a));
  }
  json arguments = json::array();
  for (const Allocation& a : program->allocations) {
    if (a.kind == "argument") arguments.push_back(array_row(a));
  }
  int64_t bytes = 0;
  for (const Allocation& a : program->allocations) bytes += a.type.byte_size();
  return {{"program", program->name},
          {"replicas", program->replicas},
          {"argument_bytes", program->argument_bytes},
          {"result_bytes", program->result_bytes},
          {"temporary_bytes", program->temp_bytes},
          {"constant_bytes", profile.constant_bytes},
          {"peak_bytes", profile.peak_bytes},
          {"peak_position", profile.peak_position},
          {"array_bytes", bytes},
          {"padding_bytes", profile.padding_bytes},
          {"by_position", profile.temporary_bytes},
          {"at_peak", at_peak},
          {"arguments", arguments}};
}

json memory_page(const tracing::Recording& recording, const Analysis& analysis) {
  const tracing::Program* const program = main_program(recording, analysis);
  if (program == nullptr) return json::object();
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  const auto status =
      google::protobuf::util::MessageToJsonString(hlo_proto_of(*program), &text, options);
  if (!status.ok()) {
    throw internal_error("memory page of '{}': {}", program->name, status.ToString());
  }
  return json::parse(text);
}

}  // namespace systole::profile
