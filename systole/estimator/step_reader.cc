#include "systole/estimator/step_reader.h"

#include <utility>

namespace systole::estimator {

int64_t rows_of(const Row& row) { return row.empty() || row[0].rank() == 0 ? 0 : row[0].dim(0); }

StepReader::StepReader(const Input& input, bool incomplete, const IteratorOptions& options)
    : input_(input), incomplete_(incomplete) {
  for (const Dataset& dataset : input_.datasets) {
    iterators_.push_back(dataset.make_iterator(options));
  }
}

Row StepReader::spare() {
  if (spare_.empty()) return {};
  Row row = std::move(spare_.back());
  spare_.pop_back();
  return row;
}

Row StepReader::read(size_t source, Row row) {
  if (!iterators_[source].next_row(row)) return {};
  for (const Tensor& tensor : row) {
    if (tensor.rank() > 0 && tensor.dim(0) == rows_of(row)) continue;
    throw invalid_argument(
        "input_fn: element, got tensors {} and {}, expected the batch as their first dimension; "
        "batch() gives it",
        row[0].type(), tensor.type());
  }
  return rows_of(row) == 0 ? Row() : row;
}

std::optional<Step> StepReader::read_new(Step places) {
  if (ended_) return std::nullopt;
  Step step;
  const bool a_batch_each = input_.layout == Layout::per_replica;
  const size_t wanted = a_batch_each ? static_cast<size_t>(input_.replicas) : 1;
  while (step.size() < wanted) {
    Row row = read(iterators_.size() == 1 ? 0 : step.size(),
                   places.empty() ? spare() : std::move(places[step.size()]));
    if (row.empty()) break;
    step.push_back(std::move(row));
  }
  ended_ = step.size() < wanted;
  if (ended_ && !incomplete_) step.clear();
  if (step.empty()) return std::nullopt;
  return step;
}

std::optional<Step> StepReader::read(Step places) {
  if (pending_.empty()) return read_new(std::move(places));
  Step step = std::move(pending_.front());
  pending_.pop_front();
  return step;
}

void StepReader::recycle(Step step) {
  for (Row& row : step) spare_.push_back(std::move(row));
}

void StepReader::save(StateWriter& writer, const std::vector<Step>& steps) {
  writer.number(steps.size() + pending_.size());
  const auto write = [&](const Step& step) {
    writer.number(step.size());
    for (const Row& row : step) writer.row(row);
  };
  for (const Step& step : steps) write(step);
  for (const Step& step : pending_) write(step);
  writer.flag(ended_);
  writer.number(iterators_.size());
  for (Iterator& iterator : iterators_) writer.bytes(iterator.save_state());
}

void StepReader::restore(StateReader& reader) {
  for (size_t steps = reader.count(); steps > 0; --steps) {
    Step step(reader.count());
    for (Row& row : step) row = reader.row();
    pending_.push_back(std::move(step));
  }
  ended_ = reader.flag();
  const size_t iterators = reader.count();
  if (iterators != iterators_.size()) {
    throw failed_precondition("input_fn: saved position, got {} data sets, expected {}", iterators,
                              iterators_.size());
  }
  for (Iterator& iterator : iterators_) iterator.restore_state(reader.bytes());
}

void StepReader::cancel() {
  for (Iterator& iterator : iterators_) iterator.cancel();
}

std::vector<StageStats> StepReader::stats() const {
  std::vector<StageStats> all;
  for (const Iterator& iterator : iterators_) {
    const std::vector<StageStats> stages = iterator.stats();
    all.insert(all.end(), stages.begin(), stages.end());
  }
  return all;
}

}  // namespace systole::estimator
