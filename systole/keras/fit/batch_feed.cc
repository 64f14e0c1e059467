#include "systole/keras/fit/batch_feed.h"

#include <algorithm>
#include <utility>

#include "systole/base/error.h"
#include "systole/train/loop/step_runner.h"

namespace systole::keras {
namespace {

std::vector<const Tensor*> parts_of(const Arrays& batch) {
  std::vector<const Tensor*> parts;
  for (const auto* list : {&batch.x, &batch.y, &batch.sample_weights}) {
    for (const Tensor& array : *list) parts.push_back(&array);
  }
  return parts;
}

TensorType replica_type(const Tensor& array, int64_t rows) {
  Dims dims = array.shape().dims();
  dims[0] = rows;
  return {array.dtype(), Shape(std::move(dims))};
}

std::vector<TensorType> replica_types(const std::vector<Tensor>& arrays, int64_t rows) {
  std::vector<TensorType> types;
  for (const Tensor& array : arrays) types.push_back(replica_type(array, rows));
  return types;
}

// Small batches always get the same number of steps, so that inputs of any length share a program.
int64_t most_steps(int64_t step_bytes, std::optional<int64_t> steps) {
  constexpr int64_t kSmallBytes = int64_t{4} << 20;
  const int64_t most = train::launch_steps(train::kMaxKeptSteps, step_bytes);
  const int64_t small = kSmallBytes / std::max<int64_t>(step_bytes, 1);
  return std::clamp(steps.value_or(most), std::clamp<int64_t>(small, 1, most), most);
}

std::string position_of(const BatchSource& source) {
  StateWriter writer;
  source.save(writer);
  return writer.take();
}

}  // namespace

BatchFeed::BatchFeed(BatchSource& source, const Trainer& trainer, Phase phase, int64_t max_steps)
    : source_(source),
      trainer_(trainer),
      phase_(phase),
      replicas_(trainer.all_replicas(phase)),
      wanted_steps_(max_steps),
      begin_(position_of(source)),
      pending_(source.next()) {
  if (!pending_) throw invalid_argument("fit input: got no batch, expected at least one");
  set_first(*pending_);
}

BatchFeed::~BatchFeed() = default;

std::string BatchFeed::position() const { return begun_ ? position_of(source_) : begin_; }

void BatchFeed::set_first(const Arrays& batch) {
  const int64_t rows = std::max(source_.batch_size(), batch.examples());
  rows_ = (rows + replicas_ - 1) / replicas_;
  shape_.x = replica_types(batch.x, rows_);
  shape_.y = replica_types(batch.y, rows_);
  shape_.weights = replica_types(batch.sample_weights, rows_);
  int64_t bytes = 0;
  for (const auto* types : {&shape_.x, &shape_.y, &shape_.weights}) {
    bytes += data::step_bytes_of(*types, replicas_);
  }
  shape_.max_steps = wanted_steps_ > 0 ? wanted_steps_ : most_steps(bytes, source_.steps());
}

void BatchFeed::start() {
  std::vector<ElementSpec> specs;
  for (const Tensor* const array : parts_of(*pending_)) {
    specs.emplace_back(
        TensorType{array->dtype(), Shape(Dims(static_cast<size_t>(array->rank()), kUnknown))});
  }
  const auto make = [this] { return [this] { return pull(); }; };
  data::StepSource source{
      .datasets = {Dataset::from_generator(make, ElementSpec::tuple(std::move(specs)))},
      .layout = data::StepLayout::split,
      .replicas = replicas_,
      .replica_batch = rows_,
      .pad = true,
      .name = "fit input"};
  feed_ = std::make_unique<data::StepFeed>(
      std::move(source),
      data::StackOptions{
          .max_steps = shape_.max_steps, .fixed = false, .iterator = {.stats = false}});
}

// On the feed's thread. Errors of the source are kept as they are.
std::optional<Element> BatchFeed::pull() {
  if (ended_ || larger_ || error_) return std::nullopt;
  try {
    std::optional<Arrays> batch = pending_ ? std::exchange(pending_, std::nullopt) : source_.next();
    if (!batch) {
      ended_ = true;
      return std::nullopt;
    }
    if (batch->x.size() != shape_.x.size() || batch->y.size() != shape_.y.size() ||
        batch->sample_weights.size() != shape_.weights.size()) {
      throw invalid_argument(
          "fit input: batch, got {} inputs, {} targets and {} sample weights, expected {}, {} and "
          "{} as in the first batch",
          batch->x.size(), batch->y.size(), batch->sample_weights.size(), shape_.x.size(),
          shape_.y.size(), shape_.weights.size());
    }
    if (batch->examples() > rows_ * replicas_) {
      larger_ = true;
      pending_ = std::move(batch);
      return std::nullopt;
    }
    std::vector<Element> leaves;
    for (const Tensor* const array : parts_of(*batch)) leaves.emplace_back(*array);
    return Element::tuple(std::move(leaves));
  } catch (...) {
    error_ = std::current_exception();
    return std::nullopt;
  }
}

// The types of the last stack.
void BatchFeed::set_shape(const std::vector<TensorType>& types) {
  size_t at = 0;
  for (auto* const of_shape : {&shape_.x, &shape_.y, &shape_.weights}) {
    for (TensorType& type : *of_shape) type = types[at++];
  }
}

std::string BatchFeed::advice() const {
  return "Give a data set prefetch() at its end, or make the generator, the Sequence or the "
         "functions of its map() cheaper.";
}

std::optional<data::StackedSteps> BatchFeed::next(int64_t steps, int64_t ahead) {
  begun_ = true;
  while (true) {
    if (feed_ == nullptr) {
      if (!pending_) pending_ = source_.next();
      if (!pending_) return std::nullopt;
      if (pending_->examples() > rows_ * replicas_) set_first(*pending_);
      start();
    }
    if (std::optional<data::StackedSteps> stacked = feed_->next(steps, ahead)) {
      set_shape(stacked->types);
      stacked->stacks = trainer_.own_parts(phase_, std::move(stacked->stacks));
      return stacked;
    }
    feed_.reset();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    const bool ended = std::exchange(ended_, false);
    larger_ = false;
    if (ended) return std::nullopt;
  }
}

}  // namespace systole::keras
