#include "systole/estimator/feed.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "systole/data/outcome.h"
#include "systole/data/workers.h"
#include "systole/estimator/step_reader.h"

namespace systole::estimator {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Copies `count` rows of `from`, from row `first` on, to `to`, and repeats the last of them (or of
// all of `from` when there are none) up to `batch` rows. Repeated examples are as harmless to a
// model as those beside them; zeros need not be.
void copy_rows(const Tensor& from, int64_t first, int64_t count, int64_t batch, std::byte* to) {
  const int64_t all = from.dim(0);
  const auto row_bytes = static_cast<size_t>(from.byte_size() / std::max<int64_t>(all, 1));
  const auto* source = static_cast<const std::byte*>(from.raw());
  if (count == batch && source + static_cast<size_t>(first) * row_bytes == to)
    return;  // made there
  if (count > 0) {
    std::memcpy(to, source + static_cast<size_t>(first) * row_bytes,
                static_cast<size_t>(count) * row_bytes);
  }
  const int64_t last = count > 0 ? first + count - 1 : all - 1;
  for (int64_t i = count; i < batch; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * row_bytes,
                source + static_cast<size_t>(last) * row_bytes, row_bytes);
  }
}

// Whether any of it was made where it belongs.
bool is_in_place(const Step& step) {
  return std::ranges::any_of(
      step, [](const Row& row) { return std::ranges::any_of(row, &Tensor::is_lent); });
}

// Memory of its own for what lies in a stack that is not for it.
void clone(Step& step) {
  for (Row& row : step) {
    for (Tensor& tensor : row) tensor = tensor.clone();
  }
}

Shape with_front(std::vector<int64_t> front, const Shape& shape) {
  front.insert(front.end(), shape.begin(), shape.end());
  return Shape(std::span<const int64_t>(front));
}

// Steps in memory that is kept from one use to the next.
struct Stack {
  std::vector<TensorType> types;
  std::vector<Tensor> buffers;
  std::vector<std::vector<int64_t>> examples;  // a step, a replica
  std::optional<Error> error;                  // came after its steps

  int64_t steps() const { return static_cast<int64_t>(examples.size()); }
};

}  // namespace

int64_t step_bytes_of(const std::vector<TensorType>& batch, int64_t replicas) {
  int64_t bytes = 0;
  for (const TensorType& type : batch) bytes += type.byte_size();
  return bytes * replicas;
}

struct Feed::Impl {
  Impl(const Input& in_input, const FeedOptions& given)
      : input(in_input),
        options(given),
        reader(in_input, given.pad, given.iterator),
        workers(cancellation, 1, [this](Workers::Lock& lock) { return work(lock); }) {}
  ~Impl() {
    reader.cancel();
    cancellation.cancel();
    workers.stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool work(Workers::Lock& lock);
  void fill(Stack& stack, int64_t steps);
  std::vector<TensorType> types_of(const Step& step) const;
  void set_types(Stack& stack, const std::vector<TensorType>& types) const;
  Step places(Stack& stack) const;
  void place(const Step& step, Stack& stack) const;
  std::byte* slot(Stack& stack, size_t component, int64_t replica, int64_t step) const;
  Step step_of(Stack& stack, int64_t at) const;
  void keep_rest(Stack& from, int64_t given, Stack& to) const;
  void ask(int64_t steps);
  LoopInput given(const Stack& stack, int64_t steps) const;

  const Input& input;
  FeedOptions options;
  // Of the thread that fills while `asked`, else of the caller's:
  StepReader reader;
  std::array<Stack, 2> stacks;
  size_t with_consumer = 1;  // the other one is filled, or being filled

  Cancellation cancellation;
  // Guarded by the lock of workers:
  std::optional<int64_t> asked;  // steps to fill the other one with
  bool ready = false;            // it is filled
  FeedReport report;
  std::optional<Clock::time_point> first_call;
  Workers workers;
};

bool Feed::Impl::work(Workers::Lock& lock) {
  if (!asked) return false;
  const int64_t steps = *asked;
  Stack& stack = stacks[1 - with_consumer];
  lock.unlock();
  fill(stack, steps);
  lock.lock();
  asked.reset();
  ready = true;
  return true;
}

void Feed::Impl::fill(Stack& stack, int64_t steps) {
  stack.examples.clear();
  stack.error.reset();
  try {
    while (stack.steps() < steps) {
      std::optional<Step> step = reader.read(places(stack));
      if (!step) break;
      const bool in_place = is_in_place(*step);
      const std::vector<TensorType> types = types_of(*step);
      if (in_place && types != stack.types) clone(*step);
      if (stack.steps() == 0) {
        set_types(stack, types);
      } else if (types != stack.types) {
        if (options.fixed) {
          throw invalid_argument(
              "input_fn: batch, got {} after {}, expected batches of one size; "
              "batch(batch_size, drop_remainder = true) leaves an incomplete one out",
              types[0], stack.types[0]);
        }
        reader.unread(std::move(*step));
        break;
      }
      place(*step, stack);
      if (!in_place) reader.recycle(std::move(*step));
    }
  } catch (...) {
    stack.error = data::current_error();
  }
}

// Memory for the rows of the stack's next step, where each is one piece of the memory that the
// stack has from its last use; nothing where it is not.
Step Feed::Impl::places(Stack& stack) const {
  const bool own = input.layout == Layout::per_replica;
  const bool one_piece = own || input.replicas == 1 || options.max_steps == 1;
  const bool shared = input.layout == Layout::broadcast && input.replicas > 1;
  if (options.pad || !one_piece || shared || stack.buffers.empty() ||
      stack.buffers[0].dim(1) != options.max_steps) {
    return {};
  }
  Step step(own ? static_cast<size_t>(input.replicas) : 1);
  for (size_t s = 0; s < step.size(); ++s) {
    for (size_t i = 0; i < stack.types.size(); ++i) {
      TensorType type = stack.types[i];
      if (!own) type.shape.set_dim(0, type.shape[0] * input.replicas);
      step[s].push_back(Tensor::lent(type.dtype, type.shape,
                                     slot(stack, i, static_cast<int64_t>(s), stack.steps())));
    }
  }
  return step;
}

// Of a replica's batch.
std::vector<TensorType> Feed::Impl::types_of(const Step& step) const {
  const int64_t parts = input.layout == Layout::split ? input.replicas : 1;
  const int64_t rows = rows_of(step[0]);
  int64_t batch = rows / parts;
  if (options.pad) batch = input.replica_batch.value_or((rows + parts - 1) / parts);
  if (rows > batch * parts || (!options.pad && rows != batch * parts)) {
    throw invalid_argument("input_fn: batch of {} examples, expected {}{}", rows,
                           options.pad ? "at most " : "a multiple of the number of replicas, ",
                           options.pad ? batch * parts : parts);
  }
  std::vector<TensorType> types;
  for (const Tensor& tensor : step[0]) {
    TensorType type = tensor.type();
    type.shape.set_dim(0, batch);
    types.push_back(std::move(type));
  }
  return types;
}

void Feed::Impl::set_types(Stack& stack, const std::vector<TensorType>& types) const {
  if (stack.types == types && !stack.buffers.empty() &&
      stack.buffers[0].dim(1) == options.max_steps) {
    return;
  }
  stack.types = types;
  stack.buffers.clear();
  const auto add = [&](const TensorType& type) {
    stack.buffers.push_back(
        Tensor::zeros(type.dtype, with_front({input.replicas, options.max_steps}, type.shape)));
  };
  for (const TensorType& type : types) add(type);
  if (options.pad) add({DType::f32, {types[0].shape[0]}});
}

std::byte* Feed::Impl::slot(Stack& stack, size_t component, int64_t replica, int64_t step) const {
  Tensor& buffer = stack.buffers[component];
  const int64_t bytes = buffer.byte_size() / (input.replicas * options.max_steps);
  return static_cast<std::byte*>(buffer.raw()) + (replica * options.max_steps + step) * bytes;
}

void Feed::Impl::place(const Step& step, Stack& stack) const {
  const int64_t at = stack.steps();
  const int64_t batch = stack.types[0].shape[0];
  std::vector<int64_t> examples;
  for (int64_t replica = 0; replica < input.replicas; ++replica) {
    const auto r = static_cast<size_t>(replica);
    const bool own = input.layout == Layout::per_replica;
    const Row& row = step[own ? std::min(r, step.size() - 1) : 0];
    const int64_t first = input.layout == Layout::split ? replica * batch : 0;
    int64_t count = std::clamp<int64_t>(rows_of(row) - first, 0, batch);
    if (own && r >= step.size()) count = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      TensorType got = row[i].type();
      got.shape.set_dim(0, batch);
      if (got != stack.types[i]) {
        throw invalid_argument("input_fn: component {} of the element, got {}, expected {}", i,
                               row[i].type(), stack.types[i]);
      }
      copy_rows(row[i], first, count, batch, slot(stack, i, replica, at));
    }
    // What every replica gets counts once.
    examples.push_back(input.layout == Layout::broadcast && r > 0 ? 0 : count);
    if (!options.pad) continue;
    const auto mask = stack.buffers.back().data<float>().subspan(
        static_cast<size_t>((replica * options.max_steps + at) * batch),
        static_cast<size_t>(batch));
    for (int64_t i = 0; i < batch; ++i) {
      mask[static_cast<size_t>(i)] = i < examples.back() ? 1.0F : 0.0F;
    }
  }
  stack.examples.push_back(std::move(examples));
}

// What place() put there. REQUIRES: without padding.
Step Feed::Impl::step_of(Stack& stack, int64_t at) const {
  const bool split = input.layout == Layout::split;
  const bool own = input.layout == Layout::per_replica;
  Step step(own ? static_cast<size_t>(input.replicas) : 1);
  const int64_t parts = split ? input.replicas : 1;
  for (size_t s = 0; s < step.size(); ++s) {
    for (size_t i = 0; i < stack.types.size(); ++i) {
      TensorType type = stack.types[i];
      const auto bytes = static_cast<size_t>(type.byte_size());
      type.shape.set_dim(0, type.shape[0] * parts);
      Tensor value(type.dtype, type.shape);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t replica = split ? part : static_cast<int64_t>(s);
        std::memcpy(static_cast<std::byte*>(value.raw()) + static_cast<size_t>(part) * bytes,
                    slot(stack, i, replica, at), bytes);
      }
      step[s].push_back(std::move(value));
    }
  }
  return step;
}

// The steps behind the first `given` become those of `to`.
void Feed::Impl::keep_rest(Stack& from, int64_t given, Stack& to) const {
  set_types(to, from.types);
  to.examples.assign(from.examples.begin() + given, from.examples.end());
  to.error = std::exchange(from.error, std::nullopt);
  for (size_t i = 0; i < from.buffers.size(); ++i) {
    const int64_t bytes = from.buffers[i].byte_size() / (input.replicas * options.max_steps);
    for (int64_t r = 0; r < input.replicas; ++r) {
      std::memcpy(slot(to, i, r, 0), slot(from, i, r, given),
                  static_cast<size_t>(bytes * to.steps()));
    }
  }
}

LoopInput Feed::Impl::given(const Stack& stack, int64_t steps) const {
  LoopInput result{.types = stack.types, .stacks = stack.buffers, .steps = steps};
  for (int64_t step = 0; step < steps; ++step) {
    result.in_replica = stack.examples[static_cast<size_t>(step)];
    for (const int64_t count : result.in_replica) result.examples += count;
  }
  return result;
}

// REQUIRES: the lock, and that nothing is asked for or ready.
void Feed::Impl::ask(int64_t steps) {
  asked = steps;
  workers.start();
  workers.wake();
}

Feed::Feed(const Input& input, const FeedOptions& options)
    : impl_(std::make_unique<Impl>(input, options)) {}
Feed::~Feed() = default;

int64_t Feed::step_bytes() {
  std::optional<Step> first = impl_->reader.read();
  if (!first) return 0;
  const int64_t bytes = step_bytes_of(impl_->types_of(*first), impl_->input.replicas);
  impl_->reader.unread(std::move(*first));
  return bytes;
}

void Feed::set_max_steps(int64_t max_steps) { impl_->options.max_steps = max_steps; }

std::optional<LoopInput> Feed::next(int64_t steps, int64_t ahead) {
  Impl& impl = *impl_;
  const auto begin = Clock::now();
  Workers::Lock lock = impl.workers.lock();
  if (!impl.first_call) impl.first_call = begin;
  if (!impl.ready && !impl.asked) impl.ask(steps);
  impl.workers.wait(lock, [&] { return impl.ready; });
  impl.ready = false;
  Stack& stack = impl.stacks[1 - impl.with_consumer];
  if (stack.steps() == 0) {
    if (stack.error) throw Error(*std::exchange(stack.error, std::nullopt));
    return std::nullopt;
  }
  impl.with_consumer = 1 - impl.with_consumer;
  Stack& other = impl.stacks[1 - impl.with_consumer];
  LoopInput result = impl.given(stack, std::min(steps, stack.steps()));
  // An error waits until the steps before it are given.
  impl.ready = result.steps < stack.steps() || stack.error.has_value();
  if (impl.ready) impl.keep_rest(stack, result.steps, other);
  if (!impl.ready && ahead > 0) impl.ask(ahead);
  result.waited_seconds = seconds_since(begin);
  impl.report.waited_seconds += result.waited_seconds;
  impl.report.seconds = seconds_since(*impl.first_call);
  impl.report.steps += result.steps;
  ++impl.report.loops;
  return result;
}

std::string Feed::save_state() {
  Impl& impl = *impl_;
  Workers::Lock lock = impl.workers.lock();
  impl.workers.wait(lock, [&] { return !impl.asked; });
  std::vector<Step> ahead;
  Stack& stack = impl.stacks[1 - impl.with_consumer];
  for (int64_t i = 0; impl.ready && i < stack.steps(); ++i) ahead.push_back(impl.step_of(stack, i));
  StateWriter writer;
  impl.reader.save(writer, ahead);
  return writer.take();
}

void Feed::restore_state(std::string_view state) {
  StateReader reader(state);
  impl_->reader.restore(reader);
}

FeedReport Feed::report() const {
  const Workers::Lock lock = impl_->workers.lock();
  FeedReport result = impl_->report;
  result.stages = impl_->reader.stats();
  return result;
}

}  // namespace systole::estimator
