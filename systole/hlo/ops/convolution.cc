#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/matmul.h"
#include "systole/hlo/semantics/window.h"

namespace systole::hlo::ops {
namespace {

// The axes of an operand or the result, checked in the same way for all three.
struct Layout {
  std::string_view name;
  int64_t first;   // batch, or a kernel's input feature
  int64_t second;  // feature, or a kernel's output feature
  const Dims& spatial;
};

void check_layout(const InferContext& context, const Layout& layout, int rank) {
  const std::string spatial = fmt::format("{}_spatial_dimensions", layout.name);
  check_count(context.opcode, spatial, layout.spatial.size(), rank - 2);  // C12, C17, C19
  const std::string all = fmt::format("{}_dimensions", layout.name);
  const Dims axes = concat({layout.first, layout.second}, layout.spatial);
  check_axes(context.opcode, all, axes, rank);  // C13, C18, C20
  check_unique(context.opcode, all, axes);
}

void check_divides(std::string_view what, int64_t size, std::string_view count, int64_t groups) {
  if (size % groups == 0) return;
  throw invalid_argument("convolution: {}, got {}, expected a multiple of {} {}", what, size, count,
                         groups);
}

void check_windows(const InferContext& context, const ConvolutionAttrs& attrs, int spatial_rank) {
  const Opcode opcode = context.opcode;
  check_count(opcode, "window_strides", attrs.window_strides.size(), spatial_rank);    // C2
  check_at_least(opcode, "window_strides", attrs.window_strides, 1);                   // C3
  check_count(opcode, "padding", attrs.padding.size(), spatial_rank);                  // C4
  check_count(opcode, "lhs_dilation", attrs.lhs_dilation.size(), spatial_rank);        // C5
  check_at_least(opcode, "lhs_dilation", attrs.lhs_dilation, 1);                       // C6
  check_count(opcode, "rhs_dilation", attrs.rhs_dilation.size(), spatial_rank);        // C7
  check_at_least(opcode, "rhs_dilation", attrs.rhs_dilation, 1);                       // C8
  check_count(opcode, "window_reversal", attrs.window_reversal.size(), spatial_rank);  // C9
}

void check_groups(const ConvolutionAttrs& attrs, const Shape& lhs, const Shape& rhs) {
  const int64_t feature_groups = attrs.feature_group_count;
  const int64_t batch_groups = attrs.batch_group_count;
  check_at_least(Opcode::convolution, "feature_group_count", {&feature_groups, 1}, 1);  // C21
  check_at_least(Opcode::convolution, "batch_group_count", {&batch_groups, 1}, 1);      // C22
  if (feature_groups > 1 && batch_groups > 1) {                                         // C23
    throw invalid_argument(
        "convolution: feature_group_count and batch_group_count, got {} and {}, expected one to "
        "be 1",
        feature_groups, batch_groups);
  }
  const int64_t batch = lhs[static_cast<int>(attrs.input_batch_dimension)];
  const int64_t features = lhs[static_cast<int>(attrs.input_feature_dimension)];
  const int64_t outputs = rhs[static_cast<int>(attrs.kernel_output_feature_dimension)];
  const int64_t inputs = rhs[static_cast<int>(attrs.kernel_input_feature_dimension)];
  check_divides("batch", batch, "batch_group_count", batch_groups);                  // C10
  check_divides("input features", features, "feature_group_count", feature_groups);  // C11
  check_divides("output features", outputs, "batch_group_count", batch_groups);      // C15
  check_divides("output features", outputs, "feature_group_count", feature_groups);  // C16
  if (inputs != features / feature_groups) {                                         // C14
    throw invalid_argument("convolution: kernel input features, got {}, expected {} of {} groups",
                           inputs, features / feature_groups, feature_groups);
  }
}

std::vector<WindowAxis> spatial_axes(const ConvolutionAttrs& attrs, const Shape& rhs) {
  std::vector<WindowAxis> axes;
  for (size_t d = 0; d < attrs.kernel_spatial_dimensions.size(); ++d) {
    axes.push_back({.size = rhs[static_cast<int>(attrs.kernel_spatial_dimensions[d])],
                    .stride = attrs.window_strides[d],
                    .padding_low = attrs.padding[d].first,
                    .padding_high = attrs.padding[d].second,
                    .base_dilation = attrs.lhs_dilation[d],
                    .dilation = attrs.rhs_dilation[d]});
  }
  return axes;
}

void check_kernel_sizes(Opcode opcode, std::span<const WindowAxis> axes) {
  Dims sizes;
  for (const WindowAxis& axis : axes) sizes.push_back(axis.size);
  check_at_least(opcode, "spatial sizes of the kernel", sizes, 1);
}

// The element type of the result may be declared, as for dot_general; otherwise C27.
std::vector<TensorType> infer_convolution(const InferContext& context) {
  const ConvolutionAttrs& attrs = context.get<ConvolutionAttrs>();
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  const int rank = lhs.shape.rank();
  if (rhs.shape.rank() != rank || rank < 2) {  // C1
    throw invalid_argument("convolution: ranks, got {} and {}, expected equal and >= 2", lhs, rhs);
  }
  check_precision_config(context.opcode, attrs.precision_config);  // C24
  check_product_dtypes(context);                                   // C27
  check_windows(context, attrs, rank - 2);
  check_layout(context,
               {"input", attrs.input_batch_dimension, attrs.input_feature_dimension,
                attrs.input_spatial_dimensions},
               rank);
  check_layout(context,
               {"kernel", attrs.kernel_input_feature_dimension,
                attrs.kernel_output_feature_dimension, attrs.kernel_spatial_dimensions},
               rank);
  check_layout(context,
               {"output", attrs.output_batch_dimension, attrs.output_feature_dimension,
                attrs.output_spatial_dimensions},
               rank);
  check_groups(attrs, lhs.shape, rhs.shape);
  Dims dims(static_cast<size_t>(rank), 0);  // C25, C26
  dims[attrs.output_batch_dimension] =
      lhs.shape[static_cast<int>(attrs.input_batch_dimension)] / attrs.batch_group_count;
  dims[attrs.output_feature_dimension] =
      rhs.shape[static_cast<int>(attrs.kernel_output_feature_dimension)];
  const std::vector<WindowAxis> axes = spatial_axes(attrs, rhs.shape);
  check_kernel_sizes(context.opcode, axes);
  for (size_t d = 0; d < axes.size(); ++d) {
    dims[attrs.output_spatial_dimensions[d]] = num_windows(
        context.opcode, lhs.shape[static_cast<int>(attrs.input_spatial_dimensions[d])], axes[d]);
  }
  return {{declared_product_dtype(context, lhs.dtype), Shape(std::move(dims))}};
}

// The operands and the result in a fixed axis order and in the accumulation dtype. Images are
// [batch, spatial..., feature], dilated and padded; kernels are [spatial..., input feature, output
// feature].
struct Canonical {
  Tensor images;
  Tensor kernel;
  Shape result;
  Dims result_axes;  // which axis of the instruction's result each axis of `result` is
  // One window over the features of one group of an image.
  std::vector<WindowAxis> axes;
};

Canonical canonicalize(const ConvolutionAttrs& attrs, std::span<const Tensor> operands,
                       const TensorType& type) {
  const DType wide = accumulation_dtype(operands[0].dtype(), type.dtype);
  const Dims image_axes =
      concat(concat({attrs.input_batch_dimension}, attrs.input_spatial_dimensions),
             {attrs.input_feature_dimension});
  const Dims kernel_axes =
      concat(attrs.kernel_spatial_dimensions,
             {attrs.kernel_input_feature_dimension, attrs.kernel_output_feature_dimension});
  Canonical c;
  c.axes = spatial_axes(attrs, operands[1].shape());
  c.axes.insert(c.axes.begin(), WindowAxis());
  c.axes.emplace_back();
  c.images = pad_for_windows(permuted(operands[0].cast(wide), image_axes), Tensor::zeros(wide, {}),
                             c.axes);
  Dims reversals;
  for (size_t d = 0; d < attrs.window_reversal.size(); ++d) {
    if (attrs.window_reversal[d]) reversals.push_back(static_cast<int64_t>(d));
  }
  c.kernel = reversed(permuted(operands[1].cast(wide), kernel_axes), reversals);
  c.axes.back().size = c.kernel.dim(c.kernel.rank() - 2);
  c.result_axes = concat(concat({attrs.output_batch_dimension}, attrs.output_spatial_dimensions),
                         {attrs.output_feature_dimension});
  Dims dims;
  for (const int64_t axis : c.result_axes) dims.push_back(type.shape[static_cast<int>(axis)]);
  c.result = Shape(std::move(dims));
  return c;
}

// Returns the window of each output position of an image as one row: [positions, window].
Tensor patches(const Canonical& c, int64_t image, int64_t first_feature) {
  Dims counts = c.result.dims();
  counts.front() = 1;
  counts.back() = 1;
  WindowWalk walk = walk_windows(c.images.shape(), c.axes, counts);
  walk.view.offset = image * c.images.shape().strides()[0] + first_feature;
  const Shape shape(walk.extents);
  Tensor rows(c.images.dtype(), shape);
  copy_strided(rows, view_of(shape), c.images, walk.view, walk.extents);
  const int64_t positions = Shape(counts).num_elements();
  return rows.reshape({positions, rows.num_elements() / positions});
}

// Returns columns [first, first + count) of a matrix.
Tensor columns(const Tensor& matrix, int64_t first, int64_t count) {
  Tensor result(matrix.dtype(), {matrix.dim(0), count});
  StridedView from = view_of(matrix.shape());
  from.offset = first;
  copy_strided(result, view_of(result.shape()), matrix, from, result.shape().dims());
  return result;
}

// For each image and group: the product of the image's windows and the kernel's columns.
std::vector<Tensor> evaluate_convolution(const Instruction& instruction,
                                         std::span<const Tensor> operands, const Evaluator&) {
  if (instruction.shape().num_elements() == 0) return {Tensor(instruction.type())};
  const ConvolutionAttrs& attrs = instruction.attrs<ConvolutionAttrs>();
  const Canonical c = canonicalize(attrs, operands, instruction.type());
  const int64_t groups = attrs.feature_group_count * attrs.batch_group_count;
  const int64_t batch = c.result[0];
  const int64_t all_features = c.result[c.result.rank() - 1];
  const int64_t features = all_features / groups;
  const int64_t positions = c.result.num_elements() / (batch * all_features);
  const Tensor kernel = c.kernel.reshape({c.kernel.num_elements() / all_features, all_features});
  Tensor result(instruction.dtype(), c.result);
  for (int64_t group = 0; group < groups; ++group) {
    const Tensor group_kernel = columns(kernel, group * features, features);
    const int64_t first_feature = attrs.feature_group_count > 1 ? group * c.axes.back().size : 0;
    const int64_t first_image = attrs.batch_group_count > 1 ? group * batch : 0;
    for (int64_t image = 0; image < batch; ++image) {
      const Tensor product = matmul(patches(c, first_image + image, first_feature), group_kernel)
                                 .cast(instruction.dtype());
      const StridedView to{.offset = image * positions * all_features + group * features,
                           .strides = {all_features, 1}};
      copy_strided(result, to, product, view_of(product.shape()), product.shape().dims());
    }
  }
  Dims inverse(c.result_axes.size());
  for (size_t i = 0; i < inverse.size(); ++i) {
    inverse[c.result_axes[i]] = static_cast<int64_t>(i);
  }
  return {permuted(result, inverse)};
}

}  // namespace

extern const OpSemantics convolution_semantics{
    .infer = infer_convolution,
    .evaluate = evaluate_convolution,
    .format =
        AssemblyFormat{
            "($*) dim_numbers = <dimension_numbers#stablehlo.conv<>>, window = {|stride = "
            "<window_strides>, pad = <padding>, lhs_dilate = <lhs_dilation>, rhs_dilate = "
            "<rhs_dilation>, "
            "reverse = <window_reversal>|}",
            TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<1x4x4x2x$T>, %k: tensor<2x2x2x3x$T>",
            .results = "tensor<1x3x3x3x$T>",
            .body =
                R"(%r = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x2x$T>, tensor<2x2x2x3x$T>) -> tensor<1x3x3x3x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::products, .per_axis = true},
    .vectorize = replicas::vectorize_convolution,
    .sum_over_replicas = replicas::sum_convolution,
    .shard = spmd::shard_convolution};

}  // namespace systole::hlo::ops
