#include "systole/hlo/semantics/elementwise.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {
namespace {

template <class T>
inline constexpr int kWidth = 8 * static_cast<int>(sizeof(T));
template <int kBits, bool kSigned>
inline constexpr int kWidth<NarrowInteger<kBits, kSigned>> = kBits;

// result[i] = function(x[i]...), computed on Wide.
template <class T, class Wide, class Function, class... Spans>
void map_as(Tensor& result, Function function, Spans... operands) {
  if (function == nullptr) {
    throw internal_error("elementwise: got {}, expected a dtype that passes inference",
                         result.dtype());
  }
  std::span<T> out = result.data<T>();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = convert_element<T>(function(convert_element<Wide>(operands[i])...));
  }
}

template <class T, class Function, class... Spans>
void map_bits(Tensor& result, Function function, Spans... operands) {
  constexpr uint64_t kMask = ~uint64_t{0} >> (64 - kWidth<T>);
  std::span<T> out = result.data<T>();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = convert_element<T>(
        function((convert_element<uint64_t>(operands[i]) & kMask)..., kWidth<T>));
  }
}

template <class T, class Kernel, class... Spans>
void map_typed(const Kernel& kernel, Tensor& result, Spans... operands) {
  if constexpr (convert_detail::is_real_float_type<T>) {
    map_as<T, double>(result, kernel.floating, operands...);
  } else if constexpr (convert_detail::is_complex_type<T>) {
    map_as<T, std::complex<double>>(result, kernel.complex, operands...);
  } else if constexpr (std::is_same_v<T, bool>) {
    map_as<T, bool>(result, kernel.pred, operands...);
  } else if (kernel.bits != nullptr) {
    map_bits<T>(result, kernel.bits, operands...);
  } else if constexpr (is_signed_integer<T>) {
    map_as<T, int64_t>(result, kernel.signed_integer, operands...);
  } else {
    map_as<T, uint64_t>(result, kernel.unsigned_integer, operands...);
  }
}

template <class Kernel>
bool supports(const Kernel& kernel, DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.floating) return kernel.floating != nullptr;
  if (info.complex) return kernel.complex != nullptr;
  if (dtype == DType::pred) return kernel.pred != nullptr;
  if (!info.integer) return false;
  if (kernel.bits != nullptr) return true;
  return info.is_signed ? kernel.signed_integer != nullptr : kernel.unsigned_integer != nullptr;
}

template <class Kernel>
std::string families(const Kernel& kernel) {
  std::string text;
  const auto add = [&text](bool supported, std::string_view name) {
    if (supported) text += fmt::format("{}{}", text.empty() ? "" : " or ", name);
  };
  add(kernel.pred != nullptr, "pred");
  add(kernel.bits != nullptr || kernel.unsigned_integer != nullptr, "integer");
  add(kernel.signed_integer != nullptr && kernel.unsigned_integer == nullptr, "signed integer");
  add(kernel.floating != nullptr, "floating-point");
  add(kernel.complex != nullptr, "complex");
  return text;
}

template <class Kernel>
std::vector<TensorType> infer_same_type(const InferContext& context, const Kernel& kernel) {
  const TensorType& type = context.operand(0);
  if (context.num_operands() == 2 && context.operand(1) != type) {  // C1
    throw invalid_argument("{}: operand types, got {} and {}, expected equal", context.opcode, type,
                           context.operand(1));
  }
  if (!supports(kernel, type.dtype)) {  // I1, I2
    throw invalid_argument("{}: element type, got {}, expected {}", context.opcode, type.dtype,
                           families(kernel));
  }
  return {type};
}

}  // namespace

std::vector<TensorType> infer_elementwise(const InferContext& context, const UnaryKernel& kernel) {
  return infer_same_type(context, kernel);
}

std::vector<TensorType> infer_elementwise(const InferContext& context, const BinaryKernel& kernel) {
  return infer_same_type(context, kernel);
}

Tensor map_elements(const UnaryKernel& kernel, std::span<const Tensor> operands) {
  Tensor result(operands[0].type());
  visit_dtype(result.dtype(),
              [&]<class T>() { map_typed<T>(kernel, result, operands[0].data<T>()); });
  return result;
}

Tensor map_elements(const BinaryKernel& kernel, std::span<const Tensor> operands) {
  Tensor result(operands[0].type());
  visit_dtype(result.dtype(), [&]<class T>() {
    map_typed<T>(kernel, result, operands[0].data<T>(), operands[1].data<T>());
  });
  return result;
}

Tensor splat_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Tensor result(x.dtype(), shape);
  fill(result, x);
  return result;
}

uint64_t element_bits(const Tensor& x, int64_t index) {
  static_assert(std::endian::native == std::endian::little);
  const auto size = static_cast<size_t>(size_of(x.dtype()));
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(x.raw()) + static_cast<size_t>(index) * size,
              size);
  return bits;
}

void set_element_bits(Tensor& x, int64_t index, uint64_t bits) {
  const auto size = static_cast<size_t>(size_of(x.dtype()));
  std::memcpy(static_cast<std::byte*>(x.raw()) + static_cast<size_t>(index) * size, &bits, size);
}

}  // namespace systole::hlo
