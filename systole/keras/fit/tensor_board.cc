// TensorBoard: event files of a training.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/data/state.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/images/image.h"
#include "systole/keras/fit/callbacks.h"
#include "systole/keras/models/model.h"
#include "systole/profile/writer.h"
#include "systole/session/graph_def/graph_def.h"

namespace systole::keras::callbacks {
namespace {

// Returns grey pictures of a weight, scaled as tf.summary.image does: the largest value is white, 0
// is black, or grey if a value is negative. A vector becomes one column; a matrix is transposed if
// it has more rows than columns; [rows, columns, channels] gives one picture for each of the first
// three channels. Returns none for more than three axes.
std::vector<SummaryImage> pictures_of(const Tensor& weight) {
  const int rank = weight.rank();
  if (rank < 1 || rank > 3 || weight.num_elements() == 0) return {};
  const bool turned = rank == 2 && weight.dim(0) > weight.dim(1);
  const int64_t rows = turned ? weight.dim(1) : weight.dim(0);
  const int64_t columns = turned ? weight.dim(0) : rank > 1 ? weight.dim(1) : 1;
  const int64_t channels = rank == 3 ? weight.dim(2) : 1;
  double largest = 0;
  bool negative = false;
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    largest = std::max(largest, std::abs(weight.as_double(i)));
    negative = negative || weight.as_double(i) < 0;
  }
  const double scale = largest == 0 ? 0 : (negative ? 127 : 255) / largest;
  std::vector<SummaryImage> pictures;
  for (int64_t c = 0; c < std::min<int64_t>(channels, 3); ++c) {
    Tensor pixels(DType::u8, {rows, columns, 1});
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t at = turned ? i % columns * rows + i / columns : i * channels + c;
      pixels.data<uint8_t>()[i] =
          static_cast<uint8_t>(weight.as_double(at) * scale + (negative ? 128 : 0));
    }
    pictures.push_back({.height = static_cast<int>(rows),
                        .width = static_cast<int>(columns),
                        .colorspace = 1,
                        .encoded = encode_png(pixels)});
  }
  return pictures;
}

class TensorBoardCallback : public Callback {
 public:
  explicit TensorBoardCallback(TensorBoardOptions options) : options_(std::move(options)) {
    if (options_.histogram_freq < 0) {
      throw invalid_argument("TensorBoard: histogram_freq, got {}, expected epochs, or 0",
                             options_.histogram_freq);
    }
  }

  bool writes() const override { return true; }
  void on_train_begin() override {
    writer_ = std::make_unique<EventWriter>(default_file_system(), options_.log_dir);
    batches_ = 0;
    examples_ = 0;
    written_at_ = 0;
    profile_from(0);
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
    if (capture_ && batches_ >= options_.profile_batch.last()) finish_profile();
    profile_from(batches_);
  }

  int64_t batches_of_launch(int64_t batches) const override {
    const ProfileBatch& wanted = options_.profile_batch;
    if (wanted.first() == 0 || batches >= wanted.last()) return INT64_MAX;
    return batches + 1 < wanted.first() ? wanted.first() - 1 - batches : wanted.last() - batches;
  }

  void on_epoch_end(int64_t epoch, Logs& logs) override {
    add_scalars("epoch_", epoch, logs);
    if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) add_histograms(epoch);
    writer_->flush();
  }

  void on_train_end() override {
    finish_profile();
    writer_->close();
    writer_.reset();
  }

  std::string save_state() const override {
    if (writer_) writer_->flush();  // a run that continues from here does not write it again
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
  // Starts the profile if it begins after so many batches.
  void profile_from(int64_t batches) {
    if (batches + 1 != options_.profile_batch.first()) return;
    try {
      capture_ = std::make_unique<profile::Capture>(options_.log_dir);
    } catch (const Error& error) {
      log_warning("{}", error.message());
    }
  }

  void finish_profile() {
    if (const auto capture = std::exchange(capture_, nullptr)) capture->finish();
  }

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
        const std::string tag = layer.name() + "/" + weight->name() + "_0";
        writer_->add_histogram(tag, epoch, weight->value());
        if (options_.write_images) add_pictures(tag + "/image", epoch, weight->value());
      }
    }
  }

  void add_pictures(const std::string& tag, int64_t epoch, const Tensor& weight) {
    const std::vector<SummaryImage> pictures = pictures_of(weight);
    for (size_t i = 0; i < pictures.size(); ++i) {
      writer_->add_image(pictures.size() == 1 ? tag : fmt::format("{}/{}", tag, i), epoch,
                         pictures[i]);
    }
  }

  const TensorBoardOptions options_;
  std::unique_ptr<EventWriter> writer_;
  std::unique_ptr<profile::Capture> capture_;
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

ProfileBatch::ProfileBatch(int64_t first, int64_t last) : first_(first), last_(last) {
  if (first >= 0 && last >= first) return;
  throw invalid_argument(
      "TensorBoard: profile_batch, got {} to {}, expected a batch, counted from 1, and one that is "
      "not before it; 0 for none",
      first, last);
}

CallbackPtr TensorBoard(const TensorBoardOptions& options) {
  return std::make_shared<TensorBoardCallback>(options);
}

}  // namespace systole::keras::callbacks
