#include "systole/stablehlo/text/literal.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "systole/base/convert.h"
#include "systole/base/small_float.h"
#include "systole/stablehlo/text/type.h"

namespace systole::hlo::text {
namespace {

using convert_detail::is_complex_type;

template <class T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// Prints -0.0 and the shortest digits that read back as the same T. Readers convert through f64.
template <class T>
std::string decimal(T value) {
  std::string text = fmt::format("{}", value);
  if (static_cast<T>(std::strtod(text.c_str(), nullptr)) != value) {
    text = fmt::format("{}", static_cast<double>(value));
  }
  const size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos) {
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

template <class T>
void print_float(std::string& out, T value) {
  if constexpr (kIsNarrowFloat<T>) {
    const float wide = value;
    out += std::isfinite(wide) ? decimal(wide) : fmt::format("0x{:04X}", value.bits);
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    out += std::isfinite(value)
               ? decimal(value)
               : fmt::format("0x{:0{}X}", std::bit_cast<Bits>(value), 2 * sizeof(T));
  }
}

template <class T>
void print_element(std::string& out, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (is_complex_type<T>) {
    out += '(';
    print_float(out, value.real());
    out += ", ";
    print_float(out, value.imag());
    out += ')';
  } else if constexpr (std::is_floating_point_v<T> || kIsNarrowFloat<T>) {
    print_float(out, value);
  } else if constexpr (std::is_integral_v<T>) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<int>(value));
  }
}

void print_small_float(std::string& out, DType dtype, uint8_t code) {
  const float value = small_float_values(dtype)[code];
  out += std::isfinite(value) ? decimal(value) : fmt::format("0x{:02X}", code);
}

// `print` appends the element of an index.
template <class Print>
void print_list(std::string& out, const Tensor& value, int axis, int64_t& next,
                const Print& print) {
  if (axis == value.rank()) return print(next++);
  out += '[';
  for (int64_t i = 0; i < value.dim(axis); ++i) {
    if (i > 0) out += ", ";
    print_list(out, value, axis + 1, next, print);
  }
  out += ']';
}

void print_elements(std::string& out, const Tensor& value, bool splat) {
  int64_t next = 0;
  const int axis = splat ? value.rank() : 0;
  if (is_small_float(value.dtype())) {
    const auto* codes = static_cast<const uint8_t*>(value.raw());
    return print_list(out, value, axis, next,
                      [&](int64_t i) { print_small_float(out, value.dtype(), codes[i]); });
  }
  visit_dtype(value.dtype(), [&]<class T>() {
    print_list(out, value, axis, next,
               [&](int64_t i) { print_element<T>(out, value.data<T>()[i]); });
  });
}

void print_hex(std::string& out, const Tensor& value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto* bytes = static_cast<const unsigned char*>(value.raw());
  out += "\"0x";
  for (int64_t i = 0; i < value.byte_size(); ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  out += '"';
}

// Returns whether all elements have the bits of the first.
bool is_splat(const Tensor& value) {
  const auto* bytes = static_cast<const std::byte*>(value.raw());
  const auto size = static_cast<size_t>(size_of(value.dtype()));
  const auto rest = static_cast<size_t>(value.byte_size()) - size;
  return std::memcmp(bytes, bytes + size, rest) == 0;
}

}  // namespace

std::string float_text(float value) {
  std::string text;
  print_float(text, value);
  return text + " : f32";
}

std::string literal_text(const Tensor& value, int64_t max_elements) {
  std::string out = "dense<";
  if (value.num_elements() > 0) {
    const bool splat = is_splat(value);
    if (!splat && value.num_elements() > max_elements && value.dtype() != DType::pred) {
      print_hex(out, value);
    } else {
      print_elements(out, value, splat);
    }
  }
  return out + "> : " + type_text(value.type());
}

}  // namespace systole::hlo::text
