// Sequences of different lengths, and time series. (tf.keras.preprocessing.sequence)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/keras/training/sequence.h"

// NOLINTBEGIN(readability-identifier-naming): Keras's names
namespace systole::keras::preprocessing::sequence {

using Sequences = std::vector<std::vector<int32_t>>;

struct PadSequencesOptions {
  std::optional<int64_t> maxlen = std::nullopt;  // nullopt: the longest sequence
  DType dtype = DType::s32;
  std::string padding = "pre";     // or "post": where `value` is put
  std::string truncating = "pre";  // or "post": where longer sequences lose elements
  double value = 0;
};
// Sequences as one array [sequences, maxlen] of `dtype`. Elements are converted as by
// Tensor::cast(). Errors: INVALID_ARGUMENT for another padding or truncating, and for maxlen < 0.
Tensor pad_sequences(const Sequences& sequences, const PadSequencesOptions& options = {});
Tensor pad_sequences(const Sequences& sequences, int64_t maxlen);
Tensor pad_sequences(const std::vector<std::vector<int64_t>>& sequences,
                     const PadSequencesOptions& options = {});
Tensor pad_sequences(const std::vector<std::vector<double>>& sequences,
                     const PadSequencesOptions& options = {});
// Sequences of arrays: [length, ...] each -> [sequences, maxlen, ...]. Errors: INVALID_ARGUMENT if
// the shapes differ after the first size.
Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options = {});

struct TimeseriesGeneratorOptions {
  int64_t length = 0;  // required: steps that a sample looks back
  int64_t sampling_rate = 1;
  int64_t stride = 1;  // steps between samples
  int64_t start_index = 0;
  std::optional<int64_t> end_index = std::nullopt;  // inclusive; nullopt: the last one
  bool shuffle = false;                             // draws samples at random, with repetition
  bool reverse = false;                             // samples run back in time
  int64_t batch_size = 128;
  // The seed of shuffle; nullopt: derived from set_random_seed(), else from the operating system.
  std::optional<int64_t> seed = std::nullopt;
};
// Samples x = data[r - length : r : sampling_rate] with target y = targets[r], for r from
// start_index + length to end_index. Batch: x [batch, ceil(length / sampling_rate), ...], y [batch,
// ...]. With `shuffle`, batch i of an epoch depends only on the seed, the epoch and i.
class TimeseriesGenerator : public Sequence {
 public:
  // Errors: INVALID_ARGUMENT for arrays of different lengths, for sizes below 1, and if no sample
  // is left, with Keras's texts.
  TimeseriesGenerator(Tensor data, Tensor targets, TimeseriesGeneratorOptions options);
  TimeseriesGenerator(Tensor data, Tensor targets, int64_t length,
                      TimeseriesGeneratorOptions options = {});

  int64_t size() const override;
  // Errors: OUT_OF_RANGE.
  Arrays get(int64_t index) override;
  void on_epoch_end() override { ++epoch_; }

 private:
  std::vector<int64_t> rows_of(int64_t batch) const;

  Tensor data_;
  Tensor targets_;
  TimeseriesGeneratorOptions options_;
  int64_t first_row_ = 0;
  int64_t last_row_ = 0;
  uint64_t seed_ = 0;
  int64_t epoch_ = 0;
};

}  // namespace systole::keras::preprocessing::sequence
// NOLINTEND(readability-identifier-naming)
