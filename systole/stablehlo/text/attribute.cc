#include "systole/stablehlo/text/attribute.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>

#include "systole/stablehlo/text/literal.h"

namespace systole::hlo::text {
namespace {

// Nested lists are parsed recursively.
constexpr int kMaxAttributeDepth = 32;

class Reader {
 public:
  explicit Reader(Lexer& lexer, bool is_short = false) : lexer_(lexer), is_short_(is_short) {}

  Attribute read() {
    if (++depth_ > kMaxAttributeDepth) {
      throw lexer_.unexpected("attribute", fmt::format("at most {} levels", kMaxAttributeDepth));
    }
    Attribute attribute;
    const Token token = lexer_.peek();
    if (const auto definition =
            token.is(TokenKind::hash) ? lexer_.use_alias(token) : std::nullopt) {
      lexer_.seek(*definition);
      const bool is_short = std::exchange(is_short_, false);
      attribute = read();
      is_short_ = is_short;
      lexer_.seek(token.offset);
      lexer_.take();
    } else {
      attribute.offset = token.offset;
      read_value(attribute);
      attribute.end = lexer_.last_end();
    }
    --depth_;
    return attribute;
  }

  // Reads name = attribute, ... through `close`.
  Dictionary read_entries(char open, char close) {
    lexer_.expect(open, "attributes");
    return read_entry_list(close);
  }

  // The same, after the opening token.
  Dictionary read_entry_list(char close) {
    Dictionary dictionary;
    std::unordered_set<std::string> names;
    dictionary.offset = lexer_.position();
    while (!lexer_.accept(close)) {
      if (!dictionary.entries.empty()) {
        lexer_.expect(',', "attributes");
        if (close == '>' && lexer_.accept(close)) break;  // a list of a structure may end with one
      }
      const size_t begin = lexer_.position();
      NamedAttribute entry{read_name(), {.offset = begin, .end = begin, .value = Unit()}};
      if (!names.insert(entry.name).second) {
        throw lexer_.error_at(
            begin, fmt::format("attributes, got '{}' again, expected it once", entry.name));
      }
      if (lexer_.accept('=')) entry.attribute = read();
      dictionary.entries.push_back(std::move(entry));
    }
    return dictionary;
  }

 private:
  std::string read_name() {
    if (lexer_.peek().is(TokenKind::string)) return unquote(lexer_.take().text);
    return std::string(lexer_.expect(TokenKind::identifier, "attributes", "a name").text);
  }

  void read_value(Attribute& attribute) {
    const Token& token = lexer_.peek();
    if (token.is(TokenKind::integer) || token.is(TokenKind::floating) || token.is('-')) {
      read_typed_number(attribute);
    } else if (token.is(TokenKind::string)) {
      attribute.value = unquote(lexer_.take().text);
      skip_type();
    } else if (token.is(TokenKind::symbol)) {
      attribute.value = Symbol{read_symbol()};
    } else if (token.is(TokenKind::hash)) {
      attribute.value = read_dialect_attribute();
    } else if (token.is('[')) {
      attribute.value = read_list();
    } else if (token.is('{')) {
      attribute.value = read_entries('{', '}');
    } else if (token.is(TokenKind::identifier)) {
      read_word(attribute);
    } else if (token.is(TokenKind::bang) || token.is('(')) {
      skip_type_value();
      attribute.value = Other();
    } else {
      throw lexer_.unexpected("attribute", "a value");
    }
  }

  void read_word(Attribute& attribute) {
    const Token token = lexer_.peek();
    if (token.is_word("true") || token.is_word("false")) {
      lexer_.take();
      attribute.value = token.is_word("true");
    } else if (token.is_word("unit")) {
      lexer_.take();
    } else if (token.is_word("dense") || token.is_word("dense_resource")) {
      std::visit(
          [&](auto&& literal) { attribute.value = std::forward<decltype(literal)>(literal); },
          read_literal(lexer_));
    } else if (token.is_word("array")) {
      attribute.value = read_array();
    } else if (is_short_) {
      attribute.value = Word{std::string(lexer_.take().text)};
    } else {
      skip_type_value();
      skip_type();
      attribute.value = Other();
    }
  }

  // Reads @f, or @f::@g, of which only the last name counts.
  std::string read_symbol() {
    Token token = lexer_.take();
    while (lexer_.accept(':')) {
      lexer_.expect(':', "symbol");
      token = lexer_.expect(TokenKind::symbol, "symbol", "a name such as @f");
    }
    return unquote(token.text.substr(1));
  }

  // 3 : i8, or Other for a floating-point number.
  void read_typed_number(Attribute& attribute) {
    const bool negative = lexer_.accept('-');
    const bool floating = lexer_.peek().is(TokenKind::floating);
    if (floating) {
      lexer_.take();
      attribute.value = Other();
    } else {
      attribute.value = read_integer(negative);
    }
    if (is_short_ || !lexer_.accept(':')) return;
    const Token type = lexer_.peek();
    skip_type_value();
    if (!type.is(TokenKind::identifier) || lexer_.last_end() != type.offset + type.text.size())
      return;
    if (!fits(attribute.value, floating, type.text)) {
      throw lexer_.error_at(
          attribute.offset,
          fmt::format("attribute, got a number that is no value of type '{}'", type.text));
    }
  }

  // Returns whether a number may be a constant of a scalar type: an integer in the range of "i8",
  // any number for "f32". "i8" takes the values of both the signed and the unsigned type.
  static bool fits(const decltype(Attribute::value)& number, bool floating, std::string_view type) {
    const bool is_signed = type.starts_with("si");
    const bool is_unsigned = type.starts_with("ui");
    const std::string_view digits = type.substr(is_signed || is_unsigned ? 2 : 1);
    int width = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), width);
    const bool integral = (is_signed || is_unsigned || type.starts_with('i')) &&
                          parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
    if (!integral) {
      const bool real = type.starts_with('f') || type.starts_with("bf") || type.starts_with("tf");
      return real || (type == "index" && !floating);
    }
    const auto* value = std::get_if<int64_t>(&number);
    if (floating || width < 1) return false;
    if (value == nullptr || width > 63) return !is_unsigned || value == nullptr || *value >= 0;
    const int64_t lowest = is_unsigned ? 0 : -(int64_t{1} << (width - 1));
    const auto highest = static_cast<int64_t>((uint64_t{1} << (is_signed ? width - 1 : width)) - 1);
    return *value >= lowest && *value <= highest;
  }

  // Returns Other if it does not fit in 64 bits.
  decltype(Attribute::value) read_integer(bool negative) {
    const Token token = lexer_.expect(TokenKind::integer, "attribute", "an integer");
    const bool hex = token.text.starts_with("0x");
    const std::string text =
        (negative ? "-" : "") + std::string(hex ? token.text.substr(2) : token.text);
    int64_t value = 0;
    const auto result =
        std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (result.ec != std::errc()) return Other();
    return value;
  }

  std::vector<Attribute> read_list() {
    std::vector<Attribute> list;
    lexer_.expect('[', "list");
    while (!lexer_.accept(']')) {
      if (!list.empty()) lexer_.expect(',', "list");
      list.push_back(read());
    }
    return list;
  }

  decltype(Attribute::value) read_array() {
    lexer_.expect_word("array", "array");
    const size_t begin = lexer_.position();
    lexer_.expect('<', "array");
    const Token type = lexer_.expect(TokenKind::identifier, "array", "an element type");
    const auto dtype = dtype_from_mlir(type.text);
    if (!dtype || (*dtype != DType::pred && !is_integer(*dtype))) {
      lexer_.seek(begin);
      lexer_.skip_balanced('<', '>');
      return Other();
    }
    DenseArray array;
    if (lexer_.accept(':')) {
      do {
        array.values.push_back(read_array_element(*dtype));
      } while (lexer_.accept(','));
    }
    lexer_.expect('>', "array");
    return array;
  }

  int64_t read_array_element(DType dtype) {
    if (dtype == DType::pred) {
      if (lexer_.accept_word("true")) return 1;
      lexer_.expect_word("false", "array");
      return 0;
    }
    const size_t begin = lexer_.position();
    const bool negative = lexer_.accept('-');
    const auto element = read_integer(negative);
    if (const auto* value = std::get_if<int64_t>(&element)) return *value;
    throw lexer_.error_at(begin, "array, expected integers of 64 bits");
  }

  // Maps MHLO's attribute names to StableHLO's.
  static std::string dialect_name(std::string_view name) {
    const bool mhlo = name == "mhlo" || name.starts_with("mhlo.");
    return mhlo ? fmt::format("stable{}", name.substr(1)) : std::string(name);
  }

  DialectAttribute read_dialect_attribute() {
    const Token token = lexer_.take();
    DialectAttribute attribute{dialect_name(token.text.substr(1)), lexer_.position()};
    if (lexer_.peek().is('<')) {
      lexer_.skip_balanced('<', '>');
    } else if (attribute.name.find('.') == std::string::npos) {
      throw lexer_.error_at(
          token.offset,
          fmt::format("attribute, got the alias '{}', expected one that is defined", token.text));
    }
    return attribute;
  }

  // Skips the ": i64" after a number.
  void skip_type() {
    if (!is_short_ && lexer_.accept(':')) skip_type_value();
  }

  void skip_type_value() {
    if (lexer_.peek().is('(')) {
      lexer_.skip_balanced('(', ')');
    } else if (lexer_.peek().is(TokenKind::bang) || lexer_.peek().is(TokenKind::identifier)) {
      lexer_.take();
      if (lexer_.peek().is('<')) lexer_.skip_balanced('<', '>');
    } else {
      throw lexer_.unexpected("attribute", "a type");
    }
    if (lexer_.peek().is(TokenKind::arrow)) {
      lexer_.take();
      if (++depth_ > kMaxAttributeDepth)
        throw lexer_.unexpected("attribute", "a shorter function type");
      skip_type_value();
      --depth_;
    }
  }

  Lexer& lexer_;
  bool is_short_;
  int depth_ = 0;
};

// Writes the tokens of a part of the text, with aliases expanded.
class TextWriter {
 public:
  explicit TextWriter(Lexer& lexer) : lexer_(lexer) {}

  void write(size_t begin, size_t end) {
    if (++depth_ > kMaxAttributeDepth) {
      throw lexer_.unexpected("attribute", fmt::format("at most {} levels", kMaxAttributeDepth));
    }
    size_t last_end = begin;
    for (lexer_.seek(begin); lexer_.position() < end;) {
      const Token token = lexer_.take();
      if (token.offset > last_end) text_ += ' ';
      last_end = token.offset + token.text.size();
      const bool name = token.is(TokenKind::hash) || token.is(TokenKind::bang);
      if (const auto definition = name ? lexer_.use_alias(token) : std::nullopt) {
        lexer_.seek(*definition);
        const Attribute defined = Reader(lexer_).read();
        write(defined.offset, defined.end);
        lexer_.seek(last_end);
      } else {
        text_ += token.text;
      }
    }
    --depth_;
  }

  std::string take() { return std::move(text_); }

 private:
  Lexer& lexer_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

const Attribute* Dictionary::find(std::string_view name) const {
  const auto found = std::ranges::find(entries, name, &NamedAttribute::name);
  return found == entries.end() ? nullptr : &found->attribute;
}

Attribute read_attribute(Lexer& lexer) { return Reader(lexer).read(); }

Attribute read_short_attribute(Lexer& lexer) { return Reader(lexer, true).read(); }

std::string attribute_text(Lexer& lexer, const Attribute& attribute) {
  const size_t position = lexer.position();
  TextWriter writer(lexer);
  // Pretty forms contain the body of an attribute without its name.
  const auto* dialect = std::get_if<DialectAttribute>(&attribute.value);
  const bool nameless = dialect != nullptr && dialect->body == attribute.offset;
  writer.write(attribute.offset, attribute.end);
  lexer.seek(position);
  return (nameless ? "#" + dialect->name : "") + writer.take();
}

Dictionary read_dictionary(Lexer& lexer) { return Reader(lexer).read_entries('{', '}'); }

Dictionary read_struct(Lexer& lexer) { return Reader(lexer).read_entries('<', '>'); }

Dictionary read_raw_struct(Lexer& lexer) {
  lexer.expect_word("raw", "attributes");
  return Reader(lexer).read_entry_list('>');
}

}  // namespace systole::hlo::text
