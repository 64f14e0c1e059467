// Tensors: making, joining, cutting; random ones; texts and parsing.
#include "functions.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/api/tpu_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/ranked_copy.h"

namespace systole::python {
namespace {

using Unary = Output (*)(const Input&, const NameOptions&);

void define_leaves() {
  function("placeholder", +[](DType dtype, const Shape& shape, std::optional<std::string> name) {
    return placeholder(dtype, shape, name.value_or("Placeholder"));
  }, {"dtype", "shape", "name"});
  function("unranked_placeholder", +[](DType dtype, std::optional<std::string> name) {
    return unranked_placeholder(dtype, name.value_or("Placeholder"));
  }, {"dtype", "name"});
  function("placeholder_with_default", +[](const Input& input, const Shape& shape, std::optional<std::string> name) {
    return placeholder_with_default(input, shape, name.value_or("PlaceholderWithDefault"));
  }, {"input", "shape", "name"});
  function("fill", fill, {"dims", "value"});
  function("zeros", +[](const ShapeInput& shape, std::optional<DType> dtype, std::optional<std::string> name) {
    return zeros(shape, dtype.value_or(DType::f32), name.value_or("zeros"));
  }, {"shape", "dtype", "name"});
  function("ones", +[](const ShapeInput& shape, std::optional<DType> dtype, std::optional<std::string> name) {
    return ones(shape, dtype.value_or(DType::f32), name.value_or("ones"));
  }, {"shape", "dtype", "name"});
  function("zeros_like", zeros_like, {"tensor"}, field("dtype", &LikeOptions::dtype));
  function("ones_like", ones_like, {"tensor"}, field("dtype", &LikeOptions::dtype));
  function("identity", static_cast<Unary>(identity), {"input"});
  function("stop_gradient", static_cast<Unary>(stop_gradient), {"input"});
  function("range", static_cast<Output (*)(const Input&, const Input&, const Input&, const NameOptions&)>(range),
           {"start", "limit", "delta"});
  function("eye", eye, {"num_rows"}, field("num_columns", &EyeOptions::num_columns), field("dtype", &EyeOptions::dtype));
  function("no_op", +[](std::optional<std::string> name) { return no_op(name.value_or("NoOp")); }, {"name"});
}

void define_shapes() {
  function("shape", shape, {"input"}, field("out_type", &ShapeOptions::out_type));
  function("size", size, {"input"}, field("out_type", &SizeOptions::out_type));
  function("rank", rank, {"input"});
  function("reshape", reshape, {"tensor", "shape"});
  function("expand_dims", static_cast<Output (*)(const Input&, int64_t, const NameOptions&)>(expand_dims),
           {"input", "axis"});
  function("squeeze", static_cast<Output (*)(const Input&, const SqueezeOptions&)>(squeeze), {"input"},
           field("axis", &SqueezeOptions::axis));
  function("broadcast_to", broadcast_to, {"input", "shape"});
  function("transpose", static_cast<Output (*)(const Input&, const TransposeOptions&)>(transpose), {"a"},
           field("perm", &TransposeOptions::perm));
  function("matrix_transpose", matrix_transpose, {"a"});
  function("reverse", reverse, {"tensor", "axis"});
  function("ensure_shape", +[](const Input& x, const Shape& shape) { return set_shape(x, shape); }, {"x", "shape"});
}

void define_parts() {
  function("concat", concat, {"values", "axis"});
  function("stack", static_cast<Output (*)(const InputList&, const StackOptions&)>(stack), {"values"},
           field("axis", &StackOptions::axis));
  function("unstack", static_cast<std::vector<Output> (*)(const Input&, const UnstackOptions&)>(unstack), {"value"},
           field("num", &UnstackOptions::num), field("axis", &UnstackOptions::axis));
  function("split", static_cast<std::vector<Output> (*)(const Input&, int64_t, const SplitOptions&)>(split),
           {"value", "num"}, field("axis", &SplitOptions::axis));
  function("split_sizes",
           static_cast<std::vector<Output> (*)(const Input&, const std::vector<int64_t>&, const SplitOptions&)>(split),
           {"value", "sizes"}, field("axis", &SplitOptions::axis));
  function("slice", slice, {"input_", "begin", "size"});
  function("pad",
           +[](const Input& tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings,
               std::optional<std::string> mode, std::optional<double> value, const NameOptions& options) {
             PadOptions pad_options{.constant_values = value.value_or(0), .name = options.name};
             if (mode == "REFLECT" || mode == "reflect") pad_options.mode = PadMode::reflect;
             if (mode == "SYMMETRIC" || mode == "symmetric") pad_options.mode = PadMode::symmetric;
             return pad(tensor, paddings, pad_options);
           },
           {"tensor", "paddings", "mode", "constant_values"});
  function("tile", tile, {"input", "multiples"});
  function("gather", static_cast<Output (*)(const Input&, const Input&, const GatherOptions&)>(gather),
           {"params", "indices"}, field("axis", &GatherOptions::axis));
  function("one_hot", static_cast<Output (*)(const Input&, int64_t, const OneHotOptions&)>(one_hot),
           {"indices", "depth"}, field("on_value", &OneHotOptions::on_value),
           field("off_value", &OneHotOptions::off_value), field("axis", &OneHotOptions::axis),
           field("dtype", &OneHotOptions::dtype));
  function("nn.top_k", static_cast<TopK (*)(const Input&, const TopKOptions&)>(top_k), {"input"},
           field("k", &TopKOptions::k), field("sorted", &TopKOptions::sorted));
  function("unsorted_segment_sum", unsorted_segment_sum, {"data", "segment_ids", "num_segments"});
  function("sequence_mask",
           static_cast<Output (*)(const Input&, int64_t, const SequenceMaskOptions&)>(sequence_mask),
           {"lengths", "maxlen"}, field("dtype", &SequenceMaskOptions::dtype));
  function("meshgrid", meshgrid, {"vectors"}, field("indexing", &MeshgridOptions::indexing));
  function("matrix_band_part", matrix_band_part, {"input", "num_lower", "num_upper"});
  function("matrix_diag", matrix_diag, {"diagonal"});
  function("diag", diag, {"diagonal"});
  function("matrix_diag_part", matrix_diag_part, {"input"});
  function("diag_part", diag_part, {"input"});
  function("trace", trace, {"x"});
  function("gather_nd", gather_nd, {"params", "indices"}).with_types("params: T, indices: Tindices");
  function("scatter_nd", scatter_nd, {"indices", "updates", "shape"}).with_types("indices: Tindices, updates: T");
  function("reverse_sequence", reverse_sequence, {"input", "seq_lengths"},
           field("seq_axis", &ReverseSequenceOptions::seq_axis),
           field("batch_axis", &ReverseSequenceOptions::batch_axis))
      .with_types("input: T, seq_lengths: Tlen");
  function("depth_to_space", depth_to_space, {"input", "block_size"});
  function("space_to_depth", space_to_depth, {"input", "block_size"});
  function("strided_slice",
           +[](const Input& input, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
               const std::vector<int64_t>& strides, std::optional<int64_t> begin_mask, std::optional<int64_t> end_mask,
               std::optional<int64_t> ellipsis_mask, std::optional<int64_t> new_axis_mask,
               std::optional<int64_t> shrink_axis_mask, const NameOptions& options) {
             return strided_slice(input, begin, end,
                                  {.strides = strides,
                                   .begin_mask = begin_mask.value_or(0),
                                   .end_mask = end_mask.value_or(0),
                                   .ellipsis_mask = ellipsis_mask.value_or(0),
                                   .new_axis_mask = new_axis_mask.value_or(0),
                                   .shrink_axis_mask = shrink_axis_mask.value_or(0),
                                   .name = options.name});
           },
           {"input_", "begin", "end", "strides", "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
            "shrink_axis_mask"});
}

void define_random() {
  function("random_normal",
           static_cast<Output (*)(const ShapeInput&, const RandomNormalOptions&)>(random_normal), {"shape"},
           field("mean", &RandomNormalOptions::mean), field("stddev", &RandomNormalOptions::stddev),
           field("dtype", &RandomNormalOptions::dtype), field("seed", &RandomNormalOptions::seed));
  function("truncated_normal",
           static_cast<Output (*)(const ShapeInput&, const TruncatedNormalOptions&)>(truncated_normal), {"shape"},
           field("mean", &TruncatedNormalOptions::mean), field("stddev", &TruncatedNormalOptions::stddev),
           field("dtype", &TruncatedNormalOptions::dtype), field("seed", &TruncatedNormalOptions::seed));
  function("random_uniform",
           static_cast<Output (*)(const ShapeInput&, const RandomUniformOptions&)>(random_uniform), {"shape"},
           field("minval", &RandomUniformOptions::minval), field("maxval", &RandomUniformOptions::maxval),
           field("dtype", &RandomUniformOptions::dtype), field("seed", &RandomUniformOptions::seed));
  function("multinomial", multinomial, {"logits", "num_samples"}, field("seed", &MultinomialOptions::seed),
           field("output_dtype", &MultinomialOptions::output_dtype));
  function("random_shuffle", random_shuffle, {"value"}, field("seed", &RandomShuffleOptions::seed));
}

void define_checks() {
  using Two = Operation (*)(const Input&, const Input&, const AssertOptions&);
  using One = Operation (*)(const Input&, const AssertOptions&);
  const auto two = [](const char* name, Two f) { function(name, f, {"x", "y"}, field("message", &AssertOptions::message)); };
  const auto one = [](const char* name, One f) { function(name, f, {"x"}, field("message", &AssertOptions::message)); };
  two("assert_equal", assert_equal);
  two("assert_none_equal", assert_none_equal);
  two("assert_less", assert_less);
  two("assert_less_equal", assert_less_equal);
  two("assert_greater", assert_greater);
  two("assert_greater_equal", assert_greater_equal);
  one("assert_positive", assert_positive);
  one("assert_negative", assert_negative);
  one("assert_non_positive", assert_non_positive);
  one("assert_non_negative", assert_non_negative);
  function("assert_scalar", assert_scalar, {"tensor"}, field("message", &AssertOptions::message));
  one("assert_integer", assert_integer);
  function("assert_rank", assert_rank, {"x", "rank"}, field("message", &AssertOptions::message));
  function("assert_rank_at_least", assert_rank_at_least, {"x", "rank"}, field("message", &AssertOptions::message));
  function("assert_type", assert_type, {"tensor", "tf_type"}, field("message", &AssertOptions::message));
  function("assert_near", assert_near, {"x", "y"}, field("rtol", &AssertNearOptions::rtol),
           field("atol", &AssertNearOptions::atol), field("message", &AssertNearOptions::message));
  function("assert_op", assert_op, {"condition"}, field("message", &AssertOptions::message));
  function("check_numerics", check_numerics, {"tensor", "message"});
  function("verify_tensor_all_finite", verify_tensor_all_finite, {"t", "msg"});
  function("add_check_numerics_ops", add_check_numerics_ops, {});
  function("print_op", print_op, {"input", "data"}, field("message", &PrintOptions::message),
           field("first_n", &PrintOptions::first_n), field("summarize", &PrintOptions::summarize));
  function("tpu.initialize_system", +[] { return tpu::initialize_system(); }, {});
  function("tpu.shutdown_system", +[] { return tpu::shutdown_system(); }, {});
}

}  // namespace

void define_arrays() {
  define_leaves();
  define_shapes();
  define_parts();
  define_random();
  define_checks();
}

}  // namespace systole::python
