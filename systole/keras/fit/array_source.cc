// Batches of arrays.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/fit/batch_source.h"
#include "systole/keras/fit/epoch_order.h"

namespace systole::keras {
namespace {

// Copies these rows of an array.
Tensor gather_rows(const Tensor& from, std::span<const int64_t> rows) {
  Dims dims = from.shape().dims();
  dims[0] = static_cast<int64_t>(rows.size());
  Tensor result(from.dtype(), Shape(std::move(dims)));
  const auto bytes = static_cast<size_t>(from.byte_size() / std::max<int64_t>(from.dim(0), 1));
  const auto* const source = static_cast<const char*>(from.raw());
  auto* to = static_cast<char*>(result.raw());
  for (const int64_t row : rows) {
    std::memcpy(to, source + static_cast<size_t>(row) * bytes, bytes);
    to += bytes;
  }
  return result;
}

class ArraySource : public BatchSource {
 public:
  ArraySource(const Arrays& arrays, const SourceOptions& options)
      : arrays_(arrays), options_(options), count_(arrays.examples()) {
    steps_ = (count_ + options.batch_size - 1) / options.batch_size;
    if (options.steps && *options.steps != steps_) {
      throw invalid_argument(
          "{}: steps, got {} for arrays of {} batches, expected none: arrays are taken whole",
          options.who, *options.steps, steps_);
    }
  }

  std::optional<int64_t> steps() const override { return steps_; }
  int64_t examples() const override { return count_; }
  int64_t batch_size() const override { return options_.batch_size; }

  std::optional<Arrays> next() override {
    if (order_.empty() && options_.shuffle) order_ = order_of_pass();
    const int64_t begin = step_ * options_.batch_size;
    const int64_t end = std::min(begin + options_.batch_size, count_);
    Arrays batch;
    batch.x = rows(arrays_.x, begin, end);
    batch.y = rows(arrays_.y, begin, end);
    batch.sample_weights = rows(arrays_.sample_weights, begin, end);
    if (++step_ == steps_) {
      step_ = 0;
      ++pass_;
      order_.clear();
    }
    return batch;
  }

  void save(StateWriter& writer) const override {
    writer.number(static_cast<uint64_t>(count_));
    writer.number(static_cast<uint64_t>(options_.batch_size));
    writer.number(options_.seed);
    writer.number(static_cast<uint64_t>(pass_));
    writer.number(static_cast<uint64_t>(step_));
  }
  void restore(StateReader& reader) override {
    const uint64_t count = reader.number();
    const uint64_t batch_size = reader.number();
    if (count != static_cast<uint64_t>(count_) ||
        batch_size != static_cast<uint64_t>(options_.batch_size)) {
      throw failed_precondition(
          "{}: arrays, got {} examples in batches of {}, expected {} in batches of "
          "{}, as the backup has it",
          options_.who, count_, options_.batch_size, count, batch_size);
    }
    options_.seed = reader.number();
    pass_ = static_cast<int64_t>(reader.number());
    step_ = static_cast<int64_t>(reader.number());
  }

 private:
  std::vector<int64_t> order_of_pass() const {
    if (options_.shuffle.kind() == Shuffle::Kind::all) {
      return shuffled_order(count_, options_.seed, pass_);
    }
    // Whole batches; the rest stays last.
    const int64_t whole = count_ / options_.batch_size;
    std::vector<int64_t> order;
    for (const int64_t batch : shuffled_order(whole, options_.seed, pass_)) {
      for (int64_t i = 0; i < options_.batch_size; ++i) {
        order.push_back(batch * options_.batch_size + i);
      }
    }
    for (int64_t i = whole * options_.batch_size; i < count_; ++i) order.push_back(i);
    return order;
  }

  std::vector<Tensor> rows(const std::vector<Tensor>& arrays, int64_t begin, int64_t end) const {
    std::vector<Tensor> batch;
    for (const Tensor& array : arrays) {
      if (order_.empty()) {
        batch.push_back(array.slice(begin, end));
      } else {
        batch.push_back(
            gather_rows(array, std::span(order_).subspan(static_cast<size_t>(begin),
                                                         static_cast<size_t>(end - begin))));
      }
    }
    return batch;
  }

  const Arrays& arrays_;
  SourceOptions options_;
  int64_t count_;
  int64_t steps_ = 0;
  int64_t pass_ = 0;
  int64_t step_ = 0;
  std::vector<int64_t> order_;  // of this pass; empty: the arrays' own
};

}  // namespace

Shuffle::Shuffle(const char* text) : kind_(Kind::batch) {
  if (std::string_view(text) == "batch") return;
  throw invalid_argument("shuffle, got '{}', expected \"batch\", true or false", text);
}

std::unique_ptr<BatchSource> array_source(const Arrays& arrays, const SourceOptions& options) {
  return std::make_unique<ArraySource>(arrays, options);
}

}  // namespace systole::keras
