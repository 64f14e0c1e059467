#include "systole/profile/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "systole/profile/prediction/cpu_machine.h"
#include "systole/profile/timeline.h"

namespace systole::profile {
namespace {

using tracing::Event;
using tracing::Kind;

double seconds_of(int64_t ns) { return 1e-9 * static_cast<double>(ns); }

// Sampled times of the ops of one program.
struct ProgramTimes {
  std::shared_ptr<const tracing::Program> program;
  std::vector<double> op_seconds;
  std::vector<double> op_runs;
  double sampled_seconds = 0;  // of steps whose ops were noted
  int64_t sampled_steps = 0;
  double all_seconds = 0;
  int64_t all_steps = 0;

  // The share of a step that is in ops of this part.
  double share(bool all_reduce) const {
    double sum = 0;
    for (size_t i = 0; i < op_seconds.size(); ++i) {
      if ((program->ops[i].category == "all-reduce") == all_reduce) sum += op_seconds[i];
    }
    return sampled_seconds > 0 ? std::min(sum / sampled_seconds, 1.0) : (all_reduce ? 0 : 1);
  }
};

Part part_of(Kind kind) {
  switch (kind) {
    case Kind::op:
      return Part::compute;
    case Kind::collective:
      return Part::all_reduce;
    case Kind::input:
    case Kind::input_wait:
      return Part::input;
    case Kind::host:
    case Kind::hook:
      return Part::host;
    case Kind::checkpoint:
    case Kind::summary:
      return Part::checkpoint;
    case Kind::compile:
      return Part::compile;
    case Kind::transfer:
      return Part::transfer;
    case Kind::launch:
    case Kind::step:
    case Kind::loop:
      return Part::launch;
    case Kind::other:
      return Part::other;
  }
  return Part::other;
}

class Analyser {
 public:
  Analyser(const tracing::Recording& recording, Analysis& result)
      : recording_(recording), result_(result) {
    for (const auto& [id, program] : recording.programs) {
      ProgramTimes& times = programs_[id];
      times.program = program;
      times.op_seconds.resize(program->ops.size());
      times.op_runs.resize(program->ops.size());
    }
  }

  void run() {
    const tracing::ThreadEvents* const thread = training_thread(recording_);
    for (const tracing::ThreadEvents& t : recording_.threads) result_.dropped_events += t.dropped;
    if (thread == nullptr) return;
    const std::vector<NestedSpan> spans = nest(thread->events);
    sum_ops(spans);
    sum_host(spans, false);
    for (const tracing::ThreadEvents& other : recording_.threads) {
      if (&other != thread) sum_host(nest(other.events), true);
    }
    list_host();
    divide(spans);
    find_steps(spans);
    list_ops();
  }

 private:
  ProgramTimes* program_of(const Event& step) {
    const auto found = programs_.find(step.arg("program", 0));
    return found == programs_.end() ? nullptr : &found->second;
  }

  void sum_ops(const std::vector<NestedSpan>& spans) {
    for (const NestedSpan& span : spans) {
      const Event& event = *span.event;
      // Ops outside of steps are no part of the time by which the shares of a step are divided.
      if (event.kind == Kind::op && !in_noted_step(spans, span)) continue;
      if (event.kind == Kind::step) {
        ProgramTimes* const program = program_of(event);
        if (program == nullptr) continue;
        program->all_seconds += seconds_of(event.end - event.begin);
        ++program->all_steps;
        if (event.arg("ops", 0) <= 0) continue;
        program->sampled_seconds += seconds_of(event.end - event.begin);
        ++program->sampled_steps;
      } else if (event.kind == Kind::op) {
        const auto found = programs_.find(event.arg("program", 0));
        const auto op = static_cast<size_t>(event.arg("op", 0));
        if (found == programs_.end() || op >= found->second.op_seconds.size()) continue;
        found->second.op_seconds[op] += seconds_of(span.self_ns);
        found->second.op_runs[op] += 1;
      }
    }
  }

  static bool in_noted_step(const std::vector<NestedSpan>& spans, const NestedSpan& op) {
    for (int at = op.parent; at >= 0; at = spans[at].parent) {
      const Event& event = *spans[at].event;
      if (event.kind == Kind::step)
        return event.arg("ops", 0) > 0 && event.arg("program", 0) == op.event->arg("program", 0);
    }
    return false;
  }

  void sum_host(const std::vector<NestedSpan>& spans, bool compilation_alone) {
    for (const NestedSpan& span : spans) {
      const Event& event = *span.event;
      if (compilation_alone && event.kind != Kind::compile) continue;
      if (event.kind == Kind::launch) result_.launches += 1;
      if (event.kind == Kind::op || event.kind == Kind::step) continue;
      HostTime& time = host_[{event.name, event.kind}];
      time.name = event.name;
      time.kind = event.kind;
      ++time.count;
      time.seconds += seconds_of(event.end - event.begin);
      time.self_seconds += seconds_of(span.self_ns);
    }
  }

  void list_host() {
    for (auto& [key, time] : host_) result_.host.push_back(std::move(time));
    std::ranges::stable_sort(result_.host, std::greater(), &HostTime::self_seconds);
  }

  // Adds the self time of a span to the parts.
  void add_self(const std::vector<NestedSpan>& spans, size_t i, double seconds, Parts& parts) {
    const Event& event = *spans[i].event;
    const auto add = [&](Part part, double amount) { parts[static_cast<size_t>(part)] += amount; };
    if (event.kind == Kind::step && event.arg("ops", 0) <= 0) {
      const ProgramTimes* const program = program_of(event);
      const double compute = program == nullptr ? 1 : program->share(false);
      const double reduce = program == nullptr ? 0 : program->share(true);
      add(Part::compute, seconds * compute);
      add(Part::all_reduce, seconds * reduce);
      add(Part::launch, seconds * std::max(1 - compute - reduce, 0.0));
      return;
    }
    if (event.kind == Kind::op) {
      const auto found = programs_.find(event.arg("program", 0));
      const auto op = static_cast<size_t>(event.arg("op", 0));
      const bool reduces = found != programs_.end() && op < found->second.op_seconds.size() &&
                           found->second.program->ops[op].category == "all-reduce";
      return add(reduces ? Part::all_reduce : Part::compute, seconds);
    }
    add(part_of(event.kind), seconds);
  }

  // Divides the whole recording.
  void divide(const std::vector<NestedSpan>& spans) {
    double covered = 0;
    for (size_t i = 0; i < spans.size(); ++i) {
      add_self(spans, i, seconds_of(spans[i].self_ns), result_.parts);
      covered += seconds_of(spans[i].self_ns);
    }
    result_.parts[static_cast<size_t>(Part::other)] += std::max(result_.seconds - covered, 0.0);
  }

  // The steps of the training: those inside loops, or else those of the program that took longest.
  // A loop has as many steps as it says; those before them initialise variables.
  std::vector<size_t> training_steps(const std::vector<NestedSpan>& spans) {
    std::vector<size_t> steps;
    const bool loops = std::ranges::any_of(
        spans, [](const NestedSpan& span) { return span.event->kind == Kind::loop; });
    int64_t longest = 0;
    double most = 0;
    for (const auto& [id, times] : programs_) {
      if (times.all_seconds <= most) continue;
      most = times.all_seconds;
      longest = id;
    }
    std::map<int, int64_t> in_loop;
    for (size_t i = spans.size(); i-- > 0;) {
      if (spans[i].event->kind != Kind::step) continue;
      const int loop = enclosing_loop(spans, i);
      if (loops ? loop >= 0 && in_loop[loop]++ < steps_of_loop(spans, loop)
                : spans[i].event->arg("program", 0) == longest)
        steps.push_back(i);
    }
    std::ranges::reverse(steps);
    return steps;
  }

  static int64_t steps_of_loop(const std::vector<NestedSpan>& spans, int loop) {
    return spans[loop].event->arg("steps", INT64_MAX);
  }

  static int enclosing_loop(const std::vector<NestedSpan>& spans, size_t i) {
    int at = spans[i].parent;
    while (at >= 0 && spans[at].event->kind != Kind::loop) at = spans[at].parent;
    return at;
  }

  void find_steps(const std::vector<NestedSpan>& spans) {
    const std::vector<size_t> steps = training_steps(spans);
    std::map<int, int64_t> in_loop;  // steps so far, by loop
    int64_t counted = 0;
    for (const size_t i : steps) {
      const Event& event = *spans[i].event;
      const int loop = enclosing_loop(spans, i);
      Step step{.end_ns = event.end, .ops_noted = event.arg("ops", 0) > 0};
      step.number = loop >= 0 ? spans[loop].event->arg("step", 0) + in_loop[loop]++ : counted++;
      step.begin_ns = result_.steps.empty() ? first_begin(spans, i) : result_.steps.back().end_ns;
      result_.steps.push_back(step);
    }
    fill_steps(spans);
    double noted = 0;
    for (const Step& step : result_.steps) noted += step.ops_noted ? 1 : 0;
    if (!result_.steps.empty())
      result_.sampled_steps = noted / static_cast<double>(result_.steps.size());
  }

  // Returns where the first step begins: at the start of its loop, so that the loop's wait for
  // input is part of the step; without a loop, at its own start.
  static int64_t first_begin(const std::vector<NestedSpan>& spans, size_t i) {
    const int loop = enclosing_loop(spans, i);
    return spans[loop >= 0 ? static_cast<size_t>(loop) : i].event->begin;
  }

  // Divides the self times of spans among the steps in which they fall.
  void fill_steps(const std::vector<NestedSpan>& spans) {
    if (result_.steps.empty()) return;
    for (size_t i = 0; i < spans.size(); ++i) {
      for (const auto& [begin, end] : self_intervals(spans, i)) add_interval(spans, i, begin, end);
    }
    for (Step& step : result_.steps) {
      const double sum = std::accumulate(step.parts.begin(), step.parts.end(), 0.0);
      step.parts[static_cast<size_t>(Part::other)] += std::max(step.seconds() - sum, 0.0);
    }
  }

  void add_interval(const std::vector<NestedSpan>& spans, size_t i, int64_t begin, int64_t end) {
    auto step = std::ranges::upper_bound(result_.steps, begin, {}, &Step::end_ns);
    for (; step != result_.steps.end() && step->begin_ns < end; ++step) {
      const int64_t from = std::max(begin, step->begin_ns);
      const int64_t to = std::min(end, step->end_ns);
      if (from < to) add_self(spans, i, seconds_of(to - from), step->parts);
    }
  }

  void list_ops() {
    for (const auto& [id, times] : programs_) {
      if (times.sampled_seconds <= 0) continue;
      const double scale = times.all_seconds / times.sampled_seconds;
      const double runs = static_cast<double>(times.all_steps) /
                          static_cast<double>(std::max<int64_t>(times.sampled_steps, 1));
      result_.replicas = std::max(result_.replicas, times.program->replicas);
      for (size_t i = 0; i < times.op_seconds.size(); ++i) {
        if (times.op_runs[i] == 0) continue;
        result_.ops.push_back({.program = times.program.get(),
                               .op = &times.program->ops[i],
                               .runs = times.op_runs[i] * runs,
                               .seconds = times.op_seconds[i] * scale});
      }
    }
    std::ranges::stable_sort(result_.ops, std::greater(), &OpTime::seconds);
  }

  const tracing::Recording& recording_;
  Analysis& result_;
  std::map<int64_t, ProgramTimes> programs_;
  std::map<std::pair<std::string, Kind>, HostTime> host_;
};

std::string problem_of(const tracing::Recording& recording, const Analysis& analysis) {
  if (!analysis.steps.empty()) return "";
  if (recording.threads.empty() && !recording.remark.empty()) {
    return fmt::format("Nothing ran during the capture of {:.2f} s.", analysis.seconds);
  }
  if (recording.threads.empty()) {
    return "Nothing ran during the capture: no step, no input, no compilation. Capture while the "
           "program trains, and for longer than one loop of steps.";
  }
  const bool compiles = analysis.parts[static_cast<size_t>(Part::compile)] > 0;
  return fmt::format(
      "No step ended during the capture of {:.2f} s{}. Capture for longer, or start after the "
      "first step.",
      analysis.seconds, compiles ? ", because programs were compiled" : "");
}

WorkerTimes times_of(const tracing::WorkerRecording& worker) {
  WorkerTimes result{.address = worker.address,
                     .host = worker.recording.host,
                     .problem = worker.problem,
                     .clock_offset_ns = worker.clock_offset_ns,
                     .clock_error_ns = worker.clock_error_ns};
  std::map<int64_t, double> work;  // of the worker, by the number of the call
  for (const tracing::ThreadEvents& thread : worker.recording.threads) {
    for (const Event& event : thread.events) {
      if (event.kind != Kind::op && event.arg("op") >= 0)
        work[event.arg("op")] = seconds_of(event.end - event.begin);
    }
  }
  std::map<std::string_view, CallTimes> calls;
  for (const tracing::ThreadEvents& row : worker.calls) {
    for (const Event& event : row.events) {
      CallTimes& times = calls[event.name];
      times.name = event.name;
      ++times.count;
      times.seconds += seconds_of(event.end - event.begin);
      if (const auto found = work.find(event.arg("op")); found != work.end())
        times.worker_seconds += found->second;
    }
  }
  for (auto& [name, times] : calls) result.calls.push_back(std::move(times));
  std::ranges::stable_sort(result.calls, std::greater(), &CallTimes::seconds);
  return result;
}

}  // namespace

const DevicePeaks& machine_peaks() {
  static const DevicePeaks peaks = [] {
    const CpuMachine machine = cpu_machine();
    return DevicePeaks{.name = machine.name,
                       .cores = machine.cores,
                       .flops_per_second = machine.flops_per_second,
                       .bytes_per_second = machine.memory_bytes_per_second};
  }();
  return peaks;
}

std::string_view to_string(Part part) {
  constexpr std::string_view kNames[] = {"compute", "all-reduce", "input",  "host", "checkpoint",
                                         "compile", "transfer",   "launch", "other"};
  static_assert(std::size(kNames) == kNumParts);
  return kNames[static_cast<size_t>(part)];
}

Distribution distribution_of(std::vector<double> values) {
  Distribution result;
  if (values.empty()) return result;
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - result.mean) * (v - result.mean);
  result.stddev = std::sqrt(squares / n);
  const auto at = [&](double share) {
    return values[static_cast<size_t>(std::lround(share * (n - 1)))];
  };
  result.min = values.front();
  result.p50 = at(0.5);
  result.p90 = at(0.9);
  result.p99 = at(0.99);
  result.max = values.back();
  return result;
}

double Analysis::steps_seconds() const {
  double sum = 0;
  for (const Step& step : steps) sum += step.seconds();
  return sum;
}

Distribution Analysis::step_times() const {
  std::vector<double> times;
  for (const Step& step : steps) times.push_back(step.seconds());
  return distribution_of(std::move(times));
}

double Analysis::device_busy() const {
  if (seconds <= 0) return 0;
  double busy = 0;
  for (const Part part : {Part::compute, Part::all_reduce, Part::launch, Part::transfer})
    busy += parts[static_cast<size_t>(part)];
  return std::min(busy / seconds, 1.0);
}

double utilisation(const OpTime& op, const DevicePeaks& peaks) {
  double best = 0;
  if (peaks.flops_per_second > 0) best = op.flops_per_second() / peaks.flops_per_second;
  if (peaks.bytes_per_second > 0)
    best = std::max(best, op.bytes_per_second() / peaks.bytes_per_second);
  return std::min(best, 1.0);
}

Analysis analyse(const tracing::Recording& recording, const DevicePeaks& peaks) {
  Analysis result;
  result.peaks = peaks;
  result.seconds = seconds_of(recording.duration_ns);
  result.start_unix_ns = recording.start_unix_ns;
  result.inputs = recording.inputs;
  result.programs = recording.programs;
  Analyser(recording, result).run();
  result.problem = problem_of(recording, result);
  result.remark = recording.remark;
  for (const tracing::WorkerRecording& worker : recording.workers)
    result.workers.push_back(times_of(worker));
  advise(result);
  return result;
}

}  // namespace systole::profile
