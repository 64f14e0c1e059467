#include "systole/hlo/testing/partitioned_ops.h"

#include <cctype>

#include "systole/base/random.h"
#include "systole/hlo/testing/partitioned.h"

namespace systole::hlo::testing {
namespace {

std::string tensor(const std::string& type) { return "tensor<" + type + ">"; }

// Returns the sizes in "4x8xf32".
std::vector<int64_t> sizes_in(const std::string& type) {
  std::vector<int64_t> sizes;
  for (size_t at = 0; at < type.size() && std::isdigit(type[at]) != 0;
       at = type.find('x', at) + 1) {
    sizes.push_back(std::stoll(type.substr(at)));
  }
  return sizes;
}

const PartitionedOp kOps[] = {
    {"add", {"4x8xf32", "4x8xf32"}, {"4x8xf32"}, "%r = stablehlo.add %a, %b : tensor<4x8xf32>"},
    {"clamp",
     {"f32", "4x8xf32", "f32"},
     {"4x8xf32"},
     "%r = stablehlo.clamp %a, %b, %c : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> "
     "tensor<4x8xf32>"},
    {"dot",
     {"4x8xf32", "8x16xf32"},
     {"4x16xf32"},
     "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, "
     "tensor<8x16xf32>) -> tensor<4x16xf32>"},
    {"batched_dot",
     {"8x4x2xf32", "2x8x6xf32"},
     {"8x4x6xf32"},
     "%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : "
     "(tensor<8x4x2xf32>, tensor<2x8x6xf32>) -> tensor<8x4x6xf32>"},
    {"two_layers",
     {"8x4xf32", "4x8xf32", "8x2xf32"},
     {"8x2xf32"},
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, "
     "tensor<4x8xf32>) -> tensor<8x8xf32>\n"
     "%1 = stablehlo.tanh %0 : tensor<8x8xf32>\n"
     "%r = stablehlo.dot_general %1, %c, contracting_dims = [1] x [0] : (tensor<8x8xf32>, "
     "tensor<8x2xf32>) -> tensor<8x2xf32>"},
    {"convolution",
     {"4x6x6x4xf32", "3x3x4x8xf32"},
     {"4x6x6x8xf32"},
     "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
     "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : "
     "i64} : (tensor<4x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<4x6x6x8xf32>"},
    {"grouped_convolution",
     {"2x4x8xf32", "3x2x16xf32"},
     {"2x2x16xf32"},
     "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} "
     "{batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x4x8xf32>, "
     "tensor<3x2x16xf32>) -> tensor<2x2x16xf32>"},
    {"batch_grouped_convolution",
     {"8x4x2xf32", "3x2x8xf32"},
     {"2x2x8xf32"},
     "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} "
     "{batch_group_count = 4 : i64, feature_group_count = 1 : i64} : (tensor<8x4x2xf32>, "
     "tensor<3x2x8xf32>) -> tensor<2x2x8xf32>"},
    {"broadcast",
     {"1x8xf32"},
     {"4x2x8xf32"},
     "%r = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<1x8xf32>) -> tensor<4x2x8xf32>"},
    {"transpose",
     {"2x4x8xf32"},
     {"8x2x4xf32"},
     "%r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x4x8xf32>) -> tensor<8x2x4xf32>"},
    {"merge",
     {"2x4x8xf32"},
     {"8x8xf32"},
     "%r = stablehlo.reshape %a : (tensor<2x4x8xf32>) -> tensor<8x8xf32>"},
    {"divide_axis",
     {"16x3xf32"},
     {"4x4x3xf32"},
     "%r = stablehlo.reshape %a : (tensor<16x3xf32>) -> tensor<4x4x3xf32>"},
    {"uneven_reshape",
     {"6x4x2xf32"},
     {"4x6x2xf32"},
     "%r = stablehlo.reshape %a : (tensor<6x4x2xf32>) -> tensor<4x6x2xf32>"},
    {"slice",
     {"8x4xf32"},
     {"3x4xf32"},
     "%r = stablehlo.slice %a [1:7:2, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>"},
    {"pad",
     {"8x4xf32", "f32"},
     {"8x10xf32"},
     "%r = stablehlo.pad %a, %b, low = [0, 2], high = [0, 1], interior = [0, 1] : "
     "(tensor<8x4xf32>, tensor<f32>) -> tensor<8x10xf32>"},
    {"concatenate",
     {"8x4xf32", "8x2xf32"},
     {"8x6xf32"},
     "%r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> "
     "tensor<8x6xf32>"},
    {"reverse",
     {"8x4xf32"},
     {"8x4xf32"},
     "%r = stablehlo.reverse %a, dims = [1] : tensor<8x4xf32>"},
    {"dynamic_slice",
     {"8x4xf32", "i32", "i32"},
     {"2x4xf32"},
     "%r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 4] : (tensor<8x4xf32>, tensor<i32>, "
     "tensor<i32>) -> tensor<2x4xf32>"},
    {"dynamic_update_slice",
     {"8x4xf32", "2x4xf32", "i32", "i32"},
     {"8x4xf32"},
     "%r = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<8x4xf32>, tensor<2x4xf32>, "
     "tensor<i32>, tensor<i32>) -> tensor<8x4xf32>"},
    {"iota",
     {"8x4xf32"},
     {"8x4xf32"},
     "%0 = stablehlo.iota dim = 0 : tensor<8x4xf32>\n%r = stablehlo.add %0, %a : tensor<8x4xf32>"},
    {"constant",
     {"4x2xf32"},
     {"4x2xf32"},
     "%0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : "
     "tensor<4x2xf32>\n%r = stablehlo.multiply %0, %a : tensor<4x2xf32>"},
    {"splat",
     {"4x2xf32"},
     {"4x2xf32"},
     "%0 = stablehlo.constant dense<2.5> : tensor<4x2xf32>\n%r = stablehlo.multiply %0, %a : "
     "tensor<4x2xf32>"},
    {"reduce",
     {"8x4x2xf32", "f32"},
     {"4xf32"},
     "%r = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0, 2] : "
     "(tensor<8x4x2xf32>, tensor<f32>) -> tensor<4xf32>"},
    {"reduce_maximum",
     {"8x4xf32", "f32"},
     {"4xf32"},
     "%r = stablehlo.reduce(%a init: %b) applies stablehlo.maximum across dimensions = [0] : "
     "(tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>"},
    {"reduce_by_two_ops",
     {"8x4xf32", "f32"},
     {"8xf32"},
     R"(%r = "stablehlo.reduce"(%a, %b) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.add %x, %y : tensor<f32>
  %t = stablehlo.tanh %s : tensor<f32>
  stablehlo.return %t : tensor<f32>
}) {dimensions = array<i64: 1>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>)"},
    {"argmax",
     {"8x4xf32", "8x4xi32"},
     {"8xf32", "8xi32"},
     R"(%i = stablehlo.constant dense<-1.0e+9> : tensor<f32>
%j = stablehlo.constant dense<0> : tensor<i32>
%r:2 = "stablehlo.reduce"(%a, %b, %i, %j) ({
^bb0(%x: tensor<f32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<i32>):
  %s = stablehlo.compare GT, %x, %u : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %t = stablehlo.select %s, %x, %u : tensor<i1>, tensor<f32>
  %w = stablehlo.select %s, %y, %v : tensor<i1>, tensor<i32>
  stablehlo.return %t, %w : tensor<f32>, tensor<i32>
}) {dimensions = array<i64: 1>} : (tensor<8x4xf32>, tensor<8x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>))"},
    {"reduce_window",
     {"8x4xf32", "f32"},
     {"8x2xf32"},
     R"(%r = "stablehlo.reduce_window"(%a, %b) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x2xf32>)"},
    {"select_and_scatter",
     {"8x4xf32", "8x2xf32", "f32"},
     {"8x4xf32"},
     R"(%r = "stablehlo.select_and_scatter"(%a, %b, %c) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %s : tensor<i1>
}, {
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<8x4xf32>, tensor<8x2xf32>, tensor<f32>) -> tensor<8x4xf32>)"},
    {"sort",
     {"8x4xf32", "8x4xi32"},
     {"8x4xf32", "8x4xi32"},
     R"(%r:2 = "stablehlo.sort"(%a, %b) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):
  %s = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %s : tensor<i1>
}) {dimension = 1 : i64, is_stable = true} : (tensor<8x4xf32>, tensor<8x4xi32>) -> (tensor<8x4xf32>, tensor<8x4xi32>))"},
    {"gather_rows",
     {"8x4xf32", "2x2x1xi32"},
     {"2x2x4xf32"},
     R"(%r = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>} : (tensor<8x4xf32>, tensor<2x2x1xi32>) -> tensor<2x2x4xf32>)"},
    {"batched_gather",
     {"4x8x2xf32", "4x6x1xi32"},
     {"4x6x2xf32"},
     R"(%r = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>} : (tensor<4x8x2xf32>, tensor<4x6x1xi32>) -> tensor<4x6x2xf32>)"},
    {"scatter_add",
     {"8x4xf32", "6x1xi32", "6x4xf32"},
     {"8x4xf32"},
     R"(%r = "stablehlo.scatter"(%a, %b, %c) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<8x4xf32>)"},
    {"batched_scatter",
     {"4x8xf32", "4x6x1xi32", "4x6xf32"},
     {"4x8xf32"},
     R"(%r = "stablehlo.scatter"(%a, %b, %c) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  stablehlo.return %y : tensor<f32>
}) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x8xf32>, tensor<4x6x1xi32>, tensor<4x6xf32>) -> tensor<4x8xf32>)"},
    {"batch_norm_inference",
     {"4x2x8xf32", "8xf32", "8xf32", "8xf32"},
     {"4x2x8xf32"},
     "%0 = stablehlo.multiply %d, %d : tensor<8xf32>\n"
     R"(%r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %0) {epsilon = 0.1 : f32, feature_index = 2 : i64} : (tensor<4x2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x2x8xf32>)"},
    {"batch_norm_training",
     {"4x2x8xf32", "8xf32", "8xf32"},
     {"4x2x8xf32", "8xf32", "8xf32"},
     R"(%r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) {epsilon = 0.1 : f32, feature_index = 2 : i64} : (tensor<4x2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x2x8xf32>, tensor<8xf32>, tensor<8xf32>))"},
    {"fft",
     {"4x2x8xcomplex<f32>"},
     {"4x2x8xcomplex<f32>"},
     "%r = stablehlo.fft %a, type = FFT, length = [8] : (tensor<4x2x8xcomplex<f32>>) -> "
     "tensor<4x2x8xcomplex<f32>>"},
    {"triangular_solve",
     {"2x4x4xf32", "2x4x8xf32"},
     {"2x4x8xf32"},
     R"(%0 = stablehlo.iota dim = 1 : tensor<2x4x4xi32>
%1 = stablehlo.iota dim = 2 : tensor<2x4x4xi32>
%2 = stablehlo.compare EQ, %0, %1 : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> tensor<2x4x4xi1>
%3 = stablehlo.constant dense<4.0> : tensor<2x4x4xf32>
%4 = stablehlo.select %2, %3, %a : tensor<2x4x4xi1>, tensor<2x4x4xf32>
%r = "stablehlo.triangular_solve"(%4, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>)"},
    {"cholesky",
     {"4x2x2xf32"},
     {"4x2x2xf32"},
     R"(%0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x2x2xf32>, tensor<4x2x2xf32>) -> tensor<4x2x2xf32>
%1 = stablehlo.constant dense<[[[9.0, 0.0], [0.0, 9.0]]]> : tensor<1x2x2xf32>
%2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x2x2xf32>) -> tensor<4x2x2xf32>
%3 = stablehlo.add %0, %2 : tensor<4x2x2xf32>
%r = stablehlo.cholesky %3, lower = true : tensor<4x2x2xf32>)"},
    {"bitcast_convert",
     {"4x2xf32"},
     {"4x2x2xui16"},
     "%r = stablehlo.bitcast_convert %a : (tensor<4x2xf32>) -> tensor<4x2x2xui16>"},
    {"map",
     {"4x8xf32", "4x8xf32"},
     {"4x8xf32"},
     R"(%r = "stablehlo.map"(%a, %b) ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.subtract %x, %y : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {dimensions = array<i64: 0, 1>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"rng_bit_generator",
     {"2xui64"},
     {"2xui64", "4x8xui32"},
     R"(%r:2 = "stablehlo.rng_bit_generator"(%a) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>))"},
    {"while",
     {"i32", "4x8xf32", "4x8xf32"},
     {"i32", "4x8xf32"},
     R"(%n = stablehlo.constant dense<3> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%zero = stablehlo.constant dense<0> : tensor<i32>
%r:2 = stablehlo.while(%i = %zero, %s = %b) : tensor<i32>, tensor<4x8xf32>
 cond {
  %0 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
} do {
  %0 = stablehlo.add %i, %one : tensor<i32>
  %1 = stablehlo.multiply %s, %c : tensor<4x8xf32>
  stablehlo.return %0, %1 : tensor<i32>, tensor<4x8xf32>
})"},
    {"if",
     {"i1", "4x8xf32", "8x4xf32"},
     {"4x8xf32"},
     R"(%r = "stablehlo.if"(%a) ({
  %0 = stablehlo.tanh %b : tensor<4x8xf32>
  stablehlo.return %0 : tensor<4x8xf32>
}, {
  %0 = stablehlo.transpose %c, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  stablehlo.return %0 : tensor<4x8xf32>
}) : (tensor<i1>) -> tensor<4x8xf32>)"},
    {"optimization_barrier",
     {"4x8xf32", "4xf32"},
     {"4x8xf32", "4xf32"},
     "%r:2 = stablehlo.optimization_barrier %a, %b : tensor<4x8xf32>, tensor<4xf32>"},
    {"get_dimension_size",
     {"4x8xf32"},
     {"i32"},
     "%r = stablehlo.get_dimension_size %a, dim = 1 : (tensor<4x8xf32>) -> tensor<i32>"},
    {"constraint",
     {"4x8xf32"},
     {"4x8xf32"},
     R"(%0 = stablehlo.custom_call @Sharding(%a) {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"z"}]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
%r = stablehlo.tanh %0 : tensor<4x8xf32>)"},
};

}  // namespace

std::span<const PartitionedOp> partitioned_ops() { return kOps; }

std::string text_of(const PartitionedOp& op, int num_devices, uint64_t seed) {
  RandomStream random(seed, 0);
  std::string text =
      "module {\n  sdy.mesh @mesh = " + mesh_of(num_devices) + "\n  func.func @main(";
  const auto sharding = [&](const std::string& type) {
    if (random.next_below(4) == 0) return std::string();
    return " {sdy.sharding = " + random_sharding(random, sizes_in(type)) + "}";
  };
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    text += fmt::format("{}%{}: {}{}", i == 0 ? "" : ", ", static_cast<char>('a' + i),
                        tensor(op.parameters[i]), sharding(op.parameters[i]));
  }
  text += ") -> (";
  std::string returned;
  std::string types;
  for (size_t i = 0; i < op.results.size(); ++i) {
    text += (i == 0 ? "" : ", ") + tensor(op.results[i]) + sharding(op.results[i]);
    returned += (i == 0 ? "%r" : ", %r");
    if (op.results.size() > 1) returned += fmt::format("#{}", i);
    types += (i == 0 ? "" : ", ") + tensor(op.results[i]);
  }
  return text + ") {\n" + op.body + "\n    return " + returned + " : " + types + "\n  }\n}\n";
}

}  // namespace systole::hlo::testing
