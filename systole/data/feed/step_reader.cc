#include "systole/data/feed/step_reader.h"

#include <algorithm>
#include <utility>

namespace systole::data {

int64_t num_examples(const Components& batch) {
  return batch.empty() || batch[0].rank() == 0 ? 0 : batch[0].dim(0);
}

StepReader::StepReader(const StepSource& source, const IteratorOptions& options)
    : source_(source), options_(options), iterators_(make_iterators()) {}

std::vector<Iterator> StepReader::make_iterators() const {
  std::vector<Iterator> iterators;
  for (const Dataset& dataset : source_.datasets) {
    iterators.push_back(dataset.make_iterator(options_));
  }
  return iterators;
}

Components StepReader::spare() {
  if (spare_.empty()) return {};
  Components row = std::move(spare_.back());
  spare_.pop_back();
  return row;
}

// Returns false at the end of that data set.
bool StepReader::read(size_t dataset, Components& row) {
  if (!iterators_[dataset].next_row(row)) return false;
  for (size_t i = 0; i < row.size(); ++i) {
    const Tensor& tensor = row[i];
    const int64_t rows = num_examples(row) / source_.rows_of(0) * source_.rows_of(i);
    if (tensor.rank() > 0 && tensor.dim(0) == rows) continue;
    throw invalid_argument(
        "{}: element, got tensors {} and {}, expected the batch as their first dimension; "
        "batch() gives it",
        source_.name, row[0].type(), tensor.type());
  }
  return num_examples(row) > 0;
}

std::optional<Step> StepReader::read_new(Step places) {
  if (ended_) return std::nullopt;
  Step step;
  while (step.size() < source_.elements()) {
    Components row = places.empty() ? spare() : std::move(places[step.size()]);
    if (!read(iterators_.size() == 1 ? 0 : step.size(), row)) break;
    step.push_back(std::move(row));
  }
  ended_ = step.size() < source_.elements();
  if (ended_ && !source_.pad) step.clear();
  if (step.empty()) return std::nullopt;
  if (!places.empty()) in_place_ = std::ranges::any_of(step[0], &Tensor::is_lent);
  return step;
}

std::optional<Step> StepReader::read(Step places) {
  if (pending_.empty() && error_) throw Error(*std::exchange(error_, std::nullopt));
  if (pending_.empty()) return read_new(std::move(places));
  Step step = std::move(pending_.front());
  pending_.pop_front();
  return step;
}

void StepReader::recycle(Step step) {
  for (Components& row : step) {
    if (spare_.size() < source_.elements()) spare_.push_back(std::move(row));
  }
}

void StepReader::save(StateWriter& writer, const std::vector<Step>& steps,
                      const std::optional<Error>& error) {
  writer.number(steps.size() + pending_.size());
  for (const Step& step : steps) writer.rows(step);
  for (const Step& step : pending_) writer.rows(step);
  const std::optional<Error>& last = error ? error : error_;
  writer.flag(last.has_value());
  if (last) writer.error(*last);
  writer.flag(ended_);
  writer.number(iterators_.size());
  for (Iterator& iterator : iterators_) writer.bytes(iterator.save_state());
}

void StepReader::restore(StateReader& reader) {
  if (!options_.keeps_errors) reader.leave_out_errors();
  std::deque<Step> pending;
  for (size_t steps = reader.count(); steps > 0; --steps) {
    Step step;
    reader.rows(step);
    if (step.size() != source_.elements()) {
      throw failed_precondition("{}: saved position, got steps of {} elements, expected {}",
                                source_.name, step.size(), source_.elements());
    }
    pending.push_back(std::move(step));
  }
  std::optional<Error> error;
  if (reader.flag()) error = reader.error_ahead(source_.name);
  const bool ended = reader.flag();
  const size_t count = reader.count();
  if (count != iterators_.size()) {
    throw failed_precondition("{}: saved position, got {} data sets, expected {}", source_.name,
                              count, iterators_.size());
  }
  std::vector<Iterator> iterators = make_iterators();
  for (Iterator& iterator : iterators) iterator.restore_state(reader.bytes());
  pending_ = std::move(pending);
  error_ = std::move(error);
  ended_ = ended;
  iterators_ = std::move(iterators);
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

}  // namespace systole::data
