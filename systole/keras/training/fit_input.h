// What fit(), evaluate() and predict() take besides arrays.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "systole/data/dataset.h"
#include "systole/keras/training/arrays.h"
#include "systole/keras/training/sequence.h"

namespace systole::keras {

// Returns the next batch {x, y} or {x, y, sample_weights} a call; nullopt when it has no more.
using BatchGenerator = std::function<std::optional<Arrays>()>;

// Arrays, a generator of batches, a Sequence, or a data set of batches: of x, (x, y) or
// (x, y, sample_weights), where x and y are one tensor, a tuple, or a dict by the names of inputs
// and outputs.
class FitInput {
 public:
  FitInput(Arrays arrays) : source_(std::move(arrays)) {}  // NOLINT
  template <class F>
  requires(std::invocable<F&>&& std::convertible_to<std::invoke_result_t<F&>,
                                                    std::optional<Arrays>>)
      FitInput(F generator)  // NOLINT
      : source_(BatchGenerator(std::move(generator))) {}
  template <std::derived_from<Sequence> S>
  FitInput(std::shared_ptr<S> sequence) : source_(SequencePtr(std::move(sequence))) {}  // NOLINT
  FitInput(Dataset dataset) : source_(std::move(dataset)) {}                            // NOLINT

  const Arrays* arrays() const { return std::get_if<Arrays>(&source_); }
  const BatchGenerator* generator() const { return std::get_if<BatchGenerator>(&source_); }
  const SequencePtr* sequence() const { return std::get_if<SequencePtr>(&source_); }
  const Dataset* dataset() const { return std::get_if<Dataset>(&source_); }

 private:
  std::variant<Arrays, BatchGenerator, SequencePtr, Dataset> source_;
};

}  // namespace systole::keras
