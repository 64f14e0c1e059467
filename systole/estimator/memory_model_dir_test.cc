// A whole training on a file system that is not the disk: records, model_dir, export, all on
// mem://.
#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"
#include "systole/data/sources.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"
#include "systole/train/saved_model.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kFolder = "mem://memory_model_dir_test";

// Two files of examples x, y = 2 x.
void write_records() {
  FileSystem& files = default_file_system();
  remove_tree(files, kFolder);
  files.make_directories(kFolder + "/data");
  for (int file = 0; file < 2; ++file) {
    RecordWriter writer(files, fmt::format("{}/data/train-{:05}-of-00002", kFolder, file));
    for (int i = 0; i < 32; ++i) {
      const float x = static_cast<float>(i * 2 + file) / 32 - 1;
      writer.write(ExampleBuilder().float32("x", {x}).float32("y", {2 * x}).serialize());
    }
    writer.close();
  }
}

Dataset records(const Params& params) {
  const int64_t batch = params["batch_size"];
  const FeatureSpecs spec = {{"x", FixedLenFeature{.shape = {1}, .dtype = DType::f32}},
                             {"y", FixedLenFeature{.shape = {1}, .dtype = DType::f32}}};
  return TFRecordDataset(Dataset::list_files({kFolder + "/data/train-*"}, {.shuffle = false}))
      .map([spec](const Output& record) {
        auto features = parse_single_example(record, spec);
        return Nest<Output>::tuple({Nest<Output>::dict({{"x", features["x"]}}), features["y"]});
      })
      .cache(kFolder + "/data/cache")
      .repeat()
      .batch(batch, true);
}

TPUEstimatorSpec memory_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                              const Params&) {
  const Output y = layers::dense(features["x"], {.units = 1, .name = "line"});
  if (mode == Mode::predict) return {.mode = mode, .predictions = Nest<Output>::dict({{"y", y}})};
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  return {.mode = mode,
          .loss = loss,
          .train_op = CrossShardOptimizer(GradientDescentOptimizer(0.3))
                          .minimize(loss, {.global_step = get_global_step()})};
}

TEST(MemoryModelDirTest, TrainsResumesEvaluatesAndExports) {
  write_records();
  const std::string model_dir = kFolder + "/model";
  const auto make = [&] {
    return TPUEstimator({.model_fn = memory_model,
                         .model_dir = model_dir,
                         .config = {.tf_random_seed = 3,
                                    .save_summary_steps = 20,
                                    .tpu_config = {.iterations_per_loop = 20}},
                         .use_tpu = true,
                         .train_batch_size = 16,
                         .eval_batch_size = 16,
                         .predict_batch_size = 16});
  };
  make().train(records, {.max_steps = 40});
  TPUEstimator resumed = make();
  resumed.train(records, {.max_steps = 100});
  EXPECT_EQ(resumed.latest_checkpoint(), model_dir + "/model.ckpt-100");
  EXPECT_NEAR(resumed.get_variable_value("line/kernel").as_double(0), 2, 0.05);
  EXPECT_LT(resumed.evaluate(records, {.steps = 2})["loss"], 0.01);

  FileSystem& files = default_file_system();
  EXPECT_TRUE(files.exists(model_dir + "/model.ckpt-40.index"));
  EXPECT_THAT(files.list(model_dir), Contains(StartsWith("events.out.tfevents.")));
  EXPECT_FALSE(local_file_system().exists("mem:"));

  const std::string exported = resumed.export_saved_model(
      kFolder + "/export",
      estimator::build_raw_serving_input_receiver_fn({{"x", {DType::f32, {kUnknown, 1}}}}));
  EXPECT_THAT(exported, StartsWith(kFolder + "/export/"));
  const NamedTensors results =
      SavedModel(exported).predict({{"x", Tensor::of<float>({1, 1}, {0.5F})}});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_NEAR(results.begin()->second.as_double(0), 1, 0.05);
  remove_tree(files, kFolder);
}

TEST(MemoryModelDirTest, AnUnknownSchemeIsNamed) {
  TPUEstimator estimator({.model_fn = memory_model, .model_dir = "gopher://a/b", .use_tpu = false});
  EXPECT_THAT(error_of([&] { estimator.train(records, {.max_steps = 1}); }),
              HasSubstr("gopher://a/b: scheme, got 'gopher://', expected a path without one"));
}

}  // namespace
}  // namespace systole
