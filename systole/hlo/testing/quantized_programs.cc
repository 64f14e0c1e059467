#include "systole/hlo/testing/quantized_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "systole/base/quantized_type.h"
#include "systole/base/random.h"

namespace systole::hlo::testing {
namespace {

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed, 7) {}

  QuantizedProgram write() {
    const int kind = static_cast<int>(random_.next_below(3));
    kind == 0 ? dense() : convolution(kind == 2);
    const std::string_view roundings[] = {"", "tflite", "single"};
    const std::string_view rounding = roundings[random_.next_below(3)];
    const std::string attributes =
        rounding.empty() ? "" : fmt::format(" attributes {{systole.rounding = \"{}\"}}", rounding);
    QuantizedProgram program;
    program.text = fmt::format(
        "module @program{} {{\nfunc.func @main(%x: {}) -> ({}) {{\n{}return {} : {}\n}}\n}}\n",
        attributes, tensor(input_), fmt::join(result_types_, ", "), body_,
        fmt::join(results_, ", "), fmt::join(result_types_, ", "));
    Tensor x(input_);
    for (float& value : x.data<float>()) value = static_cast<float>(random_.next_normal() * 2);
    program.arguments = {x};
    return program;
  }

 private:
  struct Named {
    std::string name;
    TensorType type;
  };

  static std::string tensor(const TensorType& type) {
    std::string text = "tensor<";
    for (const int64_t size : type.shape) text += fmt::format("{}x", size);
    text += type.is_quantized() ? quantized_text(type.dtype, *type.quantized)
                                : std::string(dtype_info(type.dtype).mlir_name);
    return text + ">";
  }

  double scale() { return std::exp(random_.next_normal() * 0.7 - 3); }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(bound)));
  }

  QuantizedTypePtr activation() {
    return per_tensor_type(DType::s8, scale(), below(2) == 0 ? 0 : below(40) - 20);
  }

  Named op(std::string_view text, const std::vector<Named>& operands, const TensorType& result) {
    std::vector<std::string> names;
    std::vector<std::string> types;
    for (const Named& operand : operands) {
      names.push_back(operand.name);
      types.push_back(tensor(operand.type));
    }
    const std::string name = fmt::format("%{}", count_++);
    const auto hole = text.find('@');
    body_ += fmt::format("{} = \"stablehlo.{}\"({}){} : ({}) -> {}\n", name, text.substr(0, hole),
                         fmt::join(names, ", "),
                         hole == std::string_view::npos ? "" : text.substr(hole + 1),
                         fmt::join(types, ", "), tensor(result));
    return {name, result};
  }

  Named constant(const TensorType& type, int64_t least, int64_t most) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < type.shape.num_elements(); ++i) {
      values.push_back(fmt::format("{}", least + below(most - least + 1)));
    }
    size_t next = 0;
    const std::string literal = nested(type.shape, 0, values, next);
    return op(fmt::format("constant@ {{value = dense<{}> : {}}}", literal, tensor(type.storage())),
              {}, type);
  }

  static std::string nested(const Shape& shape, int axis, const std::vector<std::string>& values,
                            size_t& next) {
    if (axis == shape.rank()) return values[next++];
    std::string text = "[";
    for (int64_t i = 0; i < shape[axis]; ++i) {
      if (i > 0) text += ", ";
      text += nested(shape, axis + 1, values, next);
    }
    return text + "]";
  }

  Named input(const Shape& shape) {
    input_ = {DType::f32, shape};
    return op("uniform_quantize", {{"%x", input_}}, {DType::s8, shape, activation()});
  }

  void result(const Named& value) {
    results_.push_back(value.name);
    result_types_.push_back(tensor(value.type));
  }

  // A kernel and the type of exact sums with it.
  Named kernel(const Named& lhs, const Shape& shape, int axis, int result_axis, TensorType& sums) {
    const double lhs_scale = lhs.type.quantized->scales[0];
    QuantizedType type;
    type.storage_min = -127;
    type.storage_max = 127;
    std::vector<double> products;
    const bool per_axis = below(2) == 0;
    const int64_t count = per_axis ? shape[axis] : 1;
    for (int64_t i = 0; i < count; ++i) {
      type.scales.push_back(scale());
      type.zero_points.push_back(0);
      products.push_back(lhs_scale * type.scales.back());
    }
    type.axis = per_axis ? axis : -1;
    sums.dtype = DType::s32;
    sums.quantized = per_axis ? per_axis_type(DType::s32, result_axis, products)
                              : per_tensor_type(DType::s32, products[0], 0);
    return constant({DType::s8, shape, std::make_shared<const QuantizedType>(type)}, -127, 127);
  }

  // Bias, requantization, activation function.
  Named finished(Named sums, int channel_axis) {
    const int64_t channels = sums.type.shape[channel_axis];
    if (below(2) == 0) {
      TensorType type{DType::s32, {channels}, sums.type.quantized};
      if (type.quantized->per_axis()) {
        type.quantized = per_axis_type(DType::s32, 0, type.quantized->scales);
      }
      const Named bias = constant(type, -3000, 3000);
      const Named wide = op(
          fmt::format("broadcast_in_dim@ {{broadcast_dimensions = array<i64: {}>}}", channel_axis),
          {bias}, sums.type);
      sums = op("add", {sums, wide}, sums.type);
    }
    const Named value = op("uniform_quantize", {sums}, {DType::s8, sums.type.shape, activation()});
    const TensorType scalar{DType::s8, {}, value.type.quantized};
    if (below(2) == 0) {
      const int64_t zero = value.type.quantized->zero_points[0];
      const Named least = constant(scalar, zero, zero);
      const Named most = constant(scalar, 100, 127);
      return op("clamp", {least, value, most}, value.type);
    }
    const TensorType type{DType::s8, value.type.shape, activation()};
    const std::string_view functions[] = {"tanh", "logistic", "negate", "abs"};
    return op(functions[below(4)], {value}, type);
  }

  Named combined(const Named& value) {
    const TensorType type{DType::s8, value.type.shape, activation()};
    const Named other = op("uniform_quantize", {value}, type);
    const TensorType result{DType::s8, value.type.shape, activation()};
    const std::string_view functions[] = {"add", "multiply", "subtract", "maximum"};
    return op(functions[below(4)], {value, other}, result);
  }

  void dense() {
    const int64_t rows = 1 + below(5);
    const int64_t depth = 1 + below(40);
    const int64_t columns = 1 + below(33);
    const Named x = input({rows, depth});
    TensorType sums{DType::s32, {rows, columns}};
    const Named w = kernel(x, {depth, columns}, 1, 1, sums);
    TensorType direct = sums;
    if (below(4) == 0) direct = {DType::s8, sums.shape, activation()};
    Named y =
        op("dot_general@ {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
           "rhs_contracting_dimensions = [0]>}",
           {x, w}, direct);
    if (direct.dtype == DType::s32) y = finished(y, 1);
    y = combined(y);
    result(op("transpose@ {permutation = array<i64: 1, 0>}", {y},
              {DType::s8, {columns, rows}, y.type.quantized}));
  }

  void convolution(bool depthwise) {
    const int64_t channels = 1 + below(9);
    const int64_t size = 4 + below(5);
    const int64_t outputs = depthwise ? channels * 2 : 1 + below(20);
    const int64_t window = 1 + below(3);
    const int64_t stride = 1 + below(2);
    const int64_t pad = below(2);
    const int64_t to = (size + 2 * pad - window) / stride + 1;
    const Named x = input({2, size, size, channels});
    TensorType sums{DType::s32, {2, to, to, outputs}};
    const Named w = kernel(x, {window, window, depthwise ? 1 : channels, outputs}, 3, 3, sums);
    Named y =
        op(fmt::format(
               "convolution@ {{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, "
               "o]->[b, 0, 1, f]>, window_strides = array<i64: {0}, {0}>, padding = dense<{1}> "
               ": tensor<2x2xi64>, feature_group_count = {2} : i64, batch_group_count = 1 : "
               "i64}}",
               stride, pad, depthwise ? channels : 1),
           {x, w}, sums);
    y = combined(finished(y, 3));
    result(y);
    const TensorType scalar{DType::s8, {}, y.type.quantized};
    const Named least = constant(scalar, -128, -128);
    const int64_t pooled = (to - 1) / 2 + 1;
    const std::string body = fmt::format(
        "reduce_window@ <{{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: "
        "1, 2, 2, 1>, padding = dense<[[0, 0], [0, {0}], [0, {0}], [0, 0]]> : tensor<4x2xi64>}}> "
        "({{\n^bb0(%a: {1}, %b: {1}):\n%m{2} = \"stablehlo.maximum\"(%a, %b) : ({1}, {1}) -> "
        "{1}\n\"stablehlo.return\"(%m{2}) : ({1}) -> ()\n}})",
        to % 2, tensor(scalar), count_);
    const Named most =
        op(body, {y, least}, {DType::s8, {2, pooled, pooled, outputs}, y.type.quantized});
    const Named flat =
        op("reshape", {most}, {DType::s8, {2, pooled * pooled * outputs}, y.type.quantized});
    result(op("uniform_dequantize", {flat}, {DType::f32, flat.type.shape}));
  }

  RandomStream random_;
  TensorType input_;
  std::string body_;
  std::vector<std::string> results_;
  std::vector<std::string> result_types_;
  int count_ = 0;
};

}  // namespace

QuantizedProgram random_quantized_program(uint64_t seed) { return Writer(seed).write(); }

}  // namespace systole::hlo::testing
