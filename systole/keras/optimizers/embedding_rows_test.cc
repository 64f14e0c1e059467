// Tables that are read by Embedding layers alone: numbers of TensorFlow 2.15, by its classes
// of 2.11 and, with `lazy`, those of 2.0 to 2.10 (keras.optimizers.legacy); LAMB's of TensorFlow
// Addons 0.23. Nadam of 2.11 to 2.15 makes NaN of such tables.
#include <gtest/gtest.h>

#include <map>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"

namespace systole::keras {
namespace {

struct GoldenTable {
  OptimizerSpec optimizer;
  std::vector<float> table;
};

// After three steps with the ids and targets below; row 4 is never looked up, rows 0 and 3 in the
// second step alone.
std::vector<GoldenTable> golden_tables() {
  return {
      {optimizers::SGD({.lr = 0.5}),
       {-0.65625F, -0.453125F, -0.3796387F, -0.05761719F, 0.2653809F, 0.2901611F, 0.546875F,
        -0.53125F, -0.5F, -0.25F, 0.0F, 0.1779785F}},
      {optimizers::SGD({.lr = 0.5, .momentum = 0.9}),
       {-0.571875F, -0.4109375F, -0.4899853F, -0.1066602F, 0.2678418F, 0.09416504F, 0.3640625F,
        -0.334375F, -0.5F, -0.25F, 0.0F, 0.1166748F}},
      {optimizers::SGD({.lr = 0.5, .momentum = 0.9, .nesterov = true}),
       {-0.4959375F, -0.3729687F, -0.5688298F, -0.1417021F, 0.2762815F, 0.005433992F, 0.1995312F,
        -0.1571875F, -0.5F, -0.25F, 0.0F, 0.07287233F}},
      {optimizers::SGD({.lr = 0.5, .momentum = 0.9, .lazy = true}),
       {-0.65625F, -0.453125F, -0.4429199F, -0.08574219F, 0.2678418F, 0.09416504F, 0.546875F,
        -0.53125F, -0.5F, -0.25F, 0.0F, 0.1428223F}},
      {optimizers::SGD({.lr = 0.5, .momentum = 0.9, .nesterov = true, .lazy = true}),
       {-0.571875F, -0.4109375F, -0.53448F, -0.1264355F, 0.2762815F, 0.005433992F, 0.3640625F,
        -0.334375F, -0.5F, -0.25F, 0.0F, 0.09195557F}},
      {optimizers::Adam({.lr = 0.1}),
       {-0.6180675F, -0.3680697F, -0.4948649F, -0.2285071F, 0.306971F, 0.205478F, 0.6180663F,
        -0.6180663F, -0.5F, -0.25F, 0.0F, 0.01370593F}},
      {optimizers::Adam({.lr = 0.1, .amsgrad = true}),
       {-0.6180963F, -0.3680985F, -0.4948328F, -0.2284825F, 0.306971F, 0.205478F, 0.6180951F,
        -0.618095F, -0.5F, -0.25F, 0.0F, 0.01373409F}},
      {optimizers::RMSprop({.lr = 0.1, .epsilon_in_root = true}),
       {-0.4337767F, -0.1837902F, -0.6654027F, -0.1447101F, 0.3644581F, 0.05479077F, 0.4337732F,
        -0.433773F, -0.5F, -0.25F, 0.0F, 0.02305015F}},
      {optimizers::RMSprop({.lr = 0.1}),
       {-0.4337728F, -0.1837733F, -0.6654077F, -0.1446902F, 0.3644686F, 0.05478951F, 0.4337725F,
        -0.4337725F, -0.5F, -0.25F, 0.0F, 0.02306402F}},
      {optimizers::RMSprop({.lr = 0.1, .momentum = 0.5, .centered = true, .epsilon_in_root = true}),
       {-0.2500079F, -3.159046e-05F, -0.7933782F, -0.3099832F, 0.355331F, -0.2155334F, 0.2500017F,
        -0.2500015F, -0.5F, -0.25F, 0.0F, -0.0980255F}},
      {optimizers::RMSprop({.lr = 0.1, .momentum = 0.5, .centered = true, .lazy = true}),
       {-0.4166719F, -0.1666878F, -0.8398274F, -0.3178014F, 0.3553311F, -0.2155335F, 0.4166678F,
        -0.4166676F, -0.5F, -0.25F, 0.0F, -0.1434632F}}};
}

std::vector<GoldenTable> more_golden_tables() {
  return {
      {optimizers::Adagrad({.lr = 0.1, .initial_accumulator_value = 0.1, .epsilon_in_root = true}),
       {-0.6989985F, -0.4715765F, -0.3253042F, -0.03663623F, 0.2594095F, 0.3812246F, 0.6710888F,
        -0.6689546F, -0.5F, -0.25F, 0.0F, 0.204825F}},
      {optimizers::Adagrad({.lr = 0.1, .initial_accumulator_value = 0.1}),
       {-0.6989985F, -0.4715764F, -0.3253042F, -0.03663624F, 0.2594095F, 0.3812246F, 0.6710889F,
        -0.6689546F, -0.5F, -0.25F, 0.0F, 0.204825F}},
      {optimizers::Adadelta({.lr = 1.0}),
       {-0.7485858F, -0.4985859F, -0.2528437F, -0.002840411F, 0.2510236F, 0.4956519F, 0.7485858F,
        -0.7485858F, -0.5F, -0.25F, 0.0F, 0.2471583F}},
      {optimizers::Adadelta({.lr = 1.0, .lazy = true}),
       {-0.7485858F, -0.4985859F, -0.2528441F, -0.00284075F, 0.2510236F, 0.4956519F, 0.7485858F,
        -0.7485858F, -0.5F, -0.25F, 0.0F, 0.247158F}},
      {optimizers::Adamax({.lr = 0.1}),
       {-0.6641249F, -0.414125F, -0.4522267F, -0.187086F, 0.3158099F, 0.2211861F, 0.6641249F,
        -0.6641249F, -0.5F, -0.25F, 0.0F, 0.05746335F}},
      {optimizers::Adamax({.lr = 0.1, .lazy = true}),
       {-0.6973684F, -0.4473685F, -0.4119725F, -0.151712F, 0.3158098F, 0.2211861F, 0.6973684F,
        -0.6973684F, -0.5F, -0.25F, 0.0F, 0.09459423F}},
      {optimizers::Nadam({.lr = 0.1, .lazy = true}),
       {-0.6455024F, -0.3955024F, -0.4295073F, -0.1597989F, 0.3061626F, 0.2649986F, 0.6455023F,
        -0.6455023F, -0.5F, -0.25F, 0.0F, 0.08217117F}},
      {optimizers::AdamW({.lr = 0.1, .weight_decay = 0.05}),
       {-0.607245684F, -0.360979259F, -0.48992607F, -0.227307364F, 0.303144932F, 0.199728876F,
        0.607244492F, -0.607244432F, -0.492537439F, -0.246268719F, 0.0F, 0.0116280317F}},
      {optimizers::LAMB({.lr = 0.1, .weight_decay = 0.05}),
       {-0.644137621F, -0.396896988F, -0.428439617F, -0.175143823F, 0.294304699F, 0.276361644F,
        0.644137144F, -0.644137144F, -0.494482875F, -0.247241437F, 0.0F, 0.0694298446F}},
      {optimizers::Adafactor({.lr = 0.1}),
       {-0.669048607F, -0.461791277F, -0.38370204F, -0.0535959266F, 0.265767336F, 0.342571914F,
        0.688414812F, -0.687392116F, -0.5F, -0.25F, 0.0F, 0.123753712F}},
      {optimizers::SGD({.lr = 0.5, .clipnorm = 0.1}),
       {-0.7237291F, -0.4868645F, -0.3061825F, -0.02497002F, 0.2622791F, 0.4148028F, 0.6930797F,
        -0.6887012F, -0.5F, -0.25F, 0.0F, 0.2187875F}}};
}

std::vector<GoldenTable> all_golden_tables() {
  std::vector<GoldenTable> all = golden_tables();
  for (GoldenTable& golden : more_golden_tables()) all.push_back(std::move(golden));
  return all;
}

Tensor table_ids(int step) {
  if (step == 1)
    return Tensor::of<int32_t>({8, 2}, {3, 2, 3, 2, 3, 2, 3, 2, 0, 3, 0, 3, 0, 3, 0, 3});
  return Tensor::of<int32_t>({8, 2}, {1, 2, 2, 5, 1, 1, 5, 2, 2, 2, 1, 5, 5, 5, 2, 1});
}

Tensor table_targets() {
  Tensor y(DType::f32, {8, 4});
  for (int i = 0; i < 32; ++i) y.data<float>()[i] = static_cast<float>(i % 5 - 2) / 2;
  return y;
}

Sequential table_model(const OptimizerSpec& optimizer) {
  Sequential model({layers::Embedding(6, 2, {.input_length = 2}), layers::Flatten()});
  Tensor table(DType::f32, {6, 2});
  for (int i = 0; i < 12; ++i) table.data<float>()[i] = static_cast<float>(i % 7 - 3) / 4;
  model.set_weights({table});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  return model;
}

void expect_table(const Tensor& got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.data<float>()[i], want[i], 2e-6) << i;
}

class EmbeddingRowsTest : public ::testing::Test {
 protected:
  EmbeddingRowsTest() : scope_(graph_) {}
  Graph graph_;
  GraphScope scope_;
};

TEST_F(EmbeddingRowsTest, AreUpdatedAsTensorFlowDoes) {
  int row = 0;
  for (const GoldenTable& golden : all_golden_tables()) {
    SCOPED_TRACE(golden.optimizer->class_name() + " of row " + std::to_string(row++));
    const Sequential model = table_model(golden.optimizer);
    for (int step = 0; step < 3; ++step) model.train_on_batch(table_ids(step), table_targets());
    expect_table(model.get_weights()[0], golden.table);
  }
}

TEST_F(EmbeddingRowsTest, AreUpdatedAsTensorFlowDoesOnEightCores) {
  int row = 0;
  for (const GoldenTable& golden : all_golden_tables()) {
    SCOPED_TRACE(golden.optimizer->class_name() + " of row " + std::to_string(row++));
    const Sequential model = table_model(golden.optimizer);
    const tpu::KerasTPUModel on_tpu = tpu::keras_to_tpu_model(
        model, {.strategy = tpu::TPUDistributionStrategy(TPUClusterResolver("local:v3-8"))});
    for (int step = 0; step < 3; ++step) {
      on_tpu.fit(table_ids(step), table_targets(),
                 {.batch_size = 8, .epochs = 1, .verbose = 0, .shuffle = false});
    }
    expect_table(on_tpu.get_weights()[0], golden.table);
  }
}

// The table-sized values of a step are parameters and what is written over them; of rules that move
// all rows also what is computed from slots. None is a gradient: nothing is scattered into zeros.
TEST_F(EmbeddingRowsTest, HaveNoGradientOfTheTablesSize) {
  for (const GoldenTable& golden : all_golden_tables()) {
    SCOPED_TRACE(golden.optimizer->class_name());
    if (golden.optimizer->class_name() == "Adafactor") continue;  // it needs one
    Graph graph;
    const GraphScope scope(graph);
    std::map<const Weight*, Variable> variables;
    CallContext context(/*training=*/true, [&](const WeightPtr& weight) {
      const auto it = variables.find(weight.get());
      if (it != variables.end()) return it->second;
      const Variable made(zeros(weight->shape(), weight->type().dtype), {.name = weight->name()});
      return variables.emplace(weight.get(), made).first->second;
    });
    const auto table = std::make_shared<Weight>("table", Shape{1000, 2},
                                                WeightOptions{.initializer = zeros_initializer()});
    const Output rows = gather(context.value(table), constant(Tensor::of<int32_t>({3}, {5, 7, 5})));
    const Output gradient = gradients({reduce_sum(square(rows))}, {context.value(table)})[0];
    ASSERT_TRUE(indexed_slices(gradient));
    // A copy without slots of other graphs.
    const OptimizerSpec optimizer = optimizer_from_json(
        {{"class_name", golden.optimizer->class_name()}, {"config", golden.optimizer->config()}});
    optimizer->add_updates(context, {{table, gradient}});
    std::vector<Output> values;
    for (const auto& update : context.updates()) values.push_back(update.value);
    const SpecializedProgram program = specialize(graph, values, {}, {});
    for (const hlo::Instruction* x : program.module->entry().instructions()) {
      if (!x->is(hlo::Opcode::scatter) || x->results()[0].shape != table->shape()) continue;
      EXPECT_FALSE(x->operand(0).def->is(hlo::Opcode::broadcast_in_dim));
      EXPECT_FALSE(x->operand(0).def->is(hlo::Opcode::constant));
    }
  }
}

}  // namespace
}  // namespace systole::keras
