#include "systole/base/float16.h"

namespace systole {

float16::float16(float value) {
  const auto u = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (u >> 16) & 0x8000;
  uint32_t magnitude = u & 0x7fffffff;
  if (magnitude > 0x7f800000) {  // NaN, quietened
    bits = static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  } else if (magnitude >= 0x47800000) {  // 65536 and above, or infinity
    bits = static_cast<uint16_t>(sign | 0x7c00);
  } else if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 puts the result's unit in the last place at bit 0, rounded by the
    // adder.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  } else {
    magnitude +=
        0xc8000fff + ((magnitude >> 13) & 1);  // rebias the exponent by -112, round to even
    bits = static_cast<uint16_t>(sign | (magnitude >> 13));
  }
}

float16::operator float() const {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  }
  if (magnitude < 0x400) {  // zero, subnormal
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

}  // namespace systole
