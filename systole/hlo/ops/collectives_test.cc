// What processes do together. Each case is a function run by every process of a grid.
#include <gmock/gmock.h>

#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/op_case.h"
#include "systole/hlo/testing/run_op.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

using ::testing::HasSubstr;

std::string channel(int handle) {
  return ", channel_handle = #stablehlo.channel_handle<handle = " + std::to_string(handle) +
         ", type = 0>";
}
const std::string kFlattened = channel(1) + ", use_global_device_ids";

std::string groups(const std::string& ids, const std::string& shape) {
  return "replica_groups = dense<" + ids + "> : tensor<" + shape + "xi64>";
}

// The function (operand) -> "stablehlo.<op>"(operand) body.
std::unique_ptr<Module> program(const std::string& op, const std::string& body,
                                const std::string& from, const std::string& to) {
  auto module = parse("func.func public @main(%x: " + from + ") -> " + to +
                      " {\n  %y = \"stablehlo." + op + "\"(%x) " + body + " : (" + from + ") -> " +
                      to + "\n  \"func.return\"(%y) : (" + to + ") -> ()\n}\n");
  verify(*module);
  return module;
}

// One vector of s64 for each process, in and out.
using Vectors = std::vector<std::vector<int64_t>>;

Vectors run(const Module& module, const ProcessGrid& grid, const Vectors& inputs) {
  std::vector<std::vector<Tensor>> arguments;
  for (const std::vector<int64_t>& input : inputs) {
    arguments.push_back({Tensor::of<int64_t>({static_cast<int64_t>(input.size())}, input)});
  }
  Vectors results;
  for (const std::vector<Tensor>& outputs : evaluate_parallel(module.entry(), grid, arguments)) {
    const std::span<const int64_t> values = outputs[0].data<int64_t>();
    results.emplace_back(values.begin(), values.end());
  }
  return results;
}

Vectors run(const std::string& op, const std::string& body, const ProcessGrid& grid,
            const Vectors& inputs, int64_t result_size) {
  const auto type = [](size_t size) { return "tensor<" + std::to_string(size) + "xi64>"; };
  return run(*program(op, body, type(inputs[0].size()), type(static_cast<size_t>(result_size))),
             grid, inputs);
}

const ProcessGrid kTwo{2, 1};
const ProcessGrid kFour{4, 1};
const ProcessGrid kSquare{2, 2};
const Vectors kUnits = {{1}, {10}, {100}, {1000}};

std::string sum(const std::string& attributes) {
  return "(" + reducer("add", "i64") + ") {" + attributes + "}";
}

TEST(AllReduceTest, CrossReplica) {
  EXPECT_EQ(run("all_reduce", sum(groups("[[0, 2], [3, 1]]", "2x2")), kFour, kUnits, 1),
            (Vectors{{101}, {1010}, {101}, {1010}}));
  // Replicas of one partition: processes 0 and 2, 1 and 3.
  EXPECT_EQ(run("all_reduce", sum(groups("[[0, 1]]", "1x2")), kSquare, kUnits, 1),
            (Vectors{{101}, {1010}, {101}, {1010}}));
}

TEST(AllReduceTest, CrossReplicaAndPartition) {
  EXPECT_EQ(run("all_reduce", sum(groups("[[0], [1]]", "2x1") + channel(1)), kSquare, kUnits, 1),
            (Vectors{{11}, {11}, {1100}, {1100}}));
}

TEST(AllReduceTest, FlattenedIds) {
  EXPECT_EQ(
      run("all_reduce", sum(groups("[[0, 3], [1, 2]]", "2x2") + kFlattened), kSquare, kUnits, 1),
      (Vectors{{1001}, {110}, {110}, {1001}}));
}

TEST(AllReduceTest, AllWithoutGroupsAndGroupsOfManySizes) {
  EXPECT_EQ(run("all_reduce", sum(groups("", "0x0")), kFour, kUnits, 1),
            (Vectors{{1111}, {1111}, {1111}, {1111}}));
  EXPECT_EQ(run("all_reduce", sum(groups("[[0, 1, 2], [3, -1, -1]]", "2x3")), kFour, kUnits, 1),
            (Vectors{{111}, {111}, {111}, {1000}}));
}

TEST(AllReduceTest, AnyReducerInOrderOfTheGroup) {
  const std::string body = "(" + reducer("subtract", "i64") + ") {";
  EXPECT_EQ(run("all_reduce", body + groups("[[1, 0]]", "1x2") + "}", kTwo, {{1, 2}, {10, 20}}, 2),
            (Vectors{{9, 18}, {9, 18}}));
}

TEST(AllReduceTest, AloneIsAGroupOfOne) {
  const auto module =
      program("all_reduce", sum(groups("[[0]]", "1x1")), "tensor<1xi64>", "tensor<1xi64>");
  const std::vector<Tensor> arguments = {Tensor::of<int64_t>({1}, {7})};
  EXPECT_EQ(Evaluator().run(module->entry(), arguments)[0].item<int64_t>(), 7);
}

TEST(AllGatherTest, EachGrouping) {
  const std::string dim = "{all_gather_dim = 0 : i64, ";
  EXPECT_EQ(run("all_gather", dim + groups("[[1, 0]]", "1x2") + "}", kTwo, {{1, 2}, {3, 4}}, 4),
            (Vectors{{3, 4, 1, 2}, {3, 4, 1, 2}}));
  // Replicas first, partition by partition; the result's type says how many there are.
  EXPECT_EQ(
      run("all_gather", dim + groups("[[0, 1]]", "1x2") + channel(1) + "}", kSquare, kUnits, 4),
      (Vectors{{1, 100, 10, 1000}, {1, 100, 10, 1000}, {1, 100, 10, 1000}, {1, 100, 10, 1000}}));
  EXPECT_EQ(run("all_gather", dim + groups("[[0, 3], [2, 1]]", "2x2") + kFlattened + "}", kSquare,
                kUnits, 2),
            (Vectors{{1, 1000}, {100, 10}, {100, 10}, {1, 1000}}));
}

TEST(AllToAllTest, SplitsAndConcatenates) {
  const std::string body =
      "{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = "
      "2 : i64, " +
      groups("[[1, 0]]", "1x2") + "}";
  const auto module = program("all_to_all", body, "tensor<2x4xi64>", "tensor<4x2xi64>");
  const std::vector<std::vector<Tensor>> arguments = {
      {Tensor::of<int64_t>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
      {Tensor::of<int64_t>({2, 4}, {9, 10, 11, 12, 13, 14, 15, 16})}};
  const auto results = evaluate_replicated(*module, arguments);
  EXPECT_TRUE(results[0][0].identical(Tensor::of<int64_t>({4, 2}, {11, 12, 15, 16, 3, 4, 7, 8})));
  EXPECT_TRUE(results[1][0].identical(Tensor::of<int64_t>({4, 2}, {9, 10, 13, 14, 1, 2, 5, 6})));
}

TEST(AllToAllTest, CrossPartition) {
  const std::string body =
      "{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = "
      "2 : i64, " +
      groups("[[0, 1]]", "1x2") + channel(1) + "}";
  EXPECT_EQ(run("all_to_all", body, kSquare, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, 2),
            (Vectors{{1, 3}, {2, 4}, {5, 7}, {6, 8}}));
}

TEST(ReduceScatterTest, EachGetsItsPart) {
  const auto body = [](const std::string& rest) {
    return "(" + reducer("add", "i64") + ") {scatter_dimension = 0 : i64, " + rest + "}";
  };
  EXPECT_EQ(run("reduce_scatter", body(groups("[[1, 0]]", "1x2")), kTwo, {{1, 2}, {10, 20}}, 1),
            (Vectors{{22}, {11}}));
  EXPECT_EQ(run("reduce_scatter", body(groups("[[0], [1]]", "2x1") + channel(1)), kSquare,
                {{1, 2}, {10, 20}, {3, 4}, {30, 40}}, 1),
            (Vectors{{11}, {22}, {33}, {44}}));
}

TEST(CollectivePermuteTest, ZerosWhereNothingIsSent) {
  const std::string pairs =
      "{source_target_pairs = dense<[[0, 1], [1, 2], [3, 3]]> : tensor<3x2xi64>";
  EXPECT_EQ(run("collective_permute", pairs + "}", kFour, kUnits, 1),
            (Vectors{{0}, {1}, {10}, {1000}}));
  const std::string swap = "{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>";
  EXPECT_EQ(run("collective_permute", swap + channel(1) + "}", kSquare, kUnits, 1),
            (Vectors{{10}, {1}, {1000}, {100}}));
}

TEST(CollectivePermuteTest, OtherDevicesAreUnimplemented) {
  const OpUnderTest op{.opcode = Opcode::collective_permute,
                       .operands = {Tensor(7.0F)},
                       .attrs = CollectivePermuteAttrs{.source_target_pairs = {{0, 1}}}};
  EXPECT_THAT(
      error_of(op),
      HasSubstr("UNIMPLEMENTED: collective_permute: source_target_pairs, got id 1, expected "
                "0: this program was exported for several devices"));
}

TEST(CollectiveBroadcastTest, FromTheFirstOfEachGroup) {
  EXPECT_EQ(run("collective_broadcast", "{" + groups("[[2, 1]]", "1x2") + "}", kFour, kUnits, 1),
            (Vectors{{0}, {100}, {100}, {0}}));
  EXPECT_EQ(run("collective_broadcast", "{" + groups("[[1, 0]]", "1x2") + channel(1) + "}", kSquare,
                kUnits, 1),
            (Vectors{{10}, {10}, {1000}, {1000}}));
}

TEST(CollectiveBroadcastTest, DynamicRoot) {
  const OpUnderTest op{
      .opcode = Opcode::collective_broadcast,
      .operands = {Tensor(7.0F), Tensor::of<int32_t>({1}, {0})},
      .attrs = RootedCollectiveAttrs{{.replica_groups = Tensor::of<int64_t>({1, 1}, {0})}, true}};
  EXPECT_EQ(run_op(op)[0].item<float>(), 7);
  OpUnderTest far = op;
  far.operands[1] = Tensor::of<int32_t>({1}, {1});
  EXPECT_THAT(error_of(far), HasSubstr("collective_broadcast: root, got 1, expected in [0, 1)"));
}

TEST(CollectiveReduceTest, TheRootAlone) {
  EXPECT_EQ(run("collective_reduce", sum(groups("[[1, 0], [2, -1]]", "2x2")), kFour, kUnits, 1),
            (Vectors{{0}, {11}, {100}, {0}}));
  EXPECT_EQ(
      run("collective_reduce", sum(groups("[[0, 1]]", "1x2") + channel(1)), kSquare, kUnits, 1),
      (Vectors{{11}, {0}, {1100}, {0}}));
}

TEST(ProcessIdTest, ReplicaAndPartition) {
  const auto ids = [](Opcode opcode) {
    Module module;
    Computation& main = module.add_function("main");
    main.set_results({Builder(main).op(opcode, {})->result()});
    std::vector<uint32_t> values;
    const std::vector<std::vector<Tensor>> none(6);
    for (const auto& result :
         evaluate_parallel(main, {.num_replicas = 2, .num_partitions = 3}, none)) {
      values.push_back(result[0].item<uint32_t>());
    }
    return values;
  };
  EXPECT_EQ(ids(Opcode::replica_id), (std::vector<uint32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ids(Opcode::partition_id), (std::vector<uint32_t>{0, 1, 2, 0, 1, 2}));
}

// -- What must not hang.

// Calls all_reduce when the operand is positive.
const char* const kSometimes = R"(
func.func public @main(%x: tensor<i64>) -> tensor<i64> {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %positive = "stablehlo.compare"(%x, %zero)
      {comparison_direction = #stablehlo<comparison_direction GT>}
      : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %y = "stablehlo.if"(%positive) ({
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = "stablehlo.add"(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%c) : (tensor<i64>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%r) : (tensor<i64>) -> ()
  }, {
    ELSE
  }) : (tensor<i1>) -> tensor<i64>
  "func.return"(%y) : (tensor<i64>) -> ()
}
)";

std::string error_of_sometimes(const std::string& otherwise) {
  std::string text = kSometimes;
  text.replace(text.find("ELSE"), 4, otherwise);
  const auto module = parse(text);
  verify(*module);
  const std::vector<std::vector<Tensor>> arguments = {{Tensor(int64_t{1})}, {Tensor(int64_t{-1})}};
  return error_of([&] { evaluate_replicated(*module, arguments); });
}

TEST(RendezvousTest, OneThatNeverComes) {
  EXPECT_THAT(
      error_of_sometimes("\"stablehlo.return\"(%x) : (tensor<i64>) -> ()"),
      HasSubstr("FAILED_PRECONDITION: all_reduce: processes of a group, got 1 of 2, expected "
                "all: the others ended or wait elsewhere"));
}

TEST(RendezvousTest, OneThatFails) {
  EXPECT_THAT(error_of_sometimes("%t = \"stablehlo.custom_call\"(%x) {call_target_name = \"f\"} : "
                                 "(tensor<i64>) -> tensor<i64> \"stablehlo.return\"(%t) : "
                                 "(tensor<i64>) -> ()"),
              AllOf(HasSubstr("UNIMPLEMENTED: custom_call: target, got 'f'"),
                    HasSubstr("from replica 1, partition 0")));
}

TEST(RendezvousTest, OneThatIsElsewhere) {
  EXPECT_THAT(error_of_sometimes(
                  "%t = \"stablehlo.collective_broadcast\"(%x) {replica_groups = dense<[[0, 1]]> : "
                  "tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64> \"stablehlo.return\"(%t) : "
                  "(tensor<i64>) -> ()"),
              HasSubstr("processes of a group, got others at"));
  EXPECT_THAT(error_of_sometimes(
                  "%t = \"stablehlo.collective_broadcast\"(%x) {replica_groups = dense<[[1, 0]]> : "
                  "tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64> \"stablehlo.return\"(%t) : "
                  "(tensor<i64>) -> ()"),
              HasSubstr("expected all: the others ended or wait elsewhere"));
}

TEST(RendezvousTest, ManyRounds) {
  const auto module = program(
      "while",
      "({^bb0(%v: tensor<i64>): %n = \"stablehlo.constant\"() {value = dense<100000> : "
      "tensor<i64>} "
      ": () -> tensor<i64> %c = \"stablehlo.compare\"(%v, %n) {comparison_direction = "
      "#stablehlo<comparison_direction LT>} : (tensor<i64>, tensor<i64>) -> tensor<i1> "
      "\"stablehlo.return\"(%c) : (tensor<i1>) -> ()}, {^bb0(%w: tensor<i64>): %s = "
      "\"stablehlo.all_reduce\"(%w) (" +
          reducer("add", "i64") + ") {" + groups("[[0, 1, 2]]", "1x3") +
          "} : (tensor<i64>) -> tensor<i64> \"stablehlo.return\"(%s) : (tensor<i64>) -> ()})",
      "tensor<i64>", "tensor<i64>");
  const std::vector<std::vector<Tensor>> arguments(3, {Tensor(int64_t{1})});
  for (const auto& result : evaluate_replicated(*module, arguments)) {
    EXPECT_EQ(result[0].item<int64_t>(), 177147);  // 3^11
  }
}

TEST(RendezvousTest, ArgumentsForEachProcess) {
  const auto module =
      program("all_reduce", sum(groups("[[0, 1]]", "1x2")), "tensor<1xi64>", "tensor<1xi64>");
  EXPECT_EQ(error_of([&] { evaluate_parallel(module->entry(), {.num_replicas = 2}, {}); }),
            "INVALID_ARGUMENT: main: lists of arguments, got 0, expected 2, one a process");
  EXPECT_THAT(error_of([&] {
                run(*module, {.num_replicas = 3}, {{1}, {2}, {3}});
              }),
              HasSubstr("all_reduce: replica_groups, got 2 ids, expected 3, one a process"));
  EXPECT_THAT(error_of([&] { run(*module, {.num_replicas = 1}, {{1}}); }),
              HasSubstr("UNIMPLEMENTED: all_reduce: replica_groups, got id 1, expected 0: "));
}

// -- Constraints.

const std::string kT = "tensor<4x2xf32>";

std::string reduction(const std::string& attributes) {
  return "(" + reducer("add", "f32") + ") {" + attributes + "}";
}

const ErrorCase kErrors[] = {
    {"c1_twice",
     "all_reduce",
     {kT},
     reduction(groups("[[0, 0]]", "1x2")),
     {kT},
     "all_reduce: replica_groups, got id 0, expected each one once, from 0 on"},
    {"c3_gap",
     "all_reduce",
     {kT},
     reduction(groups("[[0, 2]]", "1x2")),
     {kT},
     "all_reduce: replica_groups, got 2 ids up to 2, expected all from 0 on"},
    {"c4_no_channel",
     "all_reduce",
     {kT},
     reduction(groups("[[0]]", "1x1") + ", use_global_device_ids"),
     {kT},
     "all_reduce: channel_handle, got handle 0 with use_global_device_ids"},
    {"c5_reducer",
     "all_reduce",
     {"tensor<4x2xf64>"},
     reduction(groups("[[0]]", "1x1")),
     {kT},
     "all_reduce: element type 0 of region 0, got f32, expected f64 or wider"},
    {"c6_shape",
     "all_reduce",
     {kT},
     reduction(groups("[[0]]", "1x1")),
     {"tensor<2x4xf32>"},
     "got (f32[2,4]), expected (f32[4,2])"},
    {"i2_rank",
     "all_reduce",
     {kT},
     reduction(groups("[0]", "1")),
     {kT},
     "all_reduce: replica_groups, got s64[1], expected s64 of rank 2"},

    {"c1_dim",
     "all_gather",
     {kT},
     "{all_gather_dim = 2 : i64, " + groups("[[0]]", "1x1") + "}",
     {kT},
     "all_gather: all_gather_dim, got [2], expected axes in [0, 2)"},
    {"c6_size",
     "all_gather",
     {kT},
     "{all_gather_dim = 0 : i64, " + groups("[[0, 1]]", "1x2") + "}",
     {kT},
     "got (f32[4,2]), expected (f32[8,2])"},
    {"c2_filler",
     "all_gather",
     {kT},
     "{all_gather_dim = 0 : i64, " + groups("[[0, -1]]", "1x2") + "}",
     {kT},
     "all_gather: replica_groups, got id -1"},

    {"c1_split",
     "all_to_all",
     {kT},
     "{split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, " +
         groups("[[0]]", "1x1") + "}",
     {kT},
     "all_to_all: split_dimension, got [2], expected axes in [0, 2)"},
    {"c2_multiple",
     "all_to_all",
     {kT},
     "{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, " +
         groups("[[0, 1, 2, 3]]", "1x4") + "}",
     {kT},
     "all_to_all: size of split_dimension, got 2, expected a multiple of 4"},
    {"c3_concat",
     "all_to_all",
     {kT},
     "{split_dimension = 1 : i64, concat_dimension = -1 : i64, split_count = 1 : i64, " +
         groups("[[0]]", "1x1") + "}",
     {kT},
     "all_to_all: concat_dimension, got [-1], expected axes in [0, 2)"},
    {"c4_count",
     "all_to_all",
     {kT},
     "{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, " +
         groups("[[0]]", "1x1") + "}",
     {kT},
     "all_to_all: split_count, got [0], expected values >= 1"},
    {"c8_groups",
     "all_to_all",
     {kT},
     "{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, " +
         groups("[[0]]", "1x1") + "}",
     {kT},
     "all_to_all: split_count, got 2 for groups of 1, expected as many"},
    {"c8_no_groups",
     "all_to_all",
     {kT},
     "{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, " +
         groups("0", "0x2") + "}",
     {kT},
     "all_to_all: split_count, got 2 for groups of 0, expected as many"},
    {"c9_shape",
     "all_to_all",
     {kT},
     "{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, " +
         groups("[[0, 1]]", "1x2") + "}",
     {kT},
     "got (f32[4,2]), expected (f32[2,4])"},

    {"c1_multiple",
     "reduce_scatter",
     {kT},
     reduction("scatter_dimension = 1 : i64, " + groups("[[0, 1, 2]]", "1x3")),
     {kT},
     "reduce_scatter: size of scatter_dimension, got 2, expected a multiple of 3"},
    {"c2_dim",
     "reduce_scatter",
     {kT},
     reduction("scatter_dimension = 2 : i64, " + groups("[[0]]", "1x1")),
     {kT},
     "reduce_scatter: scatter_dimension, got [2], expected axes in [0, 2)"},
    {"c8_shape",
     "reduce_scatter",
     {kT},
     reduction("scatter_dimension = 0 : i64, " + groups("[[0, 1]]", "1x2")),
     {kT},
     "got (f32[4,2]), expected (f32[2,2])"},

    {"size_zero",
     "reduce_scatter",
     {"tensor<4x0xf32>"},
     reduction("scatter_dimension = 1 : i64, " + groups("[[0]]", "1x1")),
     {"tensor<4x0xf32>"},
     "reduce_scatter: size of scatter_dimension, got 0 in [4,0], expected at least 1"},
    {"size_zero",
     "all_gather",
     {"tensor<4x0xf32>"},
     "{all_gather_dim = 1 : i64, " + groups("[[0]]", "1x1") + "}",
     {"tensor<4x0xf32>"},
     "all_gather: size of all_gather_dim, got 0 in [4,0], expected at least 1"},
    {"no_ids",
     "all_gather",
     {kT},
     "{all_gather_dim = 1 : i64, use_global_device_ids, channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 0>, " +
         groups("0", "0x2") + "}",
     {kT},
     "all_gather: replica_groups, got no ids with use_global_device_ids"},
    {"filler",
     "collective_broadcast",
     {kT},
     "{" + groups("[[0, -1]]", "1x2") + "}",
     {kT},
     "collective_broadcast: replica_groups, got [0, -1], expected values >= 0"},

    {"c2_sources",
     "collective_permute",
     {kT},
     "{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}",
     {kT},
     "collective_permute: source_target_pairs: sources, got [0, 0], expected no value twice"},
    {"c3_targets",
     "collective_permute",
     {kT},
     "{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}",
     {kT},
     "collective_permute: source_target_pairs: targets, got [1, 1], expected no value twice"},
    {"c4_negative",
     "collective_permute",
     {kT},
     "{source_target_pairs = dense<[[-1, 1]]> : tensor<1x2xi64>}",
     {kT},
     "collective_permute: source_target_pairs: sources, got [-1], expected values >= 0"},

    {"c1_twice",
     "collective_broadcast",
     {kT},
     "{" + groups("[[1, 1]]", "1x2") + "}",
     {kT},
     "collective_broadcast: replica_groups, got id 1, expected each one once"},
    {"c4_reducer",
     "collective_reduce",
     {"tensor<4x2xf64>"},
     reduction(groups("[[0]]", "1x1")),
     {kT},
     "collective_reduce: element type 0 of region 0, got f32, expected f64 or wider"},
    {"c3_shape",
     "collective_reduce",
     {kT},
     reduction(groups("[[0]]", "1x1")),
     {"tensor<2x4xf32>"},
     "got (f32[2,4]), expected (f32[4,2])"},
    {"c4_roots",
     "collective_broadcast",
     {kT, "tensor<2xi32>"},
     "{" + groups("[[0]]", "1x1") + ", has_dynamic_root = true}",
     {kT},
     "collective_broadcast: roots, got s32[2], expected s32[1], one an operand"},
};

INSTANTIATE_TEST_SUITE_P(Collectives, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
