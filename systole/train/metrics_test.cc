// Metrics over several batches, against values computed by hand.
#include "systole/train/metrics/metrics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <set>

#include "systole/graph/api/array_ops.h"
#include "systole/session/session.h"
#include "systole/train/example_mask.h"
#include "systole/train/testing/golden_rules.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Labels, predictions and weights of the batches, 4 examples each.
struct Batch {
  std::vector<float> labels;
  std::vector<float> predictions;
  std::vector<float> weights = {1, 1, 1, 1};
};

struct MetricCase {
  std::string name;
  std::function<Metric(const metrics::PredictionOptions&)> metric;
  std::vector<Batch> batches;
  double value;
};

const std::vector<Batch> kAnswers = {{{1, 1, 0, 0}, {1, 0, 1, 0}},
                                     {{1, 1, 1, 0}, {1, 1, 0, 1}, {1, 2, 1, 0}}};
const std::vector<Batch> kNumbers = {{{1, 2, 3, 4}, {1, 4, 3, 4}}, {{0, 0, 0, 0}, {3, 0, 0, 0}}};
// TensorFlow's documentation of auc and a weighted repetition of it.
const std::vector<Batch> kScores = {{{0, 0, 1, 1}, {0.1F, 0.4F, 0.35F, 0.8F}}};

Metric roc(const metrics::PredictionOptions& o) {
  return metrics::auc({.labels = o.labels, .predictions = o.predictions, .weights = o.weights});
}
Metric precision_recall(const metrics::PredictionOptions& o) {
  return metrics::auc(
      {.labels = o.labels, .predictions = o.predictions, .weights = o.weights, .curve = "PR"});
}

std::vector<MetricCase> cases() {
  // Weighted: true positives 1 + 1 + 2, false negatives 1 + 1, false positives 1, true negatives 1.
  return {
      {"accuracy", metrics::accuracy, kAnswers, 5.0 / 8},
      {"precision", metrics::precision, kAnswers, 4.0 / 5},
      {"recall", metrics::recall, kAnswers, 4.0 / 6},
      {"true_positives", metrics::true_positives, kAnswers, 4},
      {"false_positives", metrics::false_positives, kAnswers, 1},
      {"true_negatives", metrics::true_negatives, kAnswers, 1},
      {"false_negatives", metrics::false_negatives, kAnswers, 2},
      {"precision_of_nothing", metrics::precision, {{{1, 1, 1, 1}, {0, 0, 0, 0}}}, 0},
      {"mean_squared_error", metrics::mean_squared_error, kNumbers, 13.0 / 8},
      {"root_mean_squared_error", metrics::root_mean_squared_error, kNumbers, std::sqrt(13.0 / 8)},
      {"mean_absolute_error", metrics::mean_absolute_error, kNumbers, 5.0 / 8},
      {"auc", roc, kScores, 0.75},
      {"auc_pr", precision_recall, kScores, 0.79166},
      {"all_weights_zero", metrics::accuracy, {{{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}}}, 0}};
}

class MetricsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(MetricsTest, have_their_values_after_several_batches) {
  for (const MetricCase& c : cases()) {
    Graph graph;
    const GraphScope scope(graph);
    const Output labels = placeholder(DType::f32, {4});
    const Output predictions = placeholder(DType::f32, {4});
    const Output weights = placeholder(DType::f32, {4});
    const Metric metric =
        c.metric({.labels = labels, .predictions = predictions, .weights = weights});
    Session session;
    session.run(variables_initializer(local_variables()));
    EXPECT_EQ(global_variables().size(), 0U) << c.name;
    Tensor updated;
    for (const Batch& batch : c.batches) {
      updated =
          session.run(metric.update_op, {{labels, Tensor::of<float>({4}, batch.labels)},
                                         {predictions, Tensor::of<float>({4}, batch.predictions)},
                                         {weights, Tensor::of<float>({4}, batch.weights)}});
    }
    EXPECT_NEAR(session.run(metric.value).as_double(0), c.value, 2e-3) << c.name;
    EXPECT_EQ(session.run(metric.value).as_double(0), updated.as_double(0)) << c.name;
    EXPECT_EQ(metric.accumulators, local_variables()) << c.name;
  }
}

// After two batches. tests/golden/make_formulas.py.
TEST_F(MetricsTest, have_tensorflows_values) {
  std::set<std::string> tested = {"mean", "confusion_matrix"};  // by hand
  for (const auto& [name, row] : testing::GoldenFolder::own().expected("metrics").items()) {
    SCOPED_TRACE(name);
    const MetricDef& def = testing::def_of(all_metric_defs(), row.at("name").get<std::string>());
    tested.emplace(def.name);
    Graph graph;
    const GraphScope scope(graph);
    const bool confused = def.name == "mean_iou" || def.name == "mean_per_class_accuracy";
    const Output labels = constant(testing::golden_tensor(row.at("labels")));
    const Output predictions = constant(testing::golden_tensor(row.at("predictions")));
    const Metric metric = metrics::streaming_metric(
        def, testing::golden_values(def.arguments, row.at("config")),
        confused || def.inputs == MetricInputs::scores ? cast(labels, DType::s32) : labels,
        confused ? cast(predictions, DType::s32) : predictions,
        testing::golden_tensor(row.at("weights")));
    Session session;
    session.run(variables_initializer(local_variables()));
    session.run(metric.update_op);
    const Tensor updated = session.run(metric.update_op);
    testing::expect_golden_values(updated, row.at("value"), 2e-6);
    EXPECT_TRUE(session.run(metric.value).identical(updated));
  }
  for (const MetricDef* def : all_metric_defs()) {
    EXPECT_TRUE(def->name.empty() || tested.contains(std::string(def->name))) << def->name;
  }
}

TEST_F(MetricsTest, variables_have_tensorflows_names) {
  const Output x = placeholder(DType::f32, {4});
  metrics::accuracy({.labels = x, .predictions = x});
  metrics::accuracy({.labels = x, .predictions = x});
  metrics::precision({.labels = x, .predictions = x, .name = "p"});
  std::vector<std::string> names;
  for (const Variable& v : local_variables()) names.push_back(v.name());
  EXPECT_THAT(
      names, ElementsAre("accuracy/total", "accuracy/count", "accuracy_1/total", "accuracy_1/count",
                         "p/true_positives/count", "p/false_positives/count"));
}

// TensorFlow 2.15.
TEST_F(MetricsTest, at_k_of_an_absent_class_is_nan) {
  const Tensor predictions = Tensor::of<float>({1, 3}, {0.5F, 0.25F, 0.25F});
  const Tensor labels = Tensor::of<int64_t>({1, 1}, {0});
  const metrics::AtKOptions options{
      .labels = labels, .predictions = predictions, .k = 1, .class_id = 2};
  const Metric recall = metrics::recall_at_k(options);
  const Metric precision = metrics::precision_at_k(options);
  Session session;
  session.run(variables_initializer(local_variables()));
  EXPECT_TRUE(std::isnan(session.run(recall.update_op).as_double(0)));
  EXPECT_TRUE(std::isnan(session.run(precision.update_op).as_double(0)));
}

TEST_F(MetricsTest, at_k_takes_several_labels) {
  const Tensor predictions =
      Tensor::of<float>({2, 4}, {0.1F, 0.2F, 0.3F, 0.4F, 0.4F, 0.3F, 0.2F, 0.1F});
  const Tensor labels = Tensor::of<int64_t>({2, 2}, {3, 0, 0, 7});  // 7 is no class
  const auto value = [](const Metric& metric) {
    Session session;
    session.run(variables_initializer(local_variables()));
    return session.run(metric.update_op).as_double(0);
  };
  // The two highest: {3, 2} and {0, 1}; hits 3 and 0; 0 and 7 are not found.
  EXPECT_EQ(value(metrics::recall_at_k({.labels = labels, .predictions = predictions, .k = 2})),
            0.5);
  EXPECT_EQ(value(metrics::precision_at_k({.labels = labels, .predictions = predictions, .k = 2})),
            0.5);
  EXPECT_EQ(value(metrics::recall_at_k(
                {.labels = labels, .predictions = predictions, .k = 2, .class_id = 3})),
            1);
  EXPECT_NEAR(value(metrics::recall_at_k({.labels = labels,
                                          .predictions = predictions,
                                          .k = 1,
                                          .weights = Tensor::of<float>({2}, {1, 2})})),
              3.0 / 6, 1e-6);
}

TEST_F(MetricsTest, confusion_matrix_counts_pairs) {
  const Metric metric =
      metrics::confusion_matrix({.labels = Tensor::of<int32_t>({4}, {0, 1, 1, 2}),
                                 .predictions = Tensor::of<int64_t>({4, 1}, {0, 2, 1, 2}),
                                 .num_classes = 3,
                                 .weights = Tensor::of<float>({4}, {1, 1, 2, 1})});
  Session session;
  session.run(variables_initializer(local_variables()));
  session.run(metric.update_op);
  EXPECT_TRUE(session.run(metric.update_op)
                  .identical(Tensor::of<float>({3, 3}, {2, 0, 0, 0, 4, 2, 0, 0, 2})));
}

// Three classes, the last of which is not seen.
TEST_F(MetricsTest, classes_count_alike) {
  const metrics::ConfusionMatrixOptions options{
      .labels = Tensor::of<int32_t>({5}, {0, 0, 0, 1, 1}),
      .predictions = Tensor::of<int32_t>({5}, {0, 0, 1, 1, 1}),
      .num_classes = 3};
  const Metric iou = metrics::mean_iou(options);
  const Metric accuracy = metrics::mean_per_class_accuracy(options);
  Session session;
  session.run(variables_initializer(local_variables()));
  EXPECT_EQ(session.run(iou.value).as_double(0), 0);
  EXPECT_NEAR(session.run(iou.update_op).as_double(0), 2.0 / 3, 1e-6);
  EXPECT_NEAR(session.run(accuracy.update_op).as_double(0), (2.0 / 3 + 1 + 0) / 3, 1e-6);
}

TEST_F(MetricsTest, filled_in_examples_do_not_count) {
  set_example_mask(constant(Tensor::of<float>({3}, {1, 1, 0})));
  const Metric metric = metrics::mean({.values = Tensor::of<float>({3}, {1, 2, std::nanf("")})});
  Session session;
  session.run(variables_initializer(local_variables()));
  EXPECT_EQ(session.run(metric.update_op).as_double(0), 1.5);
}

TEST_F(MetricsTest, errors_name_the_metric) {
  const auto error_of = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Output x = placeholder(DType::f32, {4});
  const Output y = placeholder(DType::f32, {5});
  EXPECT_THAT(error_of([&] { metrics::accuracy({.labels = x, .predictions = y}); }),
              HasSubstr("accuracy: labels and predictions, got f32[4] and f32[5]"));
  EXPECT_THAT(error_of([&] { metrics::mean({.values = x, .weights = y}); }),
              HasSubstr("mean: weights, got f32[5] for values f32[4]"));
  EXPECT_THAT(error_of([&] { metrics::auc({.labels = x, .predictions = x, .curve = "X"}); }),
              HasSubstr("auc: curve, got 'X', expected 'ROC' or 'PR'"));
  EXPECT_THAT(error_of([&] { metrics::recall_at_k({.labels = x, .predictions = x, .k = 9}); }),
              HasSubstr("recall_at_k: k, got 9 for predictions f32[4]"));
}

}  // namespace
}  // namespace systole
