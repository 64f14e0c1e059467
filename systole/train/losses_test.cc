// Losses against values computed by hand, with every reduction and kind of weights.
#include "systole/train/losses/losses.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/session.h"
#include "systole/train/example_mask.h"
#include "systole/train/testing/golden_rules.h"

namespace systole {
namespace {

using losses::Reduction;
using ::testing::HasSubstr;

Tensor row(std::initializer_list<float> values) {
  return Tensor::of<float>({1, static_cast<int64_t>(values.size())}, values);
}
Tensor column(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

double evaluate(const Output& x) { return Session().run(x).as_double(0); }

class LossesTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

struct LossCase {
  std::string name;
  std::function<Output()> loss;
  double value;
};

const double kLog3 = std::log(3.0);

std::vector<LossCase> distance_cases() {
  const Tensor labels = column({1, 9, 2, -5});
  const Tensor predictions = column({4, 8, 12, 8});  // off by 3, 1, 10, 13
  return {
      {"mean_squared_error",
       [=] { return losses::mean_squared_error({.labels = labels, .predictions = predictions}); },
       (9 + 1 + 100 + 169) / 4.0},
      {"absolute_difference",
       [=] {
         return losses::absolute_difference(
             {.labels = labels, .predictions = predictions, .weights = column({1, 0, 2, 0})});
       },
       (3 + 20) / 2.0},
      {"huber_loss",
       [=] {
         return losses::huber_loss({.labels = column({1, 0}), .predictions = column({1.5F, 3})});
       },
       (0.125 + 2.5) / 2},
      {"hinge_loss",
       [=] {
         return losses::hinge_loss(
             {.labels = column({1, 0, 1}), .logits = column({0.5F, 0.5F, 2})});
       },
       (0.5 + 1.5 + 0) / 3},
      {"log_loss",
       [=] {
         return losses::log_loss({.labels = column({1, 0}), .predictions = column({0.8F, 0.4F})});
       },
       -(std::log(0.8) + std::log(0.6)) / 2},
      {"cosine_distance",
       [=] {
         return losses::cosine_distance(
             {.labels = row({0.6F, 0.8F}), .predictions = row({1, 0}), .axis = 1});
       },
       0.4}};
}

std::vector<LossCase> entropy_cases() {
  return {
      {"softmax_cross_entropy",
       [=] {
         return losses::softmax_cross_entropy(
             {.onehot_labels = row({0, 1, 0}), .logits = row({1, 1, 1})});
       },
       kLog3},
      {"softmax_cross_entropy_smoothed",
       [=] {
         return losses::softmax_cross_entropy({.onehot_labels = row({1, 0, 0}),
                                               .logits = row({100, -100, -100}),
                                               .label_smoothing = 0.1});
       },
       0.2 * 200 * 2 / 6},
      {"sparse_softmax_cross_entropy",
       [=] {
         return losses::sparse_softmax_cross_entropy(
             {.labels = Tensor::of<int64_t>({2, 1}, {0, 1}),
              .logits = Tensor::of<float>({2, 3}, {10, 0, 0, 0, 0, 0}),
              .weights = column({0, 3})});
       },
       3 * kLog3},
      {"sigmoid_cross_entropy",
       [=] {
         return losses::sigmoid_cross_entropy(
             {.multi_class_labels = row({1, 0}), .logits = row({0, 0})});
       },
       std::log(2.0)},
      {"sigmoid_cross_entropy_smoothed",
       [=] {
         return losses::sigmoid_cross_entropy({.multi_class_labels = row({1, 0}),
                                               .logits = row({100, -100}),
                                               .label_smoothing = 0.2});
       },
       10},
  };
}

TEST_F(LossesTest, have_their_values) {
  for (const auto& cases : {distance_cases(), entropy_cases()}) {
    for (const LossCase& c : cases) EXPECT_NEAR(evaluate(c.loss()), c.value, 1e-4) << c.name;
  }
}

TEST_F(LossesTest, have_tensorflows_numbers) {
  for (const auto& [name, row] : testing::GoldenFolder::own().expected("losses").items()) {
    SCOPED_TRACE(name);
    const LossDef& def = testing::def_of(all_loss_defs(), name);
    Tensor labels = testing::golden_tensor(row.at("labels"));
    const Output loss = losses::weighted_loss(
        def, testing::golden_values(def.arguments, row.at("config")),
        def.labels == LossLabels::class_numbers ? cast(constant(labels), DType::s32)
                                                : constant(labels),
        testing::golden_tensor(row.at("predictions")),
        {.weights = testing::golden_tensor(row.at("weights"))});
    const auto value = row.at("value").get<double>();
    EXPECT_NEAR(evaluate(loss), value, 2e-6 * std::max(1.0, std::abs(value)));
  }
  // Two weights that are not 0 for each example; TensorFlow 2.15's 1048.
  EXPECT_EQ(evaluate(losses::mean_pairwise_squared_error(
                {.labels = Tensor::of<float>({2, 3}, {1, 9, 2, -5, -2, 6}),
                 .predictions = Tensor::of<float>({2, 3}, {4, 8, 12, 8, 1, 3}),
                 .weights = Tensor::of<float>({2, 3}, {1, 0, 2, 3, 0, 1})})),
            1048);
}

TEST_F(LossesTest, reductions_divide_by_what_they_say) {
  const Output values = constant(column({1, 2, 3, 4}));
  const auto loss = [&](Reduction reduction, const Tensor& weights) {
    return evaluate(reduce_sum(
        losses::compute_weighted_loss(values, {.weights = weights, .reduction = reduction})));
  };
  const Tensor some = column({0, 2, 2, 0});  // 10 in all
  EXPECT_EQ(loss(Reduction::none, some), 10);
  EXPECT_EQ(loss(Reduction::sum, some), 10);
  EXPECT_EQ(loss(Reduction::mean, some), 2.5);
  EXPECT_EQ(loss(Reduction::sum_over_batch_size, some), 2.5);
  EXPECT_EQ(loss(Reduction::sum_by_nonzero_weights, some), 5);
  EXPECT_EQ(loss(Reduction::sum_by_nonzero_weights, 2.0F), 5);
  EXPECT_EQ(loss(Reduction::mean, 2.0F), 2.5);
  EXPECT_EQ(loss(Reduction::sum_by_nonzero_weights, 0.0F), 0);
  EXPECT_EQ(loss(Reduction::mean, column({0, 0, 0, 0})), 0);
}

TEST_F(LossesTest, filled_in_examples_do_not_count) {
  set_example_mask(constant(column({1, 1, 0})));
  const Tensor labels = column({0, 0, 0});
  const Tensor predictions = column({1, 2, 100});
  for (const Reduction reduction :
       {Reduction::sum_by_nonzero_weights, Reduction::mean, Reduction::sum_over_batch_size}) {
    EXPECT_EQ(evaluate(losses::mean_squared_error(
                  {.labels = labels, .predictions = predictions, .reduction = reduction})),
              2.5);
  }
  // Two values an example, as one axis.
  EXPECT_EQ(evaluate(losses::mean_squared_error(
                {.labels = column({0, 0, 0, 0, 0, 0}), .predictions = column({1, 2, 1, 2, 9, 9})})),
            2.5);
}

TEST_F(LossesTest, are_collected) {
  losses::mean_squared_error({.labels = column({0}), .predictions = column({2})});
  losses::absolute_difference({.labels = column({0}), .predictions = column({3})});
  losses::absolute_difference(
      {.labels = column({0}), .predictions = column({3}), .loss_collection = ""});
  EXPECT_EQ(losses::get_losses().size(), 2U);
  EXPECT_EQ(evaluate(losses::get_total_loss()), 7);
  losses::add_loss(constant(0.5F));
  EXPECT_EQ(evaluate(losses::get_total_loss()), 7.5);
  EXPECT_EQ(evaluate(losses::get_regularization_loss()), 0);
  Graph other;
  const GraphScope scope(other);
  EXPECT_THROW(losses::get_total_loss(), Error);
}

TEST_F(LossesTest, errors_name_both_sides) {
  const auto error_of = [](const std::function<Output()>& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of([] {
                return losses::mean_squared_error(
                    {.labels = column({1, 2}), .predictions = column({1, 2, 3})});
              }),
              HasSubstr("mean_squared_error: labels and predictions, got f32[2] and f32[3], "
                        "expected one shape, at "));
  EXPECT_THAT(
      error_of([] {
        return losses::mean_squared_error({.labels = column({1, 2}),
                                           .predictions = column({1, 2}),
                                           .weights = column({1, 2, 3})});
      }),
      HasSubstr("weights, got f32[3] for losses f32[2], expected a scalar or the same rank"));
  EXPECT_THAT(error_of([] {
                return losses::softmax_cross_entropy(
                    {.onehot_labels = row({1}), .logits = row({1}), .label_smoothing = 2});
              }),
              HasSubstr("label_smoothing, got 2, expected a number in [0, 1]"));
}

}  // namespace
}  // namespace systole
