#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"
#include "systole/hlo/semantics/matmul.h"

namespace systole::hlo::ops {
namespace {

void check_equal_sizes(const InferContext& context, std::string_view what, const Dims& lhs_axes,
                       const Dims& rhs_axes) {
  for (size_t i = 0; i < lhs_axes.size(); ++i) {
    const int64_t lhs = context.operand(0).shape[static_cast<int>(lhs_axes[i])];
    const int64_t rhs = context.operand(1).shape[static_cast<int>(rhs_axes[i])];
    if (lhs == rhs) continue;
    throw invalid_argument(
        "dot_general: sizes of {} dimension {}, got {} and {} in {} and {}, expected equal", what,
        i, lhs, rhs, context.operand(0), context.operand(1));
  }
}

void check_operand_axes(const InferContext& context, int operand, std::string_view side,
                        const Dims& batching, const Dims& contracting) {
  const Opcode opcode = context.opcode;
  const int rank = context.operand(operand).shape.rank();
  const auto name = [side](std::string_view what) { return fmt::format("{}_{}", side, what); };
  check_unique(opcode, name("batching and contracting dimensions"),
               concat(batching, contracting));                            // C3, C4
  check_axes(opcode, name("batching_dimensions"), batching, rank);        // C5, C7
  check_axes(opcode, name("contracting_dimensions"), contracting, rank);  // C6, C8
}

Dims sizes_of(const Shape& shape, const Dims& axes) {
  Dims sizes;
  for (const int64_t axis : axes) sizes.push_back(shape[static_cast<int>(axis)]);
  return sizes;
}

Dims free_axes(const Shape& shape, const Dims& batching, const Dims& contracting) {
  return other_axes(shape.rank(), concat(batching, contracting));
}

struct KnownAlgorithm {
  std::string_view operands;  // the precision type of both
  std::string_view accumulation;
  int64_t num_primitive_operations;
};
// The algorithms that StableHLO's verifier knows, besides those of 8-bit floats.
constexpr KnownAlgorithm kKnownAlgorithms[] = {
    {"f16", "f16", 1},  {"f16", "f32", 1},  {"bf16", "bf16", 1}, {"bf16", "f32", 1},
    {"bf16", "f32", 3}, {"bf16", "f32", 6}, {"bf16", "f32", 9},  {"tf32", "f32", 1},
    {"tf32", "f32", 3}, {"f32", "f32", 1},  {"f64", "f64", 1}};

bool is_known(const DotAlgorithm& a) {
  const std::string_view lhs = a.lhs_precision_type.text;
  const std::string_view rhs = a.rhs_precision_type.text;
  const std::string_view accumulation = a.accumulation_type.text;
  if (a.lhs_component_count != 1 || a.rhs_component_count != 1) return false;
  if (lhs.starts_with("f8E") && rhs.starts_with("f8E")) {
    return accumulation == "f32" && a.num_primitive_operations == 1;
  }
  return lhs == rhs && !a.allow_imprecise_accumulation &&
         std::ranges::any_of(kKnownAlgorithms, [&](const KnownAlgorithm& known) {
           return known.operands == lhs && known.accumulation == accumulation &&
                  known.num_primitive_operations == a.num_primitive_operations;
         });
}

void check_algorithm(const DotAttrs& attrs) {
  const DotAlgorithm& a = attrs.algorithm;
  if (a == DotAlgorithm()) return;
  const auto is_default = [](Precision precision) { return precision == Precision::default_; };
  if (!std::ranges::all_of(attrs.precision_config, is_default)) {  // C21
    throw invalid_argument(
        "dot_general: precision_config, got HIGH or HIGHEST with an algorithm, expected DEFAULT");
  }
  const int64_t counts[] = {a.lhs_component_count, a.rhs_component_count,
                            a.num_primitive_operations};
  check_at_least(Opcode::dot_general, "algorithm: counts", counts, 1);  // C22, C23, C24
  if (is_known(a)) return;
  throw invalid_argument(
      "dot_general: algorithm, got {} x {} -> {} with counts {}{}, expected one that StableHLO "
      "knows, "
      "such as bf16 x bf16 -> f32 with counts [1, 1, 3]",
      a.lhs_precision_type.text, a.rhs_precision_type.text, a.accumulation_type.text,
      to_string(counts), a.allow_imprecise_accumulation ? " and imprecise accumulation" : "");
}

// The element type of the result may be declared (XLA's preferred element type): products of bf16
// are then kept as f32, of s8 as s32. The default is the operands' type.
std::vector<TensorType> infer_dot_general(const InferContext& context) {
  const DotAttrs& attrs = context.get<DotAttrs>();
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  check_count(context.opcode, "rhs_batching_dimensions", attrs.rhs_batching_dimensions.size(),
              static_cast<int64_t>(attrs.lhs_batching_dimensions.size()));  // C1
  check_count(context.opcode, "rhs_contracting_dimensions", attrs.rhs_contracting_dimensions.size(),
              static_cast<int64_t>(attrs.lhs_contracting_dimensions.size()));  // C2
  check_operand_axes(context, 0, "lhs", attrs.lhs_batching_dimensions,
                     attrs.lhs_contracting_dimensions);
  check_operand_axes(context, 1, "rhs", attrs.rhs_batching_dimensions,
                     attrs.rhs_contracting_dimensions);
  check_equal_sizes(context, "batching", attrs.lhs_batching_dimensions,
                    attrs.rhs_batching_dimensions);  // C9
  check_equal_sizes(context, "contracting", attrs.lhs_contracting_dimensions,
                    attrs.rhs_contracting_dimensions);             // C10
  check_precision_config(context.opcode, attrs.precision_config);  // C11
  check_algorithm(attrs);
  check_product_dtypes(context);  // C13
  const Dims lhs_free =
      free_axes(lhs.shape, attrs.lhs_batching_dimensions, attrs.lhs_contracting_dimensions);
  const Dims rhs_free =
      free_axes(rhs.shape, attrs.rhs_batching_dimensions, attrs.rhs_contracting_dimensions);
  const Dims dims = concat(
      concat(sizes_of(lhs.shape, attrs.lhs_batching_dimensions), sizes_of(lhs.shape, lhs_free)),
      sizes_of(rhs.shape, rhs_free));  // C12
  return {{declared_product_dtype(context, lhs.dtype), Shape(dims)}};
}

int64_t product(const Dims& sizes) { return Shape(sizes).num_elements(); }

// Returns the operand with its axes in the order a, b, c, as [prod a, prod b, prod c].
Tensor arrange(const Tensor& operand, const Dims& a, const Dims& b, const Dims& c) {
  const Shape& shape = operand.shape();
  return permuted(operand, concat(concat(a, b), c))
      .reshape(
          {product(sizes_of(shape, a)), product(sizes_of(shape, b)), product(sizes_of(shape, c))});
}

std::vector<Tensor> evaluate_dot_general(const Instruction& instruction,
                                         std::span<const Tensor> operands, const Evaluator&) {
  Tensor result(instruction.type());
  if (result.num_elements() == 0) return {result};  // of any number of batches
  const DotAttrs& attrs = instruction.attrs<DotAttrs>();
  const DType wide = accumulation_dtype(operands[0].dtype(), instruction.dtype());
  const Dims lhs_free = free_axes(operands[0].shape(), attrs.lhs_batching_dimensions,
                                  attrs.lhs_contracting_dimensions);
  const Dims rhs_free = free_axes(operands[1].shape(), attrs.rhs_batching_dimensions,
                                  attrs.rhs_contracting_dimensions);
  const Tensor lhs = arrange(operands[0].cast(wide), attrs.lhs_batching_dimensions, lhs_free,
                             attrs.lhs_contracting_dimensions);
  const Tensor rhs = arrange(operands[1].cast(wide), attrs.rhs_batching_dimensions,
                             attrs.rhs_contracting_dimensions, rhs_free);
  const int64_t rows = lhs.dim(1);
  const int64_t columns = rhs.dim(2);
  for (int64_t batch = 0; batch < lhs.dim(0); ++batch) {
    const Tensor c = matmul(lhs.slice(batch, batch + 1).reshape({rows, lhs.dim(2)}),
                            rhs.slice(batch, batch + 1).reshape({rhs.dim(1), columns}))
                         .cast(instruction.dtype());
    StridedView to = view_of(c.shape());
    to.offset = batch * rows * columns;
    copy_strided(result, to, c, view_of(c.shape()), c.shape().dims());
  }
  return {result};
}

}  // namespace

extern const OpSemantics dot_general_semantics{
    .infer = infer_dot_general,
    .evaluate = evaluate_dot_general,
    .format =
        AssemblyFormat{
            "$*?(, batching_dims = <lhs_batching_dimensions> x <rhs_batching_dimensions>), "
            "contracting_dims = <lhs_contracting_dimensions> x <rhs_contracting_dimensions>?(, "
            "precision "
            "= "
            "<precision_config>)?(, algorithm = <algorithm#stablehlo.dot_algorithm>)",
            TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<2x3x$T>, %b: tensor<3x4x$T>",
            .results = "tensor<2x4x$T>",
            .body =
                R"(%r = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x$T>, tensor<3x4x$T>) -> tensor<2x4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::products, .per_axis = true},
    .vectorize = replicas::vectorize_dot_general,
    .sum_over_replicas = replicas::sum_dot_general,
    .shard = spmd::shard_dot_general};

}  // namespace systole::hlo::ops
