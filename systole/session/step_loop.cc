#include "systole/session/step_loop.h"

#include <absl/container/inlined_vector.h>

#include <chrono>
#include <cstring>
#include <future>
#include <utility>

#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_pool.h"
#include "systole/session/session_impl.h"
#include "systole/session/step_module.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tracing/span.h"

namespace systole {
namespace {

template <class T>
using LoopSmall = absl::InlinedVector<T, 32>;

void check_options(const StepLoopOptions& options) {
  if (options.num_replicas < 1) {
    throw invalid_argument("StepLoop: num_replicas, got {}, expected at least 1",
                           options.num_replicas);
  }
  if (options.max_steps < 1 || options.max_steps > INT32_MAX) {
    throw invalid_argument("StepLoop: max_steps, got {}, expected at least 1, below 2^31",
                           options.max_steps);
  }
  if (options.inputs.size() != options.input_types.size()) {
    throw invalid_argument("StepLoop: input_types, got {}, expected {}, one an input",
                           options.input_types.size(), options.inputs.size());
  }
  for (const Output& fetch : options.fetches) {
    if (!fetch.valid()) throw invalid_argument("StepLoop: a fetch is an empty handle");
  }
  for (const Operation& target : options.targets) {
    if (!target.valid()) throw invalid_argument("StepLoop: a target is an empty handle");
  }
}

// Throws on all processes if their programs differ.
void compare_programs(runtime::ProcessGroup& processes, const std::string& own) {
  const std::vector<std::string> all = processes.gather(own);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    throw invalid_argument(
        "StepLoop: program, got {} on rank 0 and {} on rank {}, expected the same on all {} "
        "processes: are they of one build, with the same arguments, and input of the same shapes?",
        all[0], all[r], r, all.size());
  }
}

// "12 parameters, 340 instructions, 8 x 4 replicas, digest 0123456789abcdef".
std::string fingerprint_of(const hlo::Module& module, const StepLoopOptions& options) {
  const std::string text = hlo::print(module);
  return fmt::format("{} parameters, {} lines, {} replicas, digest {:016x}",
                     module.entry().num_parameters(), std::ranges::count(text, '\n'),
                     options.all_replicas(), std::hash<std::string>{}(text));
}

Shape with_front(const Shape& shape, std::initializer_list<int64_t> front) {
  Dims dims = shape.dims();
  dims.insert(dims.begin(), front.begin(), front.end());
  return Shape(dims);
}

// Transposes rows x columns blocks of `bytes` each; copies the first `count` columns.
void transpose_blocks(const Tensor& from, Tensor& to, int64_t rows, int64_t columns, int64_t count,
                      size_t bytes) {
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(target + static_cast<size_t>(c * rows + r) * bytes,
                  source + static_cast<size_t>(r * columns + c) * bytes, bytes);
    }
  }
}

template <class F>
void for_each_in_parallel(size_t count, F&& f) {
  ThreadPool::global().parallel_for(static_cast<int64_t>(count), 1,
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i)
                                        f(static_cast<size_t>(i));
                                    });
}

}  // namespace

// Host memory that one launch writes.
struct StepLoop::Frame {
  runtime::Event done;
  int64_t steps = 0;
  std::vector<Tensor> fetched;  // results of the program
  std::vector<Tensor> copies;   // of `fetched` in the layout of the caller, where it differs
  std::vector<Tensor> results;  // for the caller; empty until finish()
  std::vector<Tensor> flags;
  std::vector<runtime::StepProfile> profile;
};

struct StepLoop::Impl {
  struct Compiled;
  Impl(Session::Impl& in_session, StepLoopOptions given);

  void check_inputs(std::span<const Tensor> inputs, int64_t steps) const;
  std::unique_ptr<Frame> new_frame();
  std::unique_ptr<Frame> launch(std::span<const Tensor> inputs, int64_t steps);
  void enqueue(Frame& frame, std::span<const Tensor> inputs);
  void execute(Compiled& compiled, Frame& frame, std::span<const Tensor> inputs, int64_t first,
               int64_t end);
  void prepare_aside();
  bool updates_are_held() const;
  void finish(Frame& frame) const;
  Tensor shown(Frame& frame, size_t fetch) const;

  Session::Impl& session;
  StepLoopOptions options;
  std::unique_ptr<Compiled> loop;
  // The program of the first step after a snapshot, where copying the held variables takes long.
  std::unique_ptr<Compiled> aside;
  std::future<std::unique_ptr<Compiled>> aside_in_work;
  bool aside_tried = false;
  Tensor first_argument{int32_t{0}};
  Tensor end_argument{int32_t{0}};
  std::vector<Tensor> stacks;                  // inputs in the shapes of the parameters
  std::unique_ptr<Frame> last;                 // of run()
  std::vector<std::unique_ptr<Frame>> unused;  // kept for the next launches
};

// A program of the loop.
struct StepLoop::Impl::Compiled {
  Compiled(Session::Impl& session, StepModule&& module);
  void compile(Session::Impl& session, const StepLoopOptions& options);
  // Compiles on another thread. `session` and `options` must outlive this object.
  void compile_beside(Session::Impl& session, const StepLoopOptions& options);
  // Waits until it is compiled. Errors: those of compile().
  runtime::Executable& ready() const;
  // The size of the variables that it updates in place.
  int64_t bytes_in_place() const;

  StepModule program;       // compile() frees its module
  std::string fingerprint;  // of the program, to compare with other processes; "" if there are none
  DeviceProgram device;
  std::shared_future<void> in_work;  // waits in its destructor, before the others are destroyed
};

StepLoop::Impl::Compiled::Compiled(Session::Impl& session, StepModule&& module)
    : program(std::move(module)) {
  bind_state(device, session.state, program.variables, program.updated, program.random_nodes);
  for (size_t v = 0; v < device.reads.size(); ++v) {
    device.reads[v].update = program.update_of_variable[v];
  }
  device.checks = program.checks;
}

void StepLoop::Impl::Compiled::compile(Session::Impl& session, const StepLoopOptions& options) {
  runtime::CompileOptions compile = session.compile_options;
  compile.num_replicas = options.num_replicas;
  compile.processes = options.processes;
  compile.replicated_parameters = program.replicated_parameters;
  compile.program = options.program;
  // The memory of the updates does not count as memory of a core.
  if (program.updates == UpdatesGo::aside) {
    compile.memory_limit = runtime::CompileOptions::kNoMemoryLimit;
  }
  device.executable = session.target.client->compile(*program.module, compile);
  program.module.reset();
}

void StepLoop::Impl::Compiled::compile_beside(Session::Impl& session,
                                              const StepLoopOptions& options) {
  in_work =
      std::async(std::launch::async, [this, &session, &options] { compile(session, options); });
}

runtime::Executable& StepLoop::Impl::Compiled::ready() const {
  if (in_work.valid()) {
    const tracing::Span span("wait for the compiler", tracing::Kind::compile);
    in_work.get();
  }
  return *device.executable;
}

int64_t StepLoop::Impl::Compiled::bytes_in_place() const {
  int64_t bytes = 0;
  for (size_t u = 0; u < device.updates.size(); ++u) {
    if (program.in_place[u]) bytes += program.updated_types[u].byte_size();
  }
  return bytes;
}

StepLoop::Impl::Impl(Session::Impl& in_session, StepLoopOptions given)
    : session(in_session), options(std::move(given)) {
  check_options(options);
  session.check_cores(options.num_replicas);
  // A session with a loop uses the cores in the loop: suppress the warning about idle cores.
  std::call_once(session.idle_cores_once, [] {});
  {
    const tracing::Span span("lower the graph", tracing::Kind::compile);
    loop = std::make_unique<Compiled>(session, make_step_module(session.graph, options));
  }
  if (options.processes != nullptr && options.processes->size() > 1) {
    loop->fingerprint = fingerprint_of(*loop->program.module, options);
  }
  if (options.compile_beside) {
    loop->compile_beside(session, options);
  } else {
    loop->compile(session, options);
  }
  stacks.resize(options.inputs.size());
}

std::unique_ptr<StepLoop::Frame> StepLoop::Impl::new_frame() {
  if (!unused.empty()) {
    std::unique_ptr<Frame> frame = std::move(unused.back());
    unused.pop_back();
    frame->done = {};
    return frame;
  }
  auto frame = std::make_unique<Frame>();
  frame->fetched.resize(options.fetches.size());
  frame->copies.resize(options.fetches.size());
  frame->flags.resize(loop->program.checks.size());
  return frame;
}

void StepLoop::Impl::check_inputs(std::span<const Tensor> inputs, int64_t steps) const {
  if (steps < 1 || steps > options.max_steps) {
    throw invalid_argument("StepLoop.run: steps, got {}, expected 1 to {}", steps,
                           options.max_steps);
  }
  if (inputs.size() != options.inputs.size()) {
    throw invalid_argument("StepLoop.run: inputs, got {}, expected {}", inputs.size(),
                           options.inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = options.input_types[i];
    const TensorType wanted{type.dtype,
                            with_front(type.shape, {options.num_replicas, options.max_steps})};
    if (inputs[i].type() == wanted) continue;
    throw invalid_argument("StepLoop.run: input '{}', got {}, expected {} (replicas, steps, ...)",
                           options.inputs[i].name(), inputs[i].type(), wanted);
  }
}

// Whether a snapshot shares a variable that is updated in place. REQUIRES: the session's lock.
bool StepLoop::Impl::updates_are_held() const {
  const DeviceProgram& device = loop->device;
  for (size_t u = 0; u < device.updates.size(); ++u) {
    if (loop->program.in_place[u] && device.updates[u]->held()) return true;
  }
  return false;
}

// After the first snapshot, prepares `aside` on another thread while training continues.
// REQUIRES: the session's lock.
void StepLoop::Impl::prepare_aside() {
  constexpr int64_t kWorthIt = int64_t{16} << 20;  // copying more takes about ten milliseconds
  if (aside_in_work.valid() &&
      aside_in_work.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    try {
      aside = aside_in_work.get();
    } catch (const Error& error) {
      log_info("StepLoop: snapshots of variables stay copies: {}", error.message());
    }
  }
  if (aside_tried || !session.snapshots_taken) return;
  aside_tried = true;
  // Processes must not run different programs: others may have no snapshots.
  const bool alone = options.processes == nullptr || options.processes->size() == 1;
  const bool fits =
      options.keep == StepLoopOptions::Keep::last && !options.program.profile && alone;
  if (!fits || loop->bytes_in_place() < kWorthIt) return;
  auto made = std::make_unique<Compiled>(
      session, make_step_module(session.graph, options, UpdatesGo::aside));
  aside_in_work = std::async(std::launch::async, [this, made = std::move(made)]() mutable {
    made->compile(session, options);
    for (size_t u = 0; u < made->device.updates.size(); ++u) {
      if (!made->program.in_place[u]) continue;
      const TensorType& type = made->program.updated_types[u];
      DeviceProgram::Spare& spare = made->device.spare.emplace_back();
      spare.update = static_cast<int>(u);
      spare.memory.set(
          session.target.client->buffer_from_host(Tensor::zeros(type.dtype, type.shape)));
    }
    return std::move(made);
  });
}

std::unique_ptr<StepLoop::Frame> StepLoop::Impl::launch(std::span<const Tensor> inputs,
                                                        int64_t steps) {
  check_inputs(inputs, steps);
  // Before the lock, so that readers of variables do not wait for the compiler.
  loop->ready();
  if (!loop->fingerprint.empty()) {
    compare_programs(*options.processes, std::exchange(loop->fingerprint, ""));
  }
  std::unique_ptr<Frame> frame = new_frame();
  frame->steps = steps;
  const WriterLock lock(session.run_mutex);
  session.check_open();
  session.runs.fetch_add(1, std::memory_order_relaxed);
  enqueue(*frame, inputs);
  loop->device.advance(static_cast<uint64_t>(steps));
  return frame;
}

// REQUIRES: the session's lock.
void StepLoop::Impl::enqueue(Frame& frame, std::span<const Tensor> inputs) {
  prepare_aside();
  int64_t first = 0;
  if (aside != nullptr && updates_are_held()) {
    execute(*aside, frame, inputs, 0, 1);
    first = 1;
  }
  if (first == frame.steps) return;
  frame.done.wait();  // both launches write the frame
  execute(*loop, frame, inputs, first, frame.steps);
}

// Launches steps [first, end).
void StepLoop::Impl::execute(Compiled& compiled, Frame& frame, std::span<const Tensor> inputs,
                             int64_t first, int64_t end) {
  LoopSmall<runtime::Argument> feeds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool alone = options.all_replicas() == 1;
    stacks[i] =
        alone ? inputs[i].reshape(with_front(options.input_types[i].shape, {options.max_steps}))
              : inputs[i];
    feeds.push_back({.host = &stacks[i]});
  }
  first_argument.data<int32_t>()[0] = static_cast<int32_t>(first);
  end_argument.data<int32_t>()[0] = static_cast<int32_t>(end);
  const runtime::Argument range[] = {{.host = &first_argument}, {.host = &end_argument}};
  LoopSmall<runtime::Result> fetched;
  for (Tensor& value : frame.fetched) fetched.push_back({.host = &value});
  compiled.ready();
  frame.done =
      compiled.device.launch({.feeds = feeds,
                              .further = range,
                              .fetched = fetched,
                              .flags = frame.flags,
                              .profile = options.program.profile ? &frame.profile : nullptr,
                              .steps = end - first,
                              .wait = false});
  for (Tensor& stack : stacks) stack = Tensor();
}

// Waits for the launch and fills frame.results.
void StepLoop::Impl::finish(Frame& frame) const {
  if (!frame.done.ready()) {
    const tracing::Span span("wait for the device", tracing::Kind::launch);
    const int64_t begin = tracing::active() ? tracing::ticks() : 0;
    frame.done.wait();
    if (begin != 0) loop->device.note_steps(begin, frame.steps);
  }
  frame.done.wait();
  frame.results.resize(options.fetches.size());
  for (size_t f = 0; f < frame.results.size(); ++f) frame.results[f] = shown(frame, f);
}

Tensor StepLoop::Impl::shown(Frame& frame, size_t fetch) const {
  const int64_t steps = frame.steps;
  const TensorType& own = loop->program.fetch_types[fetch];
  const bool every = options.keep == StepLoopOptions::Keep::every_step;
  const int64_t columns = every ? options.max_steps : 1;
  const int64_t count = every ? steps : 1;
  const int64_t replicas = options.num_replicas;
  const bool alone = options.all_replicas() == 1;
  const Tensor& value = frame.fetched[fetch];
  const bool varies = value.rank() == own.shape.rank() + (every ? 2 : 1) && !alone;
  if (!every && varies) return value;
  if (alone) {
    const Tensor rows = value.reshape(with_front(own.shape, {columns}));
    return every ? rows.slice(0, steps).reshape(with_front(own.shape, {steps, 1})) : rows;
  }
  Tensor& copy = frame.copies[fetch];
  const Shape shape =
      every ? with_front(own.shape, {columns, replicas}) : with_front(own.shape, {replicas});
  if (!copy.unique() || copy.shape() != shape) copy = Tensor(own.dtype, shape);
  const auto bytes = static_cast<size_t>(own.byte_size());
  if (varies) {
    transpose_blocks(value, copy, replicas, columns, count, bytes);
  } else {
    for (int64_t block = 0; block < count * replicas; ++block) {
      std::memcpy(static_cast<std::byte*>(copy.raw()) + static_cast<size_t>(block) * bytes,
                  static_cast<const std::byte*>(value.raw()) +
                      static_cast<size_t>(block / replicas) * bytes,
                  bytes);
    }
  }
  return every ? copy.slice(0, steps) : copy;
}

StepLoop::StepLoop(Session& session, StepLoopOptions options)
    : impl_(std::make_unique<Impl>(*session.impl_, std::move(options))) {}
StepLoop::~StepLoop() = default;
StepLoop::StepLoop(StepLoop&&) noexcept = default;
StepLoop& StepLoop::operator=(StepLoop&&) noexcept = default;

void StepLoop::run(std::span<const Tensor> inputs, int64_t steps) {
  Impl& s = *impl_;
  if (s.last != nullptr) {
    s.last->results.clear();  // memory without another owner is reused
    s.unused.push_back(std::move(s.last));
  }
  s.last = s.launch(inputs, steps);
  s.finish(*s.last);
}

StepLoop::Launch StepLoop::launch(std::span<const Tensor> inputs, int64_t steps) {
  return {*impl_, impl_->launch(inputs, steps)};
}

StepLoop::Launch::Launch(Impl& loop, std::unique_ptr<Frame> frame)
    : loop_(&loop), frame_(std::move(frame)) {}
StepLoop::Launch::Launch(Launch&&) noexcept = default;

StepLoop::Launch::~Launch() {
  if (frame_ == nullptr) return;
  try {
    frame_->done.wait();    // the device writes into the frame
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the owner did not ask
  }
  frame_->results.clear();
  loop_->unused.push_back(std::move(frame_));
}

bool StepLoop::Launch::ready() const { return frame_->done.ready(); }

std::span<const Tensor> StepLoop::Launch::results() {
  if (frame_->results.empty()) loop_->finish(*frame_);
  return frame_->results;
}

std::span<const Tensor> StepLoop::results() const {
  if (impl_->last == nullptr) return {};
  return impl_->last->results;
}

std::span<const runtime::StepProfile> StepLoop::profile() const {
  if (impl_->last == nullptr) return {};
  return impl_->last->profile;
}

const StepLoopOptions& StepLoop::options() const { return impl_->options; }
const runtime::ExecutableStats& StepLoop::stats() const { return impl_->loop->ready().stats(); }
double StepLoop::compile_seconds() const { return stats().compile_seconds; }
std::span<const std::string> StepLoop::averaged_variables() const {
  return impl_->loop->program.averaged;
}
bool StepLoop::double_buffers_updates() const { return impl_->aside != nullptr; }
std::string StepLoop::optimized_program() const { return impl_->loop->ready().optimized_program(); }

void StepLoop::set_variables(Session& session, std::span<const Variable> variables,
                             std::vector<Tensor> values) {
  Session::Impl& s = *session.impl_;
  for (size_t i = 0; i < variables.size(); ++i) s.check_value(variables[i], values[i]);
  const tracing::Span span("set variables", tracing::Kind::transfer);
  std::vector<std::shared_ptr<runtime::Buffer>> buffers;
  for (Tensor& value : values) {
    buffers.push_back(s.target.client->buffer_from_host(std::move(value)));
  }
  const WriterLock lock(s.run_mutex);
  s.check_open();
  for (size_t i = 0; i < variables.size(); ++i)
    s.state.slot(variables[i].handle().node()).set(buffers[i]);
}

VariableSnapshot StepLoop::snapshot(Session& session, std::span<const Variable> variables) {
  VariableSnapshot snapshot;
  snapshot.values_.resize(variables.size());
  Session::Impl& s = *session.impl_;
  for (const Variable& variable : variables) s.check_graph(variable);
  s.snapshots_taken = true;
  std::vector<size_t> copied;
  {
    const WriterLock lock(s.run_mutex);
    s.check_open();
    snapshot.hold_ = std::make_shared<SnapshotHold>();
    for (size_t i = 0; i < variables.size(); ++i) {
      VariableSlot& slot = s.state.slot(variables[i].handle().node());
      if (slot.buffer == nullptr) throw uninitialized_variable(*variables[i].handle().node());
      if (slot.held()) {  // an earlier snapshot shares it
        copied.push_back(i);
        continue;
      }
      snapshot.values_[i].shared = slot.buffer;
      slot.hold = snapshot.hold_;
    }
  }
  for_each_in_parallel(copied.size(), [&](size_t c) {
    const size_t i = copied[c];
    snapshot.values_[i].copy = session.variable_value(variables[i]);
  });
  return snapshot;
}

}  // namespace systole
