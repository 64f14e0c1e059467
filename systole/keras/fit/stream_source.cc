// Batches of generators, Sequences and data sets.
#include <fmt/ranges.h>

#include <random>
#include <string>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/fit/batch_source.h"
#include "systole/keras/fit/epoch_order.h"

namespace systole::keras {
namespace {

class GeneratorSource : public BatchSource {
 public:
  GeneratorSource(BatchGenerator generator, SourceOptions options)
      : generator_(std::move(generator)), options_(std::move(options)) {
    if (!options_.steps) {
      throw invalid_argument(
          "{}: `steps=None` is only valid for a Sequence or a Dataset, got a generator, expected "
          "the number of its batches (steps_per_epoch, validation_steps, steps)",
          options_.who);
    }
  }

  std::optional<int64_t> steps() const override { return options_.steps; }
  std::optional<Arrays> next() override {
    std::optional<Arrays> batch = generator_();
    if (!batch) return std::nullopt;
    ++taken_;
    return options_.prepare(*batch);
  }
  void save(StateWriter& writer) const override { writer.number(static_cast<uint64_t>(taken_)); }
  // Another process calls its generator as often.
  void restore(StateReader& reader) override {
    for (uint64_t left = reader.number(); left > 0; --left) {
      if (!generator_()) break;
      ++taken_;
    }
  }

 private:
  BatchGenerator generator_;
  SourceOptions options_;
  int64_t taken_ = 0;
};

class SequenceSource : public BatchSource {
 public:
  SequenceSource(SequencePtr sequence, SourceOptions options)
      : sequence_(std::move(sequence)), options_(std::move(options)), size_(sequence_->size()) {
    if (size_ < 1) {
      throw invalid_argument("{}: Sequence.size(), got {}, expected at least 1", options_.who,
                             size_);
    }
  }

  std::optional<int64_t> steps() const override { return options_.steps.value_or(size_); }
  std::optional<Arrays> next() override {
    if (order_.empty() && options_.shuffle) {
      order_ = shuffled_order(size_, options_.seed, pass_);
    }
    const int64_t index = order_.empty() ? at_ : order_[at_];
    Arrays batch = options_.prepare(sequence_->get(index));
    if (++at_ == size_) end_pass();
    return batch;
  }
  void save(StateWriter& writer) const override {
    writer.number(options_.seed);
    writer.number(static_cast<uint64_t>(pass_));
    writer.number(static_cast<uint64_t>(at_));
  }
  // What on_epoch_end() did to the Sequence of the other process it does to this one.
  void restore(StateReader& reader) override {
    options_.seed = reader.number();
    const auto pass = static_cast<int64_t>(reader.number());
    while (pass_ < pass) end_pass();
    at_ = static_cast<int64_t>(reader.number());
    if (at_ >= size_) {
      throw failed_precondition(
          "{}: Sequence, got {} batches, expected more than {}, as the backup has it", options_.who,
          size_, at_);
    }
  }

 private:
  void end_pass() {
    sequence_->on_epoch_end();
    ++pass_;
    at_ = 0;
    order_.clear();
  }

  SequencePtr sequence_;
  SourceOptions options_;
  int64_t size_;
  int64_t pass_ = 0;
  int64_t at_ = 0;
  std::vector<int64_t> order_;
};

// A tensor, a tuple, or a dict of tensors, in the order of a model's inputs or outputs.
std::vector<Tensor> components(const Nest<Tensor>& part, const std::vector<std::string>& names) {
  if (!part.is_dict()) return part.flatten();
  std::vector<Tensor> ordered;
  for (const std::string& name : names) {
    const Nest<Tensor>* const found = part.find(name);
    if (found == nullptr) {
      throw not_found("data set: an element has '{}', expected also '{}', as the model names it",
                      fmt::join(part.names(), "', '"), name);
    }
    ordered.push_back(found->leaf());
  }
  return ordered;
}

std::string types_of(const Arrays& batch) {
  std::vector<std::string> types;
  for (const auto* list : {&batch.x, &batch.y, &batch.sample_weights}) {
    for (const Tensor& array : *list) types.push_back(array.type().to_string());
  }
  return fmt::format("an element ({})", fmt::join(types, ", "));
}

class DatasetSource : public BatchSource {
 public:
  DatasetSource(Dataset dataset, SourceOptions options)
      : dataset_(std::move(dataset)), options_(std::move(options)) {
    std::random_device entropy;
    entropy_ = static_cast<uint64_t>(entropy()) << 32 | entropy();
  }

  std::optional<int64_t> steps() const override { return options_.steps; }
  std::optional<Arrays> next() override {
    if (!iterator_) iterator_ = make_iterator();
    std::optional<Nest<Tensor>> element = iterator_->next();
    if (!element) {
      iterator_.reset();
      ++pass_;
      return std::nullopt;
    }
    const Arrays batch = options_.split(*element);
    try {
      return options_.prepare(batch);
    } catch (const Error& error) {
      if (error.code() != Code::invalid_argument || pass_ > 0) throw;
      throw error.with_context(fmt::format(
          "in {} of the data set, whose elements are batches: has it a batch()?", types_of(batch)));
    }
  }
  void save(StateWriter& writer) const override {
    writer.number(entropy_);
    writer.number(static_cast<uint64_t>(pass_));
    writer.flag(iterator_.has_value());
    if (iterator_) writer.bytes(iterator_->save_state());
  }
  void restore(StateReader& reader) override {
    entropy_ = reader.number();
    pass_ = static_cast<int64_t>(reader.number());
    if (!reader.flag()) return;
    iterator_ = make_iterator();
    iterator_->restore_state(reader.bytes());
  }

 private:
  // Unseeded shuffles differ between passes and are the same in a continued run.
  Iterator make_iterator() const {
    return dataset_.make_iterator(
        {.stats = false, .entropy = entropy_ + static_cast<uint64_t>(pass_)});
  }

  Dataset dataset_;
  SourceOptions options_;
  uint64_t entropy_ = 0;
  int64_t pass_ = 0;
  mutable std::optional<Iterator> iterator_;
};

}  // namespace

Arrays arrays_of_element(const ModelDefinition& model, const Nest<Tensor>& element) {
  Arrays arrays;
  if (!element.is_tuple()) {
    arrays.x = components(element, model.input_names());
    return arrays;
  }
  // NOLINTNEXTLINE(readability-container-size-empty): empty() asks for leaves.
  if (element.size() < 1 || element.size() > 3) {
    throw invalid_argument(
        "Output of generator should be a tuple `(x, y, sample_weight)` or `(x, y)`. Found: {}",
        element.to_string());
  }
  arrays.x = components(element[0], model.input_names());
  if (element.size() > 1) arrays.y = components(element[1], model.output_names());
  if (element.size() > 2) {
    arrays.sample_weights = components(element[2], model.output_names());
  }
  return arrays;
}

std::unique_ptr<BatchSource> stream_source(const FitInput& input, SourceOptions options) {
  if (options.steps && *options.steps < 1) {
    throw invalid_argument("{}: steps, got {}, expected at least 1", options.who, *options.steps);
  }
  if (const BatchGenerator* const generator = input.generator()) {
    return std::make_unique<GeneratorSource>(*generator, std::move(options));
  }
  if (const SequencePtr* const sequence = input.sequence()) {
    if (*sequence == nullptr) {
      throw invalid_argument("{}: Sequence, got none, expected one", options.who);
    }
    return std::make_unique<SequenceSource>(*sequence, std::move(options));
  }
  return std::make_unique<DatasetSource>(*input.dataset(), std::move(options));
}

}  // namespace systole::keras
