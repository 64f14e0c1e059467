#include <algorithm>
#include <cstring>

#include "systole/estimator/input.h"

namespace systole::estimator {
namespace {

int64_t rows_of(const std::vector<Tensor>& rows) {
  return rows.empty() || rows[0].rank() == 0 ? 0 : rows[0].dim(0);
}

// Copies `count` rows of `from`, from row `first` on, to `to`, and repeats the last of them (or of
// all of `from` when there are none) up to `batch` rows. Repeated examples are as harmless to a
// model as those beside them; zeros need not be.
void copy_rows(const Tensor& from, int64_t first, int64_t count, int64_t batch, std::byte* to) {
  const int64_t all = from.dim(0);
  const auto row_bytes = static_cast<size_t>(from.byte_size() / std::max<int64_t>(all, 1));
  const auto* source = static_cast<const std::byte*>(from.raw());
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

}  // namespace

Feed::Feed(const Input& input, const FeedOptions& options) : input_(input), options_(options) {
  for (const Dataset& dataset : input_.datasets) iterators_.push_back(dataset.make_iterator());
}

Feed::Rows Feed::read(size_t source) {
  Rows rows;
  if (!iterators_[source].next_row(rows)) return {};
  // The storage of a row is used again by the iterator's next one.
  for (const Tensor& tensor : rows) {
    if (tensor.rank() > 0 && tensor.dim(0) == rows_of(rows)) continue;
    throw invalid_argument(
        "input_fn: element, got tensors {} and {}, expected the batch as their first dimension; "
        "batch() gives it",
        rows[0].type(), tensor.type());
  }
  return rows_of(rows) == 0 ? Rows() : rows;
}

std::optional<Feed::Step> Feed::read_step() {
  if (peeked_) return std::exchange(peeked_, std::nullopt);
  if (ended_) return std::nullopt;
  Step step;
  if (input_.layout != Layout::per_replica) {
    Rows rows = read(0);
    if (!rows.empty()) step.push_back(std::move(rows));
  } else {
    for (size_t r = 0; r < static_cast<size_t>(input_.replicas); ++r) {
      Rows rows = read(iterators_.size() == 1 ? 0 : r);
      if (rows.empty()) break;
      step.push_back(std::move(rows));
    }
    // Without padding a step needs a batch for every replica.
    if (!options_.pad && step.size() < static_cast<size_t>(input_.replicas)) step.clear();
  }
  ended_ = step.empty() || (input_.layout == Layout::per_replica &&
                            step.size() < static_cast<size_t>(input_.replicas));
  if (step.empty()) return std::nullopt;
  return step;
}

// Of a replica's batch.
std::vector<TensorType> Feed::types_of(const Step& step) const {
  const int64_t parts = input_.layout == Layout::split ? input_.replicas : 1;
  const int64_t rows = rows_of(step[0]);
  int64_t batch = rows / parts;
  if (options_.pad) batch = input_.replica_batch.value_or((rows + parts - 1) / parts);
  if (rows > batch * parts || (!options_.pad && rows != batch * parts)) {
    throw invalid_argument("input_fn: batch of {} examples, expected {}{}", rows,
                           options_.pad ? "at most " : "a multiple of the number of replicas, ",
                           options_.pad ? batch * parts : parts);
  }
  std::vector<TensorType> types;
  for (const Tensor& tensor : step[0]) {
    TensorType type = tensor.type();
    type.shape.set_dim(0, batch);
    types.push_back(std::move(type));
  }
  return types;
}

void Feed::place(const Step& step, int64_t at, LoopInput& result) {
  const int64_t k = options_.max_steps;
  const auto replicas = static_cast<size_t>(input_.replicas);
  result.in_replica.assign(replicas, 0);
  for (size_t r = 0; r < replicas; ++r) {
    const bool split = input_.layout == Layout::split;
    const size_t source = input_.layout == Layout::per_replica ? std::min(r, step.size() - 1) : 0;
    const Rows& rows = step[source];
    const int64_t batch = result.types[0].shape[0];
    const int64_t first = split ? static_cast<int64_t>(r) * batch : 0;
    int64_t count = std::clamp<int64_t>(rows_of(rows) - first, 0, batch);
    if (input_.layout == Layout::per_replica && r >= step.size()) count = 0;
    const int64_t slot = static_cast<int64_t>(r) * k + at;
    for (size_t i = 0; i < rows.size(); ++i) {
      TensorType wanted = result.types[i];
      TensorType got = rows[i].type();
      got.shape.set_dim(0, batch);
      if (got != wanted) {
        throw invalid_argument("input_fn: component {} of the element, got {}, expected {}", i,
                               rows[i].type(), wanted);
      }
      auto* to = static_cast<std::byte*>(result.stacks[i].raw()) +
                 static_cast<size_t>(slot * wanted.byte_size());
      copy_rows(rows[i], first, count, batch, to);
    }
    // What every replica gets counts once.
    const int64_t real = input_.layout == Layout::broadcast && r > 0 ? 0 : count;
    result.in_replica[r] = real;
    result.examples += real;
    if (!options_.pad) continue;
    const auto mask = result.stacks.back().data<float>().subspan(static_cast<size_t>(slot * batch),
                                                                 static_cast<size_t>(batch));
    for (int64_t i = 0; i < batch; ++i) mask[static_cast<size_t>(i)] = i < real ? 1.0F : 0.0F;
  }
}

int64_t Feed::step_bytes() {
  if (!peeked_) peeked_ = read_step();
  if (!peeked_) return 0;
  int64_t bytes = 0;
  for (const TensorType& type : types_of(*peeked_)) bytes += type.byte_size();
  return bytes * input_.replicas;
}

void Feed::set_max_steps(int64_t max_steps) {
  options_.max_steps = max_steps;
  buffer_types_.clear();
}

std::optional<LoopInput> Feed::next(int64_t steps) {
  LoopInput result;
  while (result.steps < steps) {
    std::optional<Step> step = read_step();
    if (!step) break;
    const std::vector<TensorType> types = types_of(*step);
    if (result.steps == 0) {
      result.types = types;
      if (buffer_types_ != types) {
        buffers_.clear();
        buffer_types_ = types;
        const auto add_buffer = [&](const TensorType& type) {
          std::vector<int64_t> dims = {input_.replicas, options_.max_steps};
          dims.insert(dims.end(), type.shape.begin(), type.shape.end());
          buffers_.push_back(Tensor::zeros(type.dtype, Shape(std::span<const int64_t>(dims))));
        };
        for (const TensorType& type : types) add_buffer(type);
        if (options_.pad) add_buffer({DType::f32, {types[0].shape[0]}});
      }
      result.stacks = buffers_;
    } else if (types != result.types) {
      if (options_.fixed) {
        throw invalid_argument(
            "input_fn: batch, got {} after {}, expected batches of one size; "
            "batch(batch_size, drop_remainder = true) leaves an incomplete one out",
            types[0], result.types[0]);
      }
      peeked_ = std::move(step);
      break;
    }
    place(*step, result.steps, result);
    ++result.steps;
  }
  if (result.steps == 0) return std::nullopt;
  return result;
}

std::string Feed::save_state() {
  // A batch that was read but not given is read again: it is part of the state.
  StateWriter writer;
  writer.flag(peeked_.has_value());
  if (peeked_) {
    writer.number(peeked_->size());
    for (const Rows& rows : *peeked_) writer.row(rows);
  }
  writer.flag(ended_);
  writer.number(iterators_.size());
  for (Iterator& iterator : iterators_) writer.bytes(iterator.save_state());
  return writer.take();
}

void Feed::restore_state(std::string_view state) {
  StateReader reader(state);
  if (reader.flag()) {
    Step step(reader.count());
    for (Rows& rows : step) rows = reader.row();
    peeked_ = std::move(step);
  }
  ended_ = reader.flag();
  const size_t iterators = reader.count();
  if (iterators != iterators_.size()) {
    throw failed_precondition("input_fn: saved position, got {} data sets, expected {}", iterators,
                              iterators_.size());
  }
  for (Iterator& iterator : iterators_) iterator.restore_state(reader.bytes());
}

}  // namespace systole::estimator
