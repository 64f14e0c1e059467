#include "systole/data/feed/step_feed.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <numeric>
#include <utility>

#include "systole/base/thread_name.h"
#include "systole/data/feed/step_stack.h"
#include "systole/data/stage.h"
#include "systole/data/workers.h"
#include "systole/tracing/recorder.h"

namespace systole::data {
namespace {

using FeedClock = std::chrono::steady_clock;

double seconds_since(FeedClock::time_point begin) {
  return std::chrono::duration<double>(FeedClock::now() - begin).count();
}

std::vector<TensorType> types_of(const Components& row) {
  std::vector<TensorType> types;
  types.reserve(row.size());
  for (const Tensor& tensor : row) types.push_back(tensor.type());
  return types;
}

bool is_in_place(const Step& step) {
  return std::ranges::any_of(
      step, [](const Components& row) { return std::ranges::any_of(row, &Tensor::is_lent); });
}

// Copies tensors that lie in a stack of other types to their own memory.
void take_ownership(Step& step) {
  for (Components& row : step) {
    for (Tensor& tensor : row) tensor = tensor.clone();
  }
}

// Returns the types of a replica's batch if the data sets declare them; otherwise nothing.
std::vector<TensorType> declared_types(const StepSource& source) {
  const std::vector<TensorType> element = source.datasets.front().element_spec().flatten();
  const bool known = std::ranges::all_of(element, &TensorType::is_static);
  if (!known || source.pad) return {};
  return part_types(source, element);
}

std::vector<tracing::Stage> traced_stages(const std::vector<StageStats>& stages) {
  std::vector<tracing::Stage> result;
  for (const StageStats& stage : stages) {
    result.push_back({.name = stage.name,
                      .depth = stage.depth,
                      .threaded = stage.threaded,
                      .threads = stage.threads,
                      .elements = stage.elements,
                      .busy_seconds = stage.busy_seconds,
                      .waited_seconds = stage.waited_seconds,
                      .remedy = remedy(stage)});
  }
  return result;
}

}  // namespace

int64_t step_bytes_of(const std::vector<TensorType>& batch, int64_t replicas) {
  int64_t bytes = 0;
  for (const TensorType& type : batch) bytes += type.byte_size();
  return bytes * replicas;
}

struct StepFeed::Impl {
  Impl(StepSource from, const StackOptions& how)
      : source(std::move(from)),
        options(how),
        reader(source, how.iterator),
        types(declared_types(source)),
        workers(cancellation, 1, [this](Workers::Lock& lock) { return work(lock); }) {}
  ~Impl() {
    reader.cancel();
    cancellation.cancel();
    workers.stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool work(Workers::Lock& lock);
  void fill(StepStack& stack, int64_t steps);
  std::optional<Step> read(StepStack& stack);
  bool takes(StepStack& stack, const std::vector<TensorType>& of_step);
  void ask(int64_t steps);
  StackedSteps first_steps(const StepStack& stack, int64_t steps) const;
  StepStack& filled() { return stacks[1 - with_consumer]; }

  const StepSource source;
  StackOptions options;
  // Used by the filling thread while `asked` is set, otherwise by the caller.
  StepReader reader;
  std::vector<TensorType> types;  // of the last step, initially the declared ones
  std::array<StepStack, 2> stacks{StepStack(source), StepStack(source)};
  size_t with_consumer = 1;    // the other one holds the next steps
  std::optional<Error> error;  // follows its steps

  Cancellation cancellation;
  // Guarded by the lock of workers.
  std::optional<int64_t> asked;  // number of steps for the other stack
  bool ready = false;            // the other stack is filled
  FeedReport report;
  std::optional<FeedClock::time_point> first_call;
  Workers workers;
  std::optional<tracing::InputSource> traced;  // last: reads the statistics
};

bool StepFeed::Impl::work(Workers::Lock& lock) {
  if (!asked) return false;
  const int64_t steps = *asked;
  StepStack& stack = filled();
  lock.unlock();
  name_thread("input");
  fill(stack, steps);
  lock.lock();
  asked.reset();
  ready = true;
  return true;
}

void StepFeed::Impl::fill(StepStack& stack, int64_t steps) {
  const tracing::Span span("fill", tracing::Kind::input, {"steps", steps});
  try {
    while (stack.steps() < steps) {
      std::optional<Step> step = read(stack);
      if (!step) break;
      const bool in_place = is_in_place(*step);
      const std::vector<TensorType> of_step = part_types(source, types_of(step->front()));
      if (in_place && of_step != stack.types()) take_ownership(*step);
      if (!takes(stack, of_step)) {
        reader.unread(std::move(*step));
        break;
      }
      stack.push(*step);
      if (!in_place) reader.recycle(std::move(*step));
      if (options.stop && options.stop()) break;
    }
  } catch (...) {
    error = current_error();
  }
}

// Reads the next step, into the stack if the data sets can write there.
std::optional<Step> StepFeed::Impl::read(StepStack& stack) {
  if (stack.steps() == 0 && !types.empty()) stack.set_types(types, options.max_steps);
  return reader.read(reader.takes_places() && !stack.types().empty() ? stack.places() : Step());
}

// Returns whether a step of these types fits the stack. Errors: INVALID_ARGUMENT if it fits no
// stack.
bool StepFeed::Impl::takes(StepStack& stack, const std::vector<TensorType>& of_step) {
  if (options.fixed && !types.empty() && of_step != types) {
    throw invalid_argument(
        "{}: batch, got {} after {}, expected batches of one size; batch(batch_size, "
        "drop_remainder = true) leaves an incomplete one out",
        source.name, of_step[0], types[0]);
  }
  types = of_step;
  if (stack.steps() > 0) return stack.types() == types;
  stack.set_types(types, options.max_steps);
  return true;
}

StackedSteps StepFeed::Impl::first_steps(const StepStack& stack, int64_t steps) const {
  StackedSteps result{.types = stack.types(), .stacks = stack.buffers(), .steps = steps};
  for (int64_t step = 0; step < steps; ++step) {
    result.in_replica = stack.examples(step);
    result.in_step.push_back(
        std::accumulate(result.in_replica.begin(), result.in_replica.end(), int64_t{0}));
    result.examples += result.in_step.back();
  }
  return result;
}

// REQUIRES: the lock; nothing is asked for or ready.
void StepFeed::Impl::ask(int64_t steps) {
  asked = std::min(steps, options.max_steps);
  workers.start();
  workers.wake();
}

StepFeed::StepFeed(StepSource source, const StackOptions& options)
    : impl_(std::make_unique<Impl>(std::move(source), options)) {}
StepFeed::~StepFeed() = default;

int64_t StepFeed::step_bytes() {
  std::optional<Step> first = impl_->reader.read();
  if (!first) return 0;
  const int64_t bytes =
      step_bytes_of(part_types(impl_->source, types_of(first->front())), impl_->source.replicas);
  impl_->reader.unread(std::move(*first));
  return bytes;
}

void StepFeed::set_max_steps(int64_t max_steps) { impl_->options.max_steps = max_steps; }

std::optional<StackedSteps> StepFeed::next(int64_t steps, int64_t ahead) {
  Impl& impl = *impl_;
  const tracing::Span span("wait for input", tracing::Kind::input_wait, {"steps", steps});
  const auto begin = FeedClock::now();
  Workers::Lock lock = impl.workers.lock();
  if (!impl.first_call) impl.first_call = begin;
  // Before the first call the reader may be restored, and has no statistics.
  if (!impl.traced) impl.traced.emplace([&impl] { return traced_stages(impl.reader.stats()); });
  if (!impl.ready && !impl.asked) impl.ask(steps);
  impl.workers.wait(lock, [&] { return impl.ready; });
  impl.ready = false;
  StepStack& stack = impl.filled();
  if (impl.error && stack.steps() == 0) throw Error(*std::exchange(impl.error, std::nullopt));
  if (stack.steps() == 0) return std::nullopt;
  StackedSteps result = impl.first_steps(stack, std::min(steps, stack.steps()));
  impl.with_consumer = 1 - impl.with_consumer;
  // The next call returns the remaining steps and the error.
  impl.ready = result.steps < stack.steps() || impl.error.has_value();
  if (impl.ready) {
    impl.filled().assign_rest(stack, result.steps);
  } else {
    impl.filled().clear();
    if (ahead > 0) impl.ask(ahead);
  }
  result.waited_seconds = seconds_since(begin);
  impl.report.waited_seconds += result.waited_seconds;
  impl.report.seconds = seconds_since(*impl.first_call);
  impl.report.steps += result.steps;
  ++impl.report.loops;
  return result;
}

std::string StepFeed::save_state() {
  Impl& impl = *impl_;
  Workers::Lock lock = impl.workers.lock();
  impl.workers.wait(lock, [&] { return !impl.asked; });
  std::vector<Step> ahead;
  const StepStack& stack = impl.filled();
  assert(impl.ready || (!impl.error && stack.steps() == 0));
  for (int64_t i = 0; i < stack.steps(); ++i) ahead.push_back(stack.step(i));
  StateWriter writer;
  writer.number(static_cast<uint64_t>(impl.source.replicas));
  writer.number(impl.types.size());
  for (const TensorType& type : impl.types) writer.type(type);
  impl.reader.save(writer, ahead, impl.error);
  return writer.take();
}

void StepFeed::restore_state(std::string_view state) {
  const Workers::Lock lock = impl_->workers.lock();
  StateReader reader(state);
  // Another number of replicas has batches of another size.
  const bool same_parts = reader.number() == static_cast<uint64_t>(impl_->source.replicas);
  std::vector<TensorType> types(reader.count());
  for (TensorType& type : types) type = reader.type();
  impl_->reader.restore(reader);
  reader.expect_end();
  if (same_parts) impl_->types = std::move(types);
}

FeedReport StepFeed::report() const {
  const Workers::Lock lock = impl_->workers.lock();
  FeedReport result = impl_->report;
  result.stages = impl_->reader.stats();
  return result;
}

}  // namespace systole::data
