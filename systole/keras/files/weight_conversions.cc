#include "systole/keras/files/weight_conversions.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "systole/base/error.h"

namespace systole::keras {
namespace {

// Fills an array of `shape` with the elements of `from` at the places that `place` returns.
Tensor gathered(const Tensor& from, const Shape& shape,
                const std::function<int64_t(const std::vector<int64_t>&)>& place) {
  Tensor result(from.dtype(), shape);
  const auto width = static_cast<size_t>(size_of(from.dtype()));
  const auto* const source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(result.raw());
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    std::memcpy(target, source + static_cast<size_t>(place(index)) * width, width);
    target += width;
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      index[axis] = 0;
    }
  }
  return result;
}

// [rows, a] and [rows, b]... -> [rows, a + b...]; vectors likewise.
Tensor joined_columns(const std::vector<Tensor>& arrays, std::initializer_list<size_t> order) {
  std::vector<const Tensor*> parts;
  for (const size_t i : order) parts.push_back(&arrays.at(i));
  const Tensor& first = *parts[0];
  const int last = first.rank() - 1;
  int64_t columns = 0;
  for (const Tensor* part : parts) {
    bool fits = last >= 0 && part->rank() == first.rank() && part->dtype() == first.dtype();
    for (int axis = 0; fits && axis < last; ++axis) fits = part->dim(axis) == first.dim(axis);
    if (!fits) {
      throw invalid_argument("arrays of gates, got {} and {}, expected the same sizes",
                             first.type(), part->type());
    }
    columns += part->dim(last);
  }
  Dims dims = first.shape().dims();
  dims.back() = columns;
  Tensor result(first.dtype(), Shape(std::move(dims)));
  const auto width = static_cast<size_t>(size_of(first.dtype()));
  const int64_t rows = columns == 0 ? 0 : result.num_elements() / columns;
  auto* to = static_cast<std::byte*>(result.raw());
  for (int64_t row = 0; row < rows; ++row) {
    for (const Tensor* part : parts) {
      const size_t bytes = static_cast<size_t>(part->dim(last)) * width;
      std::memcpy(to, static_cast<const std::byte*>(part->raw()) + static_cast<size_t>(row) * bytes,
                  bytes);
      to += bytes;
    }
  }
  return result;
}

// The kernel rotated by 180 degrees along its spatial axes: Theano computes true convolutions.
Tensor rotated(const Tensor& kernel) {
  const Shape& shape = kernel.shape();
  const int spatial = shape.rank() - 2;
  return gathered(kernel, shape, [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int64_t i = index[axis];
      at = at * shape[axis] + (axis < spatial ? shape[axis] - 1 - i : i);
    }
    return at;
  });
}

std::vector<Tensor> convert_keras1_recurrent(const std::string& class_name,
                                             std::vector<Tensor> arrays) {
  // Arrays W, U, b of each gate: i, c, f, o; z, r, h. Ours: i, f, c, o; z, r, h.
  if ((class_name == "LSTM" || class_name == "ConvLSTM2D") && arrays.size() == 12) {
    return {joined_columns(arrays, {0, 6, 3, 9}), joined_columns(arrays, {1, 7, 4, 10}),
            joined_columns(arrays, {2, 8, 5, 11})};
  }
  if (class_name == "GRU" && arrays.size() == 9) {
    return {joined_columns(arrays, {0, 3, 6}), joined_columns(arrays, {1, 4, 7}),
            joined_columns(arrays, {2, 5, 8})};
  }
  return arrays;
}

// (length, 1, in, out), in Keras 1.1 (out, in, length, 1), to (length, in, out).
Tensor convert_keras1_conv1d(const Tensor& kernel, const Shape& wanted) {
  if (kernel.rank() != 4 || wanted.rank() != 3) return kernel;
  const bool old = kernel.dim(0) != wanted[0] || kernel.dim(1) != 1 || kernel.dim(3) != wanted[2];
  const Tensor now = old ? transposed(kernel, {2, 3, 1, 0}) : kernel;
  if (now.dim(1) != 1) return kernel;
  return now.reshape({now.dim(0), now.dim(2), now.dim(3)});
}

void convert_keras1_kernel(const ConversionTarget& target, Tensor& kernel) {
  const bool first = target.data_format == "channels_first";
  const std::string& name = target.class_name;
  if (name == "Conv1D" && !target.shapes.empty()) {
    kernel = convert_keras1_conv1d(kernel, target.shapes[0]);
  } else if (name == "Conv2D" && first && kernel.rank() == 4) {
    kernel = transposed(kernel, {2, 3, 1, 0});
  } else if (name == "Conv2DTranspose" && kernel.rank() == 4) {
    kernel = transposed(kernel, first ? std::vector{2, 3, 0, 1} : std::vector{0, 1, 3, 2});
  } else if (name == "Conv3D" && first && kernel.rank() == 5) {
    kernel = transposed(kernel, {2, 3, 4, 1, 0});
  }
}

bool is_convolution(const std::string& class_name) {
  return class_name == "Conv1D" || class_name == "Conv2D" || class_name == "Conv3D" ||
         class_name == "Conv2DTranspose" || class_name == "ConvLSTM2D";
}

// Kernels of old files lie with the axes (out, in, rows, columns).
void convert_convolution(const ConversionTarget& target, const ConversionSource& source,
                         std::vector<Tensor>& arrays) {
  const size_t kernels = target.class_name == "ConvLSTM2D" ? 2 : 1;
  for (size_t i = 0; i < std::min(kernels, arrays.size()); ++i) {
    if (source.backend == "theano" && arrays[i].rank() >= 3) arrays[i] = rotated(arrays[i]);
    if (i >= target.shapes.size() || arrays[i].shape() == target.shapes[i]) continue;
    if (arrays[i].rank() != 4) continue;
    const Tensor turned = transposed(arrays[i], {3, 2, 0, 1});
    if (turned.shape() == target.shapes[i]) arrays[i] = turned;
  }
}

// The matrices [rows, gates * units], each gate's block turned. CuDNN keeps kernels as [units, in]
// blocks, written as [in, units] in the order of Fortran.
Tensor turned_kernel(const Tensor& kernel, int64_t gates, bool from_cudnn) {
  const int64_t rows = kernel.dim(0);
  const int64_t units = kernel.dim(1) / gates;
  return gathered(kernel, kernel.shape(), [=](const std::vector<int64_t>& index) {
    const int64_t gate = index[1] / units;
    const int64_t a = index[0];
    const int64_t b = index[1] % units;
    const int64_t n = from_cudnn ? a + b * rows : a * units + b;
    const int64_t row = from_cudnn ? n / units : n % rows;
    const int64_t column = from_cudnn ? n % units : n / rows;
    return row * units * gates + gate * units + column;
  });
}

Tensor turned_recurrent(const Tensor& kernel, int64_t gates) {
  const int64_t units = kernel.dim(0);
  return gathered(kernel, kernel.shape(), [=](const std::vector<int64_t>& index) {
    return (index[1] % units) * units * gates + index[1] / units * units + index[0];
  });
}

// CuDNN has two biases, whose sum counts.
Tensor lstm_bias(const Tensor& bias, bool from_cudnn) {
  const Tensor in = bias.cast(DType::f32);
  const std::span<const float> values = in.data<float>();
  const size_t n = from_cudnn ? values.size() / 2 : values.size();
  std::vector<float> out;
  if (from_cudnn) {
    for (size_t i = 0; i < n; ++i) out.push_back(values[i] + values[n + i]);
  } else {
    for (size_t i = 0; i < 2 * n; ++i) out.push_back(0.5F * values[i % n]);
  }
  return Tensor({static_cast<int64_t>(out.size())}, out);
}

bool is_matrix_of_gates(const std::vector<Tensor>& arrays, int64_t gates) {
  return arrays.size() == 3 && arrays[0].rank() == 2 && arrays[1].rank() == 2 &&
         arrays[1].dim(0) > 0 && arrays[0].dim(1) == gates * arrays[1].dim(0) &&
         arrays[1].dim(1) == gates * arrays[1].dim(0);
}

std::vector<Tensor> convert_lstm(const ConversionTarget& target, std::vector<Tensor> arrays) {
  if (!is_matrix_of_gates(arrays, 4)) return arrays;
  const int64_t units = arrays[1].dim(0);
  std::string source;
  if (arrays[2].shape() == Shape{8 * units}) {
    source = "CuDNNLSTM";
  } else if (arrays[2].shape() == Shape{4 * units}) {
    source = "LSTM";
  } else {
    throw invalid_argument("Invalid bias shape: {}", arrays[2].shape().to_string());
  }
  if (source == target.class_name) return arrays;
  const bool from_cudnn = source == "CuDNNLSTM";
  return {turned_kernel(arrays[0], 4, from_cudnn), turned_recurrent(arrays[1], 4),
          lstm_bias(arrays[2], from_cudnn)};
}

std::vector<Tensor> convert_gru(const ConversionTarget& target, std::vector<Tensor> arrays) {
  if (!is_matrix_of_gates(arrays, 3)) return arrays;
  constexpr const char* kBefore = "GRU(reset_after=False)";
  constexpr const char* kAfter = "GRU(reset_after=True)";
  const int64_t units = arrays[1].dim(0);
  const Shape& bias = arrays[2].shape();
  std::string source;
  if (bias == Shape{6 * units}) {
    source = "CuDNNGRU";
  } else if (bias == Shape{2, 3 * units}) {
    source = kAfter;
  } else if (bias == Shape{3 * units}) {
    source = kBefore;
  } else {
    throw invalid_argument("Invalid bias shape: {}", bias.to_string());
  }
  std::string wanted = target.class_name;
  if (wanted == "GRU") {
    wanted = target.shapes.size() == 3 && target.shapes[2].rank() == 2 ? kAfter : kBefore;
  }
  if (source == wanted) return arrays;
  if (source == kBefore || wanted == kBefore) {
    throw invalid_argument("{} is not compatible with {}", source, wanted);
  }
  const bool from_cudnn = source == "CuDNNGRU";
  return {turned_kernel(arrays[0], 3, from_cudnn), turned_recurrent(arrays[1], 3),
          arrays[2].reshape(from_cudnn ? Shape{2, 3 * units} : Shape{6 * units})};
}

}  // namespace

Tensor transposed(const Tensor& array, const std::vector<int>& axes) {
  Dims dims;
  for (const int axis : axes) dims.push_back(array.dim(axis));
  const Dims strides = array.shape().strides();
  return gathered(array, Shape(std::move(dims)), [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      at += index[i] * strides[axes[i]];
    }
    return at;
  });
}

std::vector<Tensor> convert_weights(const ConversionTarget& target, const ConversionSource& source,
                                    std::vector<Tensor> arrays) {
  if (arrays.empty()) return arrays;
  const std::string& name = target.class_name;
  if (source.keras1) {
    arrays = convert_keras1_recurrent(name, std::move(arrays));
    convert_keras1_kernel(target, arrays[0]);
  }
  if (is_convolution(name)) convert_convolution(target, source, arrays);
  if (name == "LSTM" || name == "CuDNNLSTM") return convert_lstm(target, std::move(arrays));
  if (name == "GRU" || name == "CuDNNGRU") return convert_gru(target, std::move(arrays));
  return arrays;
}

}  // namespace systole::keras
