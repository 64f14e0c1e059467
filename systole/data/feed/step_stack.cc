#include "systole/data/feed/step_stack.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace systole::data {
namespace {

// Copies `count` examples of `from`, from `first` on, to `to`; an example is `rows` rows. Pads to
// `batch` examples by repeating the last one copied (or the last one of `from` if none is).
// Repeated examples are as harmless to a model as real ones; zeros may not be.
void copy_examples(const Tensor& from, int64_t rows, int64_t first, int64_t count, int64_t batch,
                   std::byte* to) {
  const int64_t all = from.dim(0) / rows;
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

Shape stacked(int64_t replicas, int64_t steps, const Shape& shape) {
  Dims dims{replicas, steps};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(std::move(dims));
}

// The examples of a replica in an element padded to `batch` examples a replica.
void check_padded(const StepSource& source, int64_t rows, int64_t batch) {
  const int64_t most = batch * source.parts();
  if (rows <= most) return;
  throw invalid_argument("{}: batch, got {} examples, expected at most {}", source.name, rows,
                         most);
}

// The padded size of an element's first dimension.
int64_t padded_part(const StepSource& source, int64_t rows) {
  const int64_t parts = source.parts();
  const int64_t batch = source.replica_batch.value_or((rows + parts - 1) / parts);
  check_padded(source, rows, batch);
  return batch;
}

}  // namespace

std::vector<TensorType> part_types(const StepSource& source, std::vector<TensorType> element) {
  const int64_t parts = source.parts();
  for (size_t i = 0; i < element.size(); ++i) {
    TensorType& type = element[i];
    if (type.dtype == DType::string) {
      throw invalid_argument("{}: component {}, got {}, expected numbers: no device holds texts",
                             source.name, i, type);
    }
    if (source.pad) {
      const int64_t rows = source.rows_of(i);
      type.shape.set_dim(0, padded_part(source, type.shape[0] / rows) * rows);
    } else if (parts > 1) {
      if (type.shape.rank() == 0 || type.shape[0] % parts != 0) {
        throw invalid_argument(
            "{}: first dimension of component {}, got {}, expected a multiple of {} replicas",
            source.name, i, type, parts);
      }
      type.shape.set_dim(0, type.shape[0] / parts);
    }
  }
  return element;
}

void StepStack::set_types(const std::vector<TensorType>& types, int64_t most) {
  if (types == types_ && most == most_) return;
  types_ = types;
  most_ = most;
  buffers_.clear();
  const auto add = [&](const TensorType& type) {
    buffers_.push_back(Tensor::zeros(type.dtype, stacked(source_.replicas, most, type.shape)));
  };
  for (const TensorType& type : types) add(type);
  if (source_.pad) add({DType::f32, {batch()}});
}

int64_t StepStack::slot_bytes(size_t component) const {
  return buffers_[component].byte_size() / (source_.replicas * most_);
}

int64_t StepStack::offset(size_t component, int64_t replica, int64_t step) const {
  return (replica * most_ + step) * slot_bytes(component);
}

std::byte* StepStack::slot(size_t component, int64_t replica, int64_t step) {
  return static_cast<std::byte*>(buffers_[component].raw()) + offset(component, replica, step);
}

Step StepStack::places() {
  const bool one_piece =
      source_.is_per_replica() || source_.replicas == 1 || (source_.is_split() && most_ == 1);
  if (source_.pad || !one_piece || steps() >= most_) return {};
  Step step(source_.elements());
  for (size_t s = 0; s < step.size(); ++s) {
    for (size_t i = 0; i < types_.size(); ++i) {
      TensorType type = types_[i];
      if (source_.parts() > 1) type.shape.set_dim(0, type.shape[0] * source_.parts());
      step[s].push_back(Tensor::lent(type.dtype, std::move(type.shape),
                                     slot(i, static_cast<int64_t>(s), steps())));
    }
  }
  return step;
}

void StepStack::push(const Step& step) {
  assert(steps() < most_);
  assert(source_.pad || step.size() == source_.elements());
  const bool is_per_replica = source_.is_per_replica();
  std::vector<int64_t> examples;
  for (const Components& row : step) check_types(row);
  for (int64_t replica = 0; replica < source_.replicas; ++replica) {
    const auto r = static_cast<size_t>(replica);
    const Components& row = step[is_per_replica ? std::min(r, step.size() - 1) : 0];
    const int64_t first = source_.is_split() ? replica * batch() : 0;
    const int64_t all = num_examples(row) / source_.rows_of(0);
    auto count = std::clamp<int64_t>(all - first, 0, batch());
    if (is_per_replica && r >= step.size()) count = 0;
    push_row(row, replica, count);
    // A broadcast batch counts once.
    examples.push_back(source_.is_broadcast() && r > 0 ? 0 : count);
    if (source_.pad) push_mask(replica, examples.back());
  }
  examples_.push_back(std::move(examples));
}

// Adds a replica's part of an element; `count` examples of it are real.
void StepStack::push_row(const Components& row, int64_t replica, int64_t count) {
  const int64_t part = source_.is_split() ? replica : 0;
  for (size_t i = 0; i < row.size(); ++i) {
    std::byte* const to = slot(i, replica, steps());
    if (source_.pad) {
      const int64_t rows = source_.rows_of(i);
      const int64_t batch = types_[i].shape[0] / rows;
      copy_examples(row[i], rows, part * batch, count, batch, to);
      continue;
    }
    const int64_t bytes = slot_bytes(i);
    const auto* from = static_cast<const std::byte*>(row[i].raw()) + part * bytes;
    if (from != to)
      std::memcpy(to, from, static_cast<size_t>(bytes));  // otherwise it was made in place
  }
}

void StepStack::push_mask(int64_t replica, int64_t count) {
  auto* const mask = reinterpret_cast<float*>(slot(types_.size(), replica, steps()));
  std::fill_n(mask, count, 1.0F);
  std::fill_n(mask + count, batch() - count, 0.0F);
}

void StepStack::check_types(const Components& row) const {
  for (size_t i = 0; i < row.size(); ++i) {
    TensorType expected = types_[i];
    if (source_.pad) {
      const int64_t rows = source_.rows_of(i);
      check_padded(source_, row[i].dim(0) / rows, expected.shape[0] / rows);
      expected.shape.set_dim(0, row[i].dim(0));
    } else if (source_.parts() > 1) {
      expected.shape.set_dim(0, expected.shape[0] * source_.parts());
    }
    if (row[i].type() == expected) continue;
    throw invalid_argument("{}: component {} of the element, got {}, expected {}", source_.name, i,
                           row[i].type(), expected);
  }
}

Step StepStack::step(int64_t at) const {
  const int64_t parts = source_.parts();
  Step step(source_.elements());
  for (size_t s = 0; s < step.size(); ++s) {
    for (size_t i = 0; i < types_.size(); ++i) {
      TensorType type = types_[i];
      const auto bytes = static_cast<size_t>(slot_bytes(i));
      if (parts > 1) type.shape.set_dim(0, type.shape[0] * parts);
      Tensor value(type.dtype, type.shape);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t replica = parts > 1 ? part : static_cast<int64_t>(s);
        std::memcpy(static_cast<std::byte*>(value.raw()) + static_cast<size_t>(part) * bytes,
                    static_cast<const std::byte*>(buffers_[i].raw()) + offset(i, replica, at),
                    bytes);
      }
      step[s].push_back(std::move(value));
    }
  }
  return step;
}

void StepStack::assign_rest(const StepStack& from, int64_t first) {
  clear();
  set_types(from.types_, from.most_);
  examples_.assign(from.examples_.begin() + first, from.examples_.end());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const auto bytes = static_cast<size_t>(slot_bytes(i) * steps());
    for (int64_t r = 0; r < source_.replicas && bytes > 0; ++r) {
      const auto* const begin = static_cast<const std::byte*>(from.buffers_[i].raw());
      std::memcpy(slot(i, r, 0), begin + from.offset(i, r, first), bytes);
    }
  }
}

}  // namespace systole::data
