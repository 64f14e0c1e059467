#include "systole/session/step_loop.h"

#include <absl/container/inlined_vector.h>

#include <chrono>
#include <cstring>
#include <future>

#include "systole/base/log.h"
#include "systole/base/thread_pool.h"
#include "systole/session/session_impl.h"
#include "systole/session/step_module.h"

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

Shape with_front(const Shape& shape, std::initializer_list<int64_t> front) {
  Dims dims = shape.dims();
  dims.insert(dims.begin(), front.begin(), front.end());
  return Shape(dims);
}

// `bytes` of each of the rows x columns blocks of `from`, transposed to columns x rows.
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

struct StepLoop::Impl {
  struct Compiled;
  Impl(Session::Impl& in_session, StepLoopOptions given);

  void check_inputs(std::span<const Tensor> inputs, int64_t steps) const;
  void run(std::span<const Tensor> inputs, int64_t steps);
  void execute(Compiled& compiled, std::span<const Tensor> inputs, int64_t first, int64_t end);
  void throw_failed_checks() const;
  void prepare_aside();
  std::vector<VariableSlot*> held_updates() const;
  Tensor shown(size_t fetch, int64_t steps);

  Session::Impl& session;
  StepLoopOptions options;
  std::unique_ptr<Compiled> loop;
  // The first step after a snapshot, where copying what it holds would take long.
  std::unique_ptr<Compiled> aside;
  std::future<std::unique_ptr<Compiled>> aside_in_work;
  bool aside_tried = false;
  Tensor random_state;
  Tensor first_argument{int32_t{0}};
  Tensor end_argument{int32_t{0}};
  std::vector<Tensor> stacks;   // the inputs as the program takes them
  std::vector<Tensor> fetched;  // as the program gives them
  std::vector<Tensor> copies;   // of these, in another layout, where one is needed
  std::vector<Tensor> results;
  std::vector<Tensor> flags;
  std::vector<runtime::StepProfile> profile;
};

// A program of the loop, and where its variables are.
struct StepLoop::Impl::Compiled {
  Compiled(Session::Impl& session, StepModule&& module);
  void compile(Session::Impl& session, const StepLoopOptions& options);
  // The same on a thread of its own; both outlive this object.
  void compile_beside(Session::Impl& session, const StepLoopOptions& options);
  // Waits until it is compiled. Errors: those of compile().
  runtime::Executable& ready() const;
  // Of the variables that it updates where they are.
  int64_t bytes_in_place() const;

  StepModule program;  // without its module, once it is compiled
  std::unique_ptr<runtime::Executable> executable;
  std::vector<VariableSlot*> reads;
  std::vector<VariableSlot*> updates;
  std::vector<uint64_t*> run_counts;
  std::vector<VariableSlot> memory;  // of updates that go aside, in this order
  std::shared_future<void> in_work;  // ends first
};

StepLoop::Impl::Compiled::Compiled(Session::Impl& session, StepModule&& module)
    : program(std::move(module)) {
  for (const Node* variable : program.variables) reads.push_back(&session.state.slot(variable));
  for (const Node* variable : program.updated) updates.push_back(&session.state.slot(variable));
  for (const Node* node : program.random_nodes)
    run_counts.push_back(&session.state.run_count(node));
}

void StepLoop::Impl::Compiled::compile(Session::Impl& session, const StepLoopOptions& options) {
  runtime::CompileOptions compile = session.compile_options;
  compile.num_replicas = options.num_replicas;
  compile.replicated_parameters = program.replicated_parameters;
  compile.stacked = true;
  compile.bf16_products = options.bf16_products;
  compile.profile = options.profile;
  // The memory that updates go to is the host's, not a core's.
  if (program.updates == UpdatesGo::aside) compile.memory_limit = 0;
  executable = session.target.client->compile(*program.module, compile);
  program.module.reset();
}

void StepLoop::Impl::Compiled::compile_beside(Session::Impl& session,
                                              const StepLoopOptions& options) {
  in_work =
      std::async(std::launch::async, [this, &session, &options] { compile(session, options); });
}

runtime::Executable& StepLoop::Impl::Compiled::ready() const {
  if (in_work.valid()) in_work.get();
  return *executable;
}

int64_t StepLoop::Impl::Compiled::bytes_in_place() const {
  int64_t bytes = 0;
  for (size_t u = 0; u < updates.size(); ++u) {
    if (program.in_place[u]) bytes += program.updated_types[u].byte_size();
  }
  return bytes;
}

StepLoop::Impl::Impl(Session::Impl& in_session, StepLoopOptions given)
    : session(in_session), options(std::move(given)) {
  check_options(options);
  session.check_cores(options.num_replicas);
  // What a session with a loop runs besides is its preparation and its results.
  std::call_once(session.idle_cores_once, [] {});
  loop = std::make_unique<Compiled>(session, make_step_module(session.graph, options));
  if (options.compile_beside) {
    loop->compile_beside(session, options);
  } else {
    loop->compile(session, options);
  }
  random_state = Tensor(DType::u64, {static_cast<int64_t>(loop->run_counts.size()) + 1});
  stacks.resize(options.inputs.size());
  fetched.resize(options.fetches.size());
  copies.resize(options.fetches.size());
  results.resize(options.fetches.size());
  flags.resize(loop->program.checks.size());
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

void StepLoop::Impl::throw_failed_checks() const {
  for (size_t i = 0; i < flags.size(); ++i) {
    const SpecializedProgram::Check& check = loop->program.checks[i];
    if (flags[i].item<bool>()) throw Error(check.code, check.message);
  }
}

// Those that a snapshot has. REQUIRES: the session's lock.
std::vector<VariableSlot*> StepLoop::Impl::held_updates() const {
  std::vector<VariableSlot*> held;
  for (size_t u = 0; u < loop->updates.size(); ++u) {
    if (loop->program.in_place[u] && loop->updates[u]->held()) held.push_back(loop->updates[u]);
  }
  return held;
}

// Once someone takes snapshots, makes what the step after one needs while training goes on.
// REQUIRES: the session's lock.
void StepLoop::Impl::prepare_aside() {
  constexpr int64_t kWorthIt = int64_t{16} << 20;  // bytes that are not copied in ten milliseconds
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
  const bool fits = options.keep == StepLoopOptions::Keep::last && !options.profile;
  if (!fits || loop->bytes_in_place() < kWorthIt) return;
  auto made = std::make_unique<Compiled>(
      session, make_step_module(session.graph, options, UpdatesGo::aside));
  aside_in_work = std::async(std::launch::async, [this, made = std::move(made)]() mutable {
    made->compile(session, options);
    for (size_t u = 0; u < made->updates.size(); ++u) {
      if (!made->program.in_place[u]) continue;
      const TensorType& type = made->program.updated_types[u];
      made->memory.emplace_back().set(
          session.target.client->buffer_from_host(Tensor::zeros(type.dtype, type.shape)));
    }
    return std::move(made);
  });
}

// REQUIRES: the session's lock.
void StepLoop::Impl::run(std::span<const Tensor> inputs, int64_t steps) {
  prepare_aside();
  int64_t first = 0;
  if (const std::vector<VariableSlot*> held = held_updates(); !held.empty()) {
    if (aside != nullptr) {
      execute(*aside, inputs, 0, 1);
      first = 1;
    } else {
      for_each_in_parallel(held.size(), [&](size_t i) { held[i]->own(*session.target.client); });
    }
  }
  if (first < steps) execute(*loop, inputs, first, steps);
  for (uint64_t* count : loop->run_counts) *count += static_cast<uint64_t>(steps);
}

void StepLoop::Impl::execute(Compiled& compiled, std::span<const Tensor> inputs, int64_t first,
                             int64_t end) {
  const StepModule& program = compiled.program;
  LoopSmall<runtime::Argument> arguments;
  for (size_t v = 0; v < compiled.reads.size(); ++v) {
    if (compiled.reads[v]->buffer == nullptr) throw uninitialized_variable(*program.variables[v]);
    arguments.push_back({.buffer = compiled.reads[v]->buffer.get()});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool alone = options.num_replicas == 1;
    stacks[i] =
        alone ? inputs[i].reshape(with_front(options.input_types[i].shape, {options.max_steps}))
              : inputs[i];
    arguments.push_back({.host = &stacks[i]});
  }
  random_state.data<uint64_t>()[0] = session.state.entropy();
  for (size_t i = 0; i < compiled.run_counts.size(); ++i)
    random_state.data<uint64_t>()[i + 1] = *compiled.run_counts[i];
  if (!compiled.run_counts.empty()) arguments.push_back({.host = &random_state});
  first_argument.data<int32_t>()[0] = static_cast<int32_t>(first);
  end_argument.data<int32_t>()[0] = static_cast<int32_t>(end);
  arguments.push_back({.host = &first_argument});
  arguments.push_back({.host = &end_argument});
  for (VariableSlot& memory : compiled.memory) {
    memory.own(*session.target.client);
    arguments.push_back({.buffer = memory.buffer.get()});
  }

  LoopSmall<runtime::Result> wanted;
  for (Tensor& value : fetched) wanted.push_back({.host = &value});
  LoopSmall<std::unique_ptr<runtime::Buffer>> updated(compiled.updates.size());
  for (size_t u = 0; u < updated.size(); ++u) {
    wanted.push_back(program.in_place[u] ? runtime::Result{}
                                         : runtime::Result{.device = &updated[u]});
  }
  for (Tensor& flag : flags) wanted.push_back({.host = &flag});
  compiled.ready().execute(arguments, wanted, {.profile = options.profile ? &profile : nullptr});
  for (Tensor& stack : stacks) stack = Tensor();
  throw_failed_checks();
  size_t next = 0;
  for (size_t u = 0; u < updated.size(); ++u) {
    if (!program.in_place[u]) {
      compiled.updates[u]->set(std::move(updated[u]));
    } else if (!compiled.memory.empty()) {
      std::swap(*compiled.updates[u], compiled.memory[next++]);
    }
  }
}

Tensor StepLoop::Impl::shown(size_t fetch, int64_t steps) {
  const TensorType& own = loop->program.fetch_types[fetch];
  const bool every = options.keep == StepLoopOptions::Keep::every_step;
  const int64_t columns = every ? options.max_steps : 1;
  const int64_t count = every ? steps : 1;
  const int64_t replicas = options.num_replicas;
  const Tensor& value = fetched[fetch];
  const bool varies = value.rank() == own.shape.rank() + (every ? 2 : 1) && replicas > 1;
  if (!every && varies) return value;
  if (replicas == 1) {
    const Tensor rows = value.reshape(with_front(own.shape, {columns}));
    return every ? rows.slice(0, steps).reshape(with_front(own.shape, {steps, 1})) : rows;
  }
  Tensor& copy = copies[fetch];
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
  s.check_inputs(inputs, steps);
  // Memory that the caller kept no copy of is used again.
  for (Tensor& result : s.results) result = Tensor();
  // Whoever reads variables meanwhile does not wait for the compiler.
  s.loop->ready();
  {
    const std::unique_lock lock(s.session.run_mutex);
    s.session.check_open();
    s.session.runs.fetch_add(1, std::memory_order_relaxed);
    s.run(inputs, steps);
  }
  for (size_t f = 0; f < s.results.size(); ++f) s.results[f] = s.shown(f, steps);
}

std::span<const Tensor> StepLoop::results() const { return impl_->results; }
std::span<const runtime::StepProfile> StepLoop::profile() const { return impl_->profile; }
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
  const std::vector<std::shared_ptr<runtime::Buffer>> buffers =
      buffers_of(*s.target.client, std::move(values));
  const std::unique_lock lock(s.run_mutex);
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
    const std::unique_lock lock(s.run_mutex);
    s.check_open();
    snapshot.hold_ = std::make_shared<SnapshotHold>();
    for (size_t i = 0; i < variables.size(); ++i) {
      VariableSlot& slot = s.state.slot(variables[i].handle().node());
      if (slot.buffer == nullptr) throw uninitialized_variable(*variables[i].handle().node());
      if (slot.held()) {  // by an earlier snapshot
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
