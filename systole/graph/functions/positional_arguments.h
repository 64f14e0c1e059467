// Overloads that take TensorFlow's second argument by position: reduce_sum(x, 1), argmax(x, 1),
// identity(x, "n"), constant({1.0F, 2.0F}). Each does what the form with options does. Common forms
// that are not supported have an overload whose static_assert says what to write instead.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/variable.h"

namespace systole {

// -- Constants. Floating elements become f32, as a Python float does, unless `dtype` says
// otherwise.

// An element of a list that constant() takes: a number, true or false, or a text.
template <class T>
concept ConstantElement = std::is_arithmetic_v<T> || std::is_convertible_v<T, std::string>;

namespace positional {

template <class T>
auto constant_element(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return std::string(value);
  }
}

// The tensor of these elements, in the dtype of a literal.
template <class T>
Tensor constant_tensor(Shape shape, const std::vector<T>& values, DType wanted) {
  using Element = decltype(constant_element(std::declval<T>()));
  std::vector<Element> elements;
  for (const auto& value : values) elements.push_back(constant_element<T>(value));
  Tensor tensor = Tensor::of<Element>(std::move(shape), elements);
  if constexpr (std::is_floating_point_v<T>) {
    return wanted == DType::invalid ? tensor.cast(DType::f32) : tensor;
  } else {
    return tensor;
  }
}

}  // namespace positional

// A vector: constant({1.0F, 2.0F}), constant(std::vector{1, 2}).
template <class T>
Output constant(const std::vector<T>& values, const ConstantOptions& options = {},
                Input::Where where = Input::Where::current()) {
  static_assert(ConstantElement<T>,
                "constant() takes numbers, bools or texts; st::stack({a, b}) joins tensors");
  const Shape shape = {static_cast<int64_t>(values.size())};
  return constant(Input(positional::constant_tensor(shape, values, options.dtype), where), options);
}
template <class T>
Output constant(std::initializer_list<T> values, const ConstantOptions& options = {},
                Input::Where where = Input::Where::current()) {
  return constant(std::vector<T>(values), options, where);
}
// A matrix: constant({{1, 2}, {3, 4}}). Errors: INVALID_ARGUMENT for rows of different sizes.
template <ConstantElement T>
Output constant(std::initializer_list<std::initializer_list<T>> rows,
                const ConstantOptions& options = {}, Input::Where where = Input::Where::current()) {
  const size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
  std::vector<T> values;
  for (const std::initializer_list<T>& row : rows) {
    if (row.size() != columns) {
      throw invalid_argument("constant: row of {} elements, expected {} as in the first, at {}",
                             row.size(), columns, SourceLocation(where).to_string());
    }
    values.insert(values.end(), row.begin(), row.end());
  }
  const Shape shape = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)};
  return constant(Input(positional::constant_tensor(shape, values, options.dtype), where), options);
}

// constant(1, float32) is constant(1, {.dtype = float32}).
template <std::same_as<DType> D>
Output constant(const Input& value, D dtype) {
  return constant(value, ConstantOptions{.dtype = dtype});
}
template <ConstantElement T, std::same_as<DType> D>
Output constant(std::initializer_list<T> values, D dtype,
                Input::Where where = Input::Where::current()) {
  return constant(std::vector<T>(values), ConstantOptions{.dtype = dtype}, where);
}

// -- Names.

// identity(x, "n"). By value and no templates: an Activation can still be made of `identity`.
inline Output identity(const Input& x, std::string name) {
  return identity(x, NameOptions{.name = std::move(name)});
}
inline Output identity(const Input& x, const char* name) {
  return identity(x, NameOptions{.name = name == nullptr ? "" : name});
}
inline Output stop_gradient(const Input& x, std::string name) {
  return stop_gradient(x, NameOptions{.name = std::move(name)});
}
inline Output stop_gradient(const Input& x, const char* name) {
  return stop_gradient(x, NameOptions{.name = name == nullptr ? "" : name});
}

// -- Axes. An empty list, {}, stands for all axes: templates, so that it is no axis 0.

namespace positional {

template <std::integral T>
Axes axes_of(std::initializer_list<T> list) {
  return list.size() == 0 ? Axes() : Axes(std::vector<int64_t>(list.begin(), list.end()));
}

}  // namespace positional

template <std::integral T>
inline Output reduce_sum(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_sum(input_tensor,
                    ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_sum(const Input& input_tensor, std::initializer_list<T> axis,
                         bool keepdims = false) {
  return reduce_sum(input_tensor,
                    ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_prod(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_prod(input_tensor,
                     ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_prod(const Input& input_tensor, std::initializer_list<T> axis,
                          bool keepdims = false) {
  return reduce_prod(input_tensor,
                     ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_mean(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_mean(input_tensor,
                     ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_mean(const Input& input_tensor, std::initializer_list<T> axis,
                          bool keepdims = false) {
  return reduce_mean(input_tensor,
                     ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_max(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_max(input_tensor,
                    ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_max(const Input& input_tensor, std::initializer_list<T> axis,
                         bool keepdims = false) {
  return reduce_max(input_tensor,
                    ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_min(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_min(input_tensor,
                    ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_min(const Input& input_tensor, std::initializer_list<T> axis,
                         bool keepdims = false) {
  return reduce_min(input_tensor,
                    ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_any(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_any(input_tensor,
                    ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_any(const Input& input_tensor, std::initializer_list<T> axis,
                         bool keepdims = false) {
  return reduce_any(input_tensor,
                    ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_all(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_all(input_tensor,
                    ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_all(const Input& input_tensor, std::initializer_list<T> axis,
                         bool keepdims = false) {
  return reduce_all(input_tensor,
                    ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_logsumexp(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_logsumexp(input_tensor,
                          ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_logsumexp(const Input& input_tensor, std::initializer_list<T> axis,
                               bool keepdims = false) {
  return reduce_logsumexp(input_tensor,
                          ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_variance(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_variance(input_tensor,
                         ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_variance(const Input& input_tensor, std::initializer_list<T> axis,
                              bool keepdims = false) {
  return reduce_variance(input_tensor,
                         ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_std(const Input& input_tensor, T axis, bool keepdims = false) {
  return reduce_std(input_tensor,
                    ReduceOptions{.axis = static_cast<int64_t>(axis), .keepdims = keepdims});
}
template <std::integral T>
inline Output reduce_std(const Input& input_tensor, std::initializer_list<T> axis,
                         bool keepdims = false) {
  return reduce_std(input_tensor,
                    ReduceOptions{.axis = positional::axes_of(axis), .keepdims = keepdims});
}
inline Output argmax(const Input& input, int64_t axis, DType output_type = DType::s64) {
  return argmax(input, ArgOptions{.axis = axis, .output_type = output_type});
}
inline Output argmin(const Input& input, int64_t axis, DType output_type = DType::s64) {
  return argmin(input, ArgOptions{.axis = axis, .output_type = output_type});
}
inline Output softmax(const Input& logits, int64_t axis) {
  return softmax(logits, SoftmaxOptions{.axis = axis});
}
inline Output log_softmax(const Input& logits, int64_t axis) {
  return log_softmax(logits, SoftmaxOptions{.axis = axis});
}
inline Output cumsum(const Input& x, int64_t axis) {
  return cumsum(x, CumsumOptions{.axis = axis});
}
template <std::integral T>
inline Output transpose(const Input& a, std::initializer_list<T> perm) {
  return transpose(a, TransposeOptions{.perm = std::vector<int64_t>(perm.begin(), perm.end())});
}
template <std::integral T>
inline Output squeeze(const Input& input, std::initializer_list<T> axis) {
  return squeeze(input, SqueezeOptions{.axis = positional::axes_of(axis)});
}
inline Output stack(const InputList& values, int64_t axis) {
  return stack(values, StackOptions{.axis = axis});
}
inline std::vector<Output> split(const Input& value, int64_t num, int64_t axis) {
  return split(value, num, SplitOptions{.axis = axis});
}

// -- Flags and values. Templates, so that {} stands for no options.

template <std::same_as<bool> Bool>
Output matmul(const Input& a, const Input& b, Bool transpose_a, bool transpose_b = false) {
  return matmul(a, b, MatMulOptions{.transpose_a = transpose_a, .transpose_b = transpose_b});
}
template <class T>
requires std::is_arithmetic_v<T> Output one_hot(const Input& indices, int64_t depth, T on_value,
                                                double off_value = 0) {
  return one_hot(indices, depth,
                 OneHotOptions{.on_value = static_cast<double>(on_value), .off_value = off_value});
}

// -- Windows: conv2d(x, w, {1, 2, 2, 1}, "SAME"), max_pool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME").

inline Output conv2d(const Input& input, const Input& filter, std::vector<int64_t> strides,
                     Padding padding) {
  return conv2d(input, filter, Conv2DOptions{.strides = std::move(strides), .padding = padding});
}
inline Output depthwise_conv2d(const Input& input, const Input& filter,
                               std::vector<int64_t> strides, Padding padding) {
  return depthwise_conv2d(input, filter,
                          Conv2DOptions{.strides = std::move(strides), .padding = padding});
}
inline Output conv3d(const Input& input, const Input& filter, std::vector<int64_t> strides,
                     Padding padding) {
  return conv3d(input, filter, Conv3DOptions{.strides = std::move(strides), .padding = padding});
}
inline Output max_pool(const Input& value, std::vector<int64_t> ksize, std::vector<int64_t> strides,
                       Padding padding) {
  return max_pool(
      value,
      PoolOptions{.ksize = std::move(ksize), .strides = std::move(strides), .padding = padding});
}
inline Output avg_pool(const Input& value, std::vector<int64_t> ksize, std::vector<int64_t> strides,
                       Padding padding) {
  return avg_pool(
      value,
      PoolOptions{.ksize = std::move(ksize), .strides = std::move(strides), .padding = padding});
}

// -- Numbers and texts after the tensors.

template <std::integral T>
TopK top_k(const Input& input, T k, bool sorted = true) {
  return top_k(input, TopKOptions{.k = static_cast<int64_t>(k), .sorted = sorted});
}
inline std::vector<Output> split(const Input& value, const std::vector<int64_t>& sizes,
                                 int64_t axis) {
  return split(value, sizes, SplitOptions{.axis = axis});
}
// batch_normalization(x, mean, variance, beta, gamma, 1e-5)
inline Output batch_normalization(const Input& x, const Input& mean, const Input& variance,
                                  const Input& offset, const Input& scale,
                                  double variance_epsilon) {
  const DType dtype = x.dtype();
  return batch_normalization(x, mean, variance,
                             BatchNormalizationOptions{.offset = offset.resolve(dtype),
                                                       .scale = scale.resolve(dtype),
                                                       .variance_epsilon = variance_epsilon});
}
// pad(x, {{1, 1}, {2, 2}}, "REFLECT"). Errors: INVALID_ARGUMENT for another mode.
template <std::same_as<char> Char>
Output pad(const Input& tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings,
           const Char* mode, double constant_values = 0) {
  const std::string_view name = mode == nullptr ? "" : mode;
  const auto is = [&](std::string_view upper, std::string_view lower) {
    return name == upper || name == lower;
  };
  if (!is("CONSTANT", "constant") && !is("REFLECT", "reflect") && !is("SYMMETRIC", "symmetric")) {
    throw invalid_argument("pad: mode, got '{}', expected CONSTANT, REFLECT or SYMMETRIC", name);
  }
  return pad(tensor, paddings,
             PadOptions{.mode = is("REFLECT", "reflect")       ? PadMode::reflect
                                : is("SYMMETRIC", "symmetric") ? PadMode::symmetric
                                                               : PadMode::constant,
                        .constant_values = constant_values});
}

// -- Random tensors with their parameters by position: random_normal({2}, 0.0F, 0.02F) is shape,
// mean and stddev, random_uniform({2}, 0, 10, int32) is shape, minval, maxval and dtype.

inline Output random_normal(const ShapeInput& shape, const Input& mean, const Input& stddev,
                            DType dtype = DType::f32, std::optional<int64_t> seed = std::nullopt) {
  return random_normal(
      shape, RandomNormalOptions{.mean = mean, .stddev = stddev, .dtype = dtype, .seed = seed});
}
inline Output truncated_normal(const ShapeInput& shape, const Input& mean, const Input& stddev,
                               DType dtype = DType::f32,
                               std::optional<int64_t> seed = std::nullopt) {
  return truncated_normal(
      shape, TruncatedNormalOptions{.mean = mean, .stddev = stddev, .dtype = dtype, .seed = seed});
}
inline Output random_uniform(const ShapeInput& shape, const Input& minval, const Input& maxval,
                             DType dtype = DType::f32, std::optional<int64_t> seed = std::nullopt) {
  return random_uniform(
      shape,
      RandomUniformOptions{.minval = minval, .maxval = maxval, .dtype = dtype, .seed = seed});
}

// -- A loop over one tensor: while_loop([](Output i) { return i < 10; },
//                                       [](Output i) { return i + 1; }, {i})

template <class Function>
concept FunctionOfOutput = !std::invocable<const Function&, const std::vector<Output>&> &&
                           std::invocable<const Function&, Output>;

template <FunctionOfOutput Condition, FunctionOfOutput Body>
Output while_loop(const Condition& cond, const Body& body, const InputList& loop_vars,
                  const WhileLoopOptions& options = {}) {
  if (loop_vars.inputs().size() != 1) {
    throw invalid_argument("while_loop: loop_vars, got {}, expected one, as the functions take one",
                           loop_vars.inputs().size());
  }
  const LoopConditionFn condition = [&](const std::vector<Output>& vars) { return cond(vars[0]); };
  const LoopBodyFn step = [&](const std::vector<Output>& vars) {
    return std::vector<Output>{body(vars[0])};
  };
  return while_loop(condition, step, loop_vars, options)[0];
}

// -- Cross entropies take keywords only, as TensorFlow's do: labels and logits are easy to swap.

namespace positional {

template <class>
constexpr bool kNever = false;

}  // namespace positional

template <class Labels, class Logits>
Output softmax_cross_entropy_with_logits(const Labels&, const Logits&) {
  static_assert(positional::kNever<Labels>,
                "write softmax_cross_entropy_with_logits({.labels = y, .logits = x})");
  return {};
}
template <class Labels, class Logits>
Output softmax_cross_entropy_with_logits_v2(const Labels&, const Logits&) {
  static_assert(positional::kNever<Labels>,
                "write softmax_cross_entropy_with_logits_v2({.labels = y, .logits = x})");
  return {};
}
template <class Labels, class Logits>
Output sparse_softmax_cross_entropy_with_logits(const Labels&, const Logits&) {
  static_assert(positional::kNever<Labels>,
                "write sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = x})");
  return {};
}
template <class Labels, class Logits>
Output sigmoid_cross_entropy_with_logits(const Labels&, const Logits&) {
  static_assert(positional::kNever<Labels>,
                "write sigmoid_cross_entropy_with_logits({.labels = y, .logits = x})");
  return {};
}

// -- Forms that are not supported, nor are they in TensorFlow: a static_assert says what to write.

template <std::integral Axis>
Output concat(Axis, const InputList&) {
  static_assert(!std::integral<Axis>, "write concat({x, y}, axis): the order since TensorFlow 1.0");
  return {};
}

namespace positional {

template <class Char>
Output name_for_axis() {
  static_assert(!std::same_as<Char, char>,
                "the second argument is the axis: write reduce_sum(x, {.name = \"n\"})");
  return {};
}

}  // namespace positional

template <std::same_as<char> Char>
Output reduce_sum(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}
template <std::same_as<char> Char>
Output reduce_prod(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}
template <std::same_as<char> Char>
Output reduce_mean(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}
template <std::same_as<char> Char>
Output reduce_max(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}
template <std::same_as<char> Char>
Output reduce_min(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}
template <std::same_as<char> Char>
Output reduce_any(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}
template <std::same_as<char> Char>
Output reduce_all(const Input&, const Char*) {
  return positional::name_for_axis<Char>();
}

}  // namespace systole
