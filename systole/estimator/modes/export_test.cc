// Exports of estimators, served by what reads SavedModels.
#include <gmock/gmock.h>

#include <filesystem>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/tables/csv.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"
#include "systole/train/saved_model.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMeasurements = 4;

// [150, 4] measurements of irises and their species, 50 of each.
Element irises() {
  CsvReader reader(local_file_system().open("examples/data/iris.csv"));
  std::vector<CsvColumn> columns;
  for (size_t i = 0; i < kMeasurements; ++i) columns.push_back({i, DType::f32});
  const std::vector<Tensor> table = read_csv_columns(reader, columns);
  const int64_t rows = table[0].dim(0);
  Tensor x(DType::f32, {rows, kMeasurements});
  Tensor y(DType::s32, {rows});
  for (int64_t i = 0; i < rows; ++i) {
    const auto at = static_cast<size_t>(i);
    for (size_t c = 0; c < kMeasurements; ++c) {
      x.data<float>()[at * kMeasurements + c] = table[c].data<float>()[at];
    }
    y.data<int32_t>()[at] = static_cast<int32_t>(i / 50);
  }
  return Element::tuple({Element::dict({{"measurements", x}}), y});
}

TPUEstimatorSpec iris_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                            const Params& params) {
  const Output hidden = layers::dense(features["measurements"], {.units = 8, .activation = relu});
  const Output logits = layers::dense(
      layers::dropout(hidden, {.rate = 0.1, .training = mode == ModeKeys::TRAIN}), {.units = 3});
  if (mode == ModeKeys::PREDICT) {
    const auto predictions = Nest<Output>::dict(
        {{"species", argmax(logits, {.axis = 1})}, {"probabilities", softmax(logits)}});
    TPUEstimatorSpec spec{.mode = mode, .predictions = predictions};
    const std::string outputs = params.get("outputs", std::string());
    if (outputs == "one") spec.export_outputs = {{"classes", predictions["species"]}};
    if (outputs == "two") spec.export_outputs = {{"a", predictions}, {"b", predictions}};
    return spec;
  }
  const Output loss = losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  const Operation train_op =
      CrossShardOptimizer(AdamOptimizer(0.05)).minimize(loss, {.global_step = get_global_step()});
  return {.mode = mode, .loss = loss, .train_op = train_op};
}

class EstimatorExportTest : public ::testing::Test {
 protected:
  TPUEstimator estimator(Params params = {}) {
    return TPUEstimator({.model_fn = iris_model,
                         .model_dir = folder_ / "model",
                         .config = {.tf_random_seed = 7, .tpu_config = {.iterations_per_loop = 10}},
                         .params = std::move(params),
                         .train_batch_size = 24,
                         .predict_batch_size = 8});
  }
  TPUEstimator trained() {
    TPUEstimator result = estimator();
    result.train(
        [](const Params& params) {
          const int64_t batch = params["batch_size"];
          return Dataset::from_tensor_slices(irises())
              .shuffle(150, {.seed = 1})
              .repeat()
              .batch(batch, true);
        },
        {.max_steps = 40});
    return result;
  }
  std::string exports() const { return folder_ / "exports"; }

  const TempFolder folder_;
  const ServingInputReceiverFn raw_ = estimator::build_raw_serving_input_receiver_fn(
      {{"measurements", {DType::f32, {kUnknown, kMeasurements}}}});
};

TEST_F(EstimatorExportTest, is_served_with_the_numbers_of_predict) {
  TPUEstimator estimator = trained();
  const std::string folder = estimator.export_saved_model(
      exports(), raw_, {.assets_extra = {{"doc/readme", "examples/README.md"}}});
  EXPECT_TRUE(std::filesystem::exists(folder + "/assets.extra/doc/readme"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/model.mlir"));
  EXPECT_THAT(local_file_system().list(exports()), ElementsAre(base_name(folder)));
  const Tensor x = irises()[0]["measurements"];
  SavedModel model(folder);
  // Any number of examples.
  for (const int64_t n : {1, 11, 150}) {
    const NamedTensors served = model.predict({{"measurements", x.slice(0, n)}});
    int64_t i = 0;
    for (const Nest<Tensor>& prediction : estimator.predict([&](const Params& params) {
           const int64_t batch = params["batch_size"];
           return Dataset::from_tensor_slices(irises()[0]).take(n).batch(batch);
         })) {
      EXPECT_EQ(served.at("species").as_double(i), prediction["species"].leaf().as_double(0));
      for (int64_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(served.at("probabilities").as_double(3 * i + c),
                    prediction["probabilities"].leaf().as_double(c), 1e-6);
      }
      ++i;
    }
    EXPECT_EQ(i, n);
  }
  // A second export is a new version.
  EXPECT_NE(estimator.export_savedmodel(exports(), raw_), folder);
}

TEST_F(EstimatorExportTest, parses_examples) {
  TPUEstimator estimator = trained();
  const std::string folder = estimator.export_saved_model(
      exports(), estimator::build_parsing_serving_input_receiver_fn(
                     {{"measurements", FixedLenFeature{.shape = {kMeasurements}}}}));
  const std::string raw_folder = estimator.export_saved_model(exports(), raw_);
  std::vector<std::string> records;
  const Tensor x = irises()[0]["measurements"].leaf().slice(0, 3);
  for (size_t i = 0; i < 3; ++i) {
    ExampleBuilder example;
    example.float32("measurements", x.data<float>().subspan(i * kMeasurements, kMeasurements));
    records.push_back(example.serialize());
  }
  const Tensor fed = Tensor::of<std::string>({3}, {records[0], records[1], records[2]});
  EXPECT_TRUE(
      SavedModel(folder)
          .predict({{"examples", fed}})
          .at("probabilities")
          .identical(SavedModel(raw_folder).predict({{"measurements", x}}).at("probabilities")));
}

TEST_F(EstimatorExportTest, signatures_are_those_of_export_outputs) {
  trained();
  TPUEstimator one = estimator({{"outputs", "one"}});
  SavedModel model(one.export_saved_model(exports(), raw_));
  EXPECT_TRUE(model.signature("classes").outputs.contains("output"));
  EXPECT_TRUE(model.signature().outputs.contains("output"));
  TPUEstimator two = estimator({{"outputs", "two"}});
  EXPECT_THAT(error_of([&] { two.export_saved_model(exports(), raw_); }),
              HasSubstr("Multiple `export_outputs` were provided, but none of them are specified "
                        "as the default. Use the name 'serving_default'"));
}

TEST_F(EstimatorExportTest, wrong_use) {
  TPUEstimator untrained = estimator();
  EXPECT_THAT(error_of([&] { untrained.export_saved_model(exports(), raw_); }),
              HasSubstr("Could not find trained model in model_dir"));
  EXPECT_THAT(error_of([&] { untrained.export_saved_model(exports(), nullptr); }),
              HasSubstr("An input_receiver_fn must be defined."));
  TPUEstimator estimator = trained();
  EXPECT_THAT(error_of([&] {
                estimator.export_saved_model(exports(), [] { return ServingInputReceiver{}; });
              }),
              HasSubstr("serving_input_receiver_fn: features, got none"));
  EXPECT_THAT(error_of([&] {
                estimator.export_saved_model(
                    exports(), estimator::build_raw_serving_input_receiver_fn(
                                   Nest<TensorType>::tuple({TensorType{DType::f32, {1}}})));
              }),
              HasSubstr("expected one type or types by name"));
  EXPECT_THAT(error_of([&] {
                estimator.export_saved_model(exports(), raw_, {.assets_extra = {{"a", "none"}}});
              }),
              HasSubstr("NOT_FOUND: none"));
  // Nothing stays of an export that failed.
  EXPECT_THAT(local_file_system().list(exports()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace systole
