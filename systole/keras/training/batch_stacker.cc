#include "systole/keras/training/batch_stacker.h"

#include <algorithm>
#include <cstring>

namespace systole::keras {
namespace {

TensorType batch_type(const Tensor& array, int64_t batch) {
  Dims dims(array.shape().begin(), array.shape().end());
  dims[0] = batch;
  return {array.dtype(), Shape(std::move(dims))};
}

Tensor stack_of(const TensorType& batch, int64_t replicas, int64_t steps) {
  Dims dims{replicas, steps};
  dims.insert(dims.end(), batch.shape.begin(), batch.shape.end());
  return Tensor(batch.dtype, Shape(std::move(dims)));
}

}  // namespace

BatchStacker::BatchStacker(const Arrays& arrays, int64_t batch_size, int64_t replicas,
                           int64_t max_steps)
    : arrays_(arrays),
      batch_size_(batch_size),
      replicas_(replicas),
      per_replica_((batch_size + replicas - 1) / replicas) {
  for (const Tensor& x : arrays_.x) shape_.x.push_back(batch_type(x, per_replica_));
  for (const Tensor& y : arrays_.y) shape_.y.push_back(batch_type(y, per_replica_));
  shape_.weighted = !arrays_.sample_weights.empty();
  shape_.max_steps = max_steps;
  for (const auto* list : {&arrays_.x, &arrays_.y, &arrays_.sample_weights}) {
    for (const Tensor& array : *list) {
      sources_.push_back(&array);
      stacks_.push_back(stack_of(batch_type(array, per_replica_), replicas_, max_steps));
    }
  }
  stacks_.push_back(stack_of({DType::f32, {per_replica_}}, replicas_, max_steps));
}

void BatchStacker::fill_step(std::span<const int64_t> rows, int64_t step) {
  const auto count = static_cast<int64_t>(rows.size());
  const auto place = [&](int64_t replica, int64_t i) {
    return (replica * shape_.max_steps + step) * per_replica_ + i;
  };
  for (size_t s = 0; s < sources_.size(); ++s) {
    const Tensor& source = *sources_[s];
    const int64_t bytes = source.dim(0) == 0 ? 0 : source.byte_size() / source.dim(0);
    const auto* from = static_cast<const char*>(source.raw());
    auto* to = static_cast<char*>(stacks_[s].raw());
    for (int64_t k = 0; k < per_replica_ * replicas_; ++k) {
      const int64_t row = rows[static_cast<size_t>(k < count ? k : 0)];
      std::memcpy(to + place(k / per_replica_, k % per_replica_) * bytes, from + row * bytes,
                  static_cast<size_t>(bytes));
    }
  }
  const std::span<float> mask = stacks_.back().data<float>();
  for (int64_t k = 0; k < per_replica_ * replicas_; ++k) {
    mask[static_cast<size_t>(place(k / per_replica_, k % per_replica_))] = k < count ? 1.0F : 0.0F;
  }
}

std::span<const Tensor> BatchStacker::fill(std::span<const int64_t> order, int64_t first,
                                           int64_t steps) {
  for (int64_t step = 0; step < steps; ++step) {
    const auto begin = static_cast<size_t>((first + step) * batch_size_);
    const size_t count = std::min(static_cast<size_t>(batch_size_), order.size() - begin);
    fill_step(order.subspan(begin, count), step);
  }
  return stacks_;
}

}  // namespace systole::keras
