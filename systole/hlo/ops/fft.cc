#include <cmath>
#include <complex>
#include <numbers>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

// The size of the axis that holds one half of the spectrum of n real values.
int64_t half_spectrum_size(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

void check_element_type(FftType type, DType dtype) {  // C2
  const bool wants_real = type == FftType::rfft;
  const bool is_real = dtype == DType::f32 || dtype == DType::f64;
  if (wants_real ? is_real : is_complex(dtype)) return;
  throw invalid_argument("fft: element type, got {}, expected {}", dtype,
                         wants_real ? "f32 or f64" : "c64 or c128");
}

std::vector<TensorType> infer_fft(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const auto& attrs = context.get<FftAttrs>();
  const auto num_axes = static_cast<int>(attrs.fft_length.size());
  const int rank = operand.shape.rank();
  if (num_axes < 1 || num_axes > 3 || num_axes > rank) {  // C1, C3
    throw invalid_argument("fft: fft_length, got {}, expected 1 to 3 of the axes of {}",
                           to_string(attrs.fft_length), operand.shape);
  }
  check_element_type(attrs.fft_type, operand.dtype);
  const int last = rank - 1;
  Shape real = operand.shape;  // the one of the two without half an axis
  if (attrs.fft_type == FftType::irfft) real.set_dim(last, attrs.fft_length.back());
  for (int i = 0; i < num_axes; ++i) {  // C4; as XLA has it, of complex tensors, too
    if (real[rank - num_axes + i] == attrs.fft_length[i]) continue;
    throw invalid_argument("fft: fft_length, got {} for {}, expected the sizes of its last axes",
                           to_string(attrs.fft_length), operand.shape);
  }
  TensorType result{operand.dtype, real};  // C5
  if (attrs.fft_type == FftType::rfft) {
    result.dtype = operand.dtype == DType::f32 ? DType::c64 : DType::c128;
    result.shape.set_dim(last, half_spectrum_size(real[last]));
  } else if (attrs.fft_type == FftType::irfft) {
    result.dtype = real_dtype(operand.dtype);
    if (operand.shape[last] != half_spectrum_size(real[last])) {
      throw invalid_argument("fft: last axis of {}, got {}, expected {} for fft_length {}",
                             operand.shape, operand.shape[last], half_spectrum_size(real[last]),
                             to_string(attrs.fft_length));
    }
  }
  return {result};
}

using Line = std::vector<std::complex<double>>;

// roots[k] = exp(-2 pi i k / n), or its conjugate for the inverse.
Line roots_of_unity(size_t n, bool inverse) {
  Line roots(n);
  for (size_t k = 0; k < n; ++k) {
    const long double turn = static_cast<long double>(k) / static_cast<long double>(n);
    const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> * turn;
    roots[k] = {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
  }
  return roots;
}

// sum over j of x[j] roots[j k] for each k; roots[step] is the first root of order x.size(). Even
// lengths are split into two transforms of half the length; odd lengths use the definition.
Line transform(const Line& x, const Line& roots, size_t step) {
  const size_t n = x.size();
  Line result(n);
  if (n % 2 != 0) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) result[k] += x[j] * roots[j * k % n * step];
    }
    return result;
  }
  Line even(n / 2);
  Line odd(n / 2);
  for (size_t j = 0; j < n / 2; ++j) {
    even[j] = x[2 * j];
    odd[j] = x[2 * j + 1];
  }
  even = transform(even, roots, 2 * step);
  odd = transform(odd, roots, 2 * step);
  for (size_t k = 0; k < n / 2; ++k) {
    const std::complex<double> turned = roots[k * step] * odd[k];
    result[k] = even[k] + turned;
    result[k + n / 2] = even[k] - turned;
  }
  return result;
}

// Transforms each line along `axis` of a c128 tensor in place.
void transform_axis(Tensor& x, int axis, bool inverse) {
  const Shape& shape = x.shape();
  const auto n = static_cast<size_t>(shape[axis]);
  const auto stride = static_cast<size_t>(shape.strides()[axis]);
  const Line roots = roots_of_unity(n, inverse);
  const std::span<std::complex<double>> elements = x.data<std::complex<double>>();
  Dims others = shape.dims();
  others[axis] = 1;
  for_each_row<1>(others, {view_of(shape)}, [&](const auto& offsets, const auto& steps, int64_t m) {
    Line line(n);
    for (int64_t i = 0; i < m; ++i) {
      const auto first = static_cast<size_t>(offsets[0] + i * steps[0]);
      for (size_t j = 0; j < n; ++j) line[j] = elements[first + j * stride];
      const Line result = transform(line, roots, 1);
      const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
      for (size_t j = 0; j < n; ++j) elements[first + j * stride] = result[j] * scale;
    }
  });
}

// Returns the first `size` elements along the last axis. Elements beyond its end are the conjugates
// of the earlier ones in reverse order: the other half of the spectrum of a real signal.
Tensor resize_last_axis(const Tensor& x, int64_t size) {
  Shape shape = x.shape();
  const int64_t old_size = shape[shape.rank() - 1];
  shape.set_dim(shape.rank() - 1, size);
  Tensor result(x.dtype(), shape);
  const std::span<std::complex<double>> out = result.data<std::complex<double>>();
  const std::span<const std::complex<double>> in = x.data<std::complex<double>>();
  for (size_t i = 0; i < out.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / size * old_size;
    const auto k = static_cast<int64_t>(i) % size;
    out[i] = k < old_size ? in[row + k] : std::conj(in[row + size - k]);
  }
  return result;
}

// Computed in c128 and rounded once.
std::vector<Tensor> evaluate_fft(const Instruction& instruction, std::span<const Tensor> operands,
                                 const Evaluator&) {
  const auto& attrs = instruction.attrs<FftAttrs>();
  const bool inverse = attrs.fft_type == FftType::ifft || attrs.fft_type == FftType::irfft;
  if (instruction.shape().num_elements() == 0) return {Tensor(instruction.type())};
  Tensor x = operands[0].cast(DType::c128).clone();
  const int last = x.rank() - 1;
  const int first = x.rank() - static_cast<int>(attrs.fft_length.size());
  if (attrs.fft_type == FftType::irfft) {
    for (int axis = first; axis < last; ++axis) transform_axis(x, axis, true);
    x = resize_last_axis(x, attrs.fft_length.back());
    transform_axis(x, last, true);
  } else {
    for (int axis = last; axis >= first; --axis) transform_axis(x, axis, inverse);
    if (attrs.fft_type == FftType::rfft) x = resize_last_axis(x, instruction.shape()[last]);
  }
  return {x.cast(instruction.dtype())};
}

}  // namespace

extern const OpSemantics fft_semantics{
    .infer = infer_fft,
    .evaluate = evaluate_fft,
    .format = AssemblyFormat{"$*, type = <fft_type>, length = <fft_length>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .vectorize = replicas::vectorize_same_attrs,
    .shard = spmd::shard_fft};

}  // namespace systole::hlo::ops
