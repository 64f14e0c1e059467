#include <algorithm>
#include <type_traits>
#include <vector>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/runtime/collective.h"

namespace systole::runtime {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The type in which elements are combined.
template <class T>
using Wide =
    std::conditional_t<kIsHalf<T>, float, std::conditional_t<is_narrow_integer<T>, int32_t, T>>;

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

// Elements that are combined at a time: those of a few ranks stay in the nearest cache.
constexpr int64_t kBlock = 1024;

template <class T>
void reduce_block(std::span<const void* const> values, int64_t first, int64_t count,
                  Reduction reduction, std::vector<Wide<T>>& wide, T* into) {
  using W = Wide<T>;
  const auto of_rank = [&](size_t r) { return static_cast<const T*>(values[r]) + first; };
  const size_t pairs = (values.size() + 1) / 2;
  for (size_t p = 0; p < pairs; ++p) {
    W* const sum = wide.data() + p * kBlock;
    const T* const a = of_rank(2 * p);
    if (2 * p + 1 == values.size()) {
      for (int64_t i = 0; i < count; ++i) sum[i] = static_cast<W>(a[i]);
      continue;
    }
    const T* const b = of_rank(2 * p + 1);
    for (int64_t i = 0; i < count; ++i) {
      sum[i] = combine(static_cast<W>(a[i]), static_cast<W>(b[i]), reduction);
    }
  }
  for (size_t stride = 1; stride < pairs; stride *= 2) {
    for (size_t p = 0; p + stride < pairs; p += 2 * stride) {
      W* const sum = wide.data() + p * kBlock;
      const W* const other = wide.data() + (p + stride) * kBlock;
      for (int64_t i = 0; i < count; ++i) sum[i] = combine(sum[i], other[i], reduction);
    }
  }
  for (int64_t i = 0; i < count; ++i) into[first + i] = static_cast<T>(wide[i]);
}

}  // namespace

void reduce_in_pairs(DType dtype, std::span<const void* const> values, int64_t count,
                     Reduction reduction, void* into) {
  const bool complex = dtype == DType::c64 || dtype == DType::c128;
  if (dtype == DType::pred || dtype == DType::string || (complex && reduction != Reduction::sum)) {
    throw invalid_argument("all_reduce: dtype, got {}, expected numbers{}", dtype,
                           reduction == Reduction::sum ? "" : " in an order");
  }
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      std::vector<Wide<T>> wide((values.size() + 1) / 2 * kBlock);
      for (int64_t first = 0; first < count; first += kBlock) {
        reduce_block<T>(values, first, std::min(kBlock, count - first), reduction, wide,
                        static_cast<T*>(into));
      }
    }
  });
}

}  // namespace systole::runtime
