#include "systole/profile/memory.h"

#include <algorithm>
#include <map>
#include <set>

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

json shape_of(const TensorType& type) {
  json dimensions = json::array();
  json order = json::array();
  for (int64_t d = 0; d < type.shape.rank(); ++d) {
    dimensions.push_back(std::to_string(type.shape[static_cast<int>(d)]));
    order.push_back(std::to_string(type.shape.rank() - 1 - d));
  }
  std::string name(to_string(type.dtype));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return {{"elementType", name},
          {"dimensions", dimensions},
          {"tupleShapes", json::array()},
          {"layout", {{"format", "DENSE"}, {"minorToMajor", order}, {"maxSparseElements", "0"}}}};
}

json instruction_of(const Allocation& a, size_t id) {
  const size_t colon = a.source.rfind(':');
  const bool has_line = colon != std::string::npos;
  return {{"name", a.name},
          {"opcode", a.name.substr(0, a.name.rfind('.'))},
          {"shape", shape_of(a.type)},
          {"metadata",
           {{"opType", ""},
            {"opName", a.scope},
            {"sourceFile", has_line ? a.source.substr(0, colon) : a.source},
            {"sourceLine", has_line ? std::atoi(a.source.c_str() + colon + 1) : 0}}},
          {"id", std::to_string(id)}};
}

// The plugin's allocations: the arena of temporaries, and one for each other memory.
json allocations_of(const tracing::Program& program) {
  std::map<std::pair<std::string, int>, json> by_memory;
  for (size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& a = program.allocations[i];
    auto& allocation = by_memory[{a.kind, is_temporary(a) ? 0 : a.index}];
    if (allocation.is_null()) {
      allocation = {{"index", std::to_string(by_memory.size() - 1)},
                    {"size", std::to_string(is_temporary(a) ? program.temp_bytes : a.bytes)},
                    {"isThreadLocal", false},
                    {"isReusable", is_temporary(a)},
                    {"isEntryComputationParameter", a.kind == "argument"},
                    {"isConstant", a.kind == "constant"},
                    {"maybeLiveOut", a.kind == "result"},
                    {"assigned", json::array()}};
    }
    allocation["assigned"].push_back({{"logicalBufferId", std::to_string(i)},
                                      {"offset", std::to_string(a.offset)},
                                      {"size", std::to_string(a.bytes)}});
  }
  json result = json::array();
  for (auto& [key, allocation] : by_memory) result.push_back(std::move(allocation));
  return result;
}

json heap_events(const tracing::Program& program) {
  struct Change {
    int position;
    bool frees;
    size_t buffer;
  };
  std::vector<Change> changes;
  for (size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& a = program.allocations[i];
    if (!is_temporary(a)) continue;
    changes.push_back({a.first, false, i});
    changes.push_back({a.last, true, i});
  }
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    return std::pair(a.position, a.frees) < std::pair(b.position, b.frees);
  });
  json events = json::array();
  for (const Change& change : changes) {
    events.push_back({{"kind", change.frees ? "FREE" : "ALLOC"},
                      {"bufferId", std::to_string(change.buffer)},
                      {"instructionName", program.allocations[change.buffer].name}});
  }
  return events;
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
  json instructions = json::array();
  json buffers = json::array();
  for (size_t i = 0; i < program->allocations.size(); ++i) {
    const Allocation& a = program->allocations[i];
    instructions.push_back(instruction_of(a, i));
    buffers.push_back(
        {{"id", std::to_string(i)},
         {"size", std::to_string(a.bytes)},
         {"definedAt", {{"instructionName", a.name}, {"shapeIndex", json::array()}}}});
  }
  return {{"hloModule",
           {{"name", program->name},
            {"entryComputationName", "main"},
            {"entryComputationId", "0"},
            {"computations",
             json::array({{{"name", "main"}, {"instructions", instructions}, {"id", "0"}}})}}},
          {"bufferAssignment",
           {{"logicalBuffers", buffers},
            {"bufferAllocations", allocations_of(*program)},
            {"heapSimulatorTraces", json::array({{{"events", heap_events(*program)}}})}}}};
}

}  // namespace systole::profile
