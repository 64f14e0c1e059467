// Optimizers on tables that are read by lookups: TensorFlow 2.15's results, row by row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/step_loop.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/variable_gradients.h"

namespace systole {
namespace {

constexpr int64_t kShards = 8;
constexpr int64_t kSteps = 3;
using Values = std::vector<float>;

// After three steps with the lookups {0, 1, 1}, {1}, {2, 2, 0} of the table
// {{1, 2}, {1, -1}, {1, 0.5}, {1, 3}}; the loss is the sum of the squares of what was looked up.
struct Golden {
  const char* name;
  std::function<std::shared_ptr<Optimizer>()> make;
  Values table;  // its first six elements: nothing looks up row 3
  std::vector<std::pair<const char*, Values>> slots;
};

template <class T, class... Args>
std::function<std::shared_ptr<Optimizer>()> maker(Args... args) {
  return [=] { return std::make_shared<T>(args...); };
}

std::vector<Golden> momentum_goldens() {
  return {
      {"sgd",
       maker<GradientDescentOptimizer>(0.1),
       {0.639999986, 1.27999997, 0.480000019, -0.480000019, 0.600000024, 0.300000012},
       {}},
      {"momentum",
       maker<MomentumOptimizer>(0.1, 0.9),
       {0.460000008, 0.920000017, 0.120000005, -0.120000005, 0.600000024, 0.300000012},
       {{"momentum", {3.4000001, 6.80000019, 4.80000019, -4.80000019, 4.0, 2.0}}}},
      {"nesterov",
       maker<MomentumOptimizer>(0.1, 0.9, MomentumOptions{.use_nesterov = true}),
       {0.22240001, 0.444800019, -0.175199986, 0.175199986, 0.24000001, 0.120000005},
       {{"momentum", {3.03999996, 6.07999992, 4.07999992, -4.07999992, 4.0, 2.0}}}},
      {"rmsprop",
       maker<RMSPropOptimizer>(0.1, RMSPropOptions{.momentum = 0.9}),
       {0.529380918, 1.33178663, 0.42433241, -0.42433241, 0.747017801, 0.324588418},
       {{"momentum", {0.2952075, 0.415231228, 0.322685391, -0.322685391, 0.252982199, 0.175411597}},
        {"rms", {1.44197857, 3.47082925, 2.47321486, 2.47321486, 2.50000048, 1.30000007}}}},
      {"centered",
       maker<RMSPropOptimizer>(0.1, RMSPropOptions{.momentum = 0.9, .centered = true}),
       {0.518492699, 1.30101061, 0.403826058, -0.403826058, 0.738511801, 0.321825862},
       {{"mg", {0.344365239, 0.707702518, 0.50770247, -0.50770247, 0.400000095, 0.200000048}},
        {"momentum",
         {0.303333163, 0.437501192, 0.334685743, -0.334685743, 0.261488169, 0.178174153}},
        {"rms", {1.4401592, 3.45897007, 2.46816039, 2.46816039, 2.50000048, 1.30000007}}}}};
}

std::vector<Golden> adaptive_goldens() {
  return {
      {"ftrl",
       maker<FtrlOptimizer>(0.1),
       {0.685781956, 1.67711115, 0.78360647, -0.78360647, 0.821500003, 0.323140144},
       {{"accum", {6.3204174, 28.24786, 18.7994499, 18.7994499, 16.1000004, 4.0999999}},
        {"linear", {-17.24086, -89.1363068, -33.9758682, 33.9758682, -32.9625282, -6.54308891}}}},
      {"ftrl with l1 and l2",
       maker<FtrlOptimizer>(
           0.1, FtrlOptions{.l1_regularization_strength = 0.1, .l2_regularization_strength = 0.2}),
       {0.668434918, 1.65835631, 0.773792386, -0.773792386, 0.810923755, 0.312037349},
       {{"linear", {-17.0206757, -88.4764252, -33.8981857, 33.8981857, -32.9625282, -6.54308891}}}},
      {"adam",
       maker<AdamOptimizer>(0.1),
       {0.752303958, 1.75164235, 0.737508059, -0.737508059, 0.93611908, 0.43611908},
       {{"m", {0.328598976, 0.690599024, 0.486000121, -0.486000121, 0.400000095, 0.200000048}},
        {"v", {0.00676743593, 0.0294071101, 0.019204529, 0.019204529, 0.015999794, 0.0039999485}}}},
      {"adagrad",
       maker<AdagradOptimizer>(0.1),
       {0.834737301, 1.83154297, 0.85936904, -0.85936904, 0.900311053, 0.401227027},
       {{"accumulator", {7.34884071, 30.5447273, 19.3422394, 19.3422394, 16.1000004, 4.0999999}}}},
      {"adadelta",
       maker<AdadeltaOptimizer>(1.0),
       {0.99909997, 1.99909997, 0.99926424, -0.99926424, 0.999552786, 0.499552786},
       {{"accum", {0.389821231, 1.55964267, 0.959821343, 0.959821343, 0.800000191, 0.200000048}},
        {"accum_update",
         {1.9751937e-08, 1.9754177e-08, 1.36637173e-08, 1.36637173e-08, 1e-08, 1e-08}}}}};
}

std::vector<Golden> goldens() {
  std::vector<Golden> all = momentum_goldens();
  for (Golden& golden : adaptive_goldens()) all.push_back(std::move(golden));
  return all;
}

// One lookup for each shard. Those beyond a batch's repeat one of its rows, with a weight of 0.
struct Model {
  Model() {
    const Output rows = gather(table, ids);
    loss = reduce_sum(square(rows) * expand_dims(weights, 1));
  }

  Graph graph;
  GraphScope scope{graph};
  Variable table{Tensor::of<float>({4, 2}, {1, 2, 1, -1, 1, 0.5F, 1, 3}), {.name = "table"}};
  Output ids = placeholder(DType::s32, {kUnknown}, "ids");
  Output weights = placeholder(DType::f32, {kUnknown}, "weights");
  Output loss;
};

void run_steps(Session& session, Model& model, const Operation& train, int64_t shards) {
  const int64_t each = kShards / shards;
  StepLoop loop(session, {.inputs = {model.ids, model.weights},
                          .input_types = {{DType::s32, {each}}, {DType::f32, {each}}},
                          .targets = {train},
                          .num_replicas = static_cast<int>(shards),
                          .max_steps = 1});
  const std::vector<std::vector<int32_t>> ids = {
      {0, 1, 1, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 0, 0, 0, 0, 0, 0}};
  const std::vector<Values> weights = {
      {1, 1, 1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 0, 0, 0, 0, 0}};
  for (size_t step = 0; step < kSteps; ++step) {
    const Shape shape{shards, 1, each};
    loop.run({{Tensor::of<int32_t>(shape, ids[step]), Tensor::of<float>(shape, weights[step])}}, 1);
  }
  EXPECT_TRUE(loop.averaged_variables().empty());
}

void expect_rows(const Tensor& got, Values want, const Values& rest) {
  want.insert(want.end(), rest.begin(), rest.end());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got.data<float>()[i], want[i], 1e-5F * std::abs(want[i])) << "element " << i;
  }
}

TEST(SparseGradients, AreAppliedRowByRowAsTensorFlowDoes) {
  for (const Golden& golden : goldens()) {
    for (const int64_t shards : {int64_t{1}, kShards}) {
      SCOPED_TRACE(fmt::format("{}, {} shards", golden.name, shards));
      Model model;
      const std::shared_ptr<Optimizer> inner = golden.make();
      CrossShardOptimizer optimizer(inner,
                                    {.reduction = CrossShardOptimizerOptions::Reduction::SUM});
      const Operation train = optimizer.minimize(model.loss);
      Session session("", {.graph = &model.graph});
      session.run(global_variables_initializer());
      const std::vector<Tensor> before = [&] {
        std::vector<Tensor> all;
        for (const auto& [slot, want] : golden.slots) {
          all.push_back(session.variable_value(inner->slot(model.table, slot)).clone());
        }
        return all;
      }();
      run_steps(session, model, train, shards);
      expect_rows(session.variable_value(model.table), golden.table, {1, 3});
      for (size_t i = 0; i < golden.slots.size(); ++i) {
        const auto& [slot, want] = golden.slots[i];
        SCOPED_TRACE(slot);
        const auto initial = before[i].data<float>();
        expect_rows(session.variable_value(inner->slot(model.table, slot)), want,
                    {initial[6], initial[7]});
      }
    }
  }
}

// The table-sized values of the program: parameters, and what is written over them.
TEST(SparseGradients, HaveNoTensorOfTheTablesSize) {
  for (const Golden& golden : goldens()) {
    if (std::string_view(golden.name) == "adam") continue;  // every row moves
    SCOPED_TRACE(golden.name);
    Model model;
    const Operation train = golden.make()->minimize(model.loss);
    const std::vector<Node*> targets = {train.node()};
    const std::vector<Feed> feeds = {{model.ids, {DType::s32, {3}}},
                                     {model.weights, {DType::f32, {3}}}};
    const SpecializedProgram program = specialize(model.graph, {}, targets, feeds);
    for (const hlo::Instruction* x : program.module->entry().instructions()) {
      if (x->num_results() == 0 || x->results()[0] != model.table.type()) continue;
      EXPECT_TRUE(x->is(hlo::Opcode::parameter) || x->is(hlo::Opcode::scatter))
          << hlo::to_string(x->opcode());
    }
  }
}

TEST(SparseGradients, OfSeveralLookupsAreJoined) {
  Model model;
  const Output twice =
      model.loss + reduce_sum(gather(model.table, to_int64(model.ids) + int64_t{1}));
  const Output gradient = gradients({twice}, std::vector<Variable>{model.table})[0];
  const auto slices = indexed_slices(gradient);
  ASSERT_TRUE(slices);
  EXPECT_EQ(slices->values.shape(), (Shape{kUnknown, 2}));
  const Output dense =
      gradients({model.loss + reduce_sum(model.table)}, std::vector<Variable>{model.table})[0];
  EXPECT_FALSE(indexed_slices(dense));
  Session session("", {.graph = &model.graph});
  session.run(global_variables_initializer());
  const Tensor got = session.run(gradient, {{model.ids, Tensor::of<int32_t>({2}, {1, 1})},
                                            {model.weights, Tensor::of<float>({2}, {1, 1})}});
  const Tensor want = Tensor::of<float>({4, 2}, {0, 0, 4, -4, 2, 2, 0, 0});
  EXPECT_TRUE(got.identical(want)) << got;
}

// TensorFlow 2.15: clip_by_global_norm and clip_by_value look at the rows one by one.
TEST(SparseGradients, StayRowsWhenTheyAreClipped) {
  Model model;
  const std::vector<Variable> variables = {model.table};
  const std::vector<Output> found = gradients({model.loss}, variables);
  const auto [clipped, norm] = clip_by_global_norm(found, 1.0F);
  ASSERT_TRUE(indexed_slices(clipped[0]));
  ASSERT_TRUE(indexed_slices(clip_by_value(found[0], -0.5F, 0.5F)));
  ASSERT_TRUE(indexed_slices(clip_by_norm(found[0], 1.0F)));
  Session session("", {.graph = &model.graph});
  session.run(global_variables_initializer());
  const std::vector<FeedItem> feeds = {{model.ids, Tensor::of<int32_t>({3}, {0, 1, 1})},
                                       {model.weights, Tensor::of<float>({3}, {1, 1, 1})}};
  // Rows {2, 4}, {2, -2}, {2, -2}.
  EXPECT_FLOAT_EQ(session.run(norm, feeds).item<float>(), 6);
}

TEST(SparseGradients, AreWrittenAsTensorFlowsOps) {
  Model model;
  MomentumOptimizer(0.1, 0.9).minimize(model.loss);
  const auto message = to_graph_def(model.graph);
  std::vector<std::string> ops;
  for (const auto& node : message->node()) ops.push_back(node.op());
  EXPECT_EQ(std::ranges::count(ops, "Unique"), 1);
  EXPECT_EQ(std::ranges::count(ops, "ResourceSparseApplyMomentum"), 1);
  // One sum for the rows, and one for the gradient as a tensor, which nothing needs.
  EXPECT_EQ(std::ranges::count(ops, "UnsortedSegmentSum"), 2);
  EXPECT_EQ(std::ranges::count(ops, "GatherGrad"), 0);
}

}  // namespace
}  // namespace systole
