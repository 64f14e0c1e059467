#include "systole/stablehlo/text/op_types.h"

#include <algorithm>

#include "systole/hlo/ir/signature.h"

namespace systole::hlo::text {
namespace {

std::vector<TypeTree> types_of_operands(const ParsedOp& op) {
  std::vector<TypeTree> types;
  types.reserve(op.operands.size());
  for (const NamedValue* operand : op.operands) types.push_back(operand->type);
  return types;
}

void check_operands(const Lexer& lexer, size_t operands, const ParsedOp& op,
                    const std::vector<TypeTree>& declared) {
  const std::vector<TypeTree> types = types_of_operands(op);
  if (declared == types) return;
  throw lexer.error_at(
      operands, fmt::format("operand types, got {}, expected {}", to_string(flatten(declared)),
                            to_string(flatten(types))));
}

std::vector<TypeTree> read_list(Lexer& lexer) {
  std::vector<TypeTree> types;
  do {
    types.push_back(read_type(lexer));
  } while (lexer.accept(','));
  return types;
}

void expect_count(const Lexer& lexer, size_t begin, const std::vector<TypeTree>& types,
                  size_t count) {
  if (types.size() == count) return;
  throw lexer.error_at(
      begin, fmt::format("types, got {}, expected {}, or (...) -> ...", types.size(), count));
}

// tensor<complex<f32>> -> tensor<f32>
TypeTree part_of(const Lexer& lexer, size_t begin, const TypeTree& type) {
  TypeTree part = type;
  if (type.leaf.dtype == DType::c64) {
    part.leaf.dtype = DType::f32;
  } else if (type.leaf.dtype == DType::c128) {
    part.leaf.dtype = DType::f64;
  } else {
    throw lexer.error_at(begin, "type, got another, expected one of complex elements");
  }
  return part;
}

// Repeats one type for `count` operands. It must not be a tuple, because an alias could then stand
// for any number of values.
std::vector<TypeTree> repeated(const Lexer& lexer, size_t begin, const TypeTree& type,
                               size_t count) {
  if (type.is_tuple) throw lexer.error_at(begin, "types, got a tuple, expected tensors");
  return std::vector<TypeTree>(count, type);
}

// Expands a short form: returns the operand types and sets the results of `op`.
std::vector<TypeTree> expand(const Lexer& lexer, size_t begin, TypeForm form,
                             std::vector<TypeTree> types, ParsedOp& op) {
  const size_t count = op.operands.size();
  if (form == TypeForm::list) {
    if (op.stem() != "return") op.results = types;
    return types;
  }
  if (form == TypeForm::select) {
    expect_count(lexer, begin, types, 2);
    op.results = {types[1]};
    std::vector<TypeTree> operands = repeated(lexer, begin, types[1], std::max(count, size_t{1}));
    operands[0] = types[0];
    return operands;
  }
  expect_count(lexer, begin, types, 1);
  op.results = types;
  if (form == TypeForm::same) return repeated(lexer, begin, types[0], count);
  if (form == TypeForm::complex) {
    return repeated(lexer, begin, part_of(lexer, begin, types[0]), count);
  }
  return form == TypeForm::tuple ? types[0].elements : std::vector<TypeTree>();
}

}  // namespace

void read_function_type(Lexer& lexer, size_t operands, ParsedOp& op) {
  if (!lexer.peek().is('(')) throw lexer.unexpected("operand types", "'('");
  const std::vector<TypeTree> declared = read_types(lexer, "operand types");
  check_operands(lexer, operands, op, declared);
  lexer.expect(TokenKind::arrow, "op", "'->'");
  op.results = read_types(lexer, "result types");
}

void read_op_types(Lexer& lexer, TypeForm form, size_t operands, ParsedOp& op) {
  if (form == TypeForm::none) {
    const Attribute* value = nullptr;
    for (const Dictionary& dictionary : op.attributes) {
      if (const Attribute* found = dictionary.find("value")) value = found;
    }
    const auto* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(&value->value);
    const auto* splat = value == nullptr ? nullptr : std::get_if<Splat>(&value->value);
    if (tensor == nullptr && splat == nullptr) {
      throw lexer.error_at(operands, "constant, expected dense<...>");
    }
    op.results = {{splat != nullptr ? splat->type : tensor->type(), false, {}}};
    return;
  }
  if (form == TypeForm::list && op.operands.empty()) return;
  lexer.expect(':', "op");
  if (form == TypeForm::functional || lexer.peek().is('(')) {
    return read_function_type(lexer, operands, op);
  }
  const size_t begin = lexer.position();
  const std::vector<TypeTree> declared = expand(lexer, begin, form, read_list(lexer), op);
  check_operands(lexer, operands, op, declared);
}

void read_foreign_types(Lexer& lexer, size_t operands, ParsedOp& op) {
  if (!lexer.accept(':')) return;
  const size_t begin = lexer.position();
  std::vector<TypeTree> types =
      lexer.peek().is('(') ? read_types(lexer, "operand types") : read_list(lexer);
  if (lexer.peek().is(TokenKind::arrow)) {
    lexer.take();
    op.results = read_types(lexer, "result types");
  } else if (!types.empty()) {
    if (!op.result_names.empty()) op.results = {types[0]};
    if (types.size() == 1) types = repeated(lexer, begin, types[0], op.operands.size());
  }
  check_operands(lexer, operands, op, types);
}

}  // namespace systole::hlo::text
