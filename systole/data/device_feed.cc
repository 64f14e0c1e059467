#include "systole/data/device_feed.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "systole/data/outcome.h"
#include "systole/data/workers.h"

namespace systole {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The type of one replica's part of a step.
TensorType part_of(const TensorType& type, size_t component, const DeviceFeedOptions& options) {
  if (type.dtype == DType::string) {
    throw invalid_argument(
        "DeviceFeed: component {}, got {}, expected numbers: no device holds texts", component,
        type);
  }
  if (options.per_replica || options.replicas == 1) return type;
  TensorType part = type;
  if (type.shape.rank() == 0 || type.shape[0] % options.replicas != 0) {
    throw invalid_argument(
        "DeviceFeed: first dimension of component {}, got {}, expected a multiple of {} replicas",
        component, type, options.replicas);
  }
  part.shape.set_dim(0, type.shape[0] / options.replicas);
  return part;
}

// One stack of K steps for R replicas.
struct Stack {
  std::vector<Tensor> components;
  int64_t steps = 0;
  std::optional<Error> error;  // that ended it early
  bool last = false;           // the input has ended
};

}  // namespace

struct DeviceFeed::Impl {
  Impl(const Dataset& dataset, const DeviceFeedOptions& given);
  ~Impl() {
    iterator.cancel();
    cancellation.cancel();
    workers.stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool step(Workers::Lock& lock);
  void fill(Stack& stack);
  bool fill_step(Stack& stack, int64_t k);
  bool ask(Stack& stack, int64_t replica, int64_t k);
  std::byte* place(Tensor& component, int64_t replica, int64_t k) const;
  void copy_part(const Tensor& from, int64_t offset, Tensor& to, int64_t replica, int64_t k) const;
  void save_stack(StateWriter& writer, const Stack& stack) const;
  void restore_stack(StateReader& reader, Stack& stack);

  const DeviceFeedOptions options;
  std::vector<TensorType> types;  // per replica and step
  Iterator iterator;
  Row row;
  int64_t steps_asked = 0;  // of the filling thread
  bool in_place = true;     // the pipeline may write batches where they are wanted

  Cancellation cancellation;
  // Guarded by the lock of workers:
  std::array<Stack, 2> stacks;
  size_t with_consumer = 1;  // the other one is filled, or being filled
  bool ready = false;        // the other one is filled
  FeedReport report;
  std::optional<Clock::time_point> first_call;
  Workers workers;
};

DeviceFeed::Impl::Impl(const Dataset& dataset, const DeviceFeedOptions& given)
    : options(given),
      iterator((dataset.check_static("DeviceFeed"), dataset), given.iterator),
      workers(cancellation, 1, [this](Workers::Lock& lock) { return step(lock); }) {
  if (options.steps < 1 || options.replicas < 1) {
    throw invalid_argument("DeviceFeed: steps and replicas, got {} and {}, expected at least 1",
                           options.steps, options.replicas);
  }
  for (const TensorType& type : dataset.element_spec().flatten()) {
    types.push_back(part_of(type, types.size(), options));
  }
  for (Stack& stack : stacks) {
    for (const TensorType& type : types) {
      Dims dims{options.replicas, options.steps};
      dims.insert(dims.end(), type.shape.begin(), type.shape.end());
      stack.components.emplace_back(type.dtype, Shape(std::move(dims)));
    }
  }
}

bool DeviceFeed::Impl::step(Workers::Lock& lock) {
  if (ready) return false;
  Stack& stack = stacks[1 - with_consumer];
  lock.unlock();
  fill(stack);
  lock.lock();
  ready = true;
  return true;
}

void DeviceFeed::Impl::fill(Stack& stack) {
  // After an error the steps before it stay.
  if (!std::exchange(stack.error, std::nullopt)) stack.steps = 0;
  stack.last = false;
  try {
    while (stack.steps < options.steps && !stack.last) {
      stack.last = steps_asked == options.max_steps || !fill_step(stack, stack.steps);
      if (stack.last) break;
      ++stack.steps;
      ++steps_asked;
    }
  } catch (...) {
    stack.error = data::current_error();
  }
}

// False at the end of input.
bool DeviceFeed::Impl::fill_step(Stack& stack, int64_t k) {
  for (int64_t r = 0; r < options.replicas; ++r) {
    if ((r == 0 || options.per_replica) && !ask(stack, r, k)) return false;
    for (size_t c = 0; c < types.size(); ++c) {
      copy_part(row[c], options.per_replica ? 0 : r, stack.components[c], r, k);
    }
  }
  return true;
}

// The next element, in its place where the pipeline can write it there. False at the end of input.
bool DeviceFeed::Impl::ask(Stack& stack, int64_t replica, int64_t k) {
  const bool in_one_piece = options.per_replica || options.replicas == 1 || options.steps == 1;
  if (!in_place || !in_one_piece) return iterator.next_row(row);
  row.clear();
  const int64_t parts = options.per_replica ? 1 : options.replicas;
  for (size_t c = 0; c < types.size(); ++c) {
    Shape shape = types[c].shape;
    if (parts > 1) shape.set_dim(0, shape[0] * parts);
    row.push_back(
        Tensor::lent(types[c].dtype, std::move(shape), place(stack.components[c], replica, k)));
  }
  if (!iterator.next_row(row)) return false;
  in_place = std::ranges::any_of(row, &Tensor::is_lent);
  return true;
}

std::byte* DeviceFeed::Impl::place(Tensor& component, int64_t replica, int64_t k) const {
  const int64_t bytes = component.byte_size() / (options.replicas * options.steps);
  return static_cast<std::byte*>(component.raw()) + (replica * options.steps + k) * bytes;
}

// Part `part` of a batch to its place for a replica and a step.
void DeviceFeed::Impl::copy_part(const Tensor& from, int64_t part, Tensor& to, int64_t replica,
                                 int64_t k) const {
  const int64_t bytes = to.byte_size() / (options.replicas * options.steps);
  const bool whole = from.byte_size() == (options.per_replica ? bytes : bytes * options.replicas);
  if (!whole) {
    throw invalid_argument("DeviceFeed: batch, got {}, expected as many elements as in {}",
                           from.type(), to.type());
  }
  std::byte* const target = place(to, replica, k);
  const std::byte* const source = static_cast<const std::byte*>(from.raw()) + part * bytes;
  if (source != target) std::memcpy(target, source, static_cast<size_t>(bytes));
}

void DeviceFeed::Impl::save_stack(StateWriter& writer, const Stack& stack) const {
  writer.number(static_cast<uint64_t>(stack.steps));
  writer.flag(stack.last);
  writer.flag(stack.error.has_value());
  if (stack.error) writer.error(*stack.error);
  for (const Tensor& component : stack.components) {
    const int64_t bytes = component.byte_size() / (options.replicas * options.steps);
    for (int64_t r = 0; r < options.replicas; ++r) {
      const char* const begin =
          static_cast<const char*>(component.raw()) + r * options.steps * bytes;
      writer.bytes({begin, static_cast<size_t>(stack.steps * bytes)});
    }
  }
}

void DeviceFeed::Impl::restore_stack(StateReader& reader, Stack& stack) {
  stack.steps = static_cast<int64_t>(reader.number());
  stack.last = reader.flag();
  if (reader.flag()) stack.error = reader.error();
  if (stack.steps < 0 || stack.steps > options.steps) {
    throw failed_precondition("DeviceFeed: saved steps of a stack, got {}, expected at most {}",
                              stack.steps, options.steps);
  }
  for (Tensor& component : stack.components) {
    const int64_t bytes = component.byte_size() / (options.replicas * options.steps);
    for (int64_t r = 0; r < options.replicas; ++r) {
      const std::string_view part = reader.bytes();
      if (part.size() != static_cast<size_t>(stack.steps * bytes)) {
        throw failed_precondition("DeviceFeed: saved stack, got {} bytes, expected {}", part.size(),
                                  stack.steps * bytes);
      }
      std::memcpy(static_cast<char*>(component.raw()) + r * options.steps * bytes, part.data(),
                  part.size());
    }
  }
}

DeviceFeed::DeviceFeed(const Dataset& dataset, const DeviceFeedOptions& options)
    : impl_(std::make_unique<Impl>(dataset, options)) {}
DeviceFeed::~DeviceFeed() = default;

DeviceFeed::Batch DeviceFeed::next() {
  Impl& impl = *impl_;
  const auto begin = Clock::now();
  Workers::Lock lock = impl.workers.lock();
  if (!impl.first_call) impl.first_call = begin;
  impl.workers.start();
  impl.workers.wait(lock, [&] { return impl.ready; });
  Stack& stack = impl.stacks[1 - impl.with_consumer];
  FeedReport& report = impl.report;
  if (stack.error) {
    const Error error = *stack.error;
    impl.ready = false;  // the rest of the stack is filled with what comes after
    impl.workers.wake();
    throw Error(error);
  }
  Batch batch{.components = stack.components, .steps_filled = stack.steps};
  if (!stack.last) {
    impl.with_consumer = 1 - impl.with_consumer;
    impl.ready = false;
    impl.workers.wake();
  } else {
    stack.steps = 0;  // once given, nothing is left
  }
  batch.waited_seconds = seconds_since(begin);
  report.waited_seconds += batch.waited_seconds;
  report.seconds = seconds_since(*impl.first_call);
  report.steps += batch.steps_filled;
  ++report.loops;
  return batch;
}

const std::vector<TensorType>& DeviceFeed::step_types() const { return impl_->types; }
const ElementSpec& DeviceFeed::element_spec() const { return impl_->iterator.element_spec(); }

std::string DeviceFeed::save_state() {
  Impl& impl = *impl_;
  const Workers::Pause pause(impl.workers);
  const Workers::Lock lock = impl.workers.lock();
  StateWriter writer;
  writer.bytes("DeviceFeed");
  writer.number(static_cast<uint64_t>(impl.steps_asked));
  writer.flag(impl.ready);
  if (impl.ready) impl.save_stack(writer, impl.stacks[1 - impl.with_consumer]);
  impl.iterator.save(writer);
  return writer.take();
}

void DeviceFeed::restore_state(std::string_view state) {
  Impl& impl = *impl_;
  StateReader reader(state);
  reader.expect("DeviceFeed");
  impl.steps_asked = static_cast<int64_t>(reader.number());
  impl.ready = reader.flag();
  if (impl.ready) impl.restore_stack(reader, impl.stacks[1 - impl.with_consumer]);
  impl.iterator.restore(reader);
}

FeedReport DeviceFeed::report() const {
  const Workers::Lock lock = impl_->workers.lock();
  FeedReport result = impl_->report;
  result.stages = impl_->iterator.stats();
  return result;
}

}  // namespace systole
