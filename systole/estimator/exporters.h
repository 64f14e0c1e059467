// Exporters: which evaluated models train_and_evaluate exports. (tf.estimator.Exporter,
// FinalExporter, LatestExporter, BestExporter)
//
//   st::train_and_evaluate(
//       estimator, {.input_fn = train_input, .max_steps = 1000},
//       {.input_fn = eval_input,
//        .exporters = {std::make_shared<st::BestExporter>("best", serving_input_receiver_fn)}});
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/estimator/evaluation.h"
#include "systole/estimator/serving.h"

namespace systole {

class TPUEstimator;

// Called after each evaluation. Called again with the last evaluation if only the end of training
// shows that it was the last.
class Exporter {
 public:
  virtual ~Exporter() = default;

  // The exporter's folder is model_dir/export/<name>, passed as `export_path`.
  virtual const std::string& name() const = 0;
  // Returns the folder of the SavedModel, or "" if it exported none. `checkpoint_path`: the
  // evaluated checkpoint. Errors: those of TPUEstimator::export_saved_model; they end training.
  virtual std::string export_model(TPUEstimator& estimator, const std::string& export_path,
                                   const std::string& checkpoint_path,
                                   const Evaluation& eval_result, bool is_the_final_export) = 0;
};
using ExporterList = std::vector<std::shared_ptr<Exporter>>;

// Base of the exporters below: a name, and how an export is written.
class SavedModelExporter : public Exporter {
 public:
  const std::string& name() const override { return name_; }

 protected:
  // Errors: INVALID_ARGUMENT for exports_to_keep below 1.
  SavedModelExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
                     std::map<std::string, std::string> assets_extra,
                     std::optional<int64_t> exports_to_keep);
  // Exports a checkpoint, removes the exports that are not kept, and returns the new one's folder.
  std::string write(TPUEstimator& estimator, const std::string& export_path,
                    const std::string& checkpoint_path) const;

 private:
  std::string name_;
  ServingInputReceiverFn receiver_fn_;
  std::map<std::string, std::string> assets_extra_;
  std::optional<int64_t> exports_to_keep_;
};

struct FinalExporterOptions {
  std::map<std::string, std::string> assets_extra = {};  // as in ExportSavedModelOptions
};

// Exports once, at the end of training.
class FinalExporter : public SavedModelExporter {
 public:
  FinalExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
                FinalExporterOptions options = {});

  std::string export_model(TPUEstimator& estimator, const std::string& export_path,
                           const std::string& checkpoint_path, const Evaluation& eval_result,
                           bool is_the_final_export) override;
};

struct LatestExporterOptions {
  std::map<std::string, std::string> assets_extra = {};
  // Older exports are removed. Absent: all are kept.
  std::optional<int64_t> exports_to_keep = 5;
};

// Exports every checkpoint that is evaluated.
class LatestExporter : public SavedModelExporter {
 public:
  // Errors: INVALID_ARGUMENT for exports_to_keep below 1.
  LatestExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
                 LatestExporterOptions options = {});

  std::string export_model(TPUEstimator& estimator, const std::string& export_path,
                           const std::string& checkpoint_path, const Evaluation& eval_result,
                           bool is_the_final_export) override;

 private:
  std::string exported_;  // the last checkpoint
};

struct BestExporterOptions {
  // Returns whether `current` is better than `best`. Null: whether its loss is smaller.
  using CompareFn = std::function<bool(const Evaluation& best, const Evaluation& current)>;
  CompareFn compare_fn = nullptr;
  std::map<std::string, std::string> assets_extra = {};
  std::optional<int64_t> exports_to_keep = 5;
};

// Exports a model that is better than all previous ones. Ignores evaluations without examples. The
// best evaluation is saved in best_eval_result.json, so that a resumed training compares with it;
// TensorFlow starts over, unless it has an event_file_pattern.
class BestExporter : public SavedModelExporter {
 public:
  // Errors: INVALID_ARGUMENT for exports_to_keep below 1.
  BestExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
               BestExporterOptions options = {});

  // Errors: DATA_LOSS for a best_eval_result.json that cannot be parsed or lacks the loss.
  std::string export_model(TPUEstimator& estimator, const std::string& export_path,
                           const std::string& checkpoint_path, const Evaluation& eval_result,
                           bool is_the_final_export) override;

 private:
  bool is_better(const std::string& export_path, const Evaluation& best,
                 const Evaluation& current) const;

  BestExporterOptions::CompareFn compare_fn_;
};

}  // namespace systole
