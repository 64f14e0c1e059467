// Mathematics.
#include "functions.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/math_functions.h"

namespace systole::python {
namespace {

using Unary = Output (*)(const Input&, const NameOptions&);
using Binary = Output (*)(const Input&, const Input&, const NameOptions&);
using Reduction = Output (*)(const Input&, const ReduceOptions&);

void unary(const char* name, Unary f, const char* argument = "x") { function(name, f, {argument}); }
void binary(const char* name, Binary f) { function(name, f, {"x", "y"}); }
void reduction(const char* name, Reduction f) {
  function(name, f, {"input_tensor"}, field("axis", &ReduceOptions::axis), field("keepdims", &ReduceOptions::keepdims));
}

void define_elementwise() {
  unary("negative", negative);
  unary("abs", systole::abs);
  unary("sign", sign);
  unary("square", square);
  unary("round", systole::round);
  unary("exp", systole::exp);
  unary("expm1", systole::expm1);
  unary("log", systole::log);
  unary("log1p", systole::log1p);
  unary("sqrt", systole::sqrt);
  unary("rsqrt", rsqrt);
  unary("reciprocal", reciprocal);
  unary("sin", systole::sin);
  unary("cos", systole::cos);
  unary("tan", systole::tan);
  unary("tanh", systole::tanh);
  unary("sigmoid", sigmoid);
  unary("erf", systole::erf);
  unary("floor", systole::floor);
  unary("ceil", systole::ceil);
  unary("is_finite", is_finite);
  unary("is_nan", is_nan);
  unary("is_inf", is_inf);
  unary("logical_not", logical_not);
  unary("to_float", to_float);
  unary("to_double", to_double);
  unary("to_bfloat16", to_bfloat16);
  unary("to_int32", to_int32);
  unary("to_int64", to_int64);
  unary("nn.relu", relu, "features");
  unary("nn.relu6", relu6, "features");
  unary("nn.elu", elu, "features");
  unary("nn.softplus", softplus, "features");
  unary("nn.softsign", softsign, "features");
  unary("nn.selu", selu, "features");
  unary("nn.l2_loss", l2_loss, "t");
  function("nn.leaky_relu", leaky_relu, {"features"}, field("alpha", &LeakyReluOptions::alpha));
}

void define_binary() {
  binary("add", add);
  binary("subtract", subtract);
  binary("multiply", multiply);
  binary("truediv", truediv);
  binary("divide", divide);
  binary("realdiv", realdiv);
  binary("div", systole::div);
  binary("div_no_nan", div_no_nan);
  binary("floordiv", floordiv);
  binary("floor_div", floordiv);
  binary("floormod", floormod);
  binary("mod", mod);
  binary("truncatediv", truncatediv);
  binary("truncatemod", truncatemod);
  binary("pow", systole::pow);
  binary("squared_difference", squared_difference);
  binary("maximum", maximum);
  binary("minimum", minimum);
  binary("equal", equal);
  binary("not_equal", not_equal);
  binary("less", less);
  binary("less_equal", less_equal);
  binary("greater", greater);
  binary("greater_equal", greater_equal);
  binary("logical_and", logical_and);
  binary("logical_or", logical_or);
  binary("logical_xor", logical_xor);
}

void define_reductions() {
  reduction("reduce_sum", reduce_sum);
  reduction("reduce_prod", reduce_prod);
  reduction("reduce_mean", reduce_mean);
  reduction("reduce_max", reduce_max);
  reduction("reduce_min", reduce_min);
  reduction("reduce_any", reduce_any);
  reduction("reduce_all", reduce_all);
  reduction("reduce_logsumexp", reduce_logsumexp);
  reduction("math.reduce_variance", reduce_variance);
  reduction("math.reduce_std", reduce_std);
  function("argmax", static_cast<Output (*)(const Input&, const ArgOptions&)>(argmax), {"input"},
           field("axis", &ArgOptions::axis), field("output_type", &ArgOptions::output_type));
  function("argmin", static_cast<Output (*)(const Input&, const ArgOptions&)>(argmin), {"input"},
           field("axis", &ArgOptions::axis), field("output_type", &ArgOptions::output_type));
  function("cumsum", static_cast<Output (*)(const Input&, const CumsumOptions&)>(cumsum), {"x"},
           field("axis", &CumsumOptions::axis), field("exclusive", &CumsumOptions::exclusive),
           field("reverse", &CumsumOptions::reverse));
  function("norm", norm, {"tensor"}, field("ord", &NormOptions::ord), field("axis", &NormOptions::axis),
           field("keepdims", &NormOptions::keepdims));
  function("count_nonzero", count_nonzero, {"input_tensor"}, field("axis", &CountNonzeroOptions::axis),
           field("keepdims", &CountNonzeroOptions::keepdims), field("dtype", &CountNonzeroOptions::dtype));
}

void define_products() {
  function("matmul", static_cast<Output (*)(const Input&, const Input&, const MatMulOptions&)>(matmul), {"a", "b"},
           field("transpose_a", &MatMulOptions::transpose_a), field("transpose_b", &MatMulOptions::transpose_b));
  function("batch_matmul", batch_matmul, {"x", "y"}, field("adj_x", &BatchMatMulOptions::adj_x),
           field("adj_y", &BatchMatMulOptions::adj_y));
  function(
      "tensordot",
      +[](const Input& a, const Input& b, int64_t count, const std::vector<int64_t>& a_axes,
          const std::vector<int64_t>& b_axes, const NameOptions& options) {
        return tensordot(a, b, count >= 0 ? TensordotAxes(static_cast<int>(count)) : TensordotAxes(a_axes, b_axes),
                         options);
      },
      {"a", "b", "count", "a_axes", "b_axes"});
  function("einsum", +[](const std::string& equation, const InputList& inputs, const NameOptions& options) {
    return einsum(equation, inputs, options);
  }, {"equation", "inputs"});
  function("add_n", add_n, {"inputs"});
  function("clip_by_value", clip_by_value, {"t", "clip_value_min", "clip_value_max"});
  function("clip_by_norm",
           static_cast<Output (*)(const Input&, const Input&, const ClipByNormOptions&)>(clip_by_norm),
           {"t", "clip_norm"}, field("axes", &ClipByNormOptions::axes));
  function("clip_by_average_norm", clip_by_average_norm, {"t", "clip_norm"});
  function("global_norm", global_norm, {"t_list"});
  function("clip_by_global_norm", clip_by_global_norm, {"t_list", "clip_norm"},
           field("use_norm", &ClipByGlobalNormOptions::use_norm));
  function("cast", static_cast<Output (*)(const Input&, DType, const NameOptions&)>(cast), {"x", "dtype"});
  function("where", static_cast<Output (*)(const Input&, const Input&, const Input&, const NameOptions&)>(where),
           {"condition", "x", "y"})
      .with_types("condition: bool, x: T, y: T");
  function("where_v2", where_v2, {"condition", "x", "y"}).with_types("condition: bool, x: T, y: T");
  function("linspace",
           static_cast<Output (*)(const Input&, const Input&, int64_t, const NameOptions&)>(linspace),
           {"start", "stop", "num"});
  function("confusion_matrix",
           +[](const Input& labels, const Input& predictions, int64_t num_classes, std::optional<DType> dtype,
               std::optional<Input> weights) {
             return confusion_matrix({.labels = labels,
                                      .predictions = predictions,
                                      .num_classes = num_classes,
                                      .dtype = dtype.value_or(DType::s32),
                                      .weights = weights.value_or(1.0F)});
           },
           {"labels", "predictions", "num_classes", "dtype", "weights"});
}

}  // namespace

void define_math() {
  define_elementwise();
  define_binary();
  define_reductions();
  define_products();
}

}  // namespace systole::python
