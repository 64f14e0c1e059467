#include "systole/profile/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "systole/profile/device_rows.h"
#include "systole/profile/timeline.h"

namespace systole::profile {
namespace {

using nlohmann::json;
using tracing::Event;
using tracing::Kind;

constexpr int kHost = 1;
constexpr int kDevice = 2;
constexpr int64_t kStepRow = 1;  // of device_rows()
constexpr int64_t kOpRow = 3;

std::string json_string(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// One event to write.
struct Row {
  const Event* event;
  const tracing::Recording* recording;
  int pid;
  int64_t tid;
  std::string_view name;  // "" for the event's own
};

// A machine: its host has the process `host`, its device the next one.
struct Machine {
  const tracing::Recording* recording;
  int host;
  std::string suffix;  // of the names of processes
  std::vector<DeviceRow> device;
};

class Writer {
 public:
  Writer(const tracing::Recording& recording, const std::function<void(std::string_view)>& write)
      : recording_(recording), write_(write) {}

  void run(const TraceOptions& options) {
    collect();
    const auto left_out = limit(options.most);
    write_(
        fmt::format("{{\"displayTimeUnit\":\"ns\",\"metadata\":{{\"highres-ticks\":true,"
                    "\"start_unix_ns\":{},\"events_left_out\":{},\"workers\":[{}]}},\n"
                    "\"traceEvents\":[\n",
                    recording_.start_unix_ns, left_out, workers_text()));
    write_names();
    for (const Row& row : rows_) write_row(row);
    if (options.dataflow) write_arrows();
    if (options.memory) write_memory();
    write_("{}]}\n");
  }

 private:
  void collect() {
    machines_.push_back({.recording = &recording_, .host = kHost});
    for (const tracing::WorkerRecording& worker : recording_.workers) {
      machines_.push_back({.recording = &worker.recording,
                           .host = machines_.back().host + 2,
                           .suffix = " of worker " + worker.address});
      for (const tracing::ThreadEvents& calls : worker.calls) add_thread(recording_, kHost, calls);
    }
    for (Machine& machine : machines_) {
      for (const tracing::ThreadEvents& thread : machine.recording->threads)
        add_thread(*machine.recording, machine.host, thread);
      machine.device = device_rows(*machine.recording);
      for (const DeviceRow& row : machine.device) {
        for (const DeviceEvent& event : row.events)
          rows_.push_back({&event.event, machine.recording, machine.host + 1, row.id, event.name});
      }
      // Few steps note their ops; the row of ops says so of the others, which were not idle.
      for (const DeviceEvent& step : machine.device.front().events) {
        if (step.event.arg("ops", 0) > 0) continue;
        rows_.push_back(
            {&step.event, machine.recording, machine.host + 1, kOpRow, "ops not recorded"});
      }
    }
  }

  void add_thread(const tracing::Recording& recording, int pid,
                  const tracing::ThreadEvents& thread) {
    for (const Event& event : thread.events) {
      if (event.kind != Kind::op && event.kind != Kind::step)
        rows_.push_back({&event, &recording, pid, thread.id, {}});
    }
  }

  // The clocks of the workers, and what is missing.
  std::string workers_text() const {
    std::string text;
    for (const tracing::WorkerRecording& w : recording_.workers) {
      text +=
          fmt::format(R"({}{{"address":{},"clock_offset_ns":{},"clock_error_ns":{},"problem":{}}})",
                      text.empty() ? "" : ",", json_string(w.address), w.clock_offset_ns,
                      w.clock_error_ns, json_string(w.problem));
    }
    return text;
  }

  // Leaves out the shortest events. Returns how many.
  int64_t limit(int64_t most) {
    const auto count = static_cast<int64_t>(rows_.size());
    if (count <= most) return 0;
    const auto longer = [](const Row& a, const Row& b) {
      return a.event->end - a.event->begin > b.event->end - b.event->begin;
    };
    std::nth_element(rows_.begin(), rows_.begin() + most, rows_.end(), longer);
    rows_.resize(static_cast<size_t>(most));
    return count - most;
  }

  void name(const char* what, int pid, int64_t tid, const std::string& value) {
    write_(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}},)"
                       "\n",
                       pid, tid, what, json_string(value)));
  }

  void write_names() {
    for (const Machine& machine : machines_) {
      name("process_name", machine.host, 0, "/host:CPU" + machine.suffix);
      name("process_name", machine.host + 1, 0, "/device:TPU:0" + machine.suffix);
      for (const tracing::ThreadEvents& thread : machine.recording->threads)
        name_thread(machine.host, thread);
      for (const DeviceRow& row : machine.device)
        name("thread_name", machine.host + 1, row.id, row.name);
    }
    for (const tracing::WorkerRecording& worker : recording_.workers) {
      for (const tracing::ThreadEvents& calls : worker.calls) name_thread(kHost, calls);
    }
  }

  void name_thread(int pid, const tracing::ThreadEvents& thread) {
    name("thread_name", pid, thread.id,
         thread.name.empty() ? fmt::format("thread {}", thread.id) : thread.name);
  }

  void write_row(const Row& row) {
    const Event& event = *row.event;
    std::string args;
    const auto add = [&](std::string_view key, const std::string& value) {
      args += fmt::format("{}{}:{}", args.empty() ? "" : ",", json_string(key), value);
    };
    if (const tracing::Op* op = op_of(*row.recording, event)) {
      add("hlo_op", json_string(op->name));
      add("hlo_category", json_string(op->category));
      add("expression", json_string(op->expression));
      if (!op->scope.empty()) add("tf_op", json_string(op->scope));
      if (!op->source.empty()) add("source", json_string(op->source));
      add("flops", fmt::format("{:.0f}", op->flops));
      add("bytes_accessed", fmt::format("{:.0f}", op->bytes));
    } else {
      for (const tracing::Arg& a : event.args) {
        if (a.key != nullptr) add(a.key, std::to_string(a.value));
      }
    }
    const std::string_view shown = row.name.empty() ? std::string_view(event.name) : row.name;
    write_(fmt::format(
        R"({{"ph":"X","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},"name":{},"cat":"{}","args":{{{}}}}},)"
        "\n",
        row.pid, row.tid, event.begin / 1000, event.begin % 1000, (event.end - event.begin) / 1000,
        (event.end - event.begin) % 1000, json_string(shown), to_string(event.kind), args));
  }

  // From the start of each launch to that of its first step.
  void write_arrows() {
    const tracing::ThreadEvents* const thread = training_thread(recording_);
    if (thread == nullptr) return;
    int64_t id = 0;
    const Event* launch = nullptr;
    for (const NestedSpan& span : nest(thread->events)) {
      if (span.event->kind == Kind::launch) launch = span.event;
      if (span.event->kind != Kind::step || launch == nullptr) continue;
      const auto end = [&](char phase, int pid, int64_t tid, int64_t ns) {
        write_(fmt::format(
            R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{}.{:03},"name":"launch","cat":"flow"{}}},)"
            "\n",
            phase, id, pid, tid, ns / 1000, ns % 1000, phase == 'f' ? R"(,"bp":"e")" : ""));
      };
      end('s', kHost, thread->id, launch->begin);
      end('f', kDevice, kStepRow, span.event->begin);
      launch = nullptr;
      ++id;
    }
  }

  void write_memory() {
    const tracing::Program* last = nullptr;
    for (const DeviceEvent& step : machines_.front().device.front().events) {
      const auto found = recording_.programs.find(step.event.arg("program", 0));
      if (found == recording_.programs.end() || found->second.get() == last) continue;
      last = found->second.get();
      write_(fmt::format(R"({{"ph":"C","pid":{},"tid":{},"ts":{}.{:03},"name":"memory","args":)"
                         R"({{"arguments":{},"results":{},"temporaries":{}}}}},)"
                         "\n",
                         kDevice, kStepRow, step.event.begin / 1000, step.event.begin % 1000,
                         last->argument_bytes, last->result_bytes, last->temp_bytes));
    }
  }

  const tracing::Recording& recording_;
  const std::function<void(std::string_view)>& write_;
  std::vector<Row> rows_;
  std::vector<Machine> machines_;
};

// Collects what is wrong with a trace.
class Checker {
 public:
  std::vector<std::string> run(std::string_view text) {
    const json trace = json::parse(text, nullptr, false);
    if (trace.is_discarded()) {
      report("the text is not JSON");
    } else if (!trace.is_object() || !trace.contains("traceEvents") ||
               !trace["traceEvents"].is_array()) {
      report("traceEvents is missing or not an array");
    } else {
      check_unit(trace);
      size_t i = 0;
      for (const json& event : trace["traceEvents"]) check(event, i++);
      check_rows();
    }
    return std::move(problems_);
  }

 private:
  using Thread = std::pair<int64_t, int64_t>;

  void report(std::string text) {
    if (problems_.size() < 20) problems_.push_back(std::move(text));
  }

  void check_unit(const json& trace) {
    const auto unit = trace.find("displayTimeUnit");
    if (unit != trace.end() && *unit != "ns" && *unit != "ms")
      report("displayTimeUnit is neither ns nor ms");
  }

  bool number(const json& event, const char* key, size_t i, bool required = true) {
    const auto found = event.find(key);
    if (found == event.end()) {
      if (required) report(fmt::format("event {}: {} is missing", i, key));
      return false;
    }
    if (found->is_number() && std::isfinite(found->get<double>())) return true;
    report(fmt::format("event {}: {} is not a finite number", i, key));
    return false;
  }

  void check(const json& event, size_t i) {
    if (event.is_object() && event.empty()) return;  // ends the array without a trailing comma
    if (!event.is_object() || !event.contains("ph") || !event["ph"].is_string())
      return report(fmt::format("event {}: ph is missing", i));
    const std::string phase = event["ph"];
    if (phase.size() != 1 || std::string_view("XBEiCMbnestf").find(phase) == std::string_view::npos)
      return report(fmt::format("event {}: phase '{}' is unknown", i, phase));
    const bool named = event.contains("name") && event["name"].is_string();
    if (!named && phase != "E") report(fmt::format("event {}: name is missing", i));
    if (!number(event, "pid", i)) return;
    if (event.contains("args") && !event["args"].is_object())
      report(fmt::format("event {}: args is not an object", i));
    if (phase == "M") return check_metadata(event, i);
    if (!number(event, "tid", i) || !number(event, "ts", i)) return;
    const Thread thread{event["pid"].get<int64_t>(), event["tid"].get<int64_t>()};
    if (phase == "X") check_complete(event, thread, i);
    if (phase == "B") ++open_[thread];
    if (phase == "E" && --open_[thread] < 0) report(fmt::format("event {}: E without a B", i));
    if (phase == "i" && event.contains("s") && !is_one_of(event["s"], "tpg"))
      report(fmt::format("event {}: s is none of t, p, g", i));
    if (phase == "C" && !event.contains("args"))
      report(fmt::format("event {}: a counter without args", i));
    const bool linked = std::string_view("bnestf").find(phase) != std::string_view::npos;
    if (linked && !event.contains("id")) report(fmt::format("event {}: id is missing", i));
  }

  static bool is_one_of(const json& value, std::string_view letters) {
    return value.is_string() && value.get<std::string>().size() == 1 &&
           letters.find(value.get<std::string>()) != std::string_view::npos;
  }

  void check_metadata(const json& event, size_t i) {
    const std::string name = event.value("name", "");
    const bool sorts = name == "process_sort_index" || name == "thread_sort_index";
    if (!sorts && name != "process_name" && name != "thread_name" && name != "process_labels")
      return report(fmt::format("event {}: metadata '{}' is unknown", i, name));
    const char* const key = sorts ? "sort_index" : name == "process_labels" ? "labels" : "name";
    if (!event.contains("args") || !event["args"].contains(key))
      return report(fmt::format("event {}: args.{} is missing", i, key));
    if (name == "process_name") processes_.insert(event["pid"].get<int64_t>());
    if (name == "thread_name" && number(event, "tid", i))
      threads_.insert({event["pid"].get<int64_t>(), event["tid"].get<int64_t>()});
  }

  void check_complete(const json& event, const Thread& thread, size_t i) {
    if (!number(event, "dur", i)) return;
    const double dur = event["dur"];
    if (dur < 0) return report(fmt::format("event {}: dur is negative", i));
    complete_[thread].push_back({event["ts"].get<double>(), event["ts"].get<double>() + dur, i});
  }

  struct Interval {
    double begin, end;
    size_t number;
  };

  void check_rows() {
    constexpr double kRounding = 0.0015;  // microseconds: two ends, of three decimals each
    for (const auto& [thread, count] : open_) {
      if (count > 0) report(fmt::format("row {}/{}: B without an E", thread.first, thread.second));
    }
    for (auto& [thread, intervals] : complete_) {
      if (!threads_.contains(thread))
        report(fmt::format("row {}/{} has no name", thread.first, thread.second));
      if (!processes_.contains(thread.first))
        report(fmt::format("process {} has no name", thread.first));
      std::ranges::stable_sort(intervals, [](const Interval& a, const Interval& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
      std::vector<Interval> around;
      for (const Interval& x : intervals) {
        while (!around.empty() && around.back().end <= x.begin + kRounding) around.pop_back();
        if (!around.empty() && x.end > around.back().end + kRounding) {
          report(fmt::format("events {} and {} overlap without nesting", around.back().number,
                             x.number));
        }
        around.push_back(x);
      }
    }
  }

  std::vector<std::string> problems_;
  std::map<Thread, int64_t> open_;
  std::map<Thread, std::vector<Interval>> complete_;
  std::set<Thread> threads_;
  std::set<int64_t> processes_;
};

}  // namespace

void write_trace_json(const tracing::Recording& recording,
                      const std::function<void(std::string_view)>& write,
                      const TraceOptions& options) {
  Writer(recording, write).run(options);
}

std::vector<std::string> check_trace_json(std::string_view text) { return Checker().run(text); }

}  // namespace systole::profile
