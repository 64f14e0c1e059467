// Options of fit(), evaluate() and predict().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "systole/keras/training/callback.h"
#include "systole/keras/training/fit_input.h"

namespace systole::keras {

// The order in which an epoch takes the examples of arrays, or the batches of a Sequence: true
// shuffles them anew for each epoch, "batch" shuffles whole batches (of arrays).
class Shuffle {
 public:
  enum class Kind : uint8_t { none, all, batch };
  Shuffle(bool shuffle) : kind_(shuffle ? Kind::all : Kind::none) {}  // NOLINT
  // Errors: INVALID_ARGUMENT for another text than "batch".
  Shuffle(const char* text);  // NOLINT
  Kind kind() const { return kind_; }
  explicit operator bool() const { return kind_ != Kind::none; }

 private:
  Kind kind_;
};

// What fit() evaluates after each epoch, or nothing.
class ValidationData : public std::optional<FitInput> {
 public:
  using std::optional<FitInput>::optional;
  ValidationData(const ArrayList& x, const ArrayList& y, const ArrayList& sample_weights = {})
      : std::optional<FitInput>(Arrays{x.all(), y.all(), sample_weights.all()}) {}
};

// Seconds in which a launch of the device, or the input of a step, must end; then fit(), evaluate()
// and predict() throw DEADLINE_EXCEEDED and give the thread up. 0: no limit; callbacks then run on
// the caller's thread.
inline constexpr double kHangTimeoutSecs = 1800;

struct FitOptions {
  int64_t batch_size = 32;  // of arrays; of all replicas together
  int64_t epochs = 1;       // the index of the last epoch
  int verbose = 1;          // 0: silent, 1: a progress bar, 2: one line an epoch
  std::vector<CallbackPtr> callbacks = {};
  // The last part of the arrays, before they are shuffled.
  double validation_split = 0;
  ValidationData validation_data = std::nullopt;  // {x, y}, {x, y, sample_weights}, or other input
  Shuffle shuffle = true;
  // By class: factors of the weights of its examples. Every class of the data must be there.
  std::map<int64_t, double> class_weight = {};
  ArrayList sample_weight = {};  // of arrays; one an output
  int64_t initial_epoch = 0;
  // Batches of an epoch. Required for a generator; a data set without it is read once an epoch, a
  // Sequence has its size().
  std::optional<int64_t> steps_per_epoch = std::nullopt;
  // Batches of a validation. Required for a generator; otherwise all.
  std::optional<int64_t> validation_steps = std::nullopt;
  double hang_timeout_secs = kHangTimeoutSecs;
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  int verbose = 1;
  ArrayList sample_weight = {};
  std::optional<int64_t> steps = std::nullopt;  // batches; required for a generator
  double hang_timeout_secs = kHangTimeoutSecs;
};

struct PredictOptions {
  int64_t batch_size = 32;
  int verbose = 0;                              // 1: a progress bar
  std::optional<int64_t> steps = std::nullopt;  // batches; required for a generator
  double hang_timeout_secs = kHangTimeoutSecs;
};

}  // namespace systole::keras
