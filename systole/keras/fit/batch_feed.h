// Stacks the batches of the next launch while the device runs the current one.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/data/feed/step_feed.h"
#include "systole/keras/fit/batch_source.h"
#include "systole/keras/training/trainer.h"
#include "systole/train/loop/step_driver.h"

namespace systole::keras {

// A StepFeed over a BatchSource. The rows of a batch are cut into equal consecutive parts, one a
// replica; a short batch is filled up with copies of its last row, which the example mask gives
// weight 0. A batch that is larger than all before begins a stack of its own, and so does one with
// other sizes in further axes: its batch_shape() is new. Used by one thread.
class BatchFeed : public train::StepInput {
 public:
  // Reads the first batch. `max_steps`: of one launch; 0: as many as make the cost of a launch
  // small. `source` and `trainer` outlive it. Of several processes each reads whole batches, and
  // keeps the parts of its replicas. Errors: those of the source; INVALID_ARGUMENT when it is
  // empty.
  BatchFeed(BatchSource& source, const Trainer& trainer, Phase phase, int64_t max_steps);
  ~BatchFeed() override;
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  // The types of a replica's batch in the last stack; before the first next(), in the first batch.
  const Trainer::BatchShape& batch_shape() const { return shape_; }
  BatchSource& source() const { return source_; }
  // The source's position (BatchSource::save). REQUIRES: the last call of next() read nothing
  // ahead, and all steps that it read were returned.
  std::string position() const;

  // The next batches, up to `steps`; valid until the next call. `ahead`: how many the next call
  // will ask for; they are read meanwhile (0: none). nullopt: as BatchSource::next(). Errors: those
  // of the source, after the batches before them.
  std::optional<data::StackedSteps> next(int64_t steps, int64_t ahead) override;
  std::string advice() const override;

 private:
  void set_first(const Arrays& batch);
  void start();
  std::optional<Element> pull();
  void set_shape(const std::vector<TensorType>& types);

  BatchSource& source_;
  const Trainer& trainer_;
  const Phase phase_;
  int64_t replicas_;  // of all processes
  int64_t wanted_steps_;
  int64_t rows_ = 0;  // of a replica
  Trainer::BatchShape shape_;

  std::string begin_;  // the position before the first batch
  bool begun_ = false;

  // Used by the feed's thread while it reads, otherwise by the caller.
  std::optional<Arrays> pending_;
  bool larger_ = false;  // pending_ does not fit the stacks
  bool ended_ = false;
  std::exception_ptr error_;

  std::unique_ptr<data::StepFeed> feed_;  // last: its thread ends first
};

}  // namespace systole::keras
