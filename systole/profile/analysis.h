// What a recording says: where the time of steps goes, what each op achieves, what to change.
//
// Formulas. A step lasts from the end of the step before it to its own end, so that the steps add
// up to the wall time. Self time of a span: its time without that of spans inside it. Where only
// some steps noted their ops, the times of ops are scaled to all steps of the program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "systole/tracing/recording.h"

namespace systole::profile {

using tracing::DevicePeaks;
// The measurement of this machine (prediction/cpu_machine.h), read or made once in the process.
const DevicePeaks& machine_peaks();

// The parts of a step. They add up to its time.
enum class Part : uint8_t {
  compute,     // ops of the program, without all_reduce
  all_reduce,  // ops that combine values of replicas, and waits for other processes
  input,       // waits for the input
  host,        // host ops, host calls and hooks
  checkpoint,  // checkpoints and summaries, where they keep the training waiting
  compile,
  transfer,  // copies between host and device
  launch,    // the rest of a launch: arguments, results, the loop itself
  other,     // not inside any span
};
inline constexpr int kNumParts = static_cast<int>(Part::other) + 1;
std::string_view to_string(Part part);
using Parts = std::array<double, kNumParts>;  // seconds

struct Step {
  int64_t number = 0;  // the global step, where a training loop counts it
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  Parts parts{};
  bool ops_noted = false;
  double seconds() const { return 1e-9 * static_cast<double>(end_ns - begin_ns); }
};

// `program` and `op` belong to Analysis::programs.
struct OpTime {
  const tracing::Program* program = nullptr;
  const tracing::Op* op = nullptr;
  double runs = 0;     // in the recording; scaled
  double seconds = 0;  // of all runs
  double flops_per_second() const { return seconds > 0 ? op->flops * runs / seconds : 0; }
  double bytes_per_second() const { return seconds > 0 ? op->bytes * runs / seconds : 0; }
};

// Time of one span name on the thread that trains; of compilation, on all threads.
struct HostTime {
  std::string name;
  tracing::Kind kind = tracing::Kind::other;
  int64_t count = 0;
  double seconds = 0;
  double self_seconds = 0;
};

struct Distribution {
  double mean = 0, stddev = 0, min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};
Distribution distribution_of(std::vector<double> values);

struct Advice {
  std::string topic;  // "input", "host", "all-reduce", "batch", "padding", "launch", ...
  std::string text;   // a sentence or two
  double gain = 0;    // the share of the time that it can save, at most
};

// The calls of a worker, of one kind: as this process waited for them, and as the worker worked.
struct CallTimes {
  std::string name;  // "execute"
  int64_t count = 0;
  double seconds = 0;         // from request to reply; calls may overlap
  double worker_seconds = 0;  // of the worker's spans of these calls
};

struct WorkerTimes {
  std::string address;
  std::string host;  // whose files in this run are the worker's; "" without a recording
  std::string problem;
  int64_t clock_offset_ns = 0;
  int64_t clock_error_ns = 0;
  std::vector<CallTimes> calls;  // the longest first
};

struct Analysis {
  DevicePeaks peaks;
  double seconds = 0;  // of the recording
  int64_t start_unix_ns = 0;
  int replicas = 1;
  std::vector<Step> steps;  // complete ones, in order
  Parts parts{};            // of the whole recording, on the thread that trains
  std::map<int64_t, std::shared_ptr<const tracing::Program>> programs;
  std::vector<OpTime> ops;     // the longest first
  std::vector<HostTime> host;  // the longest self time first
  std::vector<std::vector<tracing::Stage>> inputs;
  int64_t dropped_events = 0;
  double sampled_steps = 0;  // share of the steps that noted their ops
  double launches = 0;
  std::string problem;  // why there is nothing to see; "" otherwise
  std::string remark;   // tracing::Recording::remark
  std::vector<WorkerTimes> workers;
  std::vector<Advice> advice;  // the most valuable first

  double steps_seconds() const;
  Distribution step_times() const;
  // Busy share of the device: ops and the rest of launches, of `seconds`.
  double device_busy() const;
};

Analysis analyse(const tracing::Recording& recording, const DevicePeaks& peaks);
// Adds Analysis::advice.
void advise(Analysis& analysis);

// A utilisation of an op: the larger of its shares of the peak FLOP/s and of the peak bandwidth, at
// most 1.
double utilisation(const OpTime& op, const DevicePeaks& peaks);

}  // namespace systole::profile
