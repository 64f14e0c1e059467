#include "systole/base/error.h"
#include "systole/hlo/checks.h"

namespace systole::hlo::ops {
namespace {

// The axis that holds half of the spectrum of n real values.
int64_t half(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

void check_element_type(FftType type, DType dtype) {  // C2
  const bool wants_real = type == FftType::rfft;
  const bool is_real = dtype == DType::f32 || dtype == DType::f64;
  if (wants_real ? is_real : is_complex(dtype)) return;
  throw invalid_argument("fft: element type, got {}, expected {}", dtype,
                         wants_real ? "f32 or f64" : "c64 or c128");
}

std::vector<TensorType> infer(const InferContext& context) {
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
    if (real[rank - num_axes + i] == attrs.fft_length[static_cast<size_t>(i)]) continue;
    throw invalid_argument("fft: fft_length, got {} for {}, expected the sizes of its last axes",
                           to_string(attrs.fft_length), operand.shape);
  }
  TensorType result{operand.dtype, real};  // C5
  if (attrs.fft_type == FftType::rfft) {
    result.dtype = operand.dtype == DType::f32 ? DType::c64 : DType::c128;
    result.shape.set_dim(last, half(real[last]));
  } else if (attrs.fft_type == FftType::irfft) {
    result.dtype = real_dtype(operand.dtype);
    if (operand.shape[last] != half(real[last])) {
      throw invalid_argument("fft: last axis of {}, got {}, expected {} for fft_length {}",
                             operand.shape, operand.shape[last], half(real[last]),
                             to_string(attrs.fft_length));
    }
  }
  return {result};
}

}  // namespace

extern const OpSemantics fft_semantics;
const OpSemantics fft_semantics{.infer = infer};

}  // namespace systole::hlo::ops
