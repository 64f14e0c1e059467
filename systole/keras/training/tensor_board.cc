// TensorBoard: event files of a training.
#include <memory>
#include <string>

#include "systole/base/error.h"
#include "systole/data/state.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/models/model.h"
#include "systole/keras/training/callbacks.h"
#include "systole/session/graph_def/graph_def.h"

namespace systole::keras::callbacks {
namespace {

class TensorBoardCallback : public Callback {
 public:
  explicit TensorBoardCallback(TensorBoardOptions options) : options_(std::move(options)) {
    if (options_.histogram_freq < 0) {
      throw invalid_argument("TensorBoard: histogram_freq, got {}, expected epochs, or 0",
                             options_.histogram_freq);
    }
  }

  void on_train_begin() override {
    writer_ = std::make_unique<EventWriter>(default_file_system(), options_.log_dir);
    batches_ = 0;
    examples_ = 0;
    written_at_ = 0;
    if (options_.write_graph) writer_->add_graph(graph_def_bytes(model->trainer().graph()));
    writer_->flush();
  }

  void on_batch_end(int64_t batch, const Logs& logs) override {
    static_cast<void>(batch);
    const double* const size = logs.find("size");
    examples_ += size == nullptr ? 1 : static_cast<int64_t>(*size);
    const int64_t every = options_.update_freq.examples();
    if (every >= 0 && examples_ - written_at_ >= every) {
      add_scalars("batch_", batches_, logs);
      written_at_ = examples_;
    }
    ++batches_;
  }

  void on_epoch_end(int64_t epoch, Logs& logs) override {
    add_scalars("epoch_", epoch, logs);
    if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) add_histograms(epoch);
    writer_->flush();
  }

  void on_train_end() override {
    writer_->close();
    writer_.reset();
  }

  std::string save_state() const override {
    StateWriter state;
    state.number(static_cast<uint64_t>(batches_));
    state.number(static_cast<uint64_t>(examples_));
    state.number(static_cast<uint64_t>(written_at_));
    return state.take();
  }
  void restore_state(std::string_view bytes) override {
    StateReader state(bytes);
    batches_ = static_cast<int64_t>(state.number());
    examples_ = static_cast<int64_t>(state.number());
    written_at_ = static_cast<int64_t>(state.number());
  }

 private:
  void add_scalars(const std::string& prefix, int64_t step, const Logs& logs) {
    std::vector<SummaryValue> values;
    for (const auto& [name, value] : logs) {
      if (name == "batch" || name == "size") continue;
      values.push_back({.tag = prefix + name,
                        .kind = SummaryValue::Kind::scalar,
                        .scalar = static_cast<float>(value)});
    }
    if (!values.empty()) writer_->add_values(step, values);
  }

  void add_histograms(int64_t epoch) {
    for (const Layer& layer : model->layers()) {
      for (const WeightPtr& weight : layer.weights()) {
        writer_->add_histogram(layer.name() + "/" + weight->name() + "_0", epoch, weight->value());
      }
    }
  }

  const TensorBoardOptions options_;
  std::unique_ptr<EventWriter> writer_;
  int64_t batches_ = 0;
  int64_t examples_ = 0;
  int64_t written_at_ = 0;  // examples at the last write of a batch
};

}  // namespace

UpdateFreq::UpdateFreq(const char* text) {
  const std::string_view given = text;
  if (given != "batch" && given != "epoch") {
    throw invalid_argument(
        "TensorBoard: update_freq, got '{}', expected \"batch\", \"epoch\" or a number of examples",
        given);
  }
  examples_ = given == "batch" ? 0 : -1;
}

UpdateFreq::UpdateFreq(int64_t examples) : examples_(examples) {
  if (examples < 1) {
    throw invalid_argument("TensorBoard: update_freq, got {}, expected at least 1", examples);
  }
}

CallbackPtr TensorBoard(const TensorBoardOptions& options) {
  return std::make_shared<TensorBoardCallback>(options);
}

}  // namespace systole::keras::callbacks
