#include "systole/tpu_v1/compiler/hlo_products.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/base/quantized_type.h"

namespace systole::tpu_v1 {
namespace {

// Reads a constant of integers by its indices.
class WeightReader {
 public:
  WeightReader(const hlo::Instruction& op, const Tensor& weights)
      : values_(weights.cast(DType::s32)), strides_(weights.shape().rank()) {
    const TensorType& type = op.operand(1).type();
    const bool narrow = type.dtype == DType::s16 && type.quantized->storage_min >= INT8_MIN &&
                        type.quantized->storage_max <= INT8_MAX;
    if (type.dtype != DType::s8 && !narrow)
      no_instruction(op, "weights of another storage type than i8 and i16<-128:127>");
    if (type.quantized->has_zero_points()) no_instruction(op, "weights with a zero point");
    int64_t stride = 1;
    for (int i = weights.shape().rank() - 1; i >= 0; --i) {
      strides_[i] = stride;
      stride *= weights.shape()[i];
    }
  }
  int64_t stride(int64_t axis) const { return strides_[axis]; }
  int8_t at(int64_t offset) const { return static_cast<int8_t>(values_.data<int32_t>()[offset]); }

 private:
  Tensor values_;
  std::vector<int64_t> strides_;
};

// Sets the biases that take the input's zero point off the sums.
void fold_zero_point(Sums& sums, int32_t zero_point) {
  const ProductInput& input = sums.product.inputs.front();
  std::vector<int64_t> totals(static_cast<size_t>(sums.filters));
  for (size_t i = 0; i < input.weights.size(); ++i) totals[i % totals.size()] += input.weights[i];
  for (const int64_t total : totals) {
    sums.product.bias.push_back(static_cast<int32_t>(static_cast<uint64_t>(-zero_point * total)));
  }
}

int64_t element(const Dims& dims, size_t i) { return i < dims.size() ? dims[i] : 1; }

}  // namespace

void no_instruction(const hlo::Instruction& op, const std::string& what) {
  throw unimplemented("tpu_v1 has no instruction for '{}' ({}){}{}: {}", op.opcode(), op.type(),
                      op.describe().empty() ? "" : ", ", op.describe(), what);
}

Sums sums_of_dot(const hlo::Instruction& dot, int input, const NetworkArray& array,
                 const Tensor& weights) {
  const auto& attrs = dot.attrs<hlo::DotAttrs>();
  const Shape& lhs = dot.operand(0).shape();
  if (!attrs.lhs_batching_dimensions.empty()) no_instruction(dot, "batching dimensions");
  if (weights.shape().rank() != 2 || attrs.rhs_contracting_dimensions.size() != 1) {
    no_instruction(dot, "weights that are not a matrix");
  }
  if (attrs.lhs_contracting_dimensions[0] != lhs.rank() - 1 || lhs.rank() < 2) {
    no_instruction(dot, "a contracting dimension that is not the last");
  }
  const WeightReader reader(dot, weights);
  const int64_t contracting = attrs.rhs_contracting_dimensions[0];
  const int64_t features = weights.shape()[static_cast<int>(contracting)];
  Sums sums;
  sums.filters = weights.shape()[static_cast<int>(1 - contracting)];
  // Either a vector of all elements of an image, or the channels of each position.
  if (lhs.rank() == 2) {
    sums.product.kernel_y = array.height;
    sums.product.kernel_x = array.width;
  } else {
    sums.height = array.height;
    sums.width = array.width;
    if (features != array.channels) no_instruction(dot, "positions that a reshape has joined");
  }
  sums.product.inputs.push_back({input, {}});
  std::vector<int8_t>& ordered = sums.product.inputs.back().weights;
  ordered.reserve(static_cast<size_t>(features * sums.filters));
  for (int64_t k = 0; k < features; ++k) {
    for (int64_t f = 0; f < sums.filters; ++f) {
      ordered.push_back(
          reader.at(k * reader.stride(contracting) + f * reader.stride(1 - contracting)));
    }
  }
  fold_zero_point(sums, array.zero_point);
  return sums;
}

namespace {

void check_convolution_form(const hlo::Instruction& op, const hlo::ConvolutionAttrs& a) {
  const int64_t last = op.shape().rank() - 1;
  if (a.input_batch_dimension != 0 || a.input_feature_dimension != last ||
      a.output_batch_dimension != 0 || a.output_feature_dimension != last) {
    no_instruction(op, "images that are not [batch, spatial..., features]");
  }
  for (size_t i = 0; i < a.input_spatial_dimensions.size(); ++i) {
    if (a.input_spatial_dimensions[i] != static_cast<int64_t>(i) + 1 ||
        a.output_spatial_dimensions[i] != static_cast<int64_t>(i) + 1) {
      no_instruction(op, "spatial dimensions in another order");
    }
    if (element(a.lhs_dilation, i) != 1) no_instruction(op, "a dilated input");
    if (i < a.window_reversal.size() && a.window_reversal[i])
      no_instruction(op, "a reversed kernel");
  }
  if (a.batch_group_count != 1) no_instruction(op, "groups of the batch");
  if (a.input_spatial_dimensions.empty() || a.input_spatial_dimensions.size() > 2) {
    no_instruction(op, "other than one or two spatial dimensions");
  }
}

}  // namespace

Sums sums_of_convolution(const hlo::Instruction& op, int input, const NetworkArray& array,
                         const Tensor& weights) {
  const auto& a = op.attrs<hlo::ConvolutionAttrs>();
  check_convolution_form(op, a);
  const WeightReader reader(op, weights);
  const auto size = [&](int64_t axis) { return weights.shape()[static_cast<int>(axis)]; };
  const bool lines = a.kernel_spatial_dimensions.size() == 2;
  const auto pad = [&](size_t i) { return i < a.padding.size() ? a.padding[i].first : 0; };
  Sums sums;
  sums.filters = size(a.kernel_output_feature_dimension);
  sums.height = op.shape()[1];
  sums.width = lines ? op.shape()[2] : 1;
  ProductLayer& p = sums.product;
  p.kernel_y = size(a.kernel_spatial_dimensions[0]);
  p.stride_y = element(a.window_strides, 0);
  p.dilation_y = element(a.rhs_dilation, 0);
  p.pad_top = pad(0);
  if (lines) {
    p.kernel_x = size(a.kernel_spatial_dimensions[1]);
    p.stride_x = element(a.window_strides, 1);
    p.dilation_x = element(a.rhs_dilation, 1);
    p.pad_left = pad(1);
  }
  const int64_t group_channels = size(a.kernel_input_feature_dimension);
  const int64_t group_filters = sums.filters / a.feature_group_count;
  p.inputs.push_back({input, {}});
  std::vector<int8_t>& ordered = p.inputs.back().weights;
  ordered.assign(static_cast<size_t>(p.kernel_y * p.kernel_x * array.channels * sums.filters), 0);
  for (int64_t k = 0; k < p.kernel_y * p.kernel_x; ++k) {
    const int64_t at_position =
        k / p.kernel_x * reader.stride(a.kernel_spatial_dimensions[0]) +
        (lines ? k % p.kernel_x * reader.stride(a.kernel_spatial_dimensions[1]) : 0);
    for (int64_t f = 0; f < sums.filters; ++f) {
      const int64_t first = f / group_filters * group_channels;
      for (int64_t c = 0; c < group_channels; ++c) {
        ordered[(k * array.channels + first + c) * sums.filters + f] =
            reader.at(at_position + c * reader.stride(a.kernel_input_feature_dimension) +
                      f * reader.stride(a.kernel_output_feature_dimension));
      }
    }
  }
  fold_zero_point(sums, array.zero_point);
  return sums;
}

Sums columns_of(const Sums& sums, int64_t first, int64_t count) {
  Sums part = sums;
  part.filters = count;
  const auto begin = static_cast<size_t>(first);
  const auto size = static_cast<size_t>(count);
  const auto filters = static_cast<size_t>(sums.filters);
  for (size_t i = 0; i < sums.product.inputs.size(); ++i) {
    const std::vector<int8_t>& from = sums.product.inputs[i].weights;
    std::vector<int8_t>& to = part.product.inputs[i].weights;
    to.clear();
    for (size_t row = 0; row < from.size(); row += filters) {
      const auto start = from.begin() + static_cast<std::ptrdiff_t>(row + begin);
      to.insert(to.end(), start, start + static_cast<std::ptrdiff_t>(size));
    }
  }
  const auto start = sums.product.bias.begin() + static_cast<std::ptrdiff_t>(begin);
  part.product.bias.assign(start, start + static_cast<std::ptrdiff_t>(size));
  return part;
}

ProductInput selected_channels(int input, const NetworkArray& array, int64_t first, int64_t count,
                               int64_t column, int64_t filters) {
  ProductInput selected{input, {}};
  selected.weights.assign(static_cast<size_t>(array.channels * filters), 0);
  for (int64_t c = 0; c < count; ++c) selected.weights[(first + c) * filters + column + c] = 1;
  return selected;
}

}  // namespace systole::tpu_v1
