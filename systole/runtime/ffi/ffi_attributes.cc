#include "systole/runtime/ffi/ffi_attributes.h"

#include <algorithm>
#include <variant>

#include "systole/base/error.h"
#include "systole/base/tensor.h"
#include "systole/runtime/ffi/ffi_types.h"
#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/literal.h"

namespace systole::runtime {

using hlo::text::Lexer;
using hlo::text::Token;
using hlo::text::TokenKind;

// The values of one level. What the spans point to stays where it is.
struct FfiAttributes::Dictionary {
  struct Entry {
    std::string name;
    XLA_FFI_ByteSpan name_span{};
    XLA_FFI_AttrType type = XLA_FFI_AttrType_SCALAR;
    std::string text;
    XLA_FFI_ByteSpan text_span{};
    Tensor tensor;
    XLA_FFI_Scalar scalar{};
    XLA_FFI_Array array{};
    std::unique_ptr<Dictionary> inner;
  };

  // Sorts the entries, and points the lists of `attrs` to them.
  void finish() {
    std::ranges::sort(entries, {}, &Entry::name);
    for (Entry& entry : entries) {
      entry.name_span = {entry.name.data(), entry.name.size()};
      names.push_back(&entry.name_span);
      types.push_back(entry.type);
      values.push_back(value_of(entry));
    }
    attrs = {.struct_size = sizeof(XLA_FFI_Attrs),
             .extension_start = nullptr,
             .size = static_cast<int64_t>(entries.size()),
             .types = types.data(),
             .names = names.data(),
             .attrs = values.data()};
  }

  std::deque<Entry> entries;
  std::vector<XLA_FFI_AttrType> types;
  std::vector<XLA_FFI_ByteSpan*> names;
  std::vector<void*> values;
  XLA_FFI_Attrs attrs{};

 private:
  static void* value_of(Entry& entry) {
    switch (entry.type) {
      case XLA_FFI_AttrType_STRING:
        entry.text_span = {entry.text.data(), entry.text.size()};
        return &entry.text_span;
      case XLA_FFI_AttrType_DICTIONARY:
        return &entry.inner->attrs;
      case XLA_FFI_AttrType_SCALAR:
        entry.scalar = {ffi_type(entry.tensor.dtype()), entry.tensor.raw()};
        return &entry.scalar;
      default:
        entry.array = {ffi_type(entry.tensor.dtype()),
                       static_cast<size_t>(entry.tensor.num_elements()), entry.tensor.raw()};
        return &entry.array;
    }
  }
};

class FfiAttributes::Reader {
 public:
  explicit Reader(Lexer& lexer) : lexer_(lexer) {}

  std::unique_ptr<Dictionary> read() {
    constexpr int kMaxDepth = 32;
    if (++depth_ > kMaxDepth)
      throw lexer_.unexpected("attributes", fmt::format("at most {} levels", kMaxDepth));
    auto dictionary = std::make_unique<Dictionary>();
    lexer_.expect('{', "attributes");
    while (!lexer_.accept('}')) {
      if (!dictionary->entries.empty()) lexer_.expect(',', "attributes");
      Dictionary::Entry& entry = dictionary->entries.emplace_back();
      const Token name = lexer_.take();
      if (!name.is(TokenKind::identifier) && !name.is(TokenKind::string))
        throw lexer_.unexpected("attributes", "a name");
      entry.name = name.is(TokenKind::string) ? hlo::text::unquote(name.text) : name.text;
      lexer_.expect('=', "attributes");
      read_value(entry);
    }
    dictionary->finish();
    --depth_;
    return dictionary;
  }

 private:
  void read_value(Dictionary::Entry& entry) {
    const Token token = lexer_.peek();
    if (token.is(TokenKind::integer) || token.is(TokenKind::floating) || token.is('-')) {
      entry.tensor = hlo::text::read_scalar(lexer_);
    } else if (token.is_word("true") || token.is_word("false")) {
      entry.tensor = Tensor::scalar(token.is_word("true"));
      lexer_.take();
    } else if (token.is(TokenKind::string)) {
      entry.type = XLA_FFI_AttrType_STRING;
      entry.text = hlo::text::unquote(lexer_.take().text);
    } else if (token.is('{')) {
      entry.type = XLA_FFI_AttrType_DICTIONARY;
      entry.inner = read();
    } else if (token.is_word("dense")) {
      entry.type = XLA_FFI_AttrType_ARRAY;
      entry.tensor = tensor_of(lexer_);
    } else if (token.is_word("array")) {
      entry.type = XLA_FFI_AttrType_ARRAY;
      entry.tensor = read_array();
    } else {
      throw unimplemented(
          "attribute '{}', got {}, expected a number, a string, an array or a dictionary",
          entry.name, token.text);
    }
  }

  static Tensor tensor_of(Lexer& lexer) {
    auto literal = hlo::text::read_literal(lexer);
    if (const auto* const splat = std::get_if<hlo::text::Splat>(&literal))
      return elements_of(*splat);
    return std::get<Tensor>(std::move(literal));
  }

  // array<i64: 1, 2>, read as dense<[1, 2]> : tensor<2xi64>.
  Tensor read_array() {
    lexer_.take();
    lexer_.expect('<', "array");
    const std::string type(lexer_.expect(TokenKind::identifier, "array", "a type").text);
    std::string values;
    int64_t count = 0;
    if (lexer_.accept(':')) {
      do {
        if (count++ > 0) values += ", ";
        if (lexer_.accept('-')) values += "-";
        values += lexer_.take().text;
      } while (lexer_.accept(','));
    }
    lexer_.expect('>', "array");
    const std::string text = fmt::format("dense<[{}]> : tensor<{}x{}>", values, count, type);
    Lexer literal(text, "array");
    return tensor_of(literal);
  }

  Lexer& lexer_;
  int depth_ = 0;
};

FfiAttributes::FfiAttributes(std::string_view text, std::string_view target) {
  try {
    Lexer lexer(text.empty() ? "{}" : text, "attributes");
    top_ = Reader(lexer).read();
  } catch (const Error& error) {
    throw make_error(error.code(), "custom_call '{}': {}", target, error.message());
  }
}

FfiAttributes::~FfiAttributes() = default;

const XLA_FFI_Attrs& FfiAttributes::attrs() const { return top_->attrs; }

}  // namespace systole::runtime
