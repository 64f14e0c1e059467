// The loops of fit(), evaluate() and predict().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/keras/fit/batch_feed.h"
#include "systole/keras/fit/batch_source.h"
#include "systole/keras/models/model.h"
#include "systole/train/loop/watchdog.h"

namespace systole::keras {

// A training that is about to run. It owns all that it uses: a thread that hangs keeps it.
struct FitRunOptions {
  Model model;
  std::shared_ptr<Trainer> trainer;
  std::shared_ptr<const void> inputs;  // with the sources
  BatchSource* train = nullptr;        // required
  BatchSource* validation = nullptr;
  FitOptions options;
  // Whether the bar and the first line count examples, not steps.
  bool counts_examples = true;
};
History run_fit(FitRunOptions run);

// Calls `body`, which owns what it uses, on a thread that is given up when it hangs
// (train::run_watched). The caller's current graph is current there.
void run_watched_in_graph(double limit, const char* option,
                          std::function<void(train::Heartbeat&)> body);

// Warns of a loss that is not finite, with what is wrong in `batches`. `first`: the step before
// them. `where`: what follows "the loss is nan".
void warn_of_loss(const Trainer& trainer, Phase phase, const BatchFeed& feed, float loss,
                  const data::StackedSteps& batches, int64_t first, const std::string& where);

// Values of metrics_names over the source's steps; `verbose` 1 draws a bar. nullopt: a signal, of
// one of the processes, has ended it.
std::optional<Scores> run_evaluate(Trainer& trainer, BatchFeed& feed, train::Heartbeat& heartbeat,
                                   int verbose, bool counts_examples = true);

// Outputs of all examples.
std::vector<Tensor> run_predict(Trainer& trainer, BatchFeed& feed, train::Heartbeat& heartbeat,
                                int verbose, bool counts_examples = true);

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
