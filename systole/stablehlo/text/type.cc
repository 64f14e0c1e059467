#include "systole/stablehlo/text/type.h"

#include <algorithm>
#include <charconv>

#include "systole/base/quantized_type.h"
#include "systole/stablehlo/text/quantized_reader.h"

namespace systole::hlo::text {
namespace {

// Nested types are parsed recursively.
constexpr size_t kMaxRank = 64;
// Also for tuples and aliases.
constexpr int kMaxTypeDepth = 32;
// More than the memory of any machine; the bytes of fewer than 2^15 such tensors sum to less than
// 2^63.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 48;

int64_t read_dim(Lexer& lexer) {
  const Token token = lexer.peek();
  int64_t size = 0;
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), size);
  if (error != std::errc()) {
    throw lexer.unexpected("tensor type", "a size below 2^63");
  }
  // The lexer reads the start of "0x4xf32" as the hexadecimal number 0x4.
  lexer.seek(token.offset + static_cast<size_t>(end - token.text.data()));
  return size;
}

// StableHLO's element types that DType does not have.
bool is_known_to_others(std::string_view name) { return name.starts_with("f6E") || name == "tf32"; }

DType read_dtype(Lexer& lexer) {
  const Token token = lexer.peek();
  std::string name(token.text);
  if (lexer.accept_word("complex")) {
    lexer.expect('<', "complex type");
    name =
        fmt::format("complex<{}>", lexer.expect(TokenKind::identifier, "complex type", "f32").text);
    if (const auto dtype = dtype_from_mlir(name)) {
      lexer.expect('>', "complex type");
      return *dtype;
    }
  } else if (const auto dtype = element_type_of(name)) {
    lexer.take();
    return *dtype;
  }
  constexpr std::string_view kExpected = "one such as f32, i64, ui8, i1";
  if (token.is(TokenKind::bang) || is_known_to_others(name)) {
    throw unimplemented("{}: element type, got '{}', expected {}", lexer.place(token.offset), name,
                        kExpected);
  }
  throw lexer.error_at(token.offset,
                       fmt::format("element type, got '{}', expected {}", name, kExpected));
}

void read_dims(Lexer& lexer, Dims& dims) {
  while (!lexer.peek().is(TokenKind::identifier) && !lexer.peek().is(TokenKind::bang)) {
    if (lexer.peek().is('?') || lexer.peek().is('*')) {
      throw unimplemented("{}: tensor type, got a dynamic size, expected static ones",
                          lexer.place(lexer.position()));
    }
    if (!lexer.peek().is(TokenKind::integer)) {
      throw lexer.unexpected("tensor type", "a size or an element type");
    }
    if (dims.size() == kMaxRank) throw lexer.unexpected("tensor type", "at most 64 axes");
    dims.push_back(read_dim(lexer));
    const Token separator = lexer.peek();
    if (!separator.text.starts_with('x')) throw lexer.unexpected("tensor type", "'x'");
    lexer.seek(separator.offset + 1);
  }
}

TypeTree read_tree(Lexer& lexer, int depth) {
  if (depth > kMaxTypeDepth) {
    throw lexer.unexpected("type", fmt::format("at most {} levels", kMaxTypeDepth));
  }
  const Token token = lexer.peek();
  TypeTree tree;
  if (token.is(TokenKind::bang)) {
    if (const auto definition = lexer.use_alias(token)) {
      lexer.seek(*definition);
      tree = read_tree(lexer, depth + 1);
      lexer.seek(token.offset);
      lexer.take();
      if (tree.is_tuple) {
        lexer.charge(token.offset, static_cast<int64_t>(tree.num_leaves() * sizeof(TypeTree)));
      }
    } else if (token.text == "!stablehlo.token" || token.text == "!mhlo.token") {
      lexer.take();
      tree.leaf = {DType::token, {}};
    } else {
      throw unimplemented(
          "{}: type, got '{}', expected tensor<...>, !stablehlo.token or tuple<...>",
          lexer.place(token.offset), token.text);
    }
  } else if (lexer.accept_word("tuple")) {
    tree.is_tuple = true;
    lexer.expect('<', "tuple type");
    while (!lexer.accept('>')) {
      if (!tree.elements.empty()) lexer.expect(',', "tuple type");
      tree.elements.push_back(read_tree(lexer, depth + 1));
    }
  } else {
    tree.leaf = read_tensor_type(lexer);
  }
  return tree;
}

void append_leaves(std::vector<TensorType>& leaves, const TypeTree& tree) {
  if (!tree.is_tuple) leaves.push_back(tree.leaf);
  for (const TypeTree& element : tree.elements) append_leaves(leaves, element);
}

}  // namespace

size_t TypeTree::num_leaves() const {
  if (!is_tuple) return 1;
  size_t count = 0;
  for (const TypeTree& element : elements) count += element.num_leaves();
  return count;
}

std::optional<DType> element_type_of(std::string_view name) {
  return dtype_from_mlir(name == "index" ? "i64" : name);
}

std::string type_text(const TensorType& type) {
  if (type.dtype == DType::token) return "!stablehlo.token";
  std::string text = "tensor<";
  for (const int64_t size : type.shape) {
    text += size == kUnknown ? "?x" : fmt::format("{}x", size);
  }
  text += type.is_quantized() ? quantized_text(type.dtype, *type.quantized)
                              : std::string(dtype_info(type.dtype).mlir_name);
  return text + ">";
}

TensorType read_tensor_type(Lexer& lexer) {
  lexer.expect_word("tensor", "type");
  const size_t begin = lexer.position();
  lexer.expect('<', "tensor type");
  Dims dims;
  read_dims(lexer, dims);
  TensorType type{DType::invalid, Shape(std::move(dims))};
  if (auto element = read_quantized_element(lexer)) {
    type.dtype = element->storage;
    type.quantized = std::move(element->type);
    check_quantization(lexer.place(begin), type);
  } else {
    type.dtype = read_dtype(lexer);
  }
  if (lexer.peek().is(',')) {
    throw unimplemented("{}: tensor type, got an encoding, expected none",
                        lexer.place(lexer.position()));
  }
  lexer.expect('>', "tensor type");
  int64_t bytes = 0;
  const int64_t element_bytes = size_of(type.dtype);
  try {
    const bool overflow = __builtin_mul_overflow(type.shape.num_elements(), element_bytes, &bytes);
    if (!overflow && bytes < kMaxTensorBytes) return type;
  } catch (const Error&) {  // reported below, with its place
  }
  throw lexer.error_at(
      begin, fmt::format("tensor type, got {}, expected below 2^48 bytes", type_text(type)));
}

TypeTree read_type(Lexer& lexer) { return read_tree(lexer, 0); }

std::vector<TypeTree> read_types(Lexer& lexer, std::string_view what) {
  std::vector<TypeTree> types;
  if (!lexer.accept('(')) {
    types.push_back(read_type(lexer));
    return types;
  }
  while (!lexer.accept(')')) {
    if (!types.empty()) lexer.expect(',', what);
    types.push_back(read_type(lexer));
  }
  return types;
}

std::vector<TensorType> flatten(std::span<const TypeTree> types) {
  std::vector<TensorType> leaves;
  for (const TypeTree& type : types) append_leaves(leaves, type);
  return leaves;
}

}  // namespace systole::hlo::text
