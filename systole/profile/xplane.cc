#include "systole/profile/xplane.h"

#include <fmt/format.h>

#include <map>

#include "systole/profile/device_rows.h"
#include "systole/profile/hlo_proto.h"
#include "systole/profile/proto/xplane.pb.h"

namespace systole::profile {
namespace {

using tracing::Event;
using tracing::Kind;

constexpr int64_t kPicoseconds = 1000;  // of a nanosecond

// Fills a plane: gives names and statistics their ids.
class Plane {
 public:
  Plane(xplane::XSpace& space, int64_t id, const std::string& name, int64_t start_unix_ns)
      : plane_(*space.add_planes()), start_(start_unix_ns) {
    plane_.set_id(id);
    plane_.set_name(name);
  }

  template <class T>
  void stat(const std::string& name, const T& value) {
    set(*plane_.add_stats(), name, value);
  }

  xplane::XLine& line(int64_t id, const std::string& name) {
    xplane::XLine& line = *plane_.add_lines();
    line.set_id(id);
    line.set_display_id(id);
    line.set_name(name);
    line.set_timestamp_ns(start_);
    return line;
  }

  // `program`: the id of the program that has `op`.
  xplane::XEvent& event(xplane::XLine& line, const Event& event, std::string_view name,
                        const tracing::Op* op = nullptr, int64_t program = -1) {
    xplane::XEvent& added = *line.add_events();
    added.set_metadata_id(metadata(name, op, program));
    added.set_offset_ps(event.begin * kPicoseconds);
    added.set_duration_ps((event.end - event.begin) * kPicoseconds);
    line.set_duration_ps(std::max<int64_t>(line.duration_ps(), event.end * kPicoseconds));
    return added;
  }

  void add_program(int64_t id, const tracing::Program& program) {
    xplane::XEventMetadata& metadata = (*plane_.mutable_event_metadata())[id];
    metadata.set_id(id);
    const xla::HloProto proto = hlo_proto_of(program);
    metadata.set_name(fmt::format("{}({})", proto.hlo_module().name(), id));
    xplane::XStat& stat = *metadata.add_stats();
    stat.set_metadata_id(stat_id("Hlo Proto"));
    stat.set_bytes_value(proto.SerializeAsString());
  }

  template <class T>
  void stat(xplane::XEvent& event, const std::string& name, const T& value) {
    set(*event.add_stats(), name, value);
  }

 private:
  int64_t stat_id(const std::string& name) {
    const auto [entry, added] = stats_.try_emplace(name, static_cast<int64_t>(stats_.size()) + 1);
    if (added) {
      xplane::XStatMetadata& metadata = (*plane_.mutable_stat_metadata())[entry->second];
      metadata.set_id(entry->second);
      metadata.set_name(name);
    }
    return entry->second;
  }

  void set(xplane::XStat& stat, const std::string& name, double value) {
    stat.set_metadata_id(stat_id(name));
    stat.set_double_value(value);
  }
  void set(xplane::XStat& stat, const std::string& name, int64_t value) {
    stat.set_metadata_id(stat_id(name));
    stat.set_int64_value(value);
  }
  void set(xplane::XStat& stat, const std::string& name, uint64_t value) {
    stat.set_metadata_id(stat_id(name));
    stat.set_uint64_value(value);
  }
  // Texts are stored once, as the name of a statistic.
  void set(xplane::XStat& stat, const std::string& name, const std::string& value) {
    stat.set_metadata_id(stat_id(name));
    stat.set_ref_value(static_cast<uint64_t>(stat_id(value)));
  }

  int64_t metadata(std::string_view name, const tracing::Op* op, int64_t program) {
    const auto key = std::pair(std::string(name), op);
    const auto [entry, added] = events_.try_emplace(key, static_cast<int64_t>(events_.size()) + 1);
    if (!added) return entry->second;
    xplane::XEventMetadata& metadata = (*plane_.mutable_event_metadata())[entry->second];
    metadata.set_id(entry->second);
    metadata.set_name(op != nullptr ? op->expression : key.first);
    metadata.set_display_name(key.first);
    if (op == nullptr) return entry->second;
    const auto add = [&](const char* stat, const auto& value) {
      set(*metadata.add_stats(), stat, value);
    };
    // XProf counts an op in its overview and tables only if its metadata has these two.
    add("program_id", program);
    add("symbol_id", entry->second);
    add("hlo_category", op->category);
    add("flops", static_cast<uint64_t>(op->flops));
    add("model_flops", static_cast<uint64_t>(op->flops));
    add("bytes_accessed", static_cast<uint64_t>(op->bytes));
    add("raw_bytes_accessed", static_cast<uint64_t>(op->bytes));
    add("deduplicated_name", key.first);
    if (!op->scope.empty()) add("tf_op", op->scope);
    if (!op->source.empty()) add("source", op->source);
    if (!op->shapes.empty())
      add("shape_with_layout", fmt::format("{}", fmt::join(op->shapes, " ")));
    return entry->second;
  }

  xplane::XPlane& plane_;
  int64_t start_;
  std::map<std::string, int64_t> stats_;
  std::map<std::pair<std::string, const tracing::Op*>, int64_t> events_;
};

void add_device(xplane::XSpace& space, const tracing::Recording& recording,
                const Analysis& analysis, int64_t most) {
  Plane plane(space, 1, "/device:TPU:0", recording.start_unix_ns);
  plane.stat("peak_teraflops_per_second", 1e-12 * analysis.peaks.flops_per_second);
  plane.stat("peak_hbm_bw_gigabytes_per_second", 1e-9 * analysis.peaks.bytes_per_second);
  plane.stat("device_type_string", analysis.peaks.name);
  for (const DeviceRow& row : device_rows(recording)) {
    xplane::XLine& line = plane.line(row.id, row.name);
    int64_t count = 0;
    for (const DeviceEvent& event : row.events) {
      if (++count > most) break;
      const tracing::Op* const op = op_of(recording, event.event);
      const bool is_op = row.name == "XLA Ops";
      const std::string step = std::to_string(event.step);
      const bool is_step = row.name == "Steps";
      const std::string_view name = is_step ? std::string_view(step) : event.name;
      const int64_t id = event.event.arg("program", -1);
      xplane::XEvent& added = plane.event(line, event.event, name, is_op ? op : nullptr, id);
      plane.stat(added, "group_id", event.step);
      if (is_step) plane.stat(added, "step_num", event.step);
      const auto program = recording.programs.find(id);
      if (is_step || program == recording.programs.end()) continue;
      plane.stat(added, "program_id", program->first);
      plane.stat(added, "hlo_module", program->second->name);
      if (!is_op) continue;
      plane.stat(added, "hlo_op", std::string(event.name));
      plane.stat(added, "replica_id", int64_t{0});
      plane.stat(added, "replicas", static_cast<int64_t>(program->second->replicas));
    }
  }
}

void add_thread(Plane& plane, const tracing::ThreadEvents& thread, int64_t most) {
  xplane::XLine& line = plane.line(
      thread.id, thread.name.empty() ? fmt::format("thread {}", thread.id) : thread.name);
  std::vector<const Event*> events;
  for (const Event& event : thread.events) {
    if (event.kind != Kind::op && event.kind != Kind::step) events.push_back(&event);
  }
  std::ranges::stable_sort(events, [](const Event* a, const Event* b) {
    return std::pair(a->begin, -a->end) < std::pair(b->begin, -b->end);
  });
  if (static_cast<int64_t>(events.size()) > most) events.resize(static_cast<size_t>(most));
  for (const Event* event : events) {
    xplane::XEvent& added = plane.event(line, *event, event->name);
    for (const tracing::Arg& a : event->args) {
      if (a.key != nullptr) plane.stat(added, a.key, a.value);
    }
    if (event->kind != Kind::loop) continue;
    plane.stat(added, "_r", int64_t{1});
    plane.stat(added, "step_num", event->arg("step", 0));
  }
}

void add_host(xplane::XSpace& space, const tracing::Recording& recording, int64_t most) {
  Plane plane(space, 2, "/host:CPU", recording.start_unix_ns);
  for (const tracing::ThreadEvents& thread : recording.threads) add_thread(plane, thread, most);
  for (const tracing::WorkerRecording& worker : recording.workers) {
    for (const tracing::ThreadEvents& calls : worker.calls) add_thread(plane, calls, most);
  }
}

// The memory plan of each program, where XProf looks for what was compiled.
void add_programs(xplane::XSpace& space, const tracing::Recording& recording) {
  Plane plane(space, 4, "/host:metadata", recording.start_unix_ns);
  for (const auto& [id, program] : recording.programs) plane.add_program(id, *program);
}

}  // namespace

std::string xplane_bytes(const tracing::Recording& recording, const Analysis& analysis,
                         const std::string& host_name, int64_t most) {
  xplane::XSpace space;
  space.add_hostnames(host_name);
  if (!analysis.problem.empty()) space.add_warnings(analysis.problem);
  add_device(space, recording, analysis, most);
  add_host(space, recording, most);
  add_programs(space, recording);
  Plane environment(space, 3, "Task Environment", recording.start_unix_ns);
  environment.stat("profile_start_time", static_cast<uint64_t>(recording.start_unix_ns));
  environment.stat("profile_stop_time",
                   static_cast<uint64_t>(recording.start_unix_ns + recording.duration_ns));
  return space.SerializeAsString();
}

}  // namespace systole::profile
