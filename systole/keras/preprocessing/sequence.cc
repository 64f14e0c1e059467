#include "systole/keras/preprocessing/sequence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "systole/base/convert.h"
#include "systole/base/random.h"
#include "systole/keras/base/counters.h"

namespace systole::keras::preprocessing::sequence {
namespace {

bool is_pre(std::string_view what, const std::string& value) {
  if (value != "pre" && value != "post") {
    throw invalid_argument(
        "pad_sequences: {} type \"{}\" not understood, expected \"pre\" or "
        "\"post\"",
        what, value);
  }
  return value == "pre";
}

// Where a sequence is put: elements [from, from + count) at `to`.
struct PadPlace {
  int64_t from;
  int64_t to;
  int64_t count;
};

struct PadPlan {
  int64_t maxlen = 0;
  bool pad_before = true;
  bool cut_before = true;

  PadPlan(const std::vector<int64_t>& lengths, const PadSequencesOptions& options)
      : pad_before(is_pre("Padding", options.padding)),
        cut_before(is_pre("Truncating", options.truncating)) {
    maxlen = options.maxlen.value_or(
        lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()));
    if (maxlen < 0) {
      throw invalid_argument("pad_sequences: maxlen, got {}, expected at least 0", maxlen);
    }
  }

  PadPlace place(int64_t length) const {
    const int64_t count = std::min(length, maxlen);
    return {.from = cut_before ? length - count : 0,
            .to = pad_before ? maxlen - count : 0,
            .count = count};
  }
};

template <class From>
Tensor pad_lists(const std::vector<std::vector<From>>& sequences,
                 const PadSequencesOptions& options) {
  std::vector<int64_t> lengths;
  for (const auto& sequence : sequences) lengths.push_back(static_cast<int64_t>(sequence.size()));
  const PadPlan plan(lengths, options);
  Tensor result = Tensor::full(options.dtype, {static_cast<int64_t>(sequences.size()), plan.maxlen},
                               options.value);
  visit_dtype(options.dtype, [&]<class To>() {
    auto* row = result.data<To>().data();
    for (const auto& sequence : sequences) {
      const PadPlace place = plan.place(static_cast<int64_t>(sequence.size()));
      std::transform(sequence.begin() + place.from, sequence.begin() + place.from + place.count,
                     row + place.to, [](From value) { return convert_element<To>(value); });
      row += plan.maxlen;
    }
  });
  return result;
}

}  // namespace

Tensor pad_sequences(const Sequences& sequences, const PadSequencesOptions& options) {
  return pad_lists(sequences, options);
}

Tensor pad_sequences(const Sequences& sequences, int64_t maxlen) {
  return pad_lists(sequences, {.maxlen = maxlen});
}

Tensor pad_sequences(const std::vector<std::vector<int64_t>>& sequences,
                     const PadSequencesOptions& options) {
  return pad_lists(sequences, options);
}

Tensor pad_sequences(const std::vector<std::vector<double>>& sequences,
                     const PadSequencesOptions& options) {
  return pad_lists(sequences, options);
}

Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options) {
  std::vector<int64_t> lengths;
  Dims dims = {static_cast<int64_t>(sequences.size()), 0};
  for (const Tensor& sequence : sequences) {
    if (sequence.rank() < 1) {
      throw invalid_argument("pad_sequences: sequence, got a scalar, expected an array");
    }
    lengths.push_back(sequence.dim(0));
    const Dims inner(sequence.shape().begin() + 1, sequence.shape().end());
    if (lengths.size() == 1) dims.insert(dims.end(), inner.begin(), inner.end());
    if (!std::equal(inner.begin(), inner.end(), dims.begin() + 2, dims.end())) {
      throw invalid_argument(
          "pad_sequences: Shape of sample {} of sequence at position {} is different from expected "
          "shape {}",
          Shape(inner), lengths.size() - 1, Shape(Dims(dims.begin() + 2, dims.end())));
    }
  }
  const PadPlan plan(lengths, options);
  dims[1] = plan.maxlen;
  Tensor result = Tensor::full(options.dtype, Shape(dims), options.value);
  int64_t step_bytes = size_of(options.dtype);
  for (size_t axis = 2; axis < dims.size(); ++axis) step_bytes *= dims[axis];
  auto* row = static_cast<char*>(result.raw());
  for (const Tensor& sequence : sequences) {
    const PadPlace place = plan.place(sequence.dim(0));
    const Tensor part = sequence.slice(place.from, place.from + place.count).cast(options.dtype);
    if (part.byte_size() > 0) {
      std::memcpy(row + place.to * step_bytes, part.raw(), static_cast<size_t>(part.byte_size()));
    }
    row += plan.maxlen * step_bytes;
  }
  return result;
}

TimeseriesGenerator::TimeseriesGenerator(Tensor data, Tensor targets, int64_t length,
                                         TimeseriesGeneratorOptions options)
    : TimeseriesGenerator(std::move(data), std::move(targets), [&] {
        options.length = length;
        return options;
      }()) {}

TimeseriesGenerator::TimeseriesGenerator(Tensor data, Tensor targets,
                                         TimeseriesGeneratorOptions options)
    : data_(std::move(data)), targets_(std::move(targets)), options_(options) {
  if (data_.rank() < 1 || targets_.rank() < 1 || data_.dim(0) != targets_.dim(0)) {
    throw invalid_argument(
        "TimeseriesGenerator: Data and targets have to be of same length. Data is {} while targets "
        "are {}",
        data_.type(), targets_.type());
  }
  const std::pair<std::string_view, int64_t> sizes[] = {{"length", options_.length},
                                                        {"sampling_rate", options_.sampling_rate},
                                                        {"stride", options_.stride},
                                                        {"batch_size", options_.batch_size}};
  for (const auto& [name, size] : sizes) {
    if (size < 1) {
      throw invalid_argument("TimeseriesGenerator: {}, got {}, expected at least 1", name, size);
    }
  }
  first_row_ = options_.start_index + options_.length;
  last_row_ = options_.end_index.value_or(data_.dim(0) - 1);
  if (options_.start_index < 0 || last_row_ >= data_.dim(0)) {
    throw invalid_argument(
        "TimeseriesGenerator: start_index and end_index, got {} and {}, expected them in [0, {}]",
        options_.start_index, last_row_, data_.dim(0) - 1);
  }
  if (first_row_ > last_row_) {
    throw invalid_argument(
        "TimeseriesGenerator: `start_index+length={} > end_index={}` is disallowed, as no part of "
        "the sequence would be left to be used as current step.",
        first_row_, last_row_);
  }
  if (options_.shuffle) seed_ = static_cast<uint64_t>(options_.seed ? *options_.seed : next_seed());
}

int64_t TimeseriesGenerator::size() const {
  const int64_t step = options_.batch_size * options_.stride;
  return (last_row_ - first_row_ + step) / step;
}

std::vector<int64_t> TimeseriesGenerator::rows_of(int64_t batch) const {
  std::vector<int64_t> rows;
  if (options_.shuffle) {
    RandomStream stream(seed_, static_cast<uint64_t>(epoch_ * size() + batch));
    const auto choices = static_cast<uint64_t>(last_row_ - first_row_ + 1);
    for (int64_t i = 0; i < options_.batch_size; ++i) {
      rows.push_back(first_row_ + static_cast<int64_t>(stream.next_below(choices)));
    }
    return rows;
  }
  const int64_t begin = first_row_ + options_.batch_size * options_.stride * batch;
  const int64_t end = std::min(begin + options_.batch_size * options_.stride, last_row_ + 1);
  for (int64_t row = begin; row < end; row += options_.stride) rows.push_back(row);
  return rows;
}

Arrays TimeseriesGenerator::get(int64_t index) {
  if (index < 0 || index >= size()) {
    throw make_error(Code::out_of_range, "TimeseriesGenerator: batch, got {}, expected 0 to {}",
                     index, size() - 1);
  }
  const std::vector<int64_t> rows = rows_of(index);
  const int64_t steps = (options_.length + options_.sampling_rate - 1) / options_.sampling_rate;
  Dims x_dims(data_.shape().begin(), data_.shape().end());
  x_dims[0] = steps;
  x_dims.insert(x_dims.begin(), static_cast<int64_t>(rows.size()));
  Dims y_dims(targets_.shape().begin(), targets_.shape().end());
  y_dims[0] = static_cast<int64_t>(rows.size());
  const bool strings = data_.dtype() == DType::string || targets_.dtype() == DType::string;
  if (strings) throw invalid_argument("TimeseriesGenerator: data, got strings, expected numbers");
  Tensor x(data_.dtype(), Shape(x_dims));
  Tensor y(targets_.dtype(), Shape(y_dims));
  const auto x_bytes = static_cast<size_t>(data_.byte_size() / data_.dim(0));
  const auto y_bytes = static_cast<size_t>(targets_.byte_size() / targets_.dim(0));
  auto* to_x = static_cast<char*>(x.raw());
  auto* to_y = static_cast<char*>(y.raw());
  const auto* from_x = static_cast<const char*>(std::as_const(data_).raw());
  const auto* from_y = static_cast<const char*>(std::as_const(targets_).raw());
  for (const int64_t row : rows) {
    for (int64_t step = 0; step < steps; ++step, to_x += x_bytes) {
      const int64_t place = options_.reverse ? steps - 1 - step : step;
      const auto at = static_cast<size_t>(row - options_.length + place * options_.sampling_rate);
      std::memcpy(to_x, from_x + at * x_bytes, x_bytes);
    }
    std::memcpy(to_y, from_y + static_cast<size_t>(row) * y_bytes, y_bytes);
    to_y += y_bytes;
  }
  return {.x = {std::move(x)}, .y = {std::move(y)}, .sample_weights = {}};
}

}  // namespace systole::keras::preprocessing::sequence
