#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "systole/base/convert.h"
#include "systole/base/small_float.h"
#include "systole/stablehlo/text/literal.h"
#include "systole/stablehlo/text/type.h"

namespace systole::hlo::text {
namespace {

using convert_detail::is_complex_type;

// The text of an element is at least this part of its bytes: "0.," for eight of them.
constexpr int64_t kMaxBytesPerCharacter = 16;
// Larger tensors of equal elements are kept as splats; exported programs contain many.
constexpr int64_t kMaxSplatBytes = 4096;
// The text that exporters write for omitted elements.
constexpr std::string_view kElided = "__elided__";

// Returns the bits of one real element from its token and sign.
class ElementReader {
 public:
  explicit ElementReader(Lexer& lexer) : lexer_(lexer) {}

  template <class T>
  T read() {
    if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      lexer_.expect('(', "complex element");
      const Part real = read<Part>();
      lexer_.expect(',', "complex element");
      const Part imaginary = read<Part>();
      lexer_.expect(')', "complex element");
      return T(real, imaginary);
    } else if constexpr (std::is_same_v<T, bool>) {
      return read_bool();
    } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, float16> ||
                         std::is_same_v<T, bfloat16>) {
      return read_float<T>();
    } else {
      return read_integer<T>();
    }
  }

  // The code of a float below 16 bits.
  uint8_t read_small_float(DType dtype) {
    const RealNumber number = read_real(sizeof(uint8_t));
    return number.bits ? static_cast<uint8_t>(*number.bits)
                       : encode_small_float(dtype, number.value);
  }

 private:
  // A number, or its bits.
  struct RealNumber {
    double value = 0;
    std::optional<uint64_t> bits;
  };

  bool read_bool() {
    if (lexer_.accept_word("true")) return true;
    if (lexer_.accept_word("false")) return false;
    const Token token = lexer_.peek();
    const bool one = token.text == "1";
    if (!token.is(TokenKind::integer) || (!one && token.text != "0")) {
      throw lexer_.unexpected("element", "true or false");
    }
    lexer_.take();
    return one;
  }

  // The magnitude of an integer token.
  uint64_t magnitude(const Token& token) const {
    const bool hex = token.text.starts_with("0x");
    const std::string_view digits = hex ? token.text.substr(2) : token.text;
    uint64_t value = 0;
    const auto result =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
      throw lexer_.error_at(token.offset,
                            fmt::format("integer, got '{}', expected one of at most 64 "
                                        "bits",
                                        token.text.substr(0, 40)));
    }
    return value;
  }

  template <class T>
  T read_integer() {
    constexpr DType kDType = dtype_of<T>();
    const size_t begin = lexer_.position();
    const bool negative = lexer_.accept('-');
    const uint64_t value = magnitude(lexer_.expect(TokenKind::integer, "element", "an integer"));
    const DTypeInfo& info = dtype_info(kDType);
    const uint64_t all_ones = ~uint64_t{0} >> (64 - info.bits);
    // As in MLIR: a signless type accepts values of either signedness, an unsigned type no sign.
    const uint64_t largest_negative = info.is_signed ? all_ones / 2 + 1 : 0;
    if (value > (negative ? largest_negative : all_ones)) {
      throw lexer_.error_at(begin, fmt::format("element, got {}{}, expected a value of type {}",
                                               negative ? "-" : "", value, info.mlir_name));
    }
    return convert_element<T>(negative ? uint64_t{0} - value : value);
  }

  template <class T>
  T read_float() {
    const RealNumber number = read_real(sizeof(T));
    if (!number.bits) return convert_element<T>(number.value);
    T value;
    std::memcpy(static_cast<void*>(&value), &*number.bits, sizeof(T));
    return value;
  }

  RealNumber read_real(size_t bytes) {
    const size_t begin = lexer_.position();
    const bool negative = lexer_.accept('-');
    const Token token = lexer_.take();
    const bool hex = token.is(TokenKind::integer) && token.text.starts_with("0x");
    if (hex && !negative) {
      if (token.text.size() != 2 + 2 * bytes) {
        throw lexer_.error_at(
            begin, fmt::format("element, got '{}', expected {} hexadecimal digits", token.text,
                               2 * bytes));
      }
      return {.bits = magnitude(token)};
    }
    if (hex || !(token.is(TokenKind::floating) || token.is(TokenKind::integer))) {
      lexer_.seek(begin);
      throw lexer_.unexpected("element", "a floating-point number");
    }
    double value = 0;
    const char* const last = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), last, value).ec == std::errc::result_out_of_range) {
      value = std::strtod(std::string(token.text).c_str(), nullptr);  // infinity or zero
    }
    return {.value = negative ? -value : value, .bits = {}};
  }

  Lexer& lexer_;
};

// Reads nested lists into the elements of a tensor. `read` returns the next element.
template <class T, class Read>
class ListReader {
 public:
  ListReader(Lexer& lexer, Tensor& value, Read read)
      : lexer_(lexer), value_(value), read_(std::move(read)) {}

  void read(int axis) {
    if (axis == value_.rank()) {
      elements()[next_++] = read_();
      return;
    }
    const size_t begin = lexer_.position();
    lexer_.expect('[', "dense elements");
    int64_t count = 0;
    while (!lexer_.peek().is(']')) {
      if (count > 0) lexer_.expect(',', "dense elements");
      if (++count > value_.dim(axis)) break;
      read(axis + 1);
    }
    if (count != value_.dim(axis)) {
      throw lexer_.error_at(begin,
                            fmt::format("dense elements, got {} in a list, expected {} for {}",
                                        count > value_.dim(axis) ? "more" : std::to_string(count),
                                        value_.dim(axis), type_text(value_.type())));
    }
    lexer_.expect(']', "dense elements");
  }

  void read_splat() {
    const T element = read_();
    std::fill_n(elements(), value_.num_elements(), element);
  }

 private:
  T* elements() { return static_cast<T*>(value_.raw()); }

  Lexer& lexer_;
  Tensor& value_;
  Read read_;
  size_t next_ = 0;
};

template <class T, class Read>
void read_nested(Lexer& lexer, Tensor& value, Read read) {
  ListReader<T, Read> reader(lexer, value, std::move(read));
  lexer.peek().is('[') ? reader.read(0) : reader.read_splat();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Elements below 8 bits occupy a whole byte, with only their own bits set (signed integers:
// sign-extended).
void canonicalize(Tensor& value) {
  const DTypeInfo& info = dtype_info(value.dtype());
  if (info.bits >= 8) return;
  auto* bytes = static_cast<uint8_t*>(value.raw());
  const int ones = (1 << info.bits) - 1;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    if (value.dtype() == DType::pred) {
      bytes[i] = bytes[i] != 0 ? 1 : 0;
    } else {
      const int low = bytes[i] & ones;
      const bool negative = info.integer && info.is_signed && low > ones / 2;
      bytes[i] = static_cast<uint8_t>(negative ? low | (0xff & ~ones) : low);
    }
  }
}

// Two digits per byte, starting at `begin`. Fewer digits than the tensor needs are repeated.
void read_hex_digits(const Lexer& lexer, size_t begin, std::string_view digits, Tensor& value) {
  auto* bytes = static_cast<uint8_t*>(value.raw());
  const auto all = static_cast<size_t>(value.byte_size());
  for (size_t i = 0; i < all; ++i) {
    const size_t at = 2 * i % digits.size();
    const int high = hex_digit(digits[at]);
    const int low = hex_digit(digits[at + 1]);
    if (high < 0 || low < 0) {
      throw lexer.error_at(begin + at,
                           "dense elements, got another character, expected "
                           "a hexadecimal digit");
    }
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  canonicalize(value);
}

// "0x...": the bytes of all elements, or of one that stands for all.
void read_hex(Lexer& lexer, Tensor& value) {
  const Token token = lexer.take();
  const std::string_view digits =
      token.text.starts_with("\"0x") ? token.text.substr(3, token.text.size() - 4) : "";
  const auto size = static_cast<size_t>(size_of(value.dtype()));
  const auto all = static_cast<size_t>(value.byte_size());
  if (digits.size() != 2 * all && digits.size() != 2 * size) {
    throw lexer.error_at(token.offset,
                         fmt::format("dense elements, got {} hexadecimal digits, "
                                     "expected {} for {}",
                                     digits.size(), 2 * all, type_text(value.type())));
  }
  read_hex_digits(lexer, token.offset + 3, digits, value);
}

// Eight elements of i1 per byte, the first in the lowest bit.
bool read_packed_hex(Lexer& lexer, Tensor& value) {
  const std::string_view text = lexer.peek().text;
  const auto count = static_cast<size_t>(value.num_elements());
  const size_t bytes = (count + 7) / 8;
  if (value.dtype() != DType::pred || bytes < 2 || text.size() != 2 * bytes + 4) return false;
  Tensor packed(DType::u8, {static_cast<int64_t>(bytes)});
  read_hex(lexer, packed);
  for (size_t i = 0; i < count; ++i) {
    value.data<bool>()[i] = (packed.data<uint8_t>()[i / 8] >> (i % 8) & 1) != 0;
  }
  return true;
}

void read_elements(Lexer& lexer, Tensor& value) {
  if (lexer.peek().is(TokenKind::string)) {
    if (!read_packed_hex(lexer, value)) read_hex(lexer, value);
  } else if (lexer.peek().is('>')) {
    if (value.num_elements() != 0) throw lexer.unexpected("dense elements", "an element or a list");
  } else {
    ElementReader elements(lexer);
    if (is_small_float(value.dtype())) {
      return read_nested<uint8_t>(lexer, value,
                                  [&] { return elements.read_small_float(value.dtype()); });
    }
    visit_dtype(value.dtype(), [&]<class T>() {
      read_nested<T>(lexer, value, [&] { return elements.read<T>(); });
    });
  }
}

// Reads one element in the place of a list or of the bytes of all.
bool begins_splat(const Lexer& lexer, DType dtype) {
  const Token& token = lexer.peek();
  if (token.is(TokenKind::string)) {
    return token.text.size() == 2 * static_cast<size_t>(size_of(dtype)) + 4;
  }
  return !token.is('[') && !token.is('>');
}

// <name> : tensor<...>. The resource is a string of hexadecimal digits: four bytes for the
// alignment, then the elements.
Tensor read_resource(Lexer& lexer) {
  lexer.expect('<', "constant");
  const Token name = lexer.take();
  lexer.expect('>', "constant");
  lexer.expect(':', "constant");
  const TensorType type = read_tensor_type(lexer);
  const std::string key = unquote(name.text);
  if (key == kElided) {
    throw lexer.error_at(name.offset,
                         "constant, got one whose elements the exporter left out, expected them "
                         "all: print the module without a limit on large elements");
  }
  const auto place = lexer.resource(key);
  if (!place) {
    throw lexer.error_at(name.offset,
                         fmt::format("constant, got the resource '{}', expected one that the text "
                                     "ends with, {{-# dialect_resources: ... #-}}",
                                     key));
  }
  const size_t next = lexer.position();
  lexer.seek(*place);
  const std::string_view text = lexer.peek().text;
  constexpr size_t kHeader = 2 + 2 * 4;  // 0x and the alignment
  const size_t digits = 2 * static_cast<size_t>(type.byte_size());
  if (text.size() != 2 + kHeader + digits) {
    throw lexer.error_at(*place,
                         fmt::format("resource '{}', got {} characters, expected {} for {}", key,
                                     text.size() - 2, kHeader + digits, type_text(type)));
  }
  lexer.charge(name.offset, type.byte_size());
  Tensor value(type);
  read_hex_digits(lexer, *place + 1 + kHeader, text.substr(1 + kHeader, digits), value);
  lexer.seek(next);
  return value;
}

}  // namespace

Tensor elements_of(const Splat& splat) {
  Tensor value(splat.type);
  if (is_small_float(value.dtype())) {
    std::memset(value.raw(), *static_cast<const uint8_t*>(splat.element.raw()),
                static_cast<size_t>(value.byte_size()));
    return value;
  }
  visit_dtype(value.dtype(),
              [&]<class T>() { std::ranges::fill(value.data<T>(), splat.element.data<T>()[0]); });
  return value;
}

std::variant<Tensor, Splat> read_literal(Lexer& lexer) {
  if (lexer.accept_word("dense_resource")) return read_resource(lexer);
  lexer.expect_word("dense", "constant");
  const size_t elements = lexer.position();
  // The type, which follows the elements, decides how they are read.
  if (!lexer.peek().is('<')) throw lexer.unexpected("dense elements", "'<'");
  lexer.skip_balanced('<', '>');
  lexer.expect(':', "dense elements");
  const size_t type_begin = lexer.position();
  const TensorType type = read_tensor_type(lexer);
  const size_t end = lexer.last_end();
  lexer.seek(elements);
  lexer.expect('<', "dense elements");
  const bool splat = type.byte_size() > kMaxSplatBytes && begins_splat(lexer, type.dtype);
  if (!splat &&
      type.byte_size() > kMaxBytesPerCharacter * static_cast<int64_t>(type_begin - elements)) {
    lexer.charge(type_begin, type.byte_size());
  }
  Tensor value(splat ? TensorType{type.dtype, {}} : type);
  read_elements(lexer, value);
  lexer.expect('>', "dense elements");
  lexer.seek(type_begin);
  while (lexer.last_end() < end) lexer.take();
  if (splat) return Splat{std::move(value), type};
  return value;
}

Tensor read_scalar(Lexer& lexer) {
  const size_t begin = lexer.position();
  lexer.accept('-');
  lexer.take();
  lexer.expect(':', "number");
  const Token type = lexer.expect(TokenKind::identifier, "number", "an element type");
  const auto dtype = element_type_of(type.text);
  if (!dtype) {
    throw lexer.error_at(
        type.offset, fmt::format("element type, got '{}', expected one such as f32", type.text));
  }
  lexer.seek(begin);
  Tensor value(*dtype, {});
  ElementReader elements(lexer);
  if (is_small_float(*dtype)) {
    *static_cast<uint8_t*>(value.raw()) = elements.read_small_float(*dtype);
  } else {
    visit_dtype(*dtype, [&]<class T>() { value.data<T>()[0] = elements.read<T>(); });
  }
  lexer.expect(':', "number");
  lexer.take();
  return value;
}

}  // namespace systole::hlo::text
