// Which evaluations are exported, and what is kept of them.
#include "systole/estimator/exporters.h"

#include <gmock/gmock.h>

#include <cmath>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/local/local_file_system.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"
#include "systole/train/saved_model.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TPUEstimatorSpec slope_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                             const Params&) {
  const Output y = layers::dense(features["x"], {.units = 1, .name = "line"});
  if (mode == ModeKeys::PREDICT) {
    return {.mode = mode, .predictions = Nest<Output>::dict({{"y", y}})};
  }
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  const Operation train_op = CrossShardOptimizer(GradientDescentOptimizer(0.1))
                                 .minimize(loss, {.global_step = get_global_step()});
  return {.mode = mode, .loss = loss, .train_op = train_op};
}

// y = 2 x, `epochs` times 16 examples in batches of 8.
InputFn slope_input(int64_t epochs) {
  return [epochs](const Params&) {
    Tensor x(DType::f32, {16, 1});
    Tensor y(DType::f32, {16, 1});
    for (size_t i = 0; i < 16; ++i) {
      x.data<float>()[i] = static_cast<float>(i) / 16;
      y.data<float>()[i] = 2 * x.data<float>()[i];
    }
    return Dataset::from_tensor_slices(Element::tuple({Element::dict({{"x", x}}), y}))
        .repeat(epochs)
        .batch(8);
  };
}

class ExportersTest : public ::testing::Test {
 protected:
  Estimator make_estimator() {
    return Estimator({.model_fn = slope_model,
                      .model_dir = folder_ / "model",
                      .config = {.tf_random_seed = 1,
                                 .save_checkpoints_steps = 8,
                                 .tpu_config = {.iterations_per_loop = 4}}});
  }
  std::string folder_of(const std::string& name) const {
    return folder_ / ("model/export/" + name);
  }
  std::vector<std::string> exports(const std::string& name) const {
    FileSystem& files = local_file_system();
    std::vector<std::string> found;
    if (!files.exists(folder_of(name))) return found;
    for (const std::string& entry : files.list(folder_of(name))) {
      if (files.exists(folder_of(name) + "/" + entry + "/saved_model.pb")) found.push_back(entry);
    }
    return found;
  }

  const TempFolder folder_;
  const ServingInputReceiverFn raw_ =
      estimator::build_raw_serving_input_receiver_fn({{"x", {DType::f32, {kUnknown, 1}}}});
};

TEST_F(ExportersTest, final_exports_once_and_latest_each_checkpoint) {
  Estimator estimator = make_estimator();
  train_and_evaluate(estimator, {.input_fn = slope_input(100), .max_steps = 20},
                     {.input_fn = slope_input(1),
                      .exporters = {std::make_shared<FinalExporter>("final", raw_),
                                    std::make_shared<LatestExporter>("latest", raw_)},
                      .throttle_secs = 0});
  EXPECT_THAT(exports("final"), SizeIs(1));
  EXPECT_THAT(exports("latest"), SizeIs(3));  // 8, 16, 20
  const Tensor x = Tensor::of<float>({1, 1}, {1});
  SavedModel served(folder_of("final") + "/" + exports("final")[0]);
  EXPECT_EQ(served.predict({{"x", x}}).at("y").shape().to_string(), "[1,1]");
}

// Only the end of the input tells which checkpoint was the last.
TEST_F(ExportersTest, an_input_that_ends_has_a_final_export) {
  Estimator estimator = make_estimator();
  train_and_evaluate(estimator, {.input_fn = slope_input(8)},  // 16 steps
                     {.input_fn = slope_input(1),
                      .exporters = {std::make_shared<FinalExporter>("final", raw_),
                                    std::make_shared<LatestExporter>("latest", raw_)},
                      .throttle_secs = 0});
  EXPECT_THAT(exports("final"), SizeIs(1));
  EXPECT_THAT(exports("latest"), SizeIs(2));  // 8, 16
}

TEST_F(ExportersTest, best_exports_what_is_better_also_in_another_process) {
  Estimator estimator = make_estimator();
  estimator.train(slope_input(100), {.max_steps = 4});
  const auto offer = [&](BestExporter& exporter, double loss) {
    return !exporter
                .export_model(estimator, folder_of("best"), estimator.latest_checkpoint(),
                              Evaluation({{"loss", Tensor(loss)}}, 1), false)
                .empty();
  };
  BestExporter first("best", raw_);
  EXPECT_TRUE(offer(first, INFINITY));
  EXPECT_TRUE(offer(first, 3));
  EXPECT_FALSE(offer(first, 3));
  EXPECT_FALSE(offer(first, NAN));
  BestExporter second("best", raw_, {.exports_to_keep = 2});
  EXPECT_FALSE(offer(second, 4));
  EXPECT_TRUE(offer(second, 2));
  EXPECT_THAT(exports("best"), SizeIs(2));
  BestExporter largest("best", raw_,
                       {.compare_fn = [](const Evaluation& best, const Evaluation& current) {
                         return current["loss"] > best["loss"];
                       }});
  EXPECT_TRUE(offer(largest, 5));
  write_file_atomically(local_file_system(), folder_of("best") + "/best_eval_result.json", "[1, x");
  EXPECT_THAT(error_of([&] { offer(largest, 6); }),
              HasSubstr("best_eval_result.json: evaluation, got"));
}

TEST_F(ExportersTest, best_is_no_evaluation_without_examples) {
  Estimator estimator = make_estimator();
  estimator.train(slope_input(100), {.max_steps = 4});
  const Evaluation none = estimator.evaluate(slope_input(0));
  EXPECT_EQ(none.examples(), 0);
  BestExporter exporter("best", raw_);
  const LogCapture log;
  const auto offer = [&](const Evaluation& evaluation) {
    return exporter.export_model(estimator, folder_of("best"), estimator.latest_checkpoint(),
                                 evaluation, false);
  };
  EXPECT_EQ(offer(none), "");
  EXPECT_THAT(log.messages(), Contains(HasSubstr("exporter 'best': evaluation, got one of no")));
  EXPECT_NE(offer(estimator.evaluate(slope_input(1))), "");
}

TEST_F(ExportersTest, what_is_not_finite_is_kept) {
  Estimator estimator = make_estimator();
  estimator.train(slope_input(100), {.max_steps = 4});
  std::vector<double> seen;
  BestExporter exporter("best", raw_,
                        {.compare_fn = [&](const Evaluation& best, const Evaluation& current) {
                          seen.push_back(best["loss"]);
                          return current["loss"] < best["loss"];
                        }});
  const auto offer = [&](double loss) {
    return !exporter
                .export_model(estimator, folder_of("best"), estimator.latest_checkpoint(),
                              Evaluation({{"loss", Tensor(loss)}, {"other", Tensor(NAN)}}, 1),
                              false)
                .empty();
  };
  EXPECT_TRUE(offer(INFINITY));
  EXPECT_TRUE(offer(3));
  EXPECT_TRUE(offer(-INFINITY));
  EXPECT_FALSE(offer(-4));
  EXPECT_THAT(seen, ElementsAre(INFINITY, 3, -INFINITY));
  const std::string text =
      read_file(local_file_system(), folder_of("best") + "/best_eval_result.json");
  EXPECT_THAT(text, HasSubstr("\"loss\": \"-inf\""));
  EXPECT_THAT(text, HasSubstr("\"other\": \"nan\""));
}

TEST_F(ExportersTest, a_file_that_is_no_evaluation_is_named) {
  Estimator estimator = make_estimator();
  estimator.train(slope_input(100), {.max_steps = 4});
  BestExporter exporter("best", raw_);
  local_file_system().make_directories(folder_of("best"));
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"5", "got number"},
           {"[1]", "got array"},
           {R"({"global_step": 4})", "got no 'loss'"},
           {R"({"loss": "small"})", "must be number, but is string"}}) {
    write_file_atomically(local_file_system(), folder_of("best") + "/best_eval_result.json", text);
    const std::string said = error_of([&] {
      exporter.export_model(estimator, folder_of("best"), estimator.latest_checkpoint(),
                            Evaluation({{"loss", Tensor(1.0)}}, 1), false);
    });
    EXPECT_THAT(said, HasSubstr("DATA_LOSS"));
    EXPECT_THAT(said, HasSubstr("best_eval_result.json: evaluation, "));
    EXPECT_THAT(said, HasSubstr(error));
  }
}

TEST_F(ExportersTest, older_exports_are_removed) {
  Estimator estimator = make_estimator();
  LatestExporter latest("latest", raw_, {.exports_to_keep = 2});
  std::vector<std::string> made;
  for (const int64_t steps : {4, 8, 12}) {
    estimator.train(slope_input(100), {.max_steps = steps});
    made.push_back(latest.export_model(estimator, folder_of("latest"),
                                       estimator.latest_checkpoint(), {}, false));
    EXPECT_THAT(latest.export_model(estimator, folder_of("latest"), estimator.latest_checkpoint(),
                                    {}, true),
                IsEmpty());
  }
  EXPECT_THAT(exports("latest"), ElementsAre(base_name(made[1]), base_name(made[2])));
}

TEST_F(ExportersTest, every_kind_exports_extra_assets) {
  Estimator estimator = make_estimator();
  estimator.train(slope_input(100), {.max_steps = 4});
  write_file_atomically(local_file_system(), folder_ / "labels.txt", "slope");
  const std::map<std::string, std::string> extra = {{"labels.txt", folder_ / "labels.txt"}};
  const Evaluation evaluation({{"loss", Tensor(1.0)}}, 1);
  const ExporterList all = {
      std::make_shared<FinalExporter>("final", raw_, FinalExporterOptions{.assets_extra = extra}),
      std::make_shared<LatestExporter>("latest", raw_,
                                       LatestExporterOptions{.assets_extra = extra}),
      std::make_shared<BestExporter>("best", raw_, BestExporterOptions{.assets_extra = extra})};
  for (const auto& exporter : all) {
    const std::string made = exporter->export_model(
        estimator, folder_of(exporter->name()), estimator.latest_checkpoint(), evaluation, true);
    EXPECT_EQ(read_file(local_file_system(), made + "/assets.extra/labels.txt"), "slope")
        << exporter->name();
  }
}

TEST_F(ExportersTest, refuses) {
  EXPECT_THAT(error_of([&] { LatestExporter("a", raw_, {.exports_to_keep = 0}); }),
              HasSubstr("`exports_to_keep`, if provided, must be positive number, got 0"));
  Estimator estimator = make_estimator();
  const auto exporter = std::make_shared<FinalExporter>("one", raw_);
  const EvalSpec twice{.input_fn = slope_input(1), .exporters = {exporter, exporter}};
  EXPECT_THAT(error_of([&] { train_and_evaluate(estimator, {.input_fn = slope_input(1)}, twice); }),
              HasSubstr("`exporters` must have unique names. Such a name, got 'one' twice"));
}

// Nothing is trained then.
TEST_F(ExportersTest, SpecsAreCheckedFirst) {
  Estimator estimator = make_estimator();
  const InputFn input = slope_input(1);
  const auto error_with = [&](const TrainSpec& train, const EvalSpec& eval) {
    return error_of([&] { train_and_evaluate(estimator, train, eval); });
  };
  const TrainSpec train{.input_fn = input};
  EXPECT_THAT(error_with(train, {.input_fn = input, .steps = 0}),
              HasSubstr("Must specify steps > 0, given: 0"));
  EXPECT_THAT(error_with(train, {.input_fn = input, .throttle_secs = -1}),
              HasSubstr("Must specify throttle_secs >= 0, given: -1"));
  EXPECT_THAT(error_with(train, {}), HasSubstr("input_fn: function, got none"));
  EXPECT_THAT(error_with({.input_fn = input, .max_steps = 0}, {.input_fn = input}),
              HasSubstr("Must specify max_steps > 0, given: 0"));
  const auto nameless = std::make_shared<FinalExporter>("", raw_);
  EXPECT_THAT(error_with(train, {.input_fn = input, .exporters = {nameless}}),
              HasSubstr("An Exporter cannot have a name that is `None` or empty."));
  EXPECT_EQ(estimator.latest_checkpoint(), "");
}

}  // namespace
}  // namespace systole
