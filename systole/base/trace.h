// Records spans of time of each thread, for the profiler. While nothing is recorded a span costs
// one relaxed atomic load. Include it only from .cc files. systole/profile turns a Recording into
// files and reports.
//
//   const tracing::Span span("write checkpoint", tracing::Kind::checkpoint);
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/shape.h"

namespace systole::tracing {

// What a thread does during a span. Spans of one thread nest.
enum class Kind : uint8_t {
  step,        // one step of a program: arguments "program" and "ops", the number noted
  launch,      // a call of the device, of one or more steps
  op,          // an instruction of a program: arguments "program" and "op"
  compile,     // lowering, passes and code
  transfer,    // a copy between host and device memory
  input,       // work of an input stage
  input_wait,  // the consumer waits for its input
  collective,  // a process waits for others
  host,        // ops and functions on the host
  hook,        // a hook between loops
  checkpoint,  // state is collected and written
  summary,     // events are written
  loop,        // one loop of a training: arguments "step" (the first) and "steps"
  other,
};
inline constexpr int kNumKinds = static_cast<int>(Kind::other) + 1;
// Returns "input wait" for Kind::input_wait.
std::string_view to_string(Kind kind);

// An argument of a span. The key is a string literal; null: no argument.
struct Arg {
  const char* key = nullptr;
  int64_t value = 0;
};

// `begin` and `end` are ticks() while recording, nanoseconds since its start in a Recording. The
// name is a string literal, from intern(), or of a Program of the recording.
struct Event {
  int64_t begin = 0;
  int64_t end = 0;
  const char* name = nullptr;
  Kind kind = Kind::other;
  Arg args[2] = {};

  // Returns the value of an argument, `otherwise` if the event has none with this key.
  int64_t arg(std::string_view key, int64_t otherwise = -1) const;
};

// An instruction of a compiled program that has time of its own.
struct Op {
  std::string name;                 // "fusion.3"
  std::string opcode;               // "fusion", "dot_general"
  std::string category;             // "convolution", "loop fusion", "all-reduce"
  std::string expression;           // "fusion(exponential, reduce) f32[32]"
  std::string scope;                // the graph node's name, "dense/MatMul"; "" if unknown
  std::string source;               // "mnist.cc:41"; "" if unknown
  std::vector<std::string> shapes;  // of the results, "f32[32,10]"
  double flops = 0;                 // of one run
  double bytes = 0;                 // of one run: each operand and each result once
  // For products and convolutions, else 0: the floating-point operations of a TPU's matrix unit,
  // whose operands are padded (rows to 8, contracted and output features to 128); and the rows of
  // the left operand.
  double padded_flops = 0;
  double rows = 0;
  bool interpreted = false;
};

// An array of a program and its lifetime.
struct Allocation {
  std::string name;  // of the instruction that makes it
  std::string kind;  // "argument", "result", "temporary", "constant"
  TensorType type;
  std::string scope;
  std::string source;
  int64_t bytes = 0;
  int index = 0;       // number of the argument, result or constant
  int64_t offset = 0;  // in the memory of its kind
  int first = 0;       // positions in program order: where it is made, and read last
  int last = 0;
};

// What is known of a program without running it.
struct Program {
  int64_t id = 0;    // unique in the process
  std::string name;  // of the module
  int replicas = 1;
  std::vector<Op> ops;
  std::vector<Allocation> allocations;
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  int64_t temp_bytes = 0;
};
// Returns a number for Program::id.
int64_t new_program_id();

// Counters of one input stage. Those of a Recording are of its time alone.
struct Stage {
  std::string name;
  int depth = 0;  // number of stages after it
  bool threaded = false;
  int threads = 1;
  int64_t elements = 0;
  double busy_seconds = 0;    // work on all its threads, without its inputs
  double waited_seconds = 0;  // how long consumers waited for a threaded stage
  std::string remedy = {};    // what makes it faster, "give it num_parallel_calls = AUTOTUNE"
};

struct ThreadEvents {
  std::string name;           // "main", "input"
  int64_t id = 0;             // the kernel's
  std::vector<Event> events;  // in the order in which they ended
  int64_t dropped = 0;        // older events, for which there was no room
};

// The limits of a device, for utilisations.
struct DevicePeaks {
  std::string name;  // "AMD EPYC 9B45"
  int cores = 0;
  double flops_per_second = 0;  // f32
  double bytes_per_second = 0;
};

struct WorkerRecording;

// What was recorded.
struct Recording {
  int64_t start_unix_ns = 0;
  int64_t start_steady_ns = 0;  // on the steady clock
  int64_t duration_ns = 0;
  // Set in another machine's recording:
  std::string host;                       // its name in file names; "": this machine
  std::optional<DevicePeaks> peaks = {};  // none: those of this machine
  std::string remark;                     // why it has less than was asked for; "" otherwise
  std::vector<ThreadEvents> threads;
  std::map<int64_t, std::shared_ptr<const Program>> programs;  // by id
  std::vector<std::vector<Stage>> inputs;                      // of each pipeline in use
  std::map<std::string, int64_t> counters;
  std::vector<WorkerRecording> workers;  // that this process used
};

// What a worker recorded for this process, while this process recorded. Its times are those of this
// process's recording: the clocks were compared.
struct WorkerRecording {
  std::string address;          // "127.0.0.1:8470"
  std::string problem;          // why there is no recording; "" otherwise
  int64_t clock_offset_ns = 0;  // was added to the worker's clock
  int64_t clock_error_ns = 0;   // by so much the offset may be wrong, in either direction
  Recording recording;
  // The calls as this process saw them, from the request to the reply. A call and the worker's
  // event of its work have the same argument "op". Rows of calls that do not overlap.
  std::vector<ThreadEvents> calls;
};

struct Options {
  // The most events that are kept of a thread: new ones then replace the oldest. An event takes 64
  // bytes; memory is allocated as events are recorded.
  int64_t events_per_thread = int64_t{1} << 18;
  bool workers = true;  // the workers of this process record, too: see WorkerSource
};

namespace internal {
extern std::atomic<bool> recording;
}
inline bool active() { return internal::recording.load(std::memory_order_relaxed); }

// Starts a recording. Returns false if one is in progress.
bool start(const Options& options = {});
// Ends the recording and returns it. Spans that are still open are not part of it. REQUIRES:
// start() returned true and stop() was not called since.
Recording stop();

// Returns whether the recording in progress has an event of this kind.
bool has_recorded(Kind kind);
// Returns the number of events of Kind::step in the recording in progress; 0 if there is none.
int64_t recorded_steps();

// Returns the time in units of this machine's fastest clock.
int64_t ticks();
// Returns nanoseconds per tick, within 0.1 %.
double nanoseconds_per_tick();

// Adds an event of this thread. Does nothing while nothing is recorded.
void record(const Event& event);
void record_all(std::span<const Event> events);
// Adds steps of a program that noted no ops, one after the other: the first began at `begin`, each
// of the others where the one before ended. Takes much less time than an event for each.
void record_steps(int64_t begin, std::span<const int64_t> ends, int64_t program);
// Adds an event of this thread that began at `begin` (ticks) and ends now, unless it was shorter
// than kMinNanoseconds: for work that is mostly too short to record.
inline constexpr double kMinNanoseconds = 10'000;
void record_if_long(int64_t begin, std::string_view name, Kind kind);
// Keeps the program for the recording, if there is one.
void note_program(const std::shared_ptr<const Program>& program);
// Returns an equal string that lives as long as the process.
const char* intern(std::string_view name);
// Names this thread in recordings. `name` is a string literal.
void name_thread(const char* name);

// Records the time from its construction to its destruction. On one thread.
class Span {
 public:
  explicit Span(const char* name, Kind kind = Kind::other, Arg first = {}, Arg second = {})
      : on_(active()) {
    if (!on_) [[likely]]
      return;
    event_ = {.begin = ticks(), .name = name, .kind = kind, .args = {first, second}};
  }
  // For a name that is no literal: interns it while recording.
  explicit Span(const std::string& name, Kind kind = Kind::other, Arg first = {}, Arg second = {})
      : on_(active()) {
    if (!on_) [[likely]]
      return;
    event_ = {.begin = ticks(), .name = intern(name), .kind = kind, .args = {first, second}};
  }
  ~Span() {
    if (!on_) [[likely]]
      return;
    finish();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  void set(Arg first, Arg second = {}) {
    event_.args[0] = first;
    event_.args[1] = second;
  }

 private:
  void finish();
  bool on_;
  Event event_;
};

// Provides the counters of an input pipeline, while it lives, to the recordings of that time.
class InputSource {
 public:
  // `read` is thread-safe and valid until release().
  explicit InputSource(std::function<std::vector<Stage>()> read);
  ~InputSource() { release(); }
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;
  void release();

 private:
  std::function<std::vector<Stage>()> read_;
};

// A recording of a worker in progress.
class WorkerCapture {
 public:
  // Ends it, if finish() did not.
  virtual ~WorkerCapture() = default;
  // Ends it, and returns it on the time axis of `own`, the recording of this process. Does not
  // throw.
  virtual WorkerRecording finish(const Recording& own) = 0;
};

// Registers a worker: while this object lives, each recording of this process also records that
// worker. Sources with the same address are recorded once.
class WorkerSource {
 public:
  // Returns null if the worker cannot be asked. Is thread-safe, does not throw, and may still be
  // called shortly after the source's end.
  using Begin = std::function<std::unique_ptr<WorkerCapture>()>;
  WorkerSource(std::string address, Begin begin);
  ~WorkerSource();
  WorkerSource(const WorkerSource&) = delete;
  WorkerSource& operator=(const WorkerSource&) = delete;

  struct Entry;

 private:
  std::shared_ptr<const Entry> entry_;
};

}  // namespace systole::tracing
