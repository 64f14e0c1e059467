#include "apps/systole/hlo/support_programs.h"

#include <string_view>
#include <utility>

namespace systole::app {
namespace {

using hlo::Opcode;

// $T is the element type, $R that of the parts of a complex one, $1 a number of it. An instruction
// without a text of its own here is elementwise, of operands and a result tensor<4x$T>.
struct Row {
  Opcode opcode;
  std::string_view parameters;  // of main: "%a: tensor<4x$T>"
  std::string_view results;     // types of main's results, which are %r, or %r#0, %r#1...
  std::string_view body;
  std::string_view functions = {};  // besides main
};

constexpr std::string_view kTwo = "%a: tensor<4x$T>, %b: tensor<4x$T>";
constexpr std::string_view kOne = "%a: tensor<4x$T>";

constexpr Row
    kRows
        [] =
            {
                // -- Structure and leaves.
                {Opcode::call, kOne, "tensor<4x$T>",
                 R"(%r = "func.call"(%a) {callee = @f} : (tensor<4x$T>) -> tensor<4x$T>)",
                 R"(func.func private @f(%x: tensor<4x$T>) -> tensor<4x$T> {
  "func.return"(%x) : (tensor<4x$T>) -> ()
})"},
                {Opcode::composite, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.composite"(%a) {name = "n.f", decomposition = @f} : (tensor<4x$T>) -> tensor<4x$T>)",
                 R"(func.func private @f(%x: tensor<4x$T>) -> tensor<4x$T> {
  "func.return"(%x) : (tensor<4x$T>) -> ()
})"},
                {Opcode::constant, "", "tensor<4x$T>",
                 R"(%r = "stablehlo.constant"() {value = dense<$1> : tensor<4x$T>} : () -> tensor<4x$T>)"},
                {Opcode::iota, "", "tensor<4x$T>",
                 R"(%r = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4x$T>)"},
                // -- Elementwise, of several types or with attributes.
                {Opcode::abs, kOne, "tensor<4x$R>",
                 R"(%r = "stablehlo.abs"(%a) : (tensor<4x$T>) -> tensor<4x$R>)"},
                {Opcode::compare, kTwo, "tensor<4xi1>",
                 R"(%r = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<4x$T>, tensor<4x$T>) -> tensor<4xi1>)"},
                {Opcode::complex, kTwo, "tensor<4xcomplex<$T>>",
                 R"(%r = "stablehlo.complex"(%a, %b) : (tensor<4x$T>, tensor<4x$T>) -> tensor<4xcomplex<$T>>)"},
                {Opcode::convert, kOne, "tensor<4xf32>",
                 R"(%r = "stablehlo.convert"(%a) : (tensor<4x$T>) -> tensor<4xf32>)"},
                {Opcode::imag, kOne, "tensor<4x$R>",
                 R"(%r = "stablehlo.imag"(%a) : (tensor<4x$T>) -> tensor<4x$R>)"},
                {Opcode::is_finite, kOne, "tensor<4xi1>",
                 R"(%r = "stablehlo.is_finite"(%a) : (tensor<4x$T>) -> tensor<4xi1>)"},
                {Opcode::real, kOne, "tensor<4x$R>",
                 R"(%r = "stablehlo.real"(%a) : (tensor<4x$T>) -> tensor<4x$R>)"},
                {Opcode::reduce_precision, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.reduce_precision"(%a) {exponent_bits = 4 : i32, mantissa_bits = 3 : i32} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::select, "%p: tensor<4xi1>, %a: tensor<4x$T>, %b: tensor<4x$T>",
                 "tensor<4x$T>",
                 R"(%r = "stablehlo.select"(%p, %a, %b) : (tensor<4xi1>, tensor<4x$T>, tensor<4x$T>) -> tensor<4x$T>)"},
                // -- Data movement.
                {Opcode::bitcast_convert, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.bitcast_convert"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::broadcast_in_dim, kOne, "tensor<3x4x$T>",
                 R"(%r = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<4x$T>) -> tensor<3x4x$T>)"},
                {Opcode::concatenate, kTwo, "tensor<8x$T>",
                 R"(%r = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<4x$T>, tensor<4x$T>) -> tensor<8x$T>)"},
                {Opcode::dynamic_slice, "%a: tensor<4x$T>, %i: tensor<i32>", "tensor<2x$T>",
                 R"(%r = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 2>} : (tensor<4x$T>, tensor<i32>) -> tensor<2x$T>)"},
                {Opcode::dynamic_update_slice,
                 "%a: tensor<4x$T>, %u: tensor<2x$T>, %i: tensor<i32>", "tensor<4x$T>",
                 R"(%r = "stablehlo.dynamic_update_slice"(%a, %u, %i) : (tensor<4x$T>, tensor<2x$T>, tensor<i32>) -> tensor<4x$T>)"},
                {Opcode::gather, "%a: tensor<4x$T>, %i: tensor<3x1xi32>", "tensor<3x$T>",
                 R"(%r = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>} : (tensor<4x$T>, tensor<3x1xi32>) -> tensor<3x$T>)"},
                {Opcode::get_dimension_size, kOne, "tensor<i32>",
                 R"(%r = "stablehlo.get_dimension_size"(%a) {dimension = 0 : i64} : (tensor<4x$T>) -> tensor<i32>)"},
                {Opcode::pad, "%a: tensor<4x$T>, %b: tensor<$T>", "tensor<9x$T>",
                 R"(%r = "stablehlo.pad"(%a, %b) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 1>} : (tensor<4x$T>, tensor<$T>) -> tensor<9x$T>)"},
                {Opcode::reshape, kOne, "tensor<2x2x$T>",
                 R"(%r = "stablehlo.reshape"(%a) : (tensor<4x$T>) -> tensor<2x2x$T>)"},
                {Opcode::reverse, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.reverse"(%a) {dimensions = array<i64: 0>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::slice, kOne, "tensor<2x$T>",
                 R"(%r = "stablehlo.slice"(%a) {start_indices = array<i64: 1>, limit_indices = array<i64: 4>, strides = array<i64: 2>} : (tensor<4x$T>) -> tensor<2x$T>)"},
                {Opcode::transpose, "%a: tensor<2x3x$T>", "tensor<3x2x$T>",
                 R"(%r = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3x$T>) -> tensor<3x2x$T>)"},
                // -- Reductions and windows.
                {Opcode::map, kTwo, "tensor<4x$T>", R"(%r = "stablehlo.map"(%a, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {dimensions = array<i64: 0>} : (tensor<4x$T>, tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::reduce, "%a: tensor<4x$T>, %b: tensor<$T>", "tensor<$T>",
                 R"(%r = "stablehlo.reduce"(%a, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {dimensions = array<i64: 0>} : (tensor<4x$T>, tensor<$T>) -> tensor<$T>)"},
                {Opcode::reduce_window, "%a: tensor<4x$T>, %b: tensor<$T>", "tensor<3x$T>",
                 R"(%r = "stablehlo.reduce_window"(%a, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {window_dimensions = array<i64: 2>} : (tensor<4x$T>, tensor<$T>) -> tensor<3x$T>)"},
                {Opcode::scatter, "%a: tensor<4x$T>, %i: tensor<3x1xi32>, %u: tensor<3x$T>",
                 "tensor<4x$T>",
                 R"(%r = "stablehlo.scatter"(%a, %i, %u) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x$T>, tensor<3x1xi32>, tensor<3x$T>) -> tensor<4x$T>)"},
                {Opcode::select_and_scatter, "%a: tensor<4x$T>, %s: tensor<2x$T>, %b: tensor<$T>",
                 "tensor<4x$T>", R"(%r = "stablehlo.select_and_scatter"(%a, %s, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.compare"(%x, %y) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<$T>, tensor<$T>) -> tensor<i1>
  "stablehlo.return"(%z) : (tensor<i1>) -> ()
}, {
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4x$T>, tensor<2x$T>, tensor<$T>) -> tensor<4x$T>)"},
                {Opcode::sort, kOne, "tensor<4x$T>", R"(%r = "stablehlo.sort"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.compare"(%x, %y) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<$T>, tensor<$T>) -> tensor<i1>
  "stablehlo.return"(%z) : (tensor<i1>) -> ()
}) {dimension = 0 : i64, is_stable = true} : (tensor<4x$T>) -> tensor<4x$T>)"},
                // -- Normalisation.
                {Opcode::batch_norm_grad,
                 "%a: tensor<4x2x$T>, %s: tensor<2x$T>, %m: tensor<2x$T>, %v: tensor<2x$T>, %g: "
                 "tensor<4x2x$T>",
                 "tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>",
                 R"(%r:3 = "stablehlo.batch_norm_grad"(%a, %s, %m, %v, %g) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<4x2x$T>) -> (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>))"},
                {Opcode::batch_norm_inference,
                 "%a: tensor<4x2x$T>, %s: tensor<2x$T>, %o: tensor<2x$T>, %m: tensor<2x$T>, %v: "
                 "tensor<2x$T>",
                 "tensor<4x2x$T>",
                 R"(%r = "stablehlo.batch_norm_inference"(%a, %s, %o, %m, %v) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<2x$T>) -> tensor<4x2x$T>)"},
                {Opcode::batch_norm_training,
                 "%a: tensor<4x2x$T>, %s: tensor<2x$T>, %o: tensor<2x$T>",
                 "tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>",
                 R"(%r:3 = "stablehlo.batch_norm_training"(%a, %s, %o) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>) -> (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>))"},
                // -- Products and linear algebra.
                {Opcode::cholesky, "%a: tensor<2x2x$T>", "tensor<2x2x$T>",
                 R"(%r = "stablehlo.cholesky"(%a) {lower = true} : (tensor<2x2x$T>) -> tensor<2x2x$T>)"},
                {Opcode::convolution, "%a: tensor<1x4x4x2x$T>, %k: tensor<2x2x2x3x$T>",
                 "tensor<1x3x3x3x$T>",
                 R"(%r = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x2x$T>, tensor<2x2x2x3x$T>) -> tensor<1x3x3x3x$T>)"},
                {Opcode::dot_general, "%a: tensor<2x3x$T>, %b: tensor<3x4x$T>",
                 "tensor<2x4x$T>", R"(%r = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x$T>, tensor<3x4x$T>) -> tensor<2x4x$T>)"},
                {Opcode::fft, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::triangular_solve, "%a: tensor<2x2x$T>, %b: tensor<2x3x$T>",
                 "tensor<2x3x$T>",
                 R"(%r = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2x$T>, tensor<2x3x$T>) -> tensor<2x3x$T>)"},
                // -- Control flow.
                {Opcode::case_, "%i: tensor<i32>, %a: tensor<4x$T>", "tensor<4x$T>",
                 R"(%r = "stablehlo.case"(%i) ({
  "stablehlo.return"(%a) : (tensor<4x$T>) -> ()
}) : (tensor<i32>) -> tensor<4x$T>)"},
                {Opcode::if_, "%p: tensor<i1>, %a: tensor<4x$T>", "tensor<4x$T>",
                 R"(%r = "stablehlo.if"(%p) ({
  "stablehlo.return"(%a) : (tensor<4x$T>) -> ()
}, {
  "stablehlo.return"(%a) : (tensor<4x$T>) -> ()
}) : (tensor<i1>) -> tensor<4x$T>)"},
                {Opcode::optimization_barrier, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.optimization_barrier"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::while_, "%p: tensor<i1>, %a: tensor<4x$T>", "tensor<i1>, tensor<4x$T>",
                 R"(%r:2 = "stablehlo.while"(%p, %a) ({
^bb0(%x: tensor<i1>, %y: tensor<4x$T>):
  "stablehlo.return"(%x) : (tensor<i1>) -> ()
}, {
^bb0(%x: tensor<i1>, %y: tensor<4x$T>):
  %z = "stablehlo.xor"(%x, %x) : (tensor<i1>, tensor<i1>) -> tensor<i1>
  "stablehlo.return"(%z, %y) : (tensor<i1>, tensor<4x$T>) -> ()
}) : (tensor<i1>, tensor<4x$T>) -> (tensor<i1>, tensor<4x$T>))"},
                // -- Random numbers.
                {Opcode::rng, "%a: tensor<$T>, %b: tensor<$T>", "tensor<4x$T>",
                 R"(%s = "stablehlo.constant"() {value = dense<4> : tensor<1xi64>} : () -> tensor<1xi64>
%r = "stablehlo.rng"(%a, %b, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<$T>, tensor<$T>, tensor<1xi64>) -> tensor<4x$T>)"},
                {Opcode::rng_bit_generator, "%s: tensor<2xui64>", "tensor<2xui64>, tensor<4x$T>",
                 R"(%r:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x$T>))"},
                // -- Between the processes that run a program in parallel; here there is one.
                {Opcode::all_gather, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::all_reduce, kOne, "tensor<4x$T>", R"(%r = "stablehlo.all_reduce"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::all_to_all, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::collective_broadcast, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::collective_permute, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<0> : tensor<1x2xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::collective_reduce, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.collective_reduce"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::partition_id, "", "tensor<$T>",
                 R"(%r = "stablehlo.partition_id"() : () -> tensor<$T>)"},
                {Opcode::reduce_scatter, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.reduce_scatter"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::replica_id, "", "tensor<$T>",
                 R"(%r = "stablehlo.replica_id"() : () -> tensor<$T>)"},
                // -- The world outside.
                {Opcode::after_all, kOne, "tensor<4x$T>",
                 R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%u = "stablehlo.after_all"(%t) : (!stablehlo.token) -> !stablehlo.token
%r:2 = "stablehlo.optimization_barrier"(%a, %u) : (tensor<4x$T>, !stablehlo.token) -> (tensor<4x$T>, !stablehlo.token))"},
                {Opcode::custom_call, kOne, "tensor<4x$T>",
                 R"(%r = "stablehlo.custom_call"(%a) {call_target_name = "f"} : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::infeed, "", "tensor<4x$T>",
                 R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%r:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<4x$T>, !stablehlo.token))"},
                {Opcode::outfeed, kOne, "tensor<4x$T>",
                 R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%u = "stablehlo.outfeed"(%a, %t) {outfeed_config = ""} : (tensor<4x$T>, !stablehlo.token) -> !stablehlo.token
%r = "stablehlo.reshape"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
                {Opcode::recv, "", "tensor<4x$T>",
                 R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4x$T>, !stablehlo.token))"},
                {Opcode::send, kOne, "tensor<4x$T>",
                 R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%u = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<4x$T>, !stablehlo.token) -> !stablehlo.token
%r = "stablehlo.reshape"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
};

const Row* row_of(Opcode opcode) {
  for (const Row& row : kRows) {
    if (row.opcode == opcode) return &row;
  }
  return nullptr;
}

std::string_view number_of(DType dtype) {
  if (dtype == DType::pred) return "true";
  if (is_complex(dtype)) return "(1.0, 0.0)";
  return is_floating(dtype) ? "1.0" : "1";
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// "%r" for one type, "%r#0, %r#1" for two: types hold no comma but between them.
std::string result_names(std::string_view results, std::string_view body) {
  size_t count = 1;
  for (size_t at = results.find("tensor<", 1); at != std::string_view::npos;
       at = results.find("tensor<", at + 1))
    ++count;
  if (body.find("%r:") == std::string_view::npos) return "%r";
  std::string names;
  for (size_t i = 0; i < count; ++i) names += (i == 0 ? "%r#" : ", %r#") + std::to_string(i);
  return names;
}

std::string main_text(std::string_view parameters, std::string_view results,
                      std::string_view body) {
  std::string text = "func.func public @main(" + std::string(parameters) + ") -> (";
  text += std::string(results) + ") {\n" + std::string(body) + "\n\"func.return\"(";
  text += result_names(results, body) + ") : (" + std::string(results) + ") -> ()\n}\n";
  return text;
}

std::string elementwise_text(const hlo::OpcodeTraits& traits) {
  std::string parameters;
  std::string operands;
  std::string types;
  for (int i = 0; i < traits.min_operands; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string name = "%a" + std::to_string(i);
    parameters += comma + name + ": tensor<4x$T>";
    operands += comma + name;
    types += comma + "tensor<4x$T>";
  }
  const std::string body = "%r = \"stablehlo." + std::string(traits.name) + "\"(" + operands +
                           ") : (" + types + ") -> tensor<4x$T>";
  return main_text(parameters, "tensor<4x$T>", body);
}

}  // namespace

std::string support_program(Opcode opcode, DType dtype) {
  const hlo::OpcodeTraits& traits = hlo::traits(opcode);
  std::string text;
  if (const Row* row = row_of(opcode)) {
    text = std::string(row->functions) + "\n" + main_text(row->parameters, row->results, row->body);
  } else if (traits.has(hlo::kElementwise)) {
    text = elementwise_text(traits);
  } else {
    return "";
  }
  text = "module @support {\n" + text + "}\n";
  replace_all(text, "$T", dtype_info(dtype).mlir_name);
  replace_all(text, "$R", dtype_info(real_dtype(dtype)).mlir_name);
  replace_all(text, "$1", number_of(dtype));
  return text;
}

}  // namespace systole::app
