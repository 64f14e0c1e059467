#include "systole/hlo/passes/replicas/partitions_as_replicas.h"

#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using systole::testing::error_of;

std::unique_ptr<Module> program(const std::string& op, const std::string& type = "4xf32") {
  return parse("func.func @main(%a: tensor<4xf32>) -> tensor<" + type + "> {\n" + op +
               "\nreturn %0 : tensor<" + type + ">\n}");
}

std::string all_reduce(const std::string& attributes) {
  return "%0 = \"stablehlo.all_reduce\"(%a) <{" + attributes + R"(}> ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>)";
}

constexpr std::string_view kChannel =
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

// The program on the grid, and its rewrite on as many replicas, give the same numbers.
void expect_same(const Module& module, const ProcessGrid& grid) {
  std::vector<std::vector<Tensor>> arguments;
  for (int64_t process = 0; process < grid.size(); ++process) {
    const auto value = static_cast<float>(process);
    arguments.push_back({Tensor::of<float>({4}, {value, 10 + value, 20 + value, 30 + value})});
  }
  const auto expected = evaluate_parallel(module.entry(), grid, arguments);
  const auto rewritten = module.clone();
  partitions_as_replicas(*rewritten, grid);
  verify(*rewritten);
  const auto actual = evaluate_replicated(*rewritten, arguments);
  for (size_t process = 0; process < expected.size(); ++process) {
    EXPECT_TRUE(actual[process][0].identical(expected[process][0]))
        << print(*rewritten, {.pretty = true}) << "process " << process;
  }
}

TEST(PartitionsAsReplicas, GroupsOfEachKind) {
  const std::string channel(kChannel);
  const std::string flat = channel + ", use_global_device_ids";
  for (const std::string& attributes :
       {std::string("replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"),
        std::string("replica_groups = dense<> : tensor<0x0xi64>"),
        "replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, " + channel,
        "replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, " + channel,
        "replica_groups = dense<[[0, 5], [1, 4], [2, 3]]> : tensor<3x2xi64>, " + flat,
        "replica_groups = dense<[[0, 5, 2, 3], [1, 4, -1, -1]]> : tensor<2x4xi64>, " + flat}) {
    expect_same(*program(all_reduce(attributes)), {.num_replicas = 2, .num_partitions = 3});
  }
}

TEST(PartitionsAsReplicas, OtherCollectives) {
  const std::string channel(kChannel);
  const ProcessGrid grid{.num_replicas = 2, .num_partitions = 2};
  expect_same(*program("%0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, "
                       "replica_groups = dense<[[0, 3], [2, 1]]> : tensor<2x2xi64>, " +
                           channel + ", use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>",
                       "8xf32"),
              grid);
  for (const std::string& where : {std::string(), ", " + channel}) {
    expect_same(*program("%0 = \"stablehlo.all_to_all\"(%a) <{split_dimension = 0 : i64, "
                         "concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = "
                         "dense<[[1, 0]]> : tensor<1x2xi64>" +
                         where + "}> : (tensor<4xf32>) -> tensor<4xf32>"),
                grid);
    expect_same(*program("%0 = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = "
                         "dense<[[0, 1]]> : tensor<1x2xi64>" +
                         where + "}> : (tensor<4xf32>) -> tensor<4xf32>"),
                grid);
    expect_same(*program("%0 = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = "
                         "dense<[[1, 0]]> : tensor<1x2xi64>" +
                         where + "}> : (tensor<4xf32>) -> tensor<4xf32>"),
                grid);
  }
}

TEST(PartitionsAsReplicas, Ids) {
  const ProcessGrid grid{.num_replicas = 2, .num_partitions = 3};
  for (const std::string id : {"replica_id", "partition_id"}) {
    expect_same(*program("%i = stablehlo." + id +
                         " : tensor<ui32>\n"
                         "%f = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
                         "%b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> "
                         "tensor<4xf32>\n%0 = stablehlo.add %a, %b : tensor<4xf32>"),
                grid);
  }
}

TEST(PartitionsAsReplicas, RefusesIdsBeyondTheGrid) {
  const auto module = program(
      "%0 = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 2]]> : "
      "tensor<1x2xi64>, " +
      std::string(kChannel) + "}> : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(
      error_of([&] { partitions_as_replicas(*module, {.num_replicas = 2, .num_partitions = 2}); }),
      "INVALID_ARGUMENT: collective_permute: source_target_pairs, got id 2, expected below "
      "2");
}

int count_calls(const std::string& attributes) {
  const auto module = parse(
      "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
      "%0 = stablehlo.custom_call @f(%a) {" +
      attributes +
      "} : (tensor<2xf32>) -> tensor<2xf32>\n%1 = stablehlo.add %0, %b : tensor<2xf32>\nreturn %0, "
      "%1 : tensor<2xf32>, tensor<2xf32>\n}");
  const auto vectorized =
      vectorize_replicas(*module, {.num_replicas = 3, .replicated_parameters = {true, false}});
  verify(*vectorized.module);
  int count = 0;
  for (const Instruction* x : vectorized.module->entry().instructions()) {
    count += x->is(Opcode::custom_call) ? 1 : 0;
  }
  return count;
}

// A branch that one replica takes and that gives nothing is there for what it does.
TEST(VectorizeReplicas, BranchesWithoutResults) {
  const auto module = parse(R"(func.func @main(%a: tensor<2xf32>) {
  %r = stablehlo.replica_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %first = stablehlo.compare EQ, %r, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  "stablehlo.if"(%first) ({
    stablehlo.custom_call @f(%a) {has_side_effect = true} : (tensor<2xf32>) -> ()
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
})");
  const auto vectorized = vectorize_replicas(*module, {.num_replicas = 2});
  verify(*vectorized.module);
  EXPECT_NE(print(*vectorized.module).find("\"f\""), std::string::npos)
      << print(*vectorized.module);
}

// A token comes after what every replica did.
TEST(VectorizeReplicas, BranchesWithTokens) {
  const auto module =
      parse(R"(func.func @main(%t: !stablehlo.token, %a: tensor<2xf32>) -> !stablehlo.token {
  %r = stablehlo.replica_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %first = stablehlo.compare EQ, %r, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %0 = "stablehlo.if"(%first) ({
    %1 = stablehlo.custom_call @f(%t, %a) {has_side_effect = true} : (!stablehlo.token, tensor<2xf32>) -> !stablehlo.token
    stablehlo.return %1 : !stablehlo.token
  }, {
    %1 = stablehlo.after_all : !stablehlo.token
    stablehlo.return %1 : !stablehlo.token
  }) : (tensor<i1>) -> !stablehlo.token
  return %0 : !stablehlo.token
})");
  const auto vectorized = vectorize_replicas(*module, {.num_replicas = 2});
  verify(*vectorized.module);
  const Instruction* const token = vectorized.module->entry().results()[0].def;
  EXPECT_TRUE(token->is(Opcode::after_all)) << print(*vectorized.module);
  EXPECT_EQ(token->num_operands(), 2);
}

// Without side effects a target is called once for values that all replicas have.
TEST(VectorizeReplicas, CustomCallsOfUniformValues) {
  EXPECT_EQ(count_calls("has_side_effect = false"), 1);
  EXPECT_EQ(count_calls("has_side_effect = true"), 3);
}

}  // namespace
}  // namespace systole::hlo
