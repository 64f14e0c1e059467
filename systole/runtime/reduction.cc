#include <algorithm>
#include <type_traits>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/runtime/collective.h"

namespace systole::runtime {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool kIsSmall = std::is_same_v<T, int4> || std::is_same_v<T, uint4>;
template <class T>
constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The type in which elements are combined.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, std::conditional_t<kIsSmall<T>, int32_t, T>>;

template <class W>
W combine(W a, W b, Reduction reduction) {
  if constexpr (!kIsComplex<W>) {
    if (reduction == Reduction::min) return std::min(a, b);
    if (reduction == Reduction::max) return std::max(a, b);
    if constexpr (std::is_integral_v<W>) {  // wraps around
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    }
  }
  return a + b;
}

template <class T>
void reduce_elements(const std::vector<const Tensor*>& values, Reduction reduction, Tensor& into) {
  const std::span<T> result = into.data<T>();
  for (size_t i = 0; i < result.size(); ++i) {
    auto total = static_cast<Wide<T>>(values[0]->data<T>()[i]);
    for (size_t r = 1; r < values.size(); ++r) {
      total = combine(total, static_cast<Wide<T>>(values[r]->data<T>()[i]), reduction);
    }
    result[i] = static_cast<T>(total);
  }
}

}  // namespace

Tensor reduce_in_rank_order(const std::vector<const Tensor*>& values, Reduction reduction) {
  const TensorType type = values[0]->type();
  const bool complex = type.dtype == DType::c64 || type.dtype == DType::c128;
  if (type.dtype == DType::pred || type.dtype == DType::string ||
      (complex && reduction != Reduction::sum)) {
    throw invalid_argument("all_reduce: dtype, got {}, expected numbers{}", type.dtype,
                           reduction == Reduction::sum ? "" : " in an order");
  }
  Tensor result(type);
  visit_dtype(type.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) reduce_elements<T>(values, reduction, result);
  });
  return result;
}

}  // namespace systole::runtime
