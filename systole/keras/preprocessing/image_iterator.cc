#include "systole/keras/preprocessing/image_iterator.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "systole/base/thread_pool.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/preprocessing/image.h"

namespace systole::keras::preprocessing::image {

ImageIterator::ImageIterator(const ImageDataGenerator& generator, ImageSource source,
                             int64_t batch_size, bool shuffle, std::optional<uint32_t> seed)
    : generator_(std::make_unique<const ImageDataGenerator>(generator)),
      source_(std::move(source)),
      batch_size_(batch_size),
      shuffle_(shuffle),
      seed_(seed ? *seed : static_cast<uint32_t>(next_seed())) {
  if (batch_size < 1) {
    throw invalid_argument("ImageDataGenerator: batch_size, got {}, expected at least 1",
                           batch_size);
  }
  begin_epoch(0);
}

ImageIterator::~ImageIterator() = default;

int64_t ImageIterator::size() const { return (source_.count + batch_size_ - 1) / batch_size_; }

void ImageIterator::begin_epoch(int64_t epoch) {
  epoch_ = epoch;
  after_order_ = NumpyRandom(seed_ + static_cast<uint32_t>(epoch * size()));
  if (shuffle_) {
    order_ = after_order_.permutation(source_.count);
  } else {
    order_.resize(static_cast<size_t>(source_.count));
    std::iota(order_.begin(), order_.end(), 0);
  }
}

void ImageIterator::on_epoch_end() { begin_epoch(epoch_ + 1); }

void ImageIterator::reset() {
  next_batch_ = 0;
  begin_epoch(0);
}

Arrays ImageIterator::next() {
  if (next_batch_ == size()) {
    on_epoch_end();
    next_batch_ = 0;
  }
  return get(next_batch_++);
}

Tensor ImageIterator::rows_of(const Tensor& array, std::span<const int64_t> rows) const {
  Dims dims(array.shape().begin(), array.shape().end());
  dims[0] = static_cast<int64_t>(rows.size());
  Tensor result(array.dtype(), Shape(dims));
  const auto row_bytes =
      static_cast<size_t>(array.byte_size() / std::max<int64_t>(array.dim(0), 1));
  auto* to = static_cast<char*>(result.raw());
  for (const int64_t row : rows) {
    std::memcpy(to, static_cast<const char*>(array.raw()) + static_cast<size_t>(row) * row_bytes,
                row_bytes);
    to += row_bytes;
  }
  return result;
}

Arrays ImageIterator::get(int64_t index) {
  if (index < 0 || index >= size()) {
    throw make_error(
        Code::out_of_range,
        "ImageDataGenerator: Asked to retrieve element {}, but the Sequence has length {}", index,
        size());
  }
  const int64_t begin = index * batch_size_;
  const int64_t count = std::min(batch_size_, source_.count - begin);
  const std::span<const int64_t> rows = std::span<const int64_t>(order_).subspan(
      static_cast<size_t>(begin), static_cast<size_t>(count));
  NumpyRandom random = index == 0
                           ? after_order_
                           : NumpyRandom(seed_ + static_cast<uint32_t>(epoch_ * size() + index));
  std::vector<ImageTransform> transforms;
  for (int64_t i = 0; i < count; ++i) {
    transforms.push_back(generator_->get_random_transform(source_.shape, random));
  }
  Dims dims(source_.shape.begin(), source_.shape.end());
  dims.insert(dims.begin(), count);
  Tensor x(DType::f32, Shape(dims));
  ThreadPool::global().parallel_for(count, /*grain=*/1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const auto k = static_cast<size_t>(i);
      const Tensor image = generator_->standardize(
          generator_->apply_transform(source_.image(rows[k]), transforms[k]));
      std::ranges::copy(image.data<float>(), x.slice(i, i + 1).data<float>().begin());
    }
  });
  Arrays batch;
  if (source_.images_are_targets) batch.y = {x.clone()};
  if (source_.targets.valid()) batch.y = {rows_of(source_.targets, rows)};
  if (source_.sample_weights.valid()) {
    batch.sample_weights = {rows_of(source_.sample_weights, rows)};
  }
  batch.x = {std::move(x)};
  return batch;
}

}  // namespace systole::keras::preprocessing::image
