// Round trips: parse(print(m)) is m for every opcode, and everything else is an Error.
#include "systole/stablehlo/text/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "systole/base/random.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/hlo/semantics/verifier.h"

namespace systole::hlo {
namespace {

// One op of each opcode that is more than its operands and their types.
constexpr std::string_view kProgram = R"(module @every_opcode {
  func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>, %arg3: tensor<2xui64>, %arg4: tensor<i1>) -> (tensor<f32>, tensor<4xf32>) {
    %0 = "func.call"(%arg0) {callee = @twice} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.constant"() {value = dense<[[1.5, -0.0, 1.0e+30], [0x7FC00000, 0xFF800000, 0.1]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %2 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>
    %3 = "stablehlo.convert"(%2) : (tensor<2x3xi32>) -> tensor<2x3xbf16>
    %4 = "stablehlo.reduce_precision"(%arg1) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %5 = "stablehlo.compare"(%arg1, %1) {comparison_direction = #stablehlo<comparison_direction LE>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %6 = "stablehlo.select"(%5, %arg1, %1) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %7 = "stablehlo.is_finite"(%6) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %8 = "stablehlo.clamp"(%1, %6, %1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %9 = "stablehlo.bitcast_convert"(%8) : (tensor<2x3xf32>) -> tensor<2x3xui32>
    %10 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
    %11 = "stablehlo.concatenate"(%arg1, %10) {dimension = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
    %12 = "stablehlo.dynamic_slice"(%11, %arg2, %arg2) {slice_sizes = array<i64: 1, 2>} : (tensor<2x7xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %13 = "stablehlo.dynamic_update_slice"(%11, %12, %arg2, %arg2) : (tensor<2x7xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x7xf32>
    %14 = "stablehlo.constant"() {value = dense<[[0], [1]]> : tensor<2x1xi32>} : () -> tensor<2x1xi32>
    %15 = "stablehlo.gather"(%13, %14) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 7>, indices_are_sorted = true} : (tensor<2x7xf32>, tensor<2x1xi32>) -> tensor<2x7xf32>
    %16 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %17 = "stablehlo.pad"(%arg1, %16) {edge_padding_low = array<i64: -1, 0>, edge_padding_high = array<i64: 2, 0>, interior_padding = array<i64: 1, 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %18 = "stablehlo.reshape"(%17) : (tensor<4x3xf32>) -> tensor<1x2x2x3xf32>
    %19 = "stablehlo.reverse"(%18) {dimensions = array<i64: 1, 2>} : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
    %20 = "stablehlo.slice"(%19) {start_indices = array<i64: 0, 0, 0, 0>, limit_indices = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 1, 2>} : (tensor<1x2x2x3xf32>) -> tensor<1x1x2x2xf32>
    %21 = "stablehlo.transpose"(%20) {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x1x2x2xf32>) -> tensor<1x2x2x1xf32>
    %22 = "stablehlo.reduce"(%21, %16) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %23 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 3>} : (tensor<1x2x2x1xf32>, tensor<f32>) -> tensor<2x2xf32>
    %24 = "stablehlo.reduce_window"(%22, %16) ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %25 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%25) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %26 = "stablehlo.scatter"(%24, %14, %22) ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      "stablehlo.return"(%arg10) : (tensor<f32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x2xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %27 = "stablehlo.select_and_scatter"(%26, %22, %16) ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %28 = "stablehlo.compare"(%arg11, %arg12) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%28) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %29 = "stablehlo.add"(%arg13, %arg14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>, padding = dense<0> : tensor<2x2xi64>} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %30 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4x2xi32>
    %31:2 = "stablehlo.sort"(%27, %30) ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>, %arg17: tensor<i32>, %arg18: tensor<i32>):
      %32 = "stablehlo.compare"(%arg15, %arg16) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%32) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4x2xf32>, tensor<4x2xi32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %33 = "stablehlo.dot_general"(%31#0, %22) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %34 = "stablehlo.convolution"(%21, %21) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[i, 0, 1, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: false, true>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x1x1xf32>
    %35 = "stablehlo.case"(%arg2) ({
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }, {
      %36 = "stablehlo.negate"(%16) : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<i32>) -> tensor<f32>
    %37 = "stablehlo.if"(%arg4) ({
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }, {
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    %38:2 = "stablehlo.optimization_barrier"(%37, %0) : (tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    %39:2 = "stablehlo.while"(%arg2, %38#1) ({
    ^bb0(%arg19: tensor<i32>, %arg20: tensor<4xf32>):
      %40 = "stablehlo.compare"(%arg19, %arg2) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%40) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg21: tensor<i32>, %arg22: tensor<4xf32>):
      "stablehlo.return"(%arg21, %arg22) : (tensor<i32>, tensor<4xf32>) -> ()
    }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
    %41:2 = "stablehlo.rng_bit_generator"(%arg3) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xf32>)
    %42 = "systole.fusion"(%39#1, %41#1) ({
    ^bb0(%arg23: tensor<4xf32>, %arg24: tensor<4xf32>):
      %43 = "stablehlo.multiply"(%arg23, %arg24) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%43) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%38#0, %42) : (tensor<f32>, tensor<4xf32>) -> ()
  }
  func.func private @same(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    "func.return"(%arg0) : (tensor<2xf32>) -> ()
  }
  func.func private @quantized(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.uniform_quantize"(%arg0) : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>
    %1 = "stablehlo.uniform_dequantize"(%0) : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xf32>
    "func.return"(%1) : (tensor<2xf32>) -> ()
  }
  func.func private @others(%arg0: tensor<2x2xf32>, %arg1: tensor<2xf32>) {
    %0 = "stablehlo.complex"(%arg0, %arg0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xcomplex<f32>>
    %1 = "stablehlo.real"(%0) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %2 = "stablehlo.imag"(%0) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %3 = "stablehlo.fft"(%0) {fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 2, 2>} : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    %4 = "stablehlo.cholesky"(%arg0) {lower = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = "stablehlo.triangular_solve"(%arg0, %4) {left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %7:3 = "stablehlo.batch_norm_training"(%6, %arg1, %arg1) {epsilon = 1.0e-10 : f32, feature_index = 0 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
    %8:3 = "stablehlo.batch_norm_grad"(%6, %7#1, %arg1, %arg1, %7#0) {epsilon = 0x7F800000 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
    %9 = "stablehlo.map"(%arg0, %arg0) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %10 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%10) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %11 = "stablehlo.get_dimension_size"(%arg0) {dimension = 1 : i64} : (tensor<2x2xf32>) -> tensor<i32>
    %12 = "stablehlo.composite"(%arg1) {name = "my.same", composite_attributes = {n = 1 : i32}, decomposition = @same, version = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    %13 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %14 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%14) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %15 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<4x2xf32>
    %16 = "stablehlo.all_to_all"(%arg0) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<1x4xf32>
    %17 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %18 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%18) : (tensor<f32>) -> ()
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %19 = "stablehlo.collective_broadcast"(%arg0) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %20 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %21 = "stablehlo.replica_id"() : () -> tensor<ui32>
    %22 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %23 = "stablehlo.constant"() {value = dense<2> : tensor<2xi64>} : () -> tensor<2xi64>
    %24 = "stablehlo.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
    %25 = "stablehlo.rng"(%24, %24, %23) {rng_distribution = #stablehlo<rng_distribution NORMAL>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x2xf32>
    %26 = "stablehlo.after_all"() : () -> !stablehlo.token
    %27:2 = "stablehlo.infeed"(%26) {infeed_config = "x", layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<2x2xf32>, !stablehlo.token)
    %28 = "stablehlo.outfeed"(%27#0, %27#1) {outfeed_config = "y"} : (tensor<2x2xf32>, !stablehlo.token) -> !stablehlo.token
    %29 = "stablehlo.send"(%arg0, %28) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2x2xf32>, !stablehlo.token) -> !stablehlo.token
    %30:2 = "stablehlo.recv"(%29) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2x2xf32>, !stablehlo.token)
    %31 = "stablehlo.collective_reduce"(%arg0) ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %32 = "stablehlo.maximum"(%arg8, %arg9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    "stablehlo.custom_call"(%30#0) {call_target_name = "f", has_side_effect = true, backend_config = {a = 1 : i32}, api_version = 4 : i32, called_computations = [@same], tolerance = 0.5 : f32} : (tensor<2x2xf32>) -> ()
    "func.return"() : () -> ()
  }
}
)";

void collect(const Computation& computation, std::set<Opcode>& seen) {
  for (const Instruction* instruction : computation.instructions()) {
    seen.insert(instruction->opcode());
    for (const auto& region : instruction->regions()) collect(*region, seen);
  }
}

// Values by their place, so that two modules can be compared.
using Numbers = std::unordered_map<Value, int, ValueHash>;

void expect_same(const Computation& a, const Computation& b, Numbers& in_a, Numbers& in_b) {
  ASSERT_EQ(a.num_instructions(), b.num_instructions());
  const auto of_a = a.instructions();
  const auto of_b = b.instructions();
  for (size_t i = 0; i < of_a.size(); ++i) {
    Instruction& x = *of_a[i];
    Instruction& y = *of_b[i];
    ASSERT_EQ(x.opcode(), y.opcode());
    EXPECT_TRUE(std::ranges::equal(x.results(), y.results())) << print(x);
    EXPECT_TRUE(x.attrs() == y.attrs()) << print(x);
    ASSERT_EQ(x.num_operands(), y.num_operands());
    for (int k = 0; k < x.num_operands(); ++k) {
      EXPECT_EQ(in_a.at(x.operand(k)), in_b.at(y.operand(k))) << print(x);
    }
    ASSERT_EQ(x.num_regions(), y.num_regions());
    for (int k = 0; k < x.num_regions(); ++k) expect_same(x.region(k), y.region(k), in_a, in_b);
    for (int k = 0; k < x.num_results(); ++k) {
      in_a[x.result(k)] = static_cast<int>(in_a.size());
      in_b[y.result(k)] = static_cast<int>(in_b.size());
    }
  }
}

void expect_same(const Module& a, const Module& b) {
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.aliases, b.aliases);
  ASSERT_EQ(a.functions().size(), b.functions().size());
  for (size_t i = 0; i < a.functions().size(); ++i) {
    EXPECT_EQ(a.functions()[i]->name(), b.functions()[i]->name());
    Numbers in_a;
    Numbers in_b;
    expect_same(*a.functions()[i], *b.functions()[i], in_a, in_b);
  }
}

std::string error_of(std::string_view text) {
  try {
    parse(text, "file.mlir");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, EveryOpcodeSurvivesARoundTrip) {
  const std::unique_ptr<Module> module = parse(kProgram);
  verify(*module);
  // Ops with nothing but operands and types: any dtype that inference takes.
  Computation& rest = module->add_function("elementwise");
  std::vector<Value> results;
  std::set<Opcode> seen;
  for (const auto& function : module->functions()) collect(*function, seen);
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (seen.contains(opcode)) continue;
    for (const DType dtype : {DType::f32, DType::s32, DType::pred}) {
      try {
        const Value x = rest.add_parameter({dtype, {2}});
        const std::vector<Value> operands(static_cast<size_t>(traits(opcode).min_operands), x);
        results.push_back(Builder(rest).op(opcode, operands)->result());
        break;
      } catch (const Error&) {
        rest.erase_parameter(rest.num_parameters() - 1);
      }
    }
  }
  rest.set_results(results);
  collect(rest, seen);
  EXPECT_EQ(seen.size(), static_cast<size_t>(kNumOpcodes));

  const std::string text = print(*module);
  const std::unique_ptr<Module> again = parse(text);
  expect_same(*module, *again);
  EXPECT_EQ(print(*again), text);
}

TEST(Text, PrintsWhatItReads) {
  EXPECT_EQ(print(*parse(kProgram)), kProgram);
  const std::string pretty = print(*parse(kProgram), {.pretty = true});
  EXPECT_EQ(print(*parse(pretty)), kProgram) << pretty;
}

// Cut anywhere, it is an error with a place, and nothing worse.
TEST(Text, TruncationIsAnError) {
  for (size_t length = 0; length + 2 < kProgram.size(); ++length) {
    const std::string error = error_of(kProgram.substr(0, length));
    if (length == 0) continue;  // no text is an empty module
    ASSERT_NE(error, "no error") << "at " << length;
    ASSERT_NE(error.find("file.mlir:"), std::string::npos) << error;
  }
}

TEST(Text, GarbledTextIsReadOrRefused) {
  RandomStream random(7);
  constexpr std::string_view kBytes = "<>(){}[]:,=-#%@^!\"\\0123456789xabf. \n\t\xff";
  for (int round = 0; round < 1000; ++round) {
    std::string text(kProgram);
    for (uint64_t i = 1 + random.next_below(3); i > 0; --i) {
      text[random.next_below(text.size())] = kBytes[random.next_below(kBytes.size())];
    }
    error_of(text);
  }
}

TEST(Text, EveryDTypeSurvivesARoundTrip) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_numeric(dtype)) continue;
    const Shape shapes[] = {{}, {3}, {0}, {2, 0}, {2, 3}, {1, 1, 1}};
    for (const Shape& shape : shapes) {
      Module module;
      Computation& main = module.add_function("main");
      Tensor value = Tensor::zeros(dtype, shape);
      // Any bits.
      RandomStream random(static_cast<uint64_t>(i));
      auto* bytes = static_cast<uint8_t*>(value.raw());
      const uint8_t mask = dtype == DType::pred ? 1 : 0xff;
      for (int64_t k = 0; k < value.byte_size(); ++k) {
        bytes[k] = static_cast<uint8_t>(random.next_u32()) & mask;
      }
      // Within the bits that the element type has.
      const DTypeInfo& info = dtype_info(dtype);
      if (info.integer && info.bits < 8) value = value.cast(DType::s8).cast(dtype);
      for (int64_t k = 0; k < value.byte_size() && dtype == DType::f4e2m1fn; ++k) bytes[k] &= 15;
      main.set_results({Builder(main).constant(value)});
      for (const int64_t max_elements : {int64_t{64}, int64_t{1}}) {
        const std::string text = print(module, {.max_literal_elements = max_elements});
        expect_same(module, *parse(text));
      }
    }
  }
}

TEST(Text, ExtremeFloatsSurviveARoundTrip) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values = {Limits::max(), Limits::min(), Limits::denorm_min(),
                                     -0.0F,         1.0F / 3,      16777217.0F,
                                     1e-45F,        3.4e38F,       8388609.5F};
  Module module;
  Computation& main = module.add_function("main");
  main.set_results({Builder(main).constant(Tensor::of<float>({9}, values))});
  expect_same(module, *parse(print(module)));
}

TEST(Text, LongConstantsAreHexadecimal) {
  Module module;
  Computation& main = module.add_function("main");
  main.set_results({Builder(main).constant(Tensor::of<uint16_t>({3}, {1, 0xABCD, 2}))});
  const std::string text = print(module, {.max_literal_elements = 2});
  EXPECT_NE(text.find("dense<\"0x0100CDAB0200\"> : tensor<3xui16>"), std::string::npos) << text;
  expect_same(module, *parse(text));
}

TEST(Text, LocationsCarryNames) {
  Module module("with \"quotes\"");
  Computation& main = module.add_function("main");
  Builder builder(main);
  builder.set_metadata({.name = "dense/\"MatMul\"\\", .where = {}});
  const Value x = main.add_parameter({DType::f32, {2}});
  main.set_results({builder.add(x, x)});
  const std::string text = print(module, {.locations = true});
  EXPECT_NE(text.find("loc(\"dense/\\22MatMul\\22\\\\\")"), std::string::npos) << text;
  const std::unique_ptr<Module> again = parse(text);
  EXPECT_EQ(again->name(), module.name());
  EXPECT_EQ(again->entry().results()[0].def->metadata().name, "dense/\"MatMul\"\\");

  SourceLocation where;
  where.file = "iris.cc";
  where.line = 41;
  main.results()[0].def->set_metadata({.name = "x", .where = where});
  const std::string placed = print(module, {.locations = true});
  EXPECT_NE(placed.find("loc(\"x\"(\"iris.cc\":41:0))"), std::string::npos) << placed;
  EXPECT_EQ(parse(placed)->entry().results()[0].def->metadata().name, "x");
}

TEST(Text, OneInstructionIsPrintedWithTheNamesOfItsFunction) {
  const std::unique_ptr<Module> module = parse(kProgram);
  const Instruction& iota = *module->entry().instructions()[7];
  EXPECT_EQ(print(iota),
            "%2 = \"stablehlo.iota\"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>");
  const Computation& region = module->entry().results()[1].def->region();
  EXPECT_EQ(print(region).substr(0, 38), "^bb0(%arg23: tensor<4xf32>, %arg24: te");
}

TEST(Text, ReadsWhatOthersWrite) {
  const std::unique_ptr<Module> module = parse(R"(
// A comment; properties, older attribute forms, attributes nobody knows.
module @jit_main attributes {mhlo.num_partitions = 1 : i32, x.y = [1.5, -2.5 : f32, unit, @f::@g]} {
  func.func @main(%x: tensor<2x2xf32> {jax.arg_info = "x", mhlo.sharding = "{replicated}"}) -> (tensor<2x2xf32> {jax.result_info = ""}) {
    %a-1 = "stablehlo.transpose"(%x) <{permutation = dense<[1, 0]> : tensor<2xi64>}> {mhlo.frontend_attributes = {a = "b"}} : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("here")
    %r, %s = "stablehlo.optimization_barrier"(%a-1, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) loc(fused["a", "b"])
    %1 = "stablehlo.dot_general"(%r, %s) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    "func.return"(%1) : (tensor<2x2xf32>) -> ()
  }
}
)");
  EXPECT_EQ(module->name(), "jit_main");
  const Instruction& dot = *module->entry().results()[0].def;
  EXPECT_EQ(dot.operand(0).index, 0);
  EXPECT_EQ(dot.operand(1).index, 1);
  EXPECT_EQ(dot.operand(0).def->operand(0).def->metadata().name, "here");
}

struct BadText {
  std::string name;
  std::string body;  // of @main(%a: tensor<2xf32>) -> tensor<2xf32>, which follows at line 2
  std::string error;
};
std::ostream& operator<<(std::ostream& out, const BadText& row) { return out << row.name; }

class TextError : public ::testing::TestWithParam<BadText> {};

TEST_P(TextError, HasAPlace) {
  const std::string text = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n" +
                           GetParam().body + "\n\"func.return\"(%a) : (tensor<2xf32>) -> ()\n}\n";
  const std::string error = error_of(text);
  EXPECT_NE(error.find("file.mlir:" + GetParam().error), std::string::npos) << error;
}

const std::string kConstant = "%0 = \"stablehlo.constant\"() {value = ";
std::string constant(const std::string& literal) {
  return kConstant + literal + "} : () -> tensor<2xf32>";
}

const BadText kBad[] = {
    {"unknown_op", "%0 = \"stablehlo.foo\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: op, got \"stablehlo.foo\", expected one of the opcode table"},
    {"other_dialect", "%0 = \"mhlo.copy\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: op, got \"mhlo.copy\", expected one of the opcode table: `mlir-hlo-opt "},
    {"internal_op", "%0 = \"stablehlo.fusion\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: op, got \"stablehlo.fusion\""},
    {"no_pretty_form", "%0 = stablehlo.gather %a, %a : tensor<2xf32>",
     "2:6: op, got stablehlo.gather, expected its generic form, \"stablehlo.gather\""},
    {"unknown_value", "%0 = \"stablehlo.abs\"(%b) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:22: operand, got %b, expected a name that is defined before"},
    {"own_value", "%0 = \"stablehlo.abs\"(%0) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:22: operand, got %0, expected a name that is defined before"},
    {"no_such_result", "%0 = \"stablehlo.abs\"(%a#1) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:22: operand, got %a#1, expected one of 1 values"},
    {"name_twice", "%a = \"stablehlo.abs\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:1: name, got %a again, expected a new one"},
    {"too_many_names", "%0:2 = \"stablehlo.abs\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:8: names of results, got another number, expected 1"},
    {"operand_types", "%0 = \"stablehlo.abs\"(%a) : (tensor<3xf32>) -> tensor<3xf32>",
     "2:21: operand types, got (f32[3]), expected (f32[2])"},
    {"result_types", "%0 = \"stablehlo.abs\"(%a) : (tensor<2xf32>) -> tensor<3xf32>",
     "2:6: abs: declared result types, got (f32[3]), expected (f32[2])"},
    {"inference", "%0 = \"stablehlo.popcnt\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: popcnt: element type, got f32"},
    {"too_few_operands", "%0 = \"stablehlo.add\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: add: number of operands, got 1, expected 2"},
    {"missing_attribute", "%0 = \"stablehlo.transpose\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: transpose: attributes, got no 'permutation', expected one"},
    {"unknown_attribute",
     "%0 = \"stablehlo.abs\"(%a) {speed = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>",
     "2:35: abs: attributes, got 'speed', expected none of that name"},
    {"attribute_twice",
     "%0 = \"stablehlo.reverse\"(%a) {dimensions = array<i64>, dimensions = array<i64>} : "
     "(tensor<2xf32>) -> tensor<2xf32>",
     "2:56: attributes, got 'dimensions' again"},
    {"attribute_kind",
     "%0 = \"stablehlo.reverse\"(%a) {dimensions = true} : (tensor<2xf32>) -> tensor<2xf32>",
     "2:44: reverse: dimensions, got 'true', expected a list of integers"},
    {"enum_value",
     "%0 = \"stablehlo.compare\"(%a, %a) {comparison_direction = #stablehlo<comparison_direction "
     "XX>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>",
     "2:90: compare: comparison_direction, got 'XX', expected one such as EQ"},
    {"enum_kind",
     "%0 = \"stablehlo.compare\"(%a, %a) {comparison_direction = #stablehlo<precision HIGH>} : "
     "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>",
     "2:58: compare: comparison_direction, got '#stablehlo', expected "
     "#stablehlo<comparison_direction"},
    {"structure_name",
     "%0 = \"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = #stablehlo.gather<>} : "
     "(tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>",
     "2:63: dot_general: dot_dimension_numbers, got '#stablehlo.gather', expected #stablehlo.dot"},
    {"structure_field",
     "%0 = \"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = #stablehlo.dot<lhs = [0]>} : "
     "(tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>",
     "2:84: dot_general: dot_dimension_numbers: attributes, got 'lhs'"},
    {"conv_letters",
     "%0 = \"stablehlo.convolution\"(%a, %a) {dimension_numbers = #stablehlo.conv<[b, 1, f]x[0, i, "
     "o]->[b, 0, f]>, feature_group_count = 1, batch_group_count = 1} : (tensor<2xf32>, "
     "tensor<2xf32>) -> tensor<2xf32>",
     "2:75: convolution: dimension_numbers, got no '0', expected b, f and 0, 1..."},
    {"dynamic", "%0 = \"stablehlo.abs\"(%a) : (tensor<?xf32>) -> tensor<?xf32>",
     "2:36: tensor type, got a dynamic size"},
    {"element_type", "%0 = \"stablehlo.abs\"(%a) : (tensor<2xf33>) -> tensor<2xf33>",
     "2:38: element type, got 'f33', expected one such as f32"},
    {"huge_type", "%0 = \"stablehlo.abs\"(%a) : (tensor<9223372036854775807x2xf32>) -> tensor<f32>",
     "2:35: tensor type, got tensor<9223372036854775807x2xf32>, expected below 2^48 bytes"},
    {"huge_size", "%0 = \"stablehlo.abs\"(%a) : (tensor<9223372036854775808xf32>) -> tensor<f32>",
     "2:36: tensor type, got '9223372036854775808', expected a size below 2^63"},
    {"huge_constant", kConstant + "dense<0> : tensor<1073741825xi8>} : () -> tensor<f32>",
     "2:6: stablehlo.constant: result types, got (f32[]), expected (s8[1073741825])"},
    {"huge_check", "check.expect_eq_const %a, dense<0> : tensor<1073741825xi8>",
     "2:27: constant, got 1073741825 bytes, expected at most 336"},
    {"too_few_elements", constant("dense<[1.0]> : tensor<2xf32>"),
     "2:44: dense elements, got 1 in a list, expected 2 for tensor<2xf32>"},
    {"too_many_elements", constant("dense<[1.0, 2.0, 3.0]> : tensor<2xf32>"),
     "2:44: dense elements, got more in a list, expected 2 for tensor<2xf32>"},
    {"no_list", constant("dense<[[1.0], 2.0]> : tensor<2x1xf32>"),
     "2:52: dense elements, got '2.0', expected '['"},
    {"no_elements", constant("dense<> : tensor<2xf32>"), "2:44: dense elements, got '>'"},
    {"hex_digits", constant("dense<\"0x0G000000\"> : tensor<2xf32>"),
     "2:47: dense elements, got another character, expected a hexadecimal digit"},
    {"hex_count", constant("dense<\"0x000000\"> : tensor<2xf32>"),
     "2:44: dense elements, got 6 hexadecimal digits, expected 16"},
    {"hex_float_width", constant("dense<0x7FC0> : tensor<2xf32>"),
     "2:44: element, got '0x7FC0', expected 8 hexadecimal digits"},
    {"integer_range", constant("dense<[256, 0]> : tensor<2xi8>"),
     "2:45: element, got 256, expected a value of type i8"},
    {"negative_range", constant("dense<-129> : tensor<2xi8>"),
     "2:44: element, got -129, expected a value of type i8"},
    {"negative_unsigned", constant("dense<-1> : tensor<2xui8>"),
     "2:44: element, got -1, expected a value of type ui8"},
    {"integer_width", constant("dense<18446744073709551616> : tensor<2xi64>"),
     "2:44: integer, got '18446744073709551616'"},
    {"pred_element", constant("dense<2> : tensor<2xi1>"), "2:44: element, got '2', expected true"},
    {"float_element", constant("dense<x> : tensor<2xf32>"),
     "2:44: element, got 'x', expected a floating-point number"},
    {"complex_element", constant("dense<(1.0)> : tensor<2xcomplex<f32>>"),
     "2:48: complex element, got ')', expected ','"},
    {"open_string", "%0 = \"stablehlo.abs", "2:6: string, got no end"},
    {"bad_byte", "%0 = `", "2:6: character, got byte 0x60, expected a token"},
    {"empty_name", "% = \"stablehlo.abs\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:1: name, got none, expected one after '%'"},
    {"unclosed_region", "%0 = \"stablehlo.if\"(%a) ({",
     "5:1: regions, got the end of the text, expected ')'"},
    {"region_without_return",
     "%0 = \"stablehlo.reduce\"(%a, %a) ({}) {dimensions = array<i64>} : (tensor<2xf32>, "
     "tensor<2xf32>) -> tensor<2xf32>",
     "2:35: reduce_region_0, got '}', expected a return before"},
    {"op_behind_return",
     "\"func.return\"(%a) : (tensor<2xf32>) -> ()\n%0 = \"stablehlo.abs\"(%a) : (tensor<2xf32>) -> "
     "tensor<2xf32>",
     "3:1: main, got '%0', expected '}' after the return"},
    {"return_types",
     "\"func.return\"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> ()\n}\n"
     "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {",
     "1:11: @main: types of results, got (f32[2], f32[2]) from return, expected (f32[2])"},
    {"return_results", "\"func.return\"(%a) : (tensor<2xf32>) -> tensor<2xf32>",
     "2:1: return, got results or regions, expected neither"},
    {"return_regions", "\"func.return\"(%a) ({}) : (tensor<2xf32>) -> ()",
     "2:1: return, got results or regions, expected neither"},
    {"unknown_callee", "%0 = \"func.call\"(%a) {callee = @g} : (tensor<2xf32>) -> tensor<2xf32>",
     "2:6: call: callee, got @g, expected a function"},
    {"callee_types",
     "%0 = \"func.call\"(%a) {callee = @g} : (tensor<2xf32>) -> tensor<2xf32>\n\"func.return\"(%a) "
     ": "
     "(tensor<2xf32>) -> ()\n}\nfunc.func @g() -> tensor<2xf32> {\n" +
         constant("dense<0.0> : tensor<2xf32>") +
         "\n\"func.return\"(%0) : (tensor<2xf32>) -> ()\n}\n"
         "func.func @h(%a: tensor<2xf32>) -> tensor<2xf32> {",
     "2:6: call: operand types, got (f32[2]), expected ()"},
    {"function_twice",
     "\"func.return\"(%a) : (tensor<2xf32>) -> ()\n}\nfunc.func @main(%a: tensor<2xf32>) -> "
     "tensor<2xf32> {",
     "4:11: function, got @main again, expected a new name"},
    {"alias", "\"func.return\"(%a) : (tensor<2xf32>) -> ()\n}\n} ",
     "4:1: module, got '}', expected 'func.func'"},
};

INSTANTIATE_TEST_SUITE_P(Text, TextError, ::testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.name; });

TEST(Text, AliasesAreChecked) {
  const auto text = [](const std::string& attribute) {
    return "func.func @main(%a: tensor<f32> {tf.aliasing_output = " + attribute +
           "}) -> tensor<f32> {\n\"func.return\"(%a) : (tensor<f32>) -> ()\n}";
  };
  EXPECT_EQ(parse(text("0 : i32"))->aliases, (std::vector<Module::Alias>{{0, 0}}));
  EXPECT_NE(error_of(text("1 : i32")).find("1:55: tf.aliasing_output, got 1"), std::string::npos);
  EXPECT_NE(error_of(text("-1 : i32")).find("1:55: tf.aliasing_output"), std::string::npos);
  EXPECT_NE(error_of(text("true")).find("1:55: tf.aliasing_output"), std::string::npos);
}

TEST(Text, NestingIsBounded) {
  std::string regions;
  std::string lists;
  for (int i = 0; i < 100000; ++i) {
    regions += "\"stablehlo.if\"() ({";
    lists += '[';
  }
  EXPECT_NE(error_of("func.func @main() {" + regions), "no error");
  EXPECT_NE(error_of("module attributes {a = " + lists), "no error");
  std::string deep;
  std::string close;
  for (int i = 0; i < 70; ++i) {
    deep += "\"stablehlo.if\"(%p) ({";
    close +=
        "\"stablehlo.return\"() : () -> ()}, {\"stablehlo.return\"() : () -> ()}) : "
        "(tensor<i1>) -> ()\n";
  }
  const std::string error = error_of("func.func @main(%p: tensor<i1>) {\n" + deep + close +
                                     "\"func.return\"() : () -> ()\n}");
  EXPECT_NE(error.find("region, got '{', expected at most 64 levels"), std::string::npos) << error;
}

}  // namespace
}  // namespace systole::hlo
