// Records spans of time of each thread, for the profiler. While nothing is recorded a span costs
// one relaxed atomic load. Include it only from .cc files.
//
//   const tracing::Span span("write checkpoint", tracing::Kind::checkpoint);
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

namespace internal {
extern std::atomic<bool> recording;
}
inline bool active() { return internal::recording.load(std::memory_order_relaxed); }

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
// Returns an equal string that lives as long as the process.
const char* intern(std::string_view name);
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

}  // namespace systole::tracing
