#include "systole/estimator/spec.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

TEST(TPUEstimatorSpec, says_what_is_missing) {
  Graph graph;
  const GraphScope scope(graph);
  const Output scalar = constant(1.0F);
  const Output vector = constant(Tensor::of<float>({2}, {1, 2}));
  EXPECT_THAT(error_of([&] { TPUEstimatorSpec{.mode = ModeKeys::TRAIN}.validate(); }),
              HasSubstr("Missing loss."));
  EXPECT_THAT(error_of([&] { TPUEstimatorSpec{.loss = scalar}.validate(); }),
              HasSubstr("Missing train_op."));
  EXPECT_THAT(error_of([&] { TPUEstimatorSpec{.mode = Mode::eval, .loss = vector}.validate(); }),
              HasSubstr("Loss must be scalar, given: f32[2]"));
  EXPECT_THAT(error_of([&] { TPUEstimatorSpec{.mode = Mode::predict}.validate(); }),
              HasSubstr("Missing predictions."));
  EXPECT_THAT(error_of([&] {
                TPUEstimatorSpec{.mode = Mode::eval,
                                 .loss = scalar,
                                 .eval_metric_ops = {{"loss", metrics::mean({.values = scalar})}}}
                    .validate();
              }),
              HasSubstr("Metric with name \"loss\" is not allowed"));
}

MetricMap accuracy_of(const Output& labels, const Output& predictions) {
  return {{"accuracy", metrics::accuracy({.labels = labels, .predictions = predictions})}};
}

TEST(TPUEstimatorSpec, metric_functions_take_lists_and_maps) {
  Graph graph;
  const GraphScope scope(graph);
  const Nest<Output> x = placeholder(DType::f32, {4}, "x");
  const Output y = placeholder(DType::f32, {4}, "y");
  const TPUEstimatorSpec list{.eval_metrics = {accuracy_of, {x, y}}};
  EXPECT_EQ(list.eval_metrics().size(), 1U);
  const TPUEstimatorSpec map{.eval_metrics = {[](const std::map<std::string, Output>& named) {
                                                return accuracy_of(named.at("labels"),
                                                                   named.at("predictions"));
                                              },
                                              {{"labels", x}, {"predictions", y}}}};
  EXPECT_EQ(map.eval_metrics().count("accuracy"), 1U);
  EXPECT_THAT(
      error_of([&] { EvalMetrics(accuracy_of, std::vector<Output>{y})(); }),
      HasSubstr("In TPUEstimatorSpec.eval_metrics, length of tensors 1 does not match method "
                "args of the function, which takes 2."));
}

}  // namespace
}  // namespace systole
