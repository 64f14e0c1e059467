// The loops of fit(), evaluate() and predict().
#pragma once

#include <memory>
#include <vector>

#include "systole/keras/fit/batch_feed.h"
#include "systole/keras/fit/batch_source.h"
#include "systole/keras/models/model.h"

namespace systole::keras {

// A training that is about to run. The sources' order of examples is given by `seed`, unless the
// run continues from a backup.
struct FitRunOptions {
  const Model& model;
  Trainer& trainer;
  BatchSource* train = nullptr;  // required
  BatchSource* validation = nullptr;
  const FitOptions& options;
  // Whether the bar and the first line count examples, not steps.
  bool counts_examples = true;
};
History run_fit(const FitRunOptions& run);

// Values of metrics_names over the source's steps; `verbose` 1 draws a bar.
Scores run_evaluate(Trainer& trainer, BatchFeed& feed, int verbose, bool counts_examples = true);

// Outputs of all examples.
std::vector<Tensor> run_predict(Trainer& trainer, BatchFeed& feed, int verbose,
                                bool counts_examples = true);

// One batch in one launch, stacked on the caller's thread. Results: those of Trainer::run().
struct BatchResult {
  std::span<const Tensor> results;
  int64_t examples = 0;
};
BatchResult run_batch(Trainer& trainer, Phase phase, const Arrays& batch);

// Copies the rows that are examples out of results of predict(), [steps, replicas, batch, ...].
class RowCollector {
 public:
  // `expected`: examples in all, if known.
  explicit RowCollector(int64_t expected) : expected_(expected) {}
  void add(std::span<const Tensor> results, std::span<const int64_t> examples);
  std::vector<Tensor> take();

 private:
  void reserve(int64_t rows, std::span<const Tensor> results);

  int64_t expected_;
  int64_t rows_ = 0;
  int64_t capacity_ = 0;
  std::vector<Tensor> outputs_;
};

}  // namespace systole::keras
