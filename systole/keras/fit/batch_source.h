// Where the batches of a training, an evaluation or a prediction come from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "systole/data/state.h"
#include "systole/keras/training/fit_options.h"

namespace systole::keras {

// An endless sequence of passes over some input. Used by one thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Batches of an epoch; nullopt: those that next() returns before it returns none.
  virtual std::optional<int64_t> steps() const = 0;
  // Examples of an epoch; 0 when not known.
  virtual int64_t examples() const { return 0; }
  // Examples of a full batch; 0: as many as the first one has.
  virtual int64_t batch_size() const { return 0; }
  // The next batch, prepared for the model. nullopt: at the end of an epoch without steps(), whose
  // successor begins with the next call; otherwise the input has ended. Errors: those of the input.
  virtual std::optional<Arrays> next() = 0;
  // The position and what it depends on, so that another process continues with the next batch.
  virtual void save(StateWriter& writer) const = 0;
  // REQUIRES: nothing was read. Errors: DATA_LOSS.
  virtual void restore(StateReader& reader) = 0;
};

// What the sources have in common.
struct SourceOptions {
  // Makes the model's arrays of the user's.
  std::function<Arrays(const Arrays&)> prepare;
  // Takes an element of a data set apart.
  std::function<Arrays(const Nest<Tensor>&)> split;
  int64_t batch_size = 32;
  Shuffle shuffle = false;
  uint64_t seed = 0;  // of the order
  std::optional<int64_t> steps = std::nullopt;
  std::string who;  // the start of errors: "fit"
};

// The parts of an element (x, y, sample_weights), (x, y) or x. Errors: INVALID_ARGUMENT `Output of
// generator should be a tuple ...`, and for dicts without an input's or output's name.
Arrays arrays_of_element(const ModelDefinition& model, const Nest<Tensor>& element);

// Over prepared arrays, which must outlive it.
std::unique_ptr<BatchSource> array_source(const Arrays& arrays, const SourceOptions& options);
// Over any input but arrays. Errors: INVALID_ARGUMENT `steps_per_epoch=None is only valid for ...`
// for a generator without steps, and for an empty Sequence.
std::unique_ptr<BatchSource> stream_source(const FitInput& input, SourceOptions options);

}  // namespace systole::keras
