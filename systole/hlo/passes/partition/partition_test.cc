// Programs that several devices share give the results of the whole program.
#include "systole/hlo/passes/partition/partition.h"

#include <gmock/gmock.h>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/sanitized.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/example_program.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/bombs.h"
#include "systole/hlo/testing/partitioned.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

using systole::testing::kSanitized;
using ::testing::HasSubstr;

// -- Whole programs

TEST(Partition, RandomProgramsEqualTheWhole) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomModule random = random_module(seed, {.instructions = 30, .max_dim = 8});
    const int num_devices = 2 << seed % 3;
    shard_randomly(*random.module, num_devices, seed);
    verify(*random.module);
    ASSERT_EQ(partition_difference(*random.module, num_devices, seed, nullptr, random.tolerances),
              "")
        << seed << "\n"
        << print(*random.module);
  }
}

// Whether one device can run the program: it needs no other, and no target that only others know.
bool runs_alone(const Module& module) {
  for (const Instruction* x : module.entry().instructions()) {
    const bool meets_others = x->traits().has(kSideEffect) && !x->is(Opcode::rng);
    if (meets_others || x->is(Opcode::custom_call) || x->is(Opcode::partition_id)) return false;
  }
  return true;
}

TEST(Partition, ExamplesOfAllOpcodesEqualTheWhole) {
  std::set<std::string_view> done;
  for (int i = 0; i < kNumOpcodes; ++i) {
    for (const DType dtype : {DType::f32, DType::s32, DType::pred, DType::c64}) {
      const std::string text = example_program(static_cast<Opcode>(i), dtype);
      std::unique_ptr<Module> module;
      try {
        module = text.empty() ? nullptr : parse(text);
      } catch (const Error&) {
        continue;  // not for this type
      }
      if (module == nullptr || !runs_alone(*module)) continue;
      for (uint64_t seed = 0; seed < 3; ++seed) {
        const auto sharded = module->clone();
        shard_randomly(*sharded, 4, seed);
        ASSERT_EQ(partition_difference(*sharded, 4, seed), "") << text;
      }
      done.insert(to_string(static_cast<Opcode>(i)));
    }
  }
  EXPECT_GE(done.size(), 85U);
}

// Returns the partitioned program as text, without the attributes of its signature.
std::string partitioned_text(const std::string& text, int num_devices) {
  auto partitioned = partition(*parse(text), num_devices);
  verify(*partitioned.module);
  partitioned.module->entry().attributes() = {};
  return print(*partitioned.module, {.pretty = true});
}

// What is written between the braces of main, for these parameters on two devices.
std::string body_on_two(const std::string& parameters, const std::string& result,
                        const std::string& body) {
  const std::string text =
      partitioned_text("module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(" + parameters +
                           ") -> " + result + " {\n" + body + "\n  }\n}\n",
                       2);
  const size_t begin = text.find("{\n    ") + 2;
  return text.substr(begin, text.rfind("  }\n}") - begin);
}

TEST(PartitionText, ContractedAxisIsAddedUp) {
  EXPECT_EQ(
      body_on_two(
          R"(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x2xf32>)",
          "tensor<4x2xf32>",
          R"(%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
return %r : tensor<4x2xf32>)"),
      R"(    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = "stablehlo.all_reduce"(%0) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
)");
}

TEST(PartitionText, AnAxisThatMovesIsExchanged) {
  EXPECT_EQ(
      body_on_two(R"(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})",
                  R"((tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}))",
                  "return %a : tensor<4x8xf32>"),
      R"(    %0 = "stablehlo.all_to_all"(%arg0) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<4x4xf32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
)");
}

TEST(PartitionText, ASumThatIsSplitIsScattered) {
  const std::string body = body_on_two(
      R"(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})",
      R"((tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}))",
      R"(%r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
return %r : tensor<4x2xf32>)");
  EXPECT_THAT(body, HasSubstr("contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>)"));
  EXPECT_THAT(body, HasSubstr("\"stablehlo.reduce_scatter\"(%0)"));
  EXPECT_THAT(body, HasSubstr("(tensor<4x2xf32>) -> tensor<2x2xf32>\n    return"));
}

TEST(PartitionText, OneDeviceCallsATargetWithASideEffect) {
  EXPECT_EQ(
      body_on_two(
          R"(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})", "tensor<4xf32>",
          R"(%r = stablehlo.custom_call @write(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
return %r : tensor<4xf32>)"),
      R"(    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<2xf32>) -> tensor<4xf32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.constant dense<0> : tensor<ui32>
    %3 = stablehlo.compare EQ, %1, %2 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %4 = "stablehlo.if"(%3) ({
      %5 = stablehlo.custom_call @write(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %5 : tensor<4xf32>
    }, {
      %6 = stablehlo.constant dense<0.0> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<4xf32>
      stablehlo.return %7 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %8 = "stablehlo.collective_broadcast"(%4) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>} : (tensor<4xf32>) -> tensor<4xf32>
    return %8 : tensor<4xf32>
)");
  EXPECT_EQ(body_on_two("%a: tensor<4xf32>", "tensor<4xf32>",
                        R"(%r = stablehlo.custom_call @solve(%a) : (tensor<4xf32>) -> tensor<4xf32>
return %r : tensor<4xf32>)"),
            R"(    %0 = stablehlo.custom_call @solve(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
)");
}

TEST(PartitionText, EachDeviceCallsATargetOnItsPartThatSaysSo) {
  EXPECT_EQ(
      body_on_two(
          R"(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})", "tensor<4xf32>",
          R"(stablehlo.custom_call @print(%a) {has_side_effect = true, systole.on_parts = true} : (tensor<4xf32>) -> ()
return %a : tensor<4xf32>)"),
      R"(    stablehlo.custom_call @print(%arg0) {has_side_effect = true, systole.on_parts = true} : (tensor<2xf32>) -> ()
    return %arg0 : tensor<2xf32>
)");
}

TEST(Partition, TellsHowValuesAreSplitThatAreInspected) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<4x4xf32> "
      "{sdy.sharding "
      "= #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> tensor<4x4xf32> {\n"
      "%0 = stablehlo.add %a, %a : tensor<4x4xf32>\n"
      "%1 = stablehlo.custom_call @InspectSharding(%0) {has_side_effect = true, backend_config = "
      "\"7\"} : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "return %0 : tensor<4x4xf32>\n}\n}\n");
  const PartitionedModule result = partition(*module, 2);
  ASSERT_EQ(result.inspected.size(), 1U);
  EXPECT_EQ(result.inspected[0].key, "\"7\"");
  EXPECT_EQ(result.inspected[0].sharding.to_string(), "#sdy.sharding<@mesh, [{}, {\"x\"}]>");
  EXPECT_THAT(print(*result.module), Not(HasSubstr("InspectSharding")));
}

// The call gets its operand by rows, and tells its result as a sum over all rows.
TEST(Partition, CustomCallsAreComputedAsTheirOwnersSay) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<4x2xf32> "
      "{sdy.sharding "
      "= #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> (tensor<2xf32> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
      "%0 = stablehlo.custom_call @CustomSPMDPartitioning(%a) {sdy.sharding_rule = "
      "#sdy.op_sharding_rule<([i, j])->([j]) {i=4, j=2} reduction={i}, custom>} : "
      "(tensor<4x2xf32>) -> tensor<2xf32>\n"
      "return %0 : tensor<2xf32>\n}\n}\n");
  const auto partition_call = [](const std::string& program) {
    return [=](const Instruction&, std::span<const Sharding> operands,
               std::span<const Sharding> results) {
      EXPECT_EQ(operands[0].num_shards(1), 2);
      EXPECT_EQ(results[0].num_shards(0), 2);
      return CustomPartition{.program = parse(program),
                             .operands = {parse_sharding("{devices=[2,1]<=[2]}", {}, 2)},
                             .results = {parse_sharding("{replicated}", {}, 1)}};
    };
  };
  const std::string sums = R"(module {
  func.func @main(%a: tensor<2x2xf32>) -> tensor<2xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = call @over_all(%0) : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @over_all(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})";
  const PartitionedModule result =
      partition(*module, 2, {.custom_partitioner = partition_call(sums)});
  verify(*result.module);
  const std::vector<std::vector<Tensor>> columns = {{Tensor::of<float>({4, 1}, {1, 2, 3, 4})},
                                                    {Tensor::of<float>({4, 1}, {10, 20, 30, 40})}};
  const auto values = evaluate_parallel(result.module->entry(), {.num_partitions = 2}, columns);
  EXPECT_EQ(values[0][0].item<float>(), 10);
  EXPECT_EQ(values[1][0].item<float>(), 100);

  const std::string whole = R"(func.func @main(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  return %a : tensor<4x2xf32>
})";
  EXPECT_THAT(systole::testing::error_of(
                  [&] { partition(*module, 2, {.custom_partitioner = partition_call(whole)}); }),
              HasSubstr("operands 0 of its partition, got f32[4,2], expected f32[2,2]"));
  EXPECT_THAT(systole::testing::error_of([&] { partition(*module, 2); }),
              HasSubstr("got no client that computes its parts"));
}

TEST(PartitionText, WithoutShardingsEachDeviceComputesAll) {
  EXPECT_EQ(body_on_two("%a: tensor<4xf32>", "tensor<4xf32>",
                        "%0 = stablehlo.tanh %a : tensor<4xf32>\nreturn %0 : tensor<4xf32>"),
            "    %0 = stablehlo.tanh %arg0 : tensor<4xf32>\n    return %0 : tensor<4xf32>\n");
}

// -- Manual computations

// Runs a program on devices, and `whole` on one.
std::string manual_difference(const std::string& text, const std::string& whole, int num_devices) {
  const auto expected = parse(whole);
  return partition_difference(*parse(text), num_devices, 5, expected.get());
}

const std::string kMesh = "module {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n";
const std::string kSum =
    "({\n^bb0(%s: tensor<f32>, %t: tensor<f32>):\n  %u = stablehlo.add %s, %t : tensor<f32>\n"
    "  stablehlo.return %u : tensor<f32>\n})";
const std::string kChannel =
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids";

std::string to_local(const std::string& name, const std::string& operand,
                     const std::string& sharding, const std::string& axes, const std::string& from,
                     const std::string& to) {
  return "    %" + name + " = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%" + operand +
         ") {sdy.in_shardings = #sdy.sharding_per_value<[<@mesh, " + sharding +
         ">]>, sdy.manual_axes = #sdy<manual_axes{" + axes + "}>} : (tensor<" + from +
         ">) -> tensor<" + to + ">\n";
}
std::string to_global(const std::string& name, const std::string& operand,
                      const std::string& sharding, const std::string& axes, const std::string& from,
                      const std::string& to) {
  return "    %" + name + " = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%" + operand +
         ") {sdy.out_shardings = #sdy.sharding_per_value<[<@mesh, " + sharding +
         ">]>, sdy.manual_axes = #sdy<manual_axes{" + axes + "}>} : (tensor<" + from +
         ">) -> tensor<" + to + ">\n";
}

TEST(PartitionManual, BodyRunsOnEachDevice) {
  const std::string text =
      kMesh + "func.func @main(%a: tensor<8x8xf32>) -> tensor<1x2xf32> {\n" +
      to_local("l", "a", R"([{"x"}, {"y"}])", R"("x", "y")", "8x8xf32", "4x2xf32") +
      "    %r = func.call @body(%l) : (tensor<4x2xf32>) -> tensor<1x2xf32>\n" +
      to_global("g", "r", "[{}, {}]", R"("x", "y")", "1x2xf32", "1x2xf32") +
      "    return %g : tensor<1x2xf32>\n  }\n"
      "func.func private @body(%a: tensor<4x2xf32>) -> tensor<1x2xf32> attributes {sdy.manual_axes "
      "= #sdy<manual_axes{\"x\", \"y\"}>} {\n"
      "%0 = \"stablehlo.all_reduce\"(%a) " +
      kSum + " {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, " + kChannel +
      "} : (tensor<4x2xf32>) -> tensor<4x2xf32>\n"
      "%1 = stablehlo.slice %0 [0:1, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>\n"
      "return %1 : tensor<1x2xf32>\n}\n}\n";
  const std::string whole =
      "func.func @main(%a: tensor<8x8xf32>) -> tensor<1x2xf32> {\n"
      "%0 = stablehlo.reshape %a : (tensor<8x8xf32>) -> tensor<2x4x4x2xf32>\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 2] : "
      "(tensor<2x4x4x2xf32>, tensor<f32>) -> tensor<4x2xf32>\n"
      "%2 = stablehlo.slice %1 [0:1, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>\n"
      "return %2 : tensor<1x2xf32>\n}\n";
  EXPECT_EQ(manual_difference(text, whole, 8), "");
}

// Manual over x: y splits the body's arrays as propagation says.
TEST(PartitionManual, OtherAxesAreSplitInTheBody) {
  const std::string text =
      kMesh +
      "func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, "
      "{\"y\"}]>}, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {\n" +
      to_local("l", "a", R"([{"x"}, {?}])", R"("x")", "8x8xf32", "4x8xf32") +
      to_local("m", "b", R"([{?}, {?}])", R"("x")", "8x4xf32", "8x4xf32") +
      "    %r = func.call @body(%l, %m) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>\n" +
      to_global("g", "r", "[{?}, {?}]", R"("x")", "4x4xf32", "4x4xf32") +
      "    return %g : tensor<4x4xf32>\n  }\n"
      "func.func private @body(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> "
      "attributes {sdy.manual_axes = #sdy<manual_axes{\"x\"}>} {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, "
      "tensor<8x4xf32>) -> tensor<4x4xf32>\n"
      "%1 = \"stablehlo.all_reduce\"(%0) " +
      kSum + " {replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, " +
      kChannel +
      "} : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "return %1 : tensor<4x4xf32>\n}\n}\n";
  const std::string whole =
      "func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, "
      "tensor<8x4xf32>) -> tensor<8x4xf32>\n"
      "%1 = stablehlo.slice %0 [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>\n"
      "%2 = stablehlo.slice %0 [4:8, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>\n"
      "%3 = stablehlo.add %1, %2 : tensor<4x4xf32>\n"
      "return %3 : tensor<4x4xf32>\n}\n";
  EXPECT_EQ(manual_difference(text, whole, 8), "");
  // The contracted axis stays split over y.
  EXPECT_THAT(print(*partition(*parse(text), 8).module),
              HasSubstr("(tensor<4x2xf32>, tensor<2x4xf32>)"));
}

// y is manual within x; the inner body tells its place along y.
TEST(PartitionManual, Nested) {
  const std::string text =
      kMesh + "func.func @main(%a: tensor<8x8xi32>) -> tensor<8x8xi32> {\n" +
      to_local("l", "a", R"([{"x"}, {?}])", R"("x")", "8x8xi32", "4x8xi32") +
      "    %r = func.call @outer(%l) : (tensor<4x8xi32>) -> tensor<4x8xi32>\n" +
      to_global("g", "r", R"([{"x"}, {?}])", R"("x")", "4x8xi32", "8x8xi32") +
      "    return %g : tensor<8x8xi32>\n  }\n"
      "func.func private @outer(%a: tensor<4x8xi32>) -> tensor<4x8xi32> attributes "
      "{sdy.manual_axes = #sdy<manual_axes{\"x\"}>} {\n" +
      to_local("l", "a", R"([{}, {"y"}])", R"("y")", "4x8xi32", "4x2xi32") +
      "    %r = func.call @inner(%l) : (tensor<4x2xi32>) -> tensor<4x2xi32>\n" +
      to_global("g", "r", R"([{}, {"y"}])", R"("y")", "4x2xi32", "4x8xi32") +
      "    return %g : tensor<4x8xi32>\n  }\n"
      "func.func private @inner(%a: tensor<4x2xi32>) -> tensor<4x2xi32> attributes "
      "{sdy.manual_axes = #sdy<manual_axes{\"y\"}>} {\n"
      "%0 = stablehlo.partition_id : tensor<ui32>\n"
      "%1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>\n"
      "%2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<4x2xi32>\n"
      "%3 = stablehlo.add %a, %2 : tensor<4x2xi32>\nreturn %3 : tensor<4x2xi32>\n}\n}\n";
  const std::string whole =
      "func.func @main(%a: tensor<8x8xi32>) -> tensor<8x8xi32> {\n"
      "%0 = stablehlo.iota dim = 0 : tensor<8xi32>\n"
      "%1 = stablehlo.reshape %0 : (tensor<8xi32>) -> tensor<2x4xi32>\n"
      "%2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<2x4xi32>) -> "
      "tensor<2x4x4x2xi32>\n"
      "%3 = stablehlo.reshape %2 : (tensor<2x4x4x2xi32>) -> tensor<8x8xi32>\n"
      "%4 = stablehlo.add %a, %3 : tensor<8x8xi32>\nreturn %4 : tensor<8x8xi32>\n}\n";
  EXPECT_EQ(manual_difference(text, whole, 8), "");
}

// -- Other texts, and bad ones

TEST(Partition, MeshesWithOtherNamesAndOrdersAndGspmd) {
  for (const auto& [parameter, result] : std::vector<std::pair<std::string, std::string>>{
           {"sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>",
            "sdy.sharding = #sdy.sharding<@other, [{\"a\", \"b\"}, {}]>"},
           {"mhlo.sharding = \"{devices=[2,2,2]<=[8] last_tile_dim_replicate}\"",
            "mhlo.sharding = \"{devices=[8,1]<=[2,4]T(1,0)}\""},
           {"mhlo.sharding = \"{devices=[4,2]<=[2,4]T(1,0)}\"",
            "sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, {\"x\"}]>"},
           {"mhlo.sharding = \"{maximal device=3}\"", "mhlo.sharding = \"{replicated}\""},
           {"sdy.sharding = #sdy.sharding<@turned, [{\"x\"}, {\"y\"}]>",
            "sdy.sharding = #sdy.sharding<@turned, [{\"y\"}, {\"x\"}]>"},
       }) {
    const std::string text =
        "module {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n  sdy.mesh @other = <[\"a\"=4, "
        "\"b\"=2]>\n  sdy.mesh @turned = <[\"x\"=2, \"y\"=4], device_ids=[7, 1, 2, 3, 4, 0, 5, "
        "6]>\n"
        "  func.func @main(%a: tensor<8x8xf32> {" +
        parameter + "}) -> (tensor<8x8xf32> {" + result +
        "}) {\n%0 = stablehlo.tanh %a : tensor<8x8xf32>\nreturn %0 : tensor<8x8xf32>\n}\n}\n";
    EXPECT_EQ(partition_difference(*parse(text), 8, 1), "") << text;
  }
}

TEST(Partition, TellsWhatPropagationChose) {
  const auto module = parse(
      kMesh +
      R"(func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {?}]>}, %b: tensor<8x6xf32>) -> (tensor<6x8xf32>, tensor<6xf32>) {
    %0 = stablehlo.add %a, %b : tensor<8x6xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %2 = stablehlo.slice %0 [0:1, 0:6] : (tensor<8x6xf32>) -> tensor<1x6xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x6xf32>) -> tensor<6xf32>
    return %1, %3 : tensor<6x8xf32>, tensor<6xf32>
  }
}
)");
  const PartitionedModule partitioned = partition(*module, 8);
  EXPECT_EQ(partitioned.parameters[1].to_string(), R"(#sdy.sharding<@mesh, [{"y"}, {}]>)");
  EXPECT_EQ(partitioned.results[0].to_string(), R"(#sdy.sharding<@mesh, [{}, {"y"}]>)");
  EXPECT_EQ(partitioned.results[1].to_string(), R"(#sdy.sharding<@mesh, [{}]>)");
  EXPECT_EQ(partitioned.module->entry().attributes().results[0]["sdy.sharding"],
            partitioned.results[0].to_string());
  const PartitionedModule fixed =
      partition(*module, 8,
                {.propagate_to_parameters = {true, false}, .propagate_to_results = {false, true}});
  EXPECT_TRUE(fixed.parameters[1].is_replicated());
  EXPECT_TRUE(fixed.results[0].is_replicated());
}

// Two replicas of two partitions add up over both.
TEST(Partition, ReplicasOfPartitions) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<4xf32> {sdy.sharding "
      "= "
      "#sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<f32> {\n%z = stablehlo.constant dense<0.0> : "
      "tensor<f32>\n%0 = \"stablehlo.all_reduce\"(%a) " +
      kSum +
      " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n"
      "%1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\nreturn %1 : tensor<f32>\n}\n}\n");
  const PartitionedModule partitioned = partition(*module, 2, {.num_replicas = 2});
  verify(*partitioned.module);
  const std::vector<std::vector<Tensor>> arguments = {{Tensor::of<float>({2}, {1, 2})},
                                                      {Tensor::of<float>({2}, {10, 20})},
                                                      {Tensor::of<float>({2}, {100, 200})},
                                                      {Tensor::of<float>({2}, {1000, 2000})}};
  for (const auto& results : evaluate_parallel(partitioned.module->entry(), {2, 2}, arguments)) {
    EXPECT_EQ(results[0].item<float>(), 3333);
  }
}

// A target that may be called for a part of a batch: the matrices themselves are whole.
TEST(PartitionText, CustomCallsFollowTheirRules) {
  const auto text = [](const std::string& sharding) {
    return body_on_two(
        "%a: tensor<4x6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, " + sharding + ">}",
        "(tensor<4x6x2xf32>, tensor<4xi32>)",
        "    %0:2 = stablehlo.custom_call @factor(%a) {sdy.sharding_rule = "
        "#sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=4, j=6, k=2, l=6, m=2}, custom>} : "
        "(tensor<4x6x2xf32>) -> (tensor<4x6x2xf32>, tensor<4xi32>)\n    return %0#0, %0#1 : "
        "tensor<4x6x2xf32>, tensor<4xi32>");
  };
  const std::string batch = text("[{\"x\"}, {}, {}]");
  EXPECT_THAT(batch, HasSubstr("(tensor<2x6x2xf32>) -> (tensor<2x6x2xf32>, tensor<2xi32>)"));
  EXPECT_THAT(batch, Not(HasSubstr("all_gather")));
  const std::string rows = text("[{}, {\"x\"}, {}]");
  EXPECT_THAT(rows, HasSubstr("(tensor<4x6x2xf32>) -> (tensor<4x6x2xf32>, tensor<4xi32>)"));
  EXPECT_THAT(rows, HasSubstr("all_gather"));
}

TEST(PartitionText, ReversedAxesAreMirrored) {
  const std::string text = body_on_two(
      "%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}", "tensor<4xf32>",
      "    %0 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>\n    return %0 : tensor<4xf32>");
  EXPECT_THAT(text, HasSubstr("stablehlo.reverse"));
  EXPECT_THAT(text, HasSubstr("source_target_pairs = dense<[[0, 1], [1, 0]]>"));
  EXPECT_THAT(text, Not(HasSubstr("all_gather")));
}

// An axis without elements is not split, also where a manual computation says so.
TEST(PartitionManual, NoElements) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<2x4xf32> "
      "{sdy.sharding "
      "= #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> tensor<2x0xf32> {\n%0 = "
      "sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {\"x\"}]>] out_shardings=[<@mesh, "
      "[{}, "
      "{\"x\"}]>] manual_axes={\"x\"} (%b: tensor<2x2xf32>) {\n%1 = stablehlo.slice %b [0:2, 2:2] "
      ": "
      "(tensor<2x2xf32>) -> tensor<2x0xf32>\nsdy.return %1 : tensor<2x0xf32>\n} : "
      "(tensor<2x4xf32>) -> tensor<2x0xf32>\nreturn %0 : tensor<2x0xf32>\n}\n}\n");
  const PartitionedModule partitioned = partition(*module, 2);
  verify(*partitioned.module);
}

// -- Sums that are not added up

// Returns the results of `num_devices` devices for their arguments.
std::vector<std::vector<Tensor>> run_on(const Module& module, int num_devices,
                                        const std::vector<std::vector<Tensor>>& arguments) {
  const PartitionedModule partitioned = partition(module, num_devices);
  verify(*partitioned.module);
  return evaluate_parallel(partitioned.module->entry(), {.num_partitions = num_devices}, arguments);
}

TEST(PartitionUnreduced, ProductsGiveTermsAndResharesAddThemUp) {
  const std::string head = "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(";
  const std::string product =
      "%a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}, %b: "
      "tensor<4x2xf32> "
      "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (tensor<2x2xf32> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{}, {}], unreduced={\"x\"}>}) {\n%0 = stablehlo.dot_general %a, %b, "
      "contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>\n"
      "%1 = stablehlo.add %0, %0 : tensor<2x2xf32>\nreturn %1 : tensor<2x2xf32>\n}\n}\n";
  const auto module = parse(head + product);
  EXPECT_THAT(print(*partition(*module, 2).module), Not(HasSubstr("all_reduce")));
  const Tensor left = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor right = Tensor::of<float>({2, 2}, {5, 6, 7, 8});
  const auto terms = run_on(*module, 2, {{left, left}, {right, right}});
  EXPECT_TRUE(terms[0][0].identical(Tensor::of<float>({2, 2}, {14, 20, 30, 44})));
  EXPECT_TRUE(terms[1][0].identical(Tensor::of<float>({2, 2}, {134, 156, 182, 212})));

  // The sum split by the axis that it is added up over is scattered.
  const auto reshard = parse(
      head +
      "%a: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={\"x\"}>}) -> "
      "(tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) {\nreturn %a : "
      "tensor<2x2xf32>\n}\n}\n");
  EXPECT_THAT(print(*partition(*reshard, 2).module), HasSubstr("reduce_scatter"));
  const auto sums = run_on(*reshard, 2, {{terms[0][0]}, {terms[1][0]}});
  EXPECT_TRUE(sums[0][0].identical(Tensor::of<float>({1, 2}, {148, 176})));
  EXPECT_TRUE(sums[1][0].identical(Tensor::of<float>({1, 2}, {212, 256})));
}

// A value that is split over the devices becomes a sum of its parts, without an exchange.
TEST(PartitionUnreduced, PartsBecomeTerms) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<2xf32> {sdy.sharding "
      "= "
      "#sdy.sharding<@mesh, [{\"x\"}]>}) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, "
      "[{}], unreduced={\"x\"}>}) {\nreturn %a : tensor<2xf32>\n}\n}\n");
  const auto terms =
      run_on(*module, 2, {{Tensor::of<float>({1}, {3})}, {Tensor::of<float>({1}, {4})}});
  EXPECT_TRUE(terms[0][0].identical(Tensor::of<float>({2}, {3, 0})));
  EXPECT_TRUE(terms[1][0].identical(Tensor::of<float>({2}, {0, 4})));
}

// The first device of each sum has the value, the others zeros.
TEST(PartitionUnreduced, AWholeValueBecomesTheFirstTerm) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n  func.func @main(%a: tensor<2xf32> "
      "{sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}]>}) -> (tensor<2xf32> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{\"y\"}], unreduced={\"x\"}>}) {\nreturn %a : tensor<2xf32>\n}\n}\n");
  const std::vector<Tensor> left = {Tensor::of<float>({1}, {3})};
  const std::vector<Tensor> right = {Tensor::of<float>({1}, {4})};
  const auto terms = run_on(*module, 4, {left, right, left, right});
  EXPECT_EQ(terms[0][0].item<float>(), 3);
  EXPECT_EQ(terms[1][0].item<float>(), 4);
  EXPECT_EQ(terms[2][0].item<float>(), 0);
  EXPECT_EQ(terms[3][0].item<float>(), 0);
}

// What a loop adds up stays terms; one all_reduce behind the loop adds them up.
TEST(PartitionUnreduced, LoopsCarryTerms) {
  const auto module = parse(
      "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<4xf32> {sdy.sharding "
      "= "
      "#sdy.sharding<@mesh, [{\"x\"}]>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, "
      "[]>}) {\n%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%i = stablehlo.constant dense<0> : tensor<i32>\n%n = stablehlo.constant dense<3> : "
      "tensor<i32>\n%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "%t = stablehlo.custom_call @Sharding(%z) {sdy.sharding = #sdy.sharding<@mesh, [], "
      "unreduced={\"x\"}>} : (tensor<f32>) -> tensor<f32>\n"
      "%r:2 = stablehlo.while(%k = %i, %s = %t) : tensor<i32>, tensor<f32>\ncond {\n"
      "%c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "stablehlo.return %c : tensor<i1>\n} do {\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
      "%1 = stablehlo.add %0, %s : tensor<f32>\n%2 = stablehlo.add %k, %one : tensor<i32>\n"
      "stablehlo.return %2, %1 : tensor<i32>, tensor<f32>\n}\nreturn %r#1 : tensor<f32>\n}\n}\n");
  const std::string text = print(*partition(*module, 2).module);
  const size_t first = text.find("stablehlo.all_reduce");
  EXPECT_GT(first, text.find("stablehlo.while"));
  EXPECT_EQ(text.find("stablehlo.all_reduce", first + 1), std::string::npos) << text;
  const auto sums =
      run_on(*module, 2, {{Tensor::of<float>({2}, {1, 2})}, {Tensor::of<float>({2}, {3, 4})}});
  for (const auto& results : sums) EXPECT_EQ(results[0].item<float>(), 30);
}

// -- Errors

std::string partition_error(const std::string& text, int num_devices) {
  try {
    const auto module = parse(text);
    partition(*module, num_devices);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Partition, RefusesWhatDoesNotFit) {
  const auto with = [](const std::string& sharding) {
    return kMesh + "func.func @main(%a: tensor<6x8xf32> {sdy.sharding = " + sharding +
           "}) -> tensor<6x8xf32> {\nreturn %a : tensor<6x8xf32>\n}\n}\n";
  };
  EXPECT_THAT(partition_error(with("#sdy.sharding<@mesh, [{\"y\"}, {}]>"), 8),
              HasSubstr("size of axis 0, got 6 in [6,8], expected a multiple of 4, parameter 0"));
  EXPECT_THAT(partition_error(with("#sdy.sharding<@mesh, [{\"x\"}, {}]>"), 4),
              HasSubstr("mesh, got 8 devices"));
  EXPECT_THAT(partition_error(with("#sdy.sharding<@mesh, [{\"x\"}]>"), 8), HasSubstr("got 1"));
  EXPECT_THAT(
      partition_error(with("#sdy.sharding<mesh<[\"a\"=8], device_ids=[3, 0, 1, 2, 4, 6, 5, 7]>, "
                           "[{}, {\"a\"}]>"),
                      8),
      "");
  EXPECT_THAT(partition_error("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n%0 = "
                              "\"stablehlo.all_reduce\"(%a) " +
                                  kSum + " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, " +
                                  kChannel +
                                  "} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : "
                                  "tensor<4xf32>\n}",
                              2),
              HasSubstr("UNIMPLEMENTED: all_reduce: in a program for several partitions"));
  const auto with_rule = [](const std::string& rule) {
    return "module {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func @main(%a: tensor<4xf32>) -> "
           "tensor<4xf32> {\n%0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = "
           "#sdy.op_sharding_rule<" +
           rule + ">} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n}\n";
  };
  EXPECT_EQ(partition_error(with_rule("([ij])->([ij]) {i=2, j=2}, custom"), 2), "");
  for (const char* const rule :
       {"([i])->([i]) {i=3}", "([i])->([i]) {}", "([i, j])->([i]) {i=4, j=1}", "([i])->() {i=4}",
        "([i])->([i]) {i=-4}", "([i]", "([i])->([i]) {i=4} friend={i}",
        "([ij])->([i]) {i=4, j=0}"}) {
    EXPECT_THAT(partition_error(with_rule(rule), 2),
                HasSubstr("INVALID_ARGUMENT: sdy.sharding_rule"))
        << rule;
  }
  EXPECT_THAT(partition_error("func.func @main() -> tensor<ui32> {\n%0 = stablehlo.partition_id : "
                              "tensor<ui32>\nreturn %0 : tensor<ui32>\n}",
                              2),
              HasSubstr("UNIMPLEMENTED: partition_id"));
  EXPECT_THAT(partition_error(with("#sdy.sharding<@mesh, [{}, {}]>"), 0), HasSubstr("got 0"));
  const std::string wrong_part = kMesh + "func.func @main(%a: tensor<8xf32>) -> tensor<3xf32> {\n" +
                                 to_local("l", "a", R"([{"x"}])", R"("x")", "8xf32", "3xf32") +
                                 "return %l : tensor<3xf32>\n}\n}\n";
  EXPECT_THAT(partition_error(wrong_part, 8), HasSubstr("part, got [3] of [8]"));
}

// Programs that cost a careless compiler time or its stack; each value is split over x at first.
TEST(Partition, HostilePrograms) {
  const auto run = [](const std::string& program, int num_devices) {
    return on_stack_of(size_t{kSanitized ? 8 : 1} << 20, [&] {
      const auto module = parse(program);
      module->attributes["sdy.mesh @mesh"] = "<[\"x\"=2, \"y\"=2]>";
      module->entry().attributes().parameters[0]["sdy.sharding"] =
          "#sdy.sharding<@mesh, [{\"x\", ?}]>";
      verify(*partition(*module, num_devices).module);
    });
  };
  for (const bool composites : {false, true}) {
    EXPECT_THAT(run(doubling_calls(40, composites), 4),
                HasSubstr("RESOURCE_EXHAUSTED: partition: ops at a time"));
  }
  EXPECT_EQ(run(chain_of_calls(kSanitized ? 1000 : 10000), 4), "");
  EXPECT_EQ(run(chain_of_ops(kSanitized ? 2000 : 20000), 4), "");
  EXPECT_EQ(run(fan_out(2000), 4), "");
  EXPECT_EQ(run(nested_loops(40), 4), "");
  EXPECT_THAT(run(loops_in_calls(40, 10), 4), HasSubstr("regions, got more than 128 levels"));
}

}  // namespace
}  // namespace systole::hlo::testing
