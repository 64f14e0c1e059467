// Attention and MultiHeadAttention: what layer_values_test's rows do not say. Numbers that Keras
// itself computed: keras/files/golden_files_test.cc.
#include "systole/keras/layers/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/keras/files/saving.h"
#include "systole/keras/keras.h"
#include "systole/keras/testing/grid.h"

namespace systole::keras::layers {
namespace {

using ::systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AttentionTest : public ::testing::Test {
 protected:
  AttentionTest() : scope_(graph_) { set_random_seed(1); }

  static Tensor noise(const Shape& shape, uint64_t seed) {
    return keras::testing::noise(shape, seed);
  }

  Graph graph_;
  GraphScope scope_;
};

// Sets all numbers of step `t` of each example.
Tensor with_step(Tensor x, int64_t t, float value) {
  Tensor changed = x.clone();
  const int64_t size = x.dim(2);
  for (int64_t b = 0; b < x.dim(0); ++b) {
    for (int64_t d = 0; d < size; ++d) changed.data<float>()[(b * x.dim(1) + t) * size + d] = value;
  }
  return changed;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i)
    largest = std::max(largest, std::abs(a.as_double(i) - b.as_double(i)));
  return largest;
}

TEST_F(AttentionTest, WeightsHaveTheNamesAndShapesOfKeras) {
  const KerasTensor x = Input({4, 6});
  const MultiHeadAttention layer(2, 3, {.value_dim = 5, .name = "mha"});
  EXPECT_EQ(layer(x, x).shape(), Shape({-1, 4, 6}));
  EXPECT_THAT(layer.definition()->weight_names(),
              ElementsAre("mha/query/kernel:0", "mha/query/bias:0", "mha/key/kernel:0",
                          "mha/key/bias:0", "mha/value/kernel:0", "mha/value/bias:0",
                          "mha/attention_output/kernel:0", "mha/attention_output/bias:0"));
  std::vector<Shape> shapes;
  for (const WeightPtr& weight : layer.weights()) shapes.push_back(weight->shape());
  EXPECT_THAT(shapes, ElementsAre(Shape({6, 2, 3}), Shape({2, 3}), Shape({6, 2, 3}), Shape({2, 3}),
                                  Shape({6, 2, 5}), Shape({2, 5}), Shape({2, 5, 6}), Shape({6})));
  const Attention scaled({.use_scale = true, .score_mode = "concat", .name = "attention"});
  scaled({x, x});
  EXPECT_THAT(scaled.definition()->weight_names(),
              ElementsAre("attention/scale:0", "attention/concat_score_weight:0"));
}

TEST_F(AttentionTest, CausalQueriesSeeNoLaterStep) {
  const KerasTensor x = Input({5, 6});
  const Model model(x, {MultiHeadAttention(2, 3)(x, x, {.use_causal_mask = true}),
                        Attention()({x, x}, {.use_causal_mask = true})});
  const Tensor before = noise({2, 5, 6}, 1);
  const std::vector<Tensor> a = model.predict_all({before});
  const std::vector<Tensor> b = model.predict_all({with_step(before, 3, 2.0F)});
  for (size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(largest_difference(a[k].reshape({2, 5, 6}).slice(0, 1).reshape({5, 6}).slice(0, 3),
                                 b[k].reshape({2, 5, 6}).slice(0, 1).reshape({5, 6}).slice(0, 3)),
              0);
    EXPECT_GT(largest_difference(a[k], b[k]), 1e-3);
  }
}

TEST_F(AttentionTest, MasksOfInputsHideKeysAndPassOn) {
  const KerasTensor x = Input({4, 3});
  const KerasTensors masked = Masking(9.0)(x);
  const auto [result, scores] = [&] {
    const KerasTensors both =
        MultiHeadAttention(2, 3)(x, masked, {.return_attention_scores = true});
    return std::pair(both[0], both[1]);
  }();
  const KerasTensors own = Attention()({masked, masked}, {.return_attention_scores = true});
  // A mask that passes on: the mean over time leaves the masked step out.
  const Model model(x, {scores, own[1], GlobalAveragePooling1D()(own[0]), own[0], result});
  Tensor values = with_step(noise({1, 4, 3}, 2), 2, 9.0F);
  const std::vector<Tensor> y = model.predict_all({values});
  for (int64_t row = 0; row < 8; ++row) EXPECT_EQ(y[0].data<float>()[row * 4 + 2], 0) << row;
  for (int64_t row = 0; row < 4; ++row) EXPECT_EQ(y[1].data<float>()[row * 4 + 2], 0) << row;
  for (int64_t d = 0; d < 3; ++d) {
    EXPECT_EQ(y[3].data<float>()[2 * 3 + d], 0);
    double sum = 0;
    for (const int64_t t : {0, 1, 3}) sum += y[3].as_double(t * 3 + d);
    EXPECT_NEAR(y[2].as_double(d), sum / 3, 1e-6);
  }
  EXPECT_EQ(own[0].call()->mask_shapes[0], Shape({-1, 4}));
}

TEST_F(AttentionTest, GivenMasks) {
  const KerasTensor x = Input({3, 4});
  const KerasTensor steps = Input({3});
  const KerasTensor pairs = Input({3, 3});
  const KerasTensors heads =
      MultiHeadAttention(2, 3)(x, x, {.attention_mask = pairs, .return_attention_scores = true});
  const KerasTensors own =
      Attention()({x, x}, {.mask = {steps, steps}, .return_attention_scores = true});
  const Model model({x, steps, pairs}, {heads[1], own[0], own[1]});
  const std::vector<Tensor> y =
      model.predict_all({noise({1, 3, 4}, 3), Tensor::of<float>({1, 3}, {1, 0, 1}),
                         Tensor::of<float>({1, 3, 3}, {1, 0, 0, 1, 1, 0, 0, 0, 0})});
  for (int64_t head = 0; head < 2; ++head) {
    const auto row = y[0].data<float>().subspan(static_cast<size_t>(head * 9), 9);
    EXPECT_EQ(row[0], 1);
    EXPECT_EQ(row[5], 0);
    EXPECT_FLOAT_EQ(row[3] + row[4], 1);
    for (size_t i = 6; i < 9; ++i) EXPECT_FLOAT_EQ(row[i], 1.0F / 3);  // a query that sees nothing
  }
  for (int64_t d = 0; d < 4; ++d) EXPECT_EQ(y[1].data<float>()[4 + d], 0);
  for (int64_t row = 0; row < 3; ++row) EXPECT_EQ(y[2].data<float>()[row * 3 + 1], 0);
}

TEST_F(AttentionTest, DropoutIsOfTrainingAlone) {
  const KerasTensor x = Input({6, 4});
  const MultiHeadAttention heads(2, 3, {.dropout = 0.5});
  const Attention own({.dropout = 0.5});
  const Model model(x, {heads(x, x), own({x, x}), heads(x, x, {.training = true}),
                        own({x, x}, {.training = true})});
  const std::vector<Tensor> y = model.predict_all({noise({2, 6, 4}, 4)});
  EXPECT_GT(largest_difference(y[0], y[2]), 1e-4);
  EXPECT_GT(largest_difference(y[1], y[3]), 1e-4);
  EXPECT_EQ(largest_difference(y[0], model.predict_all({noise({2, 6, 4}, 4)})[0]), 0);
}

TEST_F(AttentionTest, CallsComeBackFromFiles) {
  const KerasTensor x = Input({4, 6}, {.name = "x"});
  const KerasTensor pairs = Input({4, 4}, {.name = "pairs"});
  const KerasTensors heads = MultiHeadAttention(2, 3, {.attention_axes = 1, .name = "heads"})(
      x, x, {.key = x, .attention_mask = pairs, .return_attention_scores = true});
  const KerasTensors own = Attention({.name = "own"})({heads[0], x}, {.use_causal_mask = true});
  const Model model({x, pairs}, {own, heads[1]});
  const std::vector<Tensor> inputs = {
      noise({2, 4, 6}, 5),
      Tensor::of<float>({2, 4, 4}, {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1,  //
                                    0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0})};
  const std::vector<Tensor> expected = model.predict_all(inputs);
  for (const char* path : {"mem://attention/model.h5", "mem://attention/model.keras"}) {
    model.save(path);
    const Model loaded = load_model(path, {.compile = false});
    const std::vector<Tensor> got = loaded.predict_all(inputs);
    for (size_t k = 0; k < got.size(); ++k) EXPECT_TRUE(got[k].identical(expected[k])) << path;
    EXPECT_EQ(loaded.to_json(), model.to_json());
  }
  const std::string json = model.to_json();
  EXPECT_THAT(json, HasSubstr(R"(["x",0,0,{"return_attention_scores":true,"value":["x",0,0],)"
                              R"("key":["x",0,0],"attention_mask":["pairs",0,0]}])"));
  EXPECT_THAT(json, HasSubstr(R"("key_shape":{"class_name":"TensorShape","items":[null,4,6]})"));
}

TEST_F(AttentionTest, Trains) {
  const KerasTensor x = Input({8, 4});
  const KerasTensors y = Dense(1)(MultiHeadAttention(2, 4)(x, x));
  const Model model(x, y);
  model.compile({.optimizer = optimizers::Adam(0.02), .loss = "mse"});
  const Tensor inputs = noise({16, 8, 4}, 6);
  Tensor targets(DType::f32, {16, 8, 1});  // the mean over the steps
  for (int64_t i = 0; i < 16 * 8; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < 8; ++t) sum += inputs.as_double((i / 8 * 8 + t) * 4);
    targets.data<float>()[i] = static_cast<float>(sum / 8);
  }
  const double first = model.train_on_batch({inputs}, {targets})[0];
  double last = first;
  for (int i = 0; i < 60; ++i) last = model.train_on_batch({inputs}, {targets})[0];
  EXPECT_LT(last, first / 4);
}

TEST_F(AttentionTest, NamesWhatIsWrong) {
  const KerasTensor x = Input({4, 6});
  EXPECT_THAT(error_of([&] { MultiHeadAttention(0, 3); }), HasSubstr("num_heads"));
  EXPECT_THAT(error_of([&] { MultiHeadAttention(2, 3, {.dropout = 1.0}); }),
              HasSubstr("MultiHeadAttention: dropout, got 1, expected a number in [0, 1)"));
  EXPECT_THAT(error_of([&] { MultiHeadAttention(2, 3)(x, Input({4})); }),
              HasSubstr("expected three of one rank"));
  EXPECT_THAT(error_of([&] { Layer(MultiHeadAttention(2, 3))(x); }),
              HasSubstr("expected query and value"));
  EXPECT_THAT(error_of([&] { Attention({.score_mode = "cosine"}); }),
              HasSubstr("score_mode, got \"cosine\""));
  EXPECT_THAT(error_of([&] { Attention()(x); }), HasSubstr("inputs list of length 2 or 3"));
  EXPECT_THAT(error_of([&] {
                const Layer layer = Attention();
                layer({x, x}, {.arguments = {.flags = {{"causal", true}}}});
              }),
              HasSubstr("call() of Attention has no argument 'causal'"));
}

}  // namespace
}  // namespace systole::keras::layers
