#include "systole/base/number_text.h"

#include <fmt/format.h>

namespace systole {

std::string number_text(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::u64) {
    return fmt::format("{}", tensor.data<uint64_t>()[static_cast<size_t>(index)]);
  }
  if (dtype == DType::s64) {
    return fmt::format("{}", tensor.data<int64_t>()[static_cast<size_t>(index)]);
  }
  const double value = tensor.as_double(index);
  if (dtype == DType::f64) return fmt::format("{}", value);
  if (!is_floating(dtype)) return fmt::format("{}", static_cast<int64_t>(value));
  return fmt::format("{}", static_cast<float>(value));
}

}  // namespace systole
