#include "plugin/async_client.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/hlo/ir/callees.h"
#include "systole/runtime/ffi/ffi_call.h"

namespace systole::plugin {
namespace {

using runtime::Argument;
using runtime::Buffer;
using runtime::Event;
using runtime::Executable;
using runtime::ExecuteOptions;
using runtime::Promise;
using runtime::Result;

// A launch of at most so many arguments or results allocates no lists.
constexpr size_t kMaxInline = 4;
// A program that takes less is not worth another thread.
constexpr std::chrono::nanoseconds kShort = std::chrono::microseconds(100);
// A program that has not run yet counts as short if its operations and bytes together are fewer.
constexpr double kSmall = 1 << 16;

Error out_of_memory() {
  return make_error(Code::resource_exhausted, "systole plugin: out of memory");
}

// Waits for the end of work whose error its event keeps.
void wait_for_end(const Event& event) {
  try {
    event.wait();
  } catch (const Error&) {
  }
}

// What a launch has to know of an array that it is given.
struct ArrayState {
  Event ready;
  // `ready` needs a call of the host, or launches that do. The queue does not hold these launches.
  bool waits_for_host = false;
  Event read;  // by such launches, which donation must wait for
};

// An array of the inner client that a launch, or the host, may still have to make. Shared by its
// buffer and by the launches that use it.
struct Array {
  TensorType type;
  int device_id = 0;
  std::unique_ptr<Buffer> inner;  // null until `ready`, and after a failure
  mutable systole::Mutex mutex;
  // As of the last launch that was given the array; `ready` is the launch's event.
  ArrayState made SYSTOLE_GUARDED_BY(mutex);

  ArrayState state() const {
    ArrayState state;
    {
      const systole::MutexLock lock(mutex);
      state = made;
    }
    const Event& event = state.ready;
    if (event.ready() && event.error() == nullptr && inner != nullptr) state.ready = inner->ready();
    return state;
  }
  Event ready() const { return state().ready; }

  void set_made(Event event, bool waits_for_host) {
    const systole::MutexLock lock(mutex);
    made.ready = std::move(event);
    made.waits_for_host = waits_for_host;
  }

  void add_read(const Event& event) {
    const systole::MutexLock lock(mutex);
    const std::array<Event, 2> both = {made.read, event};
    made.read = runtime::all_of(both);
  }
};

class AsyncBuffer final : public Buffer {
 public:
  explicit AsyncBuffer(std::shared_ptr<Array> array) : array_(std::move(array)) {}

  const TensorType& type() const override { return array_->type; }
  int device_id() const override { return array_->device_id; }
  Event ready() const override { return array_->ready(); }
  const Tensor* host_value() const override {
    return array_->inner == nullptr ? nullptr : array_->inner->host_value();
  }
  Event copy_to_host(Tensor& target) const override {
    const Event ready = array_->ready();
    if (ready.ready()) {
      return ready.error() != nullptr ? ready : array_->inner->copy_to_host(target);
    }
    auto promise = std::make_shared<Promise>();
    Event copied = promise->event();
    ready.then([array = array_, promise = std::move(promise), &target](const Error* error) {
      const Event done = error == nullptr ? array->inner->copy_to_host(target) : Event();
      if (error == nullptr) error = done.error();
      error == nullptr ? promise->set() : promise->fail(*error);
    });
    return copied;
  }

  const std::shared_ptr<Array>& array() const { return array_; }

 private:
  std::shared_ptr<Array> array_;
};

std::shared_ptr<Array> new_array(const TensorType& type, int device_id) {
  auto array = std::make_shared<Array>();
  array->type = type;
  array->device_id = device_id;
  return array;
}

class HostArray final : public PendingArray {
 public:
  HostArray(runtime::Client& client, std::shared_ptr<Array> array)
      : client_(client), array_(std::move(array)) {
    array_->set_made(promise_.event(), true);
  }

  void give(Tensor elements) override {
    if (given_.exchange(true)) return;
    try {
      array_->inner =
          client_.buffer_from_host(std::move(elements), {.device_ids = {&array_->device_id, 1}});
      promise_.set();
    } catch (const Error& error) {
      promise_.fail(error);
    } catch (const std::bad_alloc&) {
      promise_.fail(out_of_memory());
    }
  }
  void fail(const Error& error) override {
    if (!given_.exchange(true)) promise_.fail(error);
  }

 private:
  runtime::Client& client_;
  std::shared_ptr<Array> array_;
  Promise promise_;
  std::atomic<bool> given_ = false;
};

// The time of the latest run of a program.
class RunTime {
 public:
  explicit RunTime(const runtime::ExecutableStats& stats)
      : last_(stats.flops + stats.transcendentals +
                          static_cast<double>(stats.argument_bytes + stats.result_bytes +
                                              stats.temp_bytes) <
                      kSmall
                  ? std::chrono::nanoseconds(0)
                  : kShort) {}

  bool is_short() const { return last_.load(std::memory_order_relaxed) < kShort; }

  template <class Body>
  Event measure(const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    Event done = body();
    last_.store(std::chrono::steady_clock::now() - begin, std::memory_order_relaxed);
    return done;
  }

 private:
  std::atomic<std::chrono::nanoseconds> last_;
};

struct LoadedProgram {
  explicit LoadedProgram(std::unique_ptr<Executable> compiled)
      : executable(std::move(compiled)), time(executable->stats()) {}

  std::unique_ptr<Executable> executable;
  RunTime time;
  bool calls_host = false;
  int device_id = 0;
};

// One call of a program, which may outlive its caller.
class Launch {
 public:
  Launch(std::shared_ptr<LoadedProgram> program, std::span<const Argument> arguments,
         std::span<const Result> results, const ExecuteOptions& options)
      : program_(std::move(program)), options_(options) {
    arguments_.reserve(arguments.size());
    for (const Argument& argument : arguments) {
      Input& input = arguments_.emplace_back();
      input.donate = argument.donate;
      input.host = argument.host;
      if (argument.buffer == nullptr) continue;
      const auto* const buffer = dynamic_cast<const AsyncBuffer*>(argument.buffer);
      if (buffer == nullptr) {
        throw invalid_argument(
            "systole plugin: argument, got another client's buffer, expected one of its own");
      }
      input.array = buffer->array();
      input.state = input.array->state();
    }
    const std::span<const TensorType> types = program_->executable->result_types();
    results_.reserve(results.size());
    for (size_t k = 0; k < results.size(); ++k) {
      Output& output = results_.emplace_back();
      output.host = results[k].host;
      if (results[k].device == nullptr || k >= types.size()) continue;
      output.array = new_array(types[k], program_->device_id);
      *results[k].device = std::make_unique<AsyncBuffer>(output.array);
    }
  }

  // Ready when the launch may take its place in the queue: whether with success does not matter.
  Event waits_for() const {
    std::vector<Event> events;
    for (const Input& input : arguments_) {
      if (input.state.waits_for_host && !input.state.ready.ready()) {
        events.push_back(input.state.ready);
      }
      if (input.donate && !input.state.read.ready()) events.push_back(input.state.read);
    }
    return runtime::all_of(events);
  }

  bool arguments_are_ready() const {
    return std::ranges::all_of(arguments_, [](const Input& x) {
      return x.state.ready.ready() && (!x.donate || x.state.read.ready());
    });
  }

  // Whether an argument is known to have failed.
  bool arguments_failed() const {
    return std::ranges::any_of(arguments_,
                               [](const Input& x) { return x.state.ready.error() != nullptr; });
  }

  // The new arrays, and the donated ones, are ready with `done`.
  void announce(const Event& done, bool waits_for_host = false) const {
    for (const Output& output : results_) {
      if (output.array != nullptr) output.array->set_made(done, waits_for_host);
    }
    for (const Input& input : arguments_) {
      if (input.array == nullptr) continue;
      if (input.donate) {
        input.array->set_made(done, waits_for_host);
      } else if (waits_for_host) {
        input.array->add_read(done);
      }
    }
  }

  // Elements of host tensors are the caller's until execute() returns.
  void keep_host_arguments() {
    for (Input& input : arguments_) {
      if (input.host == nullptr) continue;
      input.kept = input.host->clone();
      input.host = &input.kept;
    }
  }

  // Runs the program and stores its results. Errors, thrown: those of Executable::execute().
  Event run() const {
    absl::InlinedVector<Argument, kMaxInline> arguments;
    for (const Input& input : arguments_) {
      if (const Event failure = failure_of(input); failure.error() != nullptr) return failure;
      Buffer* const buffer = input.array == nullptr ? nullptr : input.array->inner.get();
      arguments.push_back({.buffer = buffer, .host = input.host, .donate = input.donate});
    }
    absl::InlinedVector<std::unique_ptr<Buffer>, kMaxInline> buffers(results_.size());
    absl::InlinedVector<Result, kMaxInline> results(results_.size());
    for (size_t k = 0; k < results_.size(); ++k) {
      results[k].host = results_[k].host;
      if (results_[k].array != nullptr) results[k].device = &buffers[k];
    }
    Event done = program_->time.measure(
        [&] { return program_->executable->execute(arguments, results, options_); });
    wait_for_end(done);
    for (size_t k = 0; k < results_.size(); ++k) {
      if (results_[k].array != nullptr) results_[k].array->inner = std::move(buffers[k]);
    }
    return done;
  }

  // The same on the thread of the programs, for `promise`.
  void run_later(Promise& promise) {
    try {
      const Event done = run();
      arguments_.clear();  // frees what the program was the last to use
      done.error() == nullptr ? promise.set() : promise.fail(*done.error());
    } catch (const Error& error) {
      promise.fail(error);
    } catch (const std::bad_alloc&) {
      promise.fail(out_of_memory());
    } catch (const std::exception& error) {
      promise.fail(internal_error("systole plugin: {}", error.what()));
    }
  }

 private:
  struct Input {
    std::shared_ptr<Array> array;
    ArrayState state;  // before this launch
    const Tensor* host = nullptr;
    Tensor kept;
    bool donate = false;
  };
  struct Output {
    std::shared_ptr<Array> array;
    Tensor* host = nullptr;
  };

  static Event failure_of(const Input& input) {
    const Event& ready = input.state.ready;
    if (!ready.ready()) wait_for_end(ready);
    return ready.error() == nullptr ? Event() : ready;
  }

  std::shared_ptr<LoadedProgram> program_;
  absl::InlinedVector<Input, kMaxInline> arguments_;
  absl::InlinedVector<Output, kMaxInline> results_;
  ExecuteOptions options_;
};

class AsyncExecutable final : public Executable {
 public:
  AsyncExecutable(std::shared_ptr<LoadedProgram> program, std::shared_ptr<LaunchQueue> queue)
      : program_(std::move(program)), queue_(std::move(queue)) {}

  std::span<const TensorType> parameter_types() const override {
    return program_->executable->parameter_types();
  }
  std::span<const TensorType> result_types() const override {
    return program_->executable->result_types();
  }
  const runtime::ExecutableStats& stats() const override { return program_->executable->stats(); }
  std::string optimized_program() const override {
    return program_->executable->optimized_program();
  }
  std::string serialize() const override { return program_->executable->serialize(); }

  Event execute(std::span<const Argument> arguments, std::span<const Result> results,
                const ExecuteOptions& options) override {
    check_not_forked();
    const bool inside = queue_->is_this_thread();
    Launch launch(program_, arguments, results, options);
    const bool ready = launch.arguments_are_ready();
    if (inside && !ready) {
      throw failed_precondition(
          "systole plugin: a function that a program calls uses an array of a later program, "
          "which waits for this one");
    }
    const bool now =
        inside || (ready && queue_->idle() && (program_->calls_host || program_->time.is_short()));
    if (now) {
      const bool fails = launch.arguments_failed();
      Event done = launch.run();
      if (done.error() == nullptr) return done;
      launch.announce(done);
      if (program_->calls_host && !fails) throw Error(*done.error());
      return done;
    }
    const bool fails = launch.arguments_failed();
    launch.keep_host_arguments();
    auto promise = std::make_shared<Promise>();
    Event done = promise->event();
    const Event given = launch.waits_for();
    launch.announce(done, !given.ready());
    enqueue(std::make_shared<Launch>(std::move(launch)), std::move(promise), given);
    if (!program_->calls_host) return done;
    wait_for_end(done);
    if (done.error() != nullptr && !fails) throw Error(*done.error());
    return done;
  }

 private:
  // Gives the launch its place in the queue: now, or, so that other launches need not wait, when
  // the host has given its arguments.
  void enqueue(std::shared_ptr<Launch> launch, std::shared_ptr<Promise> promise,
               const Event& given) const {
    auto work = [launch = std::move(launch), promise] { launch->run_later(*promise); };
    if (given.ready()) return queue_->add(std::move(work));
    given.then([work = std::move(work), promise = std::move(promise),
                weak = std::weak_ptr(queue_)](const Error*) {
      try {
        const std::shared_ptr<LaunchQueue> queue = weak.lock();
        if (queue == nullptr) {
          throw make_error(Code::cancelled, "systole plugin: the client was destroyed");
        }
        queue->add(work);
      } catch (const Error& error) {
        promise->fail(error);
      } catch (const std::exception& error) {  // no thread, no memory
        promise->fail(make_error(Code::resource_exhausted, "systole plugin: {}", error.what()));
      }
    });
  }

  std::shared_ptr<LoadedProgram> program_;
  std::shared_ptr<LaunchQueue> queue_;
};

bool calls_host(const hlo::Computation& computation) {
  for (const hlo::Instruction* x : computation.instructions()) {
    if (x->is(hlo::Opcode::custom_call) && runtime::is_ffi_call(*x)) return true;
    for (const auto& region : x->regions()) {
      if (calls_host(*region)) return true;
    }
  }
  return false;
}

}  // namespace

std::unique_ptr<Executable> AsyncClient::compile(const hlo::Module& module,
                                                 const runtime::CompileOptions& options) {
  check_not_forked();
  auto program = std::make_shared<LoadedProgram>(inner_.compile(module, options));
  program->calls_host =
      std::ranges::any_of(hlo::reached_from(module.entry()),
                          [](const hlo::Computation* function) { return calls_host(*function); });
  if (!options.device_assignment.empty()) program->device_id = options.device_assignment.front();
  return std::make_unique<AsyncExecutable>(std::move(program), queue_);
}

std::pair<std::unique_ptr<Buffer>, std::shared_ptr<PendingArray>> AsyncClient::pending_buffer(
    const TensorType& type, int device_id) {
  auto array = new_array(type, device_id);
  auto pending = std::make_shared<HostArray>(inner_, array);
  return {std::make_unique<AsyncBuffer>(std::move(array)), std::move(pending)};
}

std::unique_ptr<Buffer> AsyncClient::buffer_from_host(Tensor tensor,
                                                      const runtime::BufferOptions& options) {
  auto array = new_array(tensor.type(), options.device_ids.empty() ? 0 : options.device_ids[0]);
  array->inner = inner_.buffer_from_host(std::move(tensor), options);
  return std::make_unique<AsyncBuffer>(std::move(array));
}

}  // namespace systole::plugin
