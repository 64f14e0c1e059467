#include "systole/tracing/recorder.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <set>

#include "systole/base/clock.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_name.h"

namespace systole::tracing {
namespace internal {
std::atomic<bool> recording{false};
}  // namespace internal

namespace {

// Whether the time stamp counter runs at one speed on all cores (CPUID 80000007H, EDX bit 8).
bool has_invariant_counter() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8U)) != 0;
}
const bool kUseCounter = has_invariant_counter();

// A pair of both clocks, read together.
struct ClockPair {
  int64_t ticks = 0;
  int64_t ns = 0;
};
ClockPair read_clocks() {
  ClockPair best;
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = ticks();
    const int64_t ns = steady_ns();
    const int64_t after = ticks();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + (after - before) / 2, ns};
  }
  return best;
}

// Guards the buffer of one thread. Contended only while a recording ends.
class SYSTOLE_CAPABILITY SpinLock {
 public:
  void lock() SYSTOLE_ACQUIRE() {
    while (taken_.exchange(true, std::memory_order_acquire)) _mm_pause();
  }
  void unlock() SYSTOLE_RELEASE() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// Steps of a program, one after the other: 8 bytes a step.
struct StepRun {
  int64_t begin = 0;
  int64_t program = 0;
  std::vector<int64_t> ends;
};

struct ThreadBuffer {
  SpinLock lock;
  // Guarded by the lock:
  const char* name = nullptr;
  int64_t id = 0;
  int64_t session = 0;  // whose events it holds
  size_t capacity = 0;
  std::vector<Event> events;  // a ring once it is full
  int64_t added = 0;
  std::deque<StepRun> runs;  // their steps, too, are at most the capacity
  size_t steps_kept = 0;     // in `runs`
  int64_t steps = 0;         // of all that were added
  int64_t run_steps = 0;     // of all that were added to `runs`
  bool thread_ended = false;

  // REQUIRES: the lock, as for the others.
  void add(const Event& event) {
    if (events.size() < capacity) {
      events.push_back(event);
    } else {
      events[static_cast<size_t>(added) % capacity] = event;
    }
    ++added;
    steps += event.kind == Kind::step ? 1 : 0;
  }
  void add(StepRun&& run) {
    steps += static_cast<int64_t>(run.ends.size());
    run_steps += static_cast<int64_t>(run.ends.size());
    steps_kept += run.ends.size();
    runs.push_back(std::move(run));
    while (runs.size() > 1 && steps_kept - runs.front().ends.size() >= capacity) {
      steps_kept -= runs.front().ends.size();
      runs.pop_front();
    }
  }
  void clear() {
    events = {};
    runs.clear();
    added = steps = run_steps = 0;
    steps_kept = 0;
  }
  // Returns the newest events, at most the capacity, by their end.
  std::vector<Event> take_events() {
    if (!events.empty()) {
      const auto oldest = added % static_cast<int64_t>(events.size());
      std::rotate(events.begin(), events.begin() + oldest, events.end());
    }
    std::vector<Event> result = std::move(events);
    if (runs.empty()) return result;
    for (const StepRun& run : runs) {
      int64_t begin = run.begin;
      for (const int64_t end : run.ends) {
        result.push_back({.begin = begin,
                          .end = end,
                          .name = "step",
                          .kind = Kind::step,
                          .args = {{"program", run.program}, {"ops", 0}}});
        begin = end;
      }
    }
    std::ranges::stable_sort(result, {}, &Event::end);
    if (result.size() > capacity) {
      result.erase(result.begin(), result.end() - static_cast<std::ptrdiff_t>(capacity));
    }
    return result;
  }
};

struct Input {
  const std::function<std::vector<Stage>()>* read;
  std::vector<Stage> before;
};

}  // namespace

struct WorkerSource::Entry {
  std::string address;
  Begin begin;
};

namespace {

struct Recorder {
  // Taken after `mutex`, and by threads that hold locks which InputSources take.
  Mutex buffers_mutex;
  std::vector<std::shared_ptr<ThreadBuffer>> buffers SYSTOLE_GUARDED_BY(buffers_mutex);
  std::set<std::string, std::less<>> names SYSTOLE_GUARDED_BY(buffers_mutex);
  Mutex mutex;
  // Guarded by the mutex:
  std::vector<Input> inputs SYSTOLE_GUARDED_BY(mutex);
  std::vector<std::vector<Stage>> ended_inputs SYSTOLE_GUARDED_BY(mutex);
  std::map<int64_t, std::shared_ptr<const Program>> programs SYSTOLE_GUARDED_BY(mutex);
  ClockPair begin SYSTOLE_GUARDED_BY(mutex);
  int64_t start_unix_ns SYSTOLE_GUARDED_BY(mutex) = 0;
  bool with_workers SYSTOLE_GUARDED_BY(mutex) = false;
  std::vector<std::shared_ptr<const WorkerSource::Entry>> sources SYSTOLE_GUARDED_BY(mutex);
  std::map<std::string, std::unique_ptr<WorkerCapture>>
      captures;  // by address; null while it begins
  // Written under the mutex, read by any thread:
  std::atomic<int64_t> session{0};
  std::atomic<size_t> capacity{0};
  std::atomic<uint32_t> kinds{0};  // a bit for each kind that was recorded
  std::atomic<int64_t> next_program{1};
};

// Never destroyed: threads may end after main.
Recorder& recorder() {
  static auto* const instance = new Recorder;
  return *instance;
}

std::shared_ptr<ThreadBuffer> make_buffer() {
  auto buffer = std::make_shared<ThreadBuffer>();
  buffer->id = ::syscall(SYS_gettid);
  const MutexLock lock(recorder().buffers_mutex);
  recorder().buffers.push_back(buffer);
  return buffer;
}

// The buffer of this thread, for as long as the thread lives.
struct OwnBuffer {
  std::shared_ptr<ThreadBuffer> buffer = make_buffer();
  OwnBuffer() = default;
  ~OwnBuffer() {
    const std::lock_guard lock(buffer->lock);
    buffer->thread_ended = true;
  }
  OwnBuffer(const OwnBuffer&) = delete;
  OwnBuffer& operator=(const OwnBuffer&) = delete;
};

ThreadBuffer& own_buffer() {
  thread_local const OwnBuffer own;
  return *own.buffer;
}

std::vector<Stage> difference(std::vector<Stage> after, const std::vector<Stage>& before) {
  for (size_t i = 0; i < std::min(after.size(), before.size()); ++i) {
    if (after[i].name != before[i].name) continue;
    after[i].elements = std::max<int64_t>(after[i].elements - before[i].elements, 0);
    after[i].busy_seconds = std::max(after[i].busy_seconds - before[i].busy_seconds, 0.0);
    after[i].waited_seconds = std::max(after[i].waited_seconds - before[i].waited_seconds, 0.0);
  }
  return after;
}

void add_input(const Input& input, std::vector<std::vector<Stage>>& to) {
  std::vector<Stage> stages = difference((*input.read)(), input.before);
  const bool used = std::ranges::any_of(stages, [](const Stage& s) { return s.elements > 0; });
  if (used) to.push_back(std::move(stages));
}

// Takes the events out of a buffer, the oldest first, in nanoseconds since the start.
ThreadEvents take(ThreadBuffer& buffer, const ClockPair& start, double scale) {
  ThreadEvents result;
  const std::lock_guard lock(buffer.lock);
  result.name = buffer.name != nullptr ? buffer.name : "";
  result.id = buffer.id;
  const int64_t added = buffer.added + buffer.run_steps;
  result.events = buffer.take_events();
  result.dropped = added - static_cast<int64_t>(result.events.size());
  buffer.clear();
  const auto convert = [&](int64_t at) {
    return static_cast<int64_t>(static_cast<double>(at - start.ticks) * scale);
  };
  for (Event& event : result.events) {
    event.begin = std::max<int64_t>(convert(event.begin), 0);
    event.end = convert(event.end);
  }
  return result;
}

}  // namespace

std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {
      "step",       "launch", "op",   "compile",    "transfer", "input", "input wait",
      "collective", "host",   "hook", "checkpoint", "summary",  "loop",  "other"};
  static_assert(std::size(kNames) == kNumKinds);
  return kNames[static_cast<size_t>(kind)];
}

int64_t Event::arg(std::string_view key, int64_t otherwise) const {
  for (const Arg& a : args) {
    if (a.key != nullptr && a.key == key) return a.value;
  }
  return otherwise;
}

int64_t new_program_id() { return recorder().next_program.fetch_add(1); }

int64_t ticks() { return kUseCounter ? static_cast<int64_t>(__rdtsc()) : steady_ns(); }

double nanoseconds_per_tick() {
  if (!kUseCounter) return 1;
  static const double scale = [] {
    const ClockPair first = read_clocks();
    ClockPair second = first;
    while (second.ns - first.ns < 2'000'000) second = read_clocks();
    return static_cast<double>(second.ns - first.ns) /
           static_cast<double>(second.ticks - first.ticks);
  }();
  return scale;
}

namespace {

// Starts the recording of this process. REQUIRES: the mutex.
void start_own(Recorder& r, const Options& options) SYSTOLE_REQUIRES(r.mutex) {
  r.programs.clear();
  r.ended_inputs.clear();
  r.captures.clear();
  r.with_workers = options.workers;
  for (Input& input : r.inputs) input.before = (*input.read)();
  r.capacity = static_cast<size_t>(std::max<int64_t>(options.events_per_thread, 1));
  ++r.session;
  r.kinds = 0;
  r.start_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  r.begin = read_clocks();
  internal::recording.store(true, std::memory_order_release);
}

// Starts the recording of a worker, for the recording in progress. Without the mutex: the worker
// takes its time to answer.
void start_worker(const WorkerSource::Entry& source) {
  Recorder& r = recorder();
  int64_t session = 0;
  {
    const MutexLock lock(r.mutex);
    if (!active() || !r.with_workers || !r.captures.try_emplace(source.address).second) return;
    session = r.session;
  }
  std::unique_ptr<WorkerCapture> capture = source.begin();
  const MutexLock lock(r.mutex);
  if (!active() || session != r.session) return;
  if (capture == nullptr) {
    r.captures.erase(source.address);  // for another source of this address
  } else {
    r.captures[source.address] = std::move(capture);
  }
}

// Ends the recording of this process. REQUIRES: the mutex.
Recording stop_own(Recorder& r) SYSTOLE_REQUIRES(r.mutex) {
  Recording result;
  result.inputs = std::move(r.ended_inputs);
  r.ended_inputs.clear();
  for (const Input& input : r.inputs) add_input(input, result.inputs);
  const ClockPair end = read_clocks();
  internal::recording.store(false, std::memory_order_release);
  result.start_unix_ns = r.start_unix_ns;
  result.start_steady_ns = r.begin.ns;
  result.duration_ns = end.ns - r.begin.ns;
  const double scale = static_cast<double>(end.ns - r.begin.ns) /
                       static_cast<double>(std::max<int64_t>(end.ticks - r.begin.ticks, 1));
  const MutexLock buffers_lock(r.buffers_mutex);
  for (const auto& buffer : r.buffers) {
    ThreadEvents thread = take(*buffer, r.begin, scale);
    // A thread may record an event late, when the recording in which it ended is over.
    std::erase_if(thread.events,
                  [&](const Event& e) { return e.end < 0 || e.end > result.duration_ns; });
    if (!thread.events.empty()) result.threads.push_back(std::move(thread));
  }
  std::erase_if(r.buffers, [](const auto& buffer) {
    const std::lock_guard ended(buffer->lock);
    return buffer->thread_ended;
  });
  result.programs = std::move(r.programs);
  r.programs.clear();
  return result;
}

}  // namespace

bool start(const Options& options) {
  Recorder& r = recorder();
  std::vector<std::shared_ptr<const WorkerSource::Entry>> sources;
  {
    const MutexLock lock(r.mutex);
    if (active()) return false;
    start_own(r, options);
    if (options.workers) sources = r.sources;
  }
  for (const auto& source : sources) start_worker(*source);
  return true;
}

Recording stop() {
  Recorder& r = recorder();
  Recording result;
  std::map<std::string, std::unique_ptr<WorkerCapture>> captures;
  {
    const MutexLock lock(r.mutex);
    result = stop_own(r);
    captures.swap(r.captures);
  }
  for (const auto& [address, capture] : captures) {
    if (capture != nullptr) result.workers.push_back(capture->finish(result));
  }
  return result;
}

void record(const Event& event) { record_all({&event, 1}); }

namespace {

// Prepares the buffer of this thread for an event. Returns false if the recording ended meanwhile,
// and with it the buffer's use. REQUIRES: the buffer's lock.
bool prepare(ThreadBuffer& buffer, int64_t session) {
  if (!active()) return false;
  if (buffer.session == session) return true;
  buffer.session = session;
  buffer.clear();
  buffer.capacity = recorder().capacity.load(std::memory_order_relaxed);
  buffer.name = thread_name();
  return true;
}

void note_kinds(uint32_t kinds) {
  std::atomic<uint32_t>& known = recorder().kinds;
  if ((known.load(std::memory_order_relaxed) & kinds) != kinds)
    known.fetch_or(kinds, std::memory_order_relaxed);
}

}  // namespace

void record_all(std::span<const Event> events) {
  if (!active() || events.empty()) return;
  const int64_t session = recorder().session.load(std::memory_order_relaxed);
  ThreadBuffer& buffer = own_buffer();
  const std::lock_guard lock(buffer.lock);
  if (!prepare(buffer, session)) return;
  uint32_t kinds = 0;
  for (const Event& event : events) {
    buffer.add(event);
    kinds |= 1U << static_cast<unsigned>(event.kind);
  }
  note_kinds(kinds);
}

void record_steps(int64_t begin, std::span<const int64_t> ends, int64_t program) {
  if (!active() || ends.empty()) return;
  StepRun run{.begin = begin, .program = program, .ends = {ends.begin(), ends.end()}};
  const int64_t session = recorder().session.load(std::memory_order_relaxed);
  ThreadBuffer& buffer = own_buffer();
  const std::lock_guard lock(buffer.lock);
  if (!prepare(buffer, session)) return;
  buffer.add(std::move(run));
  note_kinds(1U << static_cast<unsigned>(Kind::step));
}

void record_if_long(int64_t begin, std::string_view name, Kind kind) {
  if (!active()) return;
  const int64_t end = ticks();
  if (static_cast<double>(end - begin) * nanoseconds_per_tick() < kMinNanoseconds) return;
  record({.begin = begin, .end = end, .name = intern(name), .kind = kind});
}

void note_program(const std::shared_ptr<const Program>& program) {
  if (!active()) return;
  // Threads run the same program again and again.
  thread_local std::pair<int64_t, int64_t> last{-1, -1};
  const std::pair now(recorder().session.load(std::memory_order_relaxed), program->id);
  if (now == last) return;
  last = now;
  const MutexLock lock(recorder().mutex);
  if (active()) recorder().programs[program->id] = program;
}

bool has_recorded(Kind kind) {
  return active() && (recorder().kinds.load(std::memory_order_relaxed) &
                      (1U << static_cast<unsigned>(kind))) != 0;
}

int64_t recorded_steps() {
  if (!active()) return 0;
  Recorder& r = recorder();
  const int64_t session = r.session.load(std::memory_order_relaxed);
  const MutexLock lock(r.buffers_mutex);
  int64_t steps = 0;
  for (const auto& buffer : r.buffers) {
    const std::lock_guard own(buffer->lock);
    if (buffer->session == session) steps += buffer->steps;
  }
  return steps;
}

const char* intern(std::string_view name) {
  const MutexLock lock(recorder().buffers_mutex);
  auto found = recorder().names.find(name);
  if (found == recorder().names.end()) found = recorder().names.emplace(name).first;
  return found->c_str();
}

void Span::finish() {
  event_.end = ticks();
  record(event_);
}

InputSource::InputSource(std::function<std::vector<Stage>()> read) : read_(std::move(read)) {
  const MutexLock lock(recorder().mutex);
  recorder().inputs.push_back({&read_, {}});
}

void InputSource::release() {
  Recorder& r = recorder();
  const MutexLock lock(r.mutex);
  const auto found =
      std::ranges::find_if(r.inputs, [&](const Input& input) { return input.read == &read_; });
  if (found == r.inputs.end()) return;
  if (active()) add_input(*found, r.ended_inputs);
  r.inputs.erase(found);
}

WorkerSource::WorkerSource(std::string address, Begin begin)
    : entry_(std::make_shared<const Entry>(Entry{std::move(address), std::move(begin)})) {
  {
    const MutexLock lock(recorder().mutex);
    recorder().sources.push_back(entry_);
  }
  if (active()) start_worker(*entry_);
}

WorkerSource::~WorkerSource() {
  const MutexLock lock(recorder().mutex);
  std::erase(recorder().sources, entry_);
}

}  // namespace systole::tracing
