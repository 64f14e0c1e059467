#include "systole/stablehlo/text/quantized_reader.h"

#include <charconv>

namespace systole::hlo::text {
namespace {

constexpr std::string_view kWhat = "quantized type";

int64_t read_integer(Lexer& lexer) {
  const bool negative = lexer.accept('-');
  const Token token = lexer.expect(TokenKind::integer, kWhat, "an integer");
  int64_t value = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto parsed = std::from_chars(token.text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw lexer.error_at(
        token.offset, fmt::format("{}, got {}, expected an integer below 2^63", kWhat, token.text));
  }
  return negative ? -value : value;
}

double read_scale(Lexer& lexer) {
  const bool negative = lexer.accept('-');
  const Token token = lexer.peek();
  double value = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto parsed = std::from_chars(token.text.data(), end, value);
  if (!token.is(TokenKind::floating) || parsed.ec != std::errc() || parsed.ptr != end) {
    throw lexer.unexpected(kWhat, "a scale such as 0.5");
  }
  lexer.take();
  return negative ? -value : value;
}

// i8, u8 or ui8.
DType read_storage(Lexer& lexer) {
  const Token token = lexer.expect(TokenKind::identifier, kWhat, "a storage type such as i8");
  std::string name(token.text);
  if (name.starts_with('u') && !name.starts_with("ui")) name.insert(1, "i");
  const auto dtype = dtype_from_mlir(name);
  if (dtype && is_integer(*dtype)) return *dtype;
  throw lexer.error_at(
      token.offset,
      fmt::format("{}: storage type, got {}, expected one such as i8", kWhat, token.text));
}

void read_parameter(Lexer& lexer, QuantizedType& type) {
  type.scales.push_back(read_scale(lexer));
  type.zero_points.push_back(lexer.accept(':') ? read_integer(lexer) : 0);
}

QuantizedElement read_uniform(Lexer& lexer) {
  QuantizedType type;
  lexer.expect('<', kWhat);
  const DType storage = read_storage(lexer);
  type.storage_min = dtype_info(storage).bits > 32 ? 0 : storage_minimum(storage);
  type.storage_max = dtype_info(storage).bits > 32 ? 0 : storage_maximum(storage);
  if (lexer.accept('<')) {
    type.storage_min = read_integer(lexer);
    lexer.expect(':', kWhat);
    type.storage_max = read_integer(lexer);
    lexer.expect('>', kWhat);
  }
  lexer.expect(':', kWhat);
  const Token expressed = lexer.expect(TokenKind::identifier, kWhat, "an expressed type");
  const auto real = dtype_from_mlir(expressed.text);
  if (!real || !is_floating(*real) || is_small_float(*real)) {
    throw lexer.error_at(
        expressed.offset,
        fmt::format("{}: expressed type, got {}, expected one such as f32", kWhat, expressed.text));
  }
  type.expressed = *real;
  const size_t axis_offset = lexer.position();
  if (lexer.accept(':')) {
    const int64_t axis = read_integer(lexer);
    if (axis < 0 || axis > 64) {
      throw lexer.error_at(axis_offset, fmt::format("{}: quantization dimension, got {}, expected "
                                                    "at least 0 and at most 64",
                                                    kWhat, axis));
    }
    type.axis = static_cast<int>(axis);
  }
  lexer.expect(',', kWhat);
  if (lexer.accept('{')) {
    do {
      read_parameter(lexer, type);
    } while (lexer.accept(','));
    lexer.expect('}', kWhat);
  } else {
    read_parameter(lexer, type);
  }
  lexer.expect('>', kWhat);
  return {storage, std::make_shared<const QuantizedType>(std::move(type))};
}

}  // namespace

std::optional<QuantizedElement> read_quantized_element(Lexer& lexer) {
  const Token token = lexer.peek();
  if (!token.is(TokenKind::bang)) return std::nullopt;
  if (token.text == "!quant.uniform") {
    lexer.take();
    return read_uniform(lexer);
  }
  const auto definition = lexer.use_alias(token);
  if (!definition) return std::nullopt;
  lexer.seek(*definition);
  if (lexer.peek().text != "!quant.uniform") {
    lexer.seek(token.offset);
    return std::nullopt;
  }
  lexer.take();
  QuantizedElement element = read_uniform(lexer);
  lexer.charge(token.offset, static_cast<int64_t>(element.type->scales.size() * 16));
  lexer.seek(token.offset);
  lexer.take();
  return element;
}

}  // namespace systole::hlo::text
