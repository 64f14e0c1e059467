// Optimizers that look at a whole parameter, and AdamW: numbers of TensorFlow 2.15 (AdamW,
// Adafactor), of TensorFlow Addons 0.23 (LAMB), and of tf.contrib.opt's formula in NumPy (LARS).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/session.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using ::testing::ElementsAre;

struct GoldenParameters {
  const char* name;
  std::function<std::shared_ptr<Optimizer>()> make;
  std::vector<float> matrix;
  std::vector<float> vector;
};

template <class T, class... Args>
std::function<std::shared_ptr<Optimizer>()> making(Args... args) {
  return [=] { return std::make_shared<T>(args...); };
}

// After three steps with the gradients below.
std::vector<GoldenParameters> golden_parameters() {
  return {
      {"AdamW",
       making<AdamWOptimizer>(0.1, AdamWOptions{.weight_decay = 0.05, .beta1 = 0.8}),
       {0.68513459F, -1.86354411F, 0.192596197F, -0.053672418F, 2.6552856F, -0.685134172F},
       {0.204830185F, -0.697368026F, 1.68244362F}},
      {"AdamW amsgrad",
       making<AdamWOptimizer>(0.1,
                              AdamWOptions{.weight_decay = 0.05, .beta2 = 0.5, .amsgrad = true}),
       {0.705658734F, -1.86361265F, 0.213121265F, -0.033147499F, 2.67580843F, -0.705658674F},
       {0.196863294F, -0.689400733F, 1.67447579F}},
      {"LAMB",
       making<LAMBOptimizer>(0.1, LAMBOptions{.weight_decay = 0.05}),
       {0.536014438F, -1.79562247F, 0.0471384674F, -0.197299123F, 2.49151659F, -0.53601414F},
       {0.148768872F, -0.639996946F, 1.62245321F}},
      {"LARS",
       making<LARSOptimizer>(0.5, LARSOptions{.weight_decay = 0.05, .eeta = 0.1}),
       {0.839180539F, -1.89215427F, -0.102835358F, -0.200682144F, 2.89070278F, -0.764548306F},
       {-0.136711742F, -0.66704047F, 1.80431292F}},
      {"LARS nesterov",
       making<LARSOptimizer>(0.5,
                             LARSOptions{.weight_decay = 0.05, .eeta = 0.1, .use_nesterov = true}),
       {0.756344387F, -1.82637914F, -0.414856102F, -0.434007564F, 2.83548194F, -0.64305463F},
       {-0.324102515F, -0.568200814F, 1.74460455F}},
      {"Adafactor",
       making<AdafactorOptimizer>(0.5, AdafactorOptions{.clip_threshold = 0.75}),
       {0.347875565F, -1.20937788F, -1.4308964F, -2.39370155F, 2.32412434F, -0.0215221643F},
       {-0.578703284F, 0.0787032694F, 0.921296716F}},
      {"Adafactor with a rate",
       making<AdafactorOptimizer>(
           0.1, AdafactorOptions{.beta2_decay = -0.5, .epsilon2 = 0.01, .relative_step = false}),
       {0.818633318F, -1.80726552F, -0.0370146483F, -0.485257626F, 2.81202769F, -0.727868915F},
       {0.174234331F, -0.674234331F, 1.67423439F}}};
}

// A loss with the gradients that are fed, of a matrix and a vector.
struct FedModel {
  Graph graph;
  GraphScope scope{graph};
  Variable w{Tensor::of<float>({2, 3}, {1, -2, 0.5F, 0.25F, 3, -1}), {.name = "w"}};
  Variable b{Tensor::of<float>({3}, {0.5F, -1, 2}), {.name = "b"}};
  Output gw = placeholder(DType::f32, {2, 3}, "gw");
  Output gb = placeholder(DType::f32, {3}, "gb");
  Output loss = reduce_sum(multiply(w, gw)) + reduce_sum(multiply(b, gb));

  void run(const Operation& train, Session& session, int steps) {
    session.run(global_variables_initializer());
    for (int t = 0; t < steps; ++t) {
      const float by = 1 + 0.5F * static_cast<float>(t);
      const float by_b = 2 - 0.5F * static_cast<float>(t);
      std::vector<float> of_w = {0.5F, -1, 2, 1.5F, 0.25F, -0.75F};
      std::vector<float> of_b = {1, -0.5F, 0.25F};
      for (float& x : of_w) x *= by;
      for (float& x : of_b) x *= by_b;
      if (t % 2 == 1) of_w[1] = -of_w[1];
      session.run(train,
                  {{gw, Tensor::of<float>({2, 3}, of_w)}, {gb, Tensor::of<float>({3}, of_b)}});
    }
  }
};

void expect_near(const Tensor& got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.data<float>()[i], want[i], 2e-6) << i;
}

TEST(OptimizerGoldens, StepsAreThoseOfTensorFlow) {
  for (const GoldenParameters& golden : golden_parameters()) {
    SCOPED_TRACE(golden.name);
    FedModel model;
    const Operation train = golden.make()->minimize(model.loss);
    Session session("", {.graph = &model.graph});
    model.run(train, session, 3);
    expect_near(session.run(model.w), golden.matrix);
    expect_near(session.run(model.b), golden.vector);
  }
}

TEST(OptimizerGoldens, SlotsHaveTheirShapes) {
  FedModel model;
  AdafactorOptimizer optimizer;
  optimizer.minimize(model.loss);
  std::vector<std::string> slots;
  for (const Variable& variable : optimizer.variables()) {
    slots.push_back(variable.name() + variable.shape().to_string());
  }
  EXPECT_THAT(slots, ElementsAre("Adafactor/iterations[]", "w/Adafactor[2]", "w/Adafactor_1[3]",
                                 "b/Adafactor[3]"));
  EXPECT_EQ(optimizer.slot(model.w, "c").shape(), Shape{3});
}

// A pattern is found in a part of the name.
TEST(OptimizerGoldens, NamesAreExcluded) {
  const auto after = [](const std::shared_ptr<Optimizer>& optimizer) {
    FedModel model;
    const Operation train = optimizer->minimize(model.loss);
    Session session("", {.graph = &model.graph});
    model.run(train, session, 3);
    return session.run(model.b);
  };
  const Tensor plain = after(std::make_shared<AdamOptimizer>(0.1, AdamOptions{.epsilon = 1e-7}));
  const std::vector<float> want(plain.data<float>().begin(), plain.data<float>().end());
  expect_near(after(std::make_shared<AdamWOptimizer>(
                  0.1, AdamWOptions{.exclude_from_weight_decay = {"bias", "^b$"}})),
              want);
  const Tensor momentum = after(std::make_shared<MomentumOptimizer>(0.1, 0.9));
  expect_near(after(std::make_shared<LARSOptimizer>(0.1, LARSOptions{.skip_list = {"b"}})),
              {momentum.data<float>().begin(), momentum.data<float>().end()});
}

// Rows of a table: LAMB's and Adafactor's steps are those of the whole gradient, LARS's are
// Momentum's.
TEST(OptimizerGoldens, RowsOfATable) {
  const auto after = [](const std::shared_ptr<Optimizer>& optimizer, bool rows) {
    Graph graph;
    const GraphScope scope(graph);
    const Variable table(Tensor::of<float>({4, 2}, {1, 2, 1, -1, 1, 0.5F, 1, 3}), {.name = "t"});
    const Tensor ids = Tensor::of<int32_t>({3}, {0, 1, 1});
    const Output looked_up =
        rows ? gather(table, ids) : matmul(one_hot(constant(ids), 4), table.value());
    const Operation train = optimizer->minimize(reduce_sum(square(looked_up)));
    Session session("", {.graph = &graph});
    session.run(global_variables_initializer());
    for (int step = 0; step < 3; ++step) session.run(train);
    const Tensor value = session.run(table);
    return std::vector<float>(value.data<float>().begin(), value.data<float>().end());
  };
  const auto expect_same = [](const std::vector<float>& a, const std::vector<float>& b) {
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
  };
  for (const auto& make :
       {making<AdamWOptimizer>(0.1), making<LAMBOptimizer>(0.1), making<AdafactorOptimizer>(0.1)}) {
    expect_same(after(make(), true), after(make(), false));
  }
  expect_same(after(std::make_shared<LARSOptimizer>(0.1), true),
              after(std::make_shared<MomentumOptimizer>(0.1, 0.9), true));
}

// optimizer_test.cc has the others.
TEST(OptimizerGoldens, EveryOptimizerHasACase) {
  std::set<std::string> shown = {
      "GradientDescent", "Momentum", "Adagrad", "Adadelta", "Ftrl", "Adam", "RMSProp"};
  for (const GoldenParameters& golden : golden_parameters()) shown.insert(golden.make()->name());
  for (const OptimizerClass& made : optimizer_classes()) {
    EXPECT_TRUE(shown.contains(made.name.substr(0, made.name.find("Optimizer")))) << made.name;
  }
}

}  // namespace
}  // namespace systole
