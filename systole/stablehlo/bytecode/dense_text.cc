#include "systole/stablehlo/bytecode/dense_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "systole/base/tensor.h"
#include "systole/stablehlo/text/literal.h"

namespace systole::hlo::bytecode {
namespace {

// Lists with more elements become hexadecimal.
constexpr int64_t kMaxListed = 16;
// Longer lists are no attribute of an op.
constexpr int64_t kMaxIntegers = 1 << 16;

int64_t number_of_elements(const TensorForm& form, const ByteReader& at) {
  int64_t count = 1;
  for (const int64_t size : form.sizes) {
    if (size < 0) throw at.error("constant, got a dynamic size, expected static ones");
    if (__builtin_mul_overflow(count, size, &count)) {
      throw at.error("constant, got 2^63 elements or more, expected fewer");
    }
  }
  return count;
}

// Returns one byte an element, or one byte if all are equal.
std::string unpack_bits(std::string_view bytes, int64_t count) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 1 && static_cast<uint8_t>(bytes[0]) == 0xFF) return "\x01";
  if (size != (count + 7) / 8 || size == count) return std::string(bytes);
  std::string unpacked(static_cast<size_t>(count), '\0');
  for (size_t i = 0; i < unpacked.size(); ++i) {
    unpacked[i] = static_cast<char>((static_cast<uint8_t>(bytes[i / 8]) >> (i % 8)) & 1);
  }
  return unpacked;
}

// The elements of dtypes that do not use all bits of their bytes are brought into range.
void copy_elements(std::string_view bytes, Tensor& tensor) {
  const auto narrow = [&]<class T>(T make) {
    auto elements = tensor.data<decltype(make('\0'))>();
    std::ranges::transform(bytes, elements.begin(), make);
  };
  switch (tensor.dtype()) {
    case DType::pred:
      return narrow([](char c) { return c != 0; });
    case DType::s2:
      return narrow([](char c) { return int2(c); });
    case DType::s4:
      return narrow([](char c) { return int4(c); });
    case DType::u2:
      return narrow([](char c) { return uint2(c); });
    case DType::u4:
      return narrow([](char c) { return uint4(c); });
    case DType::f4e2m1fn:
      std::ranges::transform(bytes, static_cast<char*>(tensor.raw()),
                             [](char c) { return static_cast<char>(c & 15); });
      return;
    default:
      if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  }
}

std::string without_type(std::string text) {
  text.resize(text.rfind(" : "));
  return text;
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text = "dense<\"0x";
  text.reserve(text.size() + 2 * bytes.size() + 2);
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text + "\">";
}

std::vector<int64_t> integers_of(std::string_view bytes, int64_t count) {
  std::vector<int64_t> values(bytes.size() / sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  if (values.size() == 1) values.assign(static_cast<size_t>(count), values[0]);
  return values;
}

}  // namespace

DenseText dense_text(const TensorForm& form, std::string_view bytes, const ByteReader& at) {
  const int64_t count = number_of_elements(form, at);
  const std::string unpacked = form.element == "i1" ? unpack_bits(bytes, count) : std::string();
  if (form.element == "i1") bytes = unpacked;
  const auto size = static_cast<int64_t>(bytes.size());
  const bool splat = size == form.element_bytes && count != 1;
  int64_t full = 0;
  const bool overflow = __builtin_mul_overflow(count, form.element_bytes, &full);
  if (form.element_bytes == 0 || overflow || (!splat && size != full)) {
    throw at.error("constant, got {} bytes, expected {} elements of {}", size, count, form.element);
  }
  DenseText result;
  if (form.element == "i64" && form.sizes.size() == 1 && count <= kMaxIntegers) {
    result.integers = integers_of(count == 0 ? std::string_view() : bytes, count);
  }
  const auto dtype = dtype_from_mlir(form.element == "index" ? "i64" : form.element);
  if (count == 0) {
    result.text = "dense<>";
  } else if (dtype &&
             (splat || count <= kMaxListed || size_of(*dtype) * 8 != dtype_info(*dtype).bits)) {
    Tensor tensor(*dtype, splat ? Shape() : Shape(Dims(form.sizes.begin(), form.sizes.end())));
    copy_elements(bytes, tensor);
    result.text = without_type(text::literal_text(tensor, std::numeric_limits<int64_t>::max()));
  } else {
    result.text = hexadecimal(bytes);
  }
  return result;
}

std::string number_text(uint64_t bits, std::string_view type) {
  if (type == "f32") return text::float_text(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const auto value = std::bit_cast<double>(bits);
  if (type == "f64" && std::isfinite(value)) {
    const std::string text = text::literal_text(Tensor(value), 1);  // dense<1.5> : tensor<f64>
    return text.substr(6, text.find('>') - 6) + " : f64";
  }
  const int digits = type == "f64" ? 16 : type == "f16" || type == "bf16" ? 4 : 2;
  return fmt::format("0x{:0{}X} : {}", bits, digits, type);
}

}  // namespace systole::hlo::bytecode
