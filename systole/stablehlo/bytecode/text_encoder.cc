#include "systole/stablehlo/bytecode/text_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "systole/base/float16.h"
#include "systole/base/small_float.h"
#include "systole/stablehlo/bytecode/element_types.h"
#include "systole/stablehlo/bytecode/enum_attributes.h"
#include "systole/stablehlo/text/attribute.h"
#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/literal.h"
#include "systole/stablehlo/text/type.h"

namespace systole::hlo::bytecode {
namespace {

using text::Token;
using text::TokenKind;

constexpr int kMaxTextDepth = 32;

class TextEncoder {
 public:
  TextEncoder(std::string_view text, VhloEncoder& encoder)
      : text_(text), lexer_(text, "attribute"), encoder_(encoder) {}

  AttrId encode() {
    if (lexer_.peek().is(TokenKind::end)) return encoder_.unit();
    const AttrId result = value();
    if (!lexer_.peek().is(TokenKind::end)) throw lexer_.unexpected("attribute", "its end");
    return result;
  }

 private:
  AttrId value() {
    if (++depth_ > kMaxTextDepth) throw lexer_.unexpected("attribute", "fewer levels");
    const AttrId result = read_value();
    --depth_;
    return result;
  }

  AttrId read_value() {
    const Token token = lexer_.peek();
    if (token.is(TokenKind::integer) || token.is(TokenKind::floating) || token.is('-'))
      return number();
    if (token.is(TokenKind::string)) return encoder_.string(text::unquote(lexer_.take().text));
    if (token.is(TokenKind::symbol))
      return encoder_.string(text::unquote(lexer_.take().text.substr(1)));
    if (token.is('[')) return list();
    if (token.is('{')) return dictionary();
    if (token.is(TokenKind::hash)) return dialect_attribute();
    if (token.is_word("true") || token.is_word("false"))
      return encoder_.boolean(lexer_.take().text == "true");
    if (token.is_word("unit")) {
      lexer_.take();
      return encoder_.unit();
    }
    if (token.is_word("dense") || token.is_word("dense_resource")) return literal();
    if (token.is_word("array")) return array();
    return encoder_.type_attribute(type());
  }

  AttrId list() {
    lexer_.expect('[', "list");
    std::vector<AttrId> elements;
    while (!lexer_.accept(']')) {
      if (!elements.empty()) lexer_.expect(',', "list");
      elements.push_back(value());
    }
    return encoder_.array(elements);
  }

  AttrId dictionary() {
    lexer_.expect('{', "attributes");
    std::vector<std::pair<std::string, AttrId>> entries;
    while (!lexer_.accept('}')) {
      if (!entries.empty()) lexer_.expect(',', "attributes");
      const Token name = lexer_.take();
      if (!name.is(TokenKind::identifier) && !name.is(TokenKind::string)) {
        throw lexer_.error_at(name.offset, "attributes, expected a name");
      }
      const std::string key =
          name.is(TokenKind::string) ? text::unquote(name.text) : std::string(name.text);
      entries.emplace_back(key, lexer_.accept('=') ? value() : encoder_.unit());
    }
    return encoder_.dictionary(std::move(entries));
  }

  // 1 : i32, -0.5 : f32, 0x7FC00000 : f32. Without a type: i64 or f64.
  AttrId number() {
    const size_t begin = lexer_.position();
    const bool negative = lexer_.accept('-');
    const Token digits = lexer_.take();
    const bool floating = digits.is(TokenKind::floating);
    std::string type = floating ? "f64" : "i64";
    if (lexer_.accept(':')) type = lexer_.expect(TokenKind::identifier, "number", "a type").text;
    if (type == "i1") return encoder_.boolean(digits.text != "0");
    const bool is_float = type[0] == 'f' || type == "bf16" || type == "tf32";
    if (is_float) return encoder_.number(type, float_bits(digits, negative, type));
    const bool hex = digits.text.starts_with("0x");
    const std::string_view magnitude_text = hex ? digits.text.substr(2) : digits.text;
    uint64_t magnitude = 0;
    const auto [end, error] =
        std::from_chars(magnitude_text.data(), magnitude_text.data() + magnitude_text.size(),
                        magnitude, hex ? 16 : 10);
    if (floating || error != std::errc())
      throw lexer_.error_at(begin, "number, expected an integer of 64 bits");
    return encoder_.number(type, negative ? ~magnitude + 1 : magnitude);
  }

  uint64_t float_bits(const Token& digits, bool negative, std::string_view type) const {
    const std::string text(digits.text);
    if (text.starts_with("0x")) return std::strtoull(text.c_str(), nullptr, 16);
    const double magnitude = std::strtod(text.c_str(), nullptr);
    const double value = negative ? -magnitude : magnitude;
    if (type == "f64") return std::bit_cast<uint64_t>(value);
    if (type == "f32") return std::bit_cast<uint32_t>(static_cast<float>(value));
    if (type == "f16") return float16(static_cast<float>(value)).bits;
    if (type == "bf16") return bfloat16(static_cast<float>(value)).bits;
    if (const auto dtype = dtype_from_mlir(type); dtype && is_small_float(*dtype)) {
      return encode_small_float(*dtype, value);
    }
    throw lexer_.error_at(digits.offset,
                          fmt::format("number, got decimals of {}, expected its bits", type));
  }

  AttrId literal() {
    const auto read = text::read_literal(lexer_);
    // The elements of index are read as i64.
    const std::string_view before = text_.substr(0, lexer_.last_end());
    if (const auto* tensor = std::get_if<Tensor>(&read)) {
      return encoder_.tensor(*tensor, before.ends_with("index>") ? "index" : "");
    }
    const auto& splat = std::get<text::Splat>(read);
    return encoder_.splat(splat.element, splat.type);
  }

  // array<i64: 1, 2>: VHLO stores it as dense<[1, 2]>.
  AttrId array() {
    const size_t begin = lexer_.position();
    lexer_.take();
    lexer_.expect('<', "array");
    const std::string element(
        lexer_.expect(TokenKind::identifier, "array", "an element type").text);
    lexer_.seek(begin);
    const text::Attribute read = text::read_attribute(lexer_);
    const auto* values = std::get_if<text::DenseArray>(&read.value);
    const auto dtype = text::element_type_of(element);
    if (values == nullptr || !dtype) throw lexer_.error_at(begin, "array, expected integers");
    const auto count = static_cast<int64_t>(values->values.size());
    return encoder_.tensor(Tensor::of<int64_t>({count}, values->values).cast(*dtype));
  }

  AttrId dialect_attribute() {
    const size_t begin = lexer_.position();
    const text::Attribute read = text::read_attribute(lexer_);
    const size_t after = lexer_.position();
    const auto& dialect = std::get<text::DialectAttribute>(read.value);
    if (dialect.name == "stablehlo.output_operand_alias") {
      lexer_.seek(dialect.body);
      const AttrId alias = output_alias();
      lexer_.seek(after);
      return alias;
    }
    if (dialect.name == "stablehlo") {
      lexer_.seek(dialect.body);
      const AttrId result = enumerator();
      lexer_.seek(after);
      return result;
    }
    const std::string_view name = std::string_view(dialect.name).substr(0, dialect.name.find('.'));
    return encoder_.tables().text_attribute(name, text_.substr(begin, read.end - begin));
  }

  // <comparison_direction LT>
  AttrId enumerator() {
    const size_t begin = lexer_.position();
    lexer_.expect('<', "attribute");
    const Token kind = lexer_.expect(TokenKind::identifier, "attribute", "an enumeration");
    const Token name = lexer_.expect(TokenKind::identifier, "attribute", "a value");
    if (const EnumAttribute* row = find_enum_attribute(kind.text)) {
      const auto found = std::ranges::find(row->names, name.text);
      if (found != row->names.end()) {
        return encoder_.enumerator(row->code,
                                   row->first + static_cast<uint64_t>(found - row->names.begin()));
      }
    }
    throw lexer_.error_at(
        begin,
        fmt::format("attribute, got '{} {}', expected a value of StableHLO", kind.text, name.text));
  }

  // <output_tuple_indices = [0], operand_index = 2, operand_tuple_indices = [1]>
  AttrId output_alias() {
    const text::Dictionary fields = text::read_struct(lexer_);
    const auto list = [&](std::string_view name) {
      std::vector<int64_t> values;
      const text::Attribute* field = fields.find(name);
      const auto* elements =
          field == nullptr ? nullptr : std::get_if<std::vector<text::Attribute>>(&field->value);
      if (elements == nullptr) return values;
      for (const text::Attribute& element : *elements) values.push_back(integer_of(element));
      return values;
    };
    const text::Attribute* operand = fields.find("operand_index");
    const int64_t index = operand == nullptr ? 0 : integer_of(*operand);
    return encoder_.output_operand_alias(list("output_tuple_indices"), index,
                                         list("operand_tuple_indices"));
  }

  int64_t integer_of(const text::Attribute& attribute) const {
    if (const auto* value = std::get_if<int64_t>(&attribute.value)) return *value;
    throw lexer_.error_at(attribute.offset, "alias, expected integers");
  }

  // tensor<2xf32>, tf32, (T) -> T, tuple<T>, !stablehlo.token
  TypeId type() {
    if (++depth_ > kMaxTextDepth) throw lexer_.unexpected("type", "fewer levels");
    const TypeId result = read_type();
    --depth_;
    return result;
  }

  TypeId read_type() {
    const Token token = lexer_.peek();
    if (token.is('(')) {
      const std::vector<TypeId> inputs = types('(', ')');
      lexer_.expect(TokenKind::arrow, "type", "'->'");
      const std::vector<TypeId> results =
          lexer_.peek().is('(') ? types('(', ')') : std::vector<TypeId>{type()};
      return encoder_.function(inputs, results);
    }
    if (token.is_word("tuple")) {
      lexer_.take();
      return encoder_.tuple(types('<', '>'));
    }
    if (token.is_word("none")) {
      lexer_.take();
      return encoder_.none_type();
    }
    if (token.is(TokenKind::identifier) && element_type(token.text) != nullptr) {
      return encoder_.element(lexer_.take().text);
    }
    return encoder_.type(text::read_type(lexer_).leaf);
  }

  std::vector<TypeId> types(char open, char close) {
    lexer_.expect(open, "types");
    std::vector<TypeId> result;
    while (!lexer_.accept(close)) {
      if (!result.empty()) lexer_.expect(',', "types");
      result.push_back(type());
    }
    return result;
  }

  std::string_view text_;
  text::Lexer lexer_;
  VhloEncoder& encoder_;
  int depth_ = 0;
};

}  // namespace

AttrId encode_text(std::string_view text, VhloEncoder& encoder) {
  return TextEncoder(text, encoder).encode();
}

}  // namespace systole::hlo::bytecode
