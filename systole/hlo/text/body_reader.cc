#include "systole/hlo/text/body_reader.h"

#include <algorithm>
#include <iterator>

#include "systole/hlo/builder.h"
#include "systole/hlo/callees.h"
#include "systole/hlo/op_semantics.h"
#include "systole/hlo/signature.h"
#include "systole/hlo/text/attr_reader.h"
#include "systole/hlo/text/attrs.h"
#include "systole/hlo/text/import.h"

namespace systole::hlo::text {
namespace {

// Regions in regions are read by recursion.
constexpr int kMaxRegionDepth = 64;

std::vector<Value> results_of(Instruction& instruction) {
  std::vector<Value> values;
  for (int i = 0; i < instruction.num_results(); ++i) values.push_back(instruction.result(i));
  return values;
}

// `error`, which an op's inference threw, with the op's place.
Error at(const Lexer& lexer, size_t offset, const Error& error) {
  return {error.code(), fmt::format("{}: {}", lexer.place(offset), error.message())};
}

}  // namespace

void BodyReader::add_parameter(Computation& computation, const ParsedParameter& parameter) {
  NamedValue named{parameter.type, {}};
  for (const TensorType& leaf : flatten({{parameter.type}})) {
    named.values.push_back(computation.add_parameter(leaf, parameter.metadata));
  }
  scopes_.define(lexer_, parameter.name, {std::move(named)});
}

void BodyReader::read_block_label(Computation& computation) {
  if (!lexer_.peek().is(TokenKind::block)) return;
  lexer_.take();
  if (lexer_.accept('(')) {
    bool first = true;
    while (!lexer_.accept(')')) {
      if (!first) lexer_.expect(',', "block");
      first = false;
      add_parameter(computation, read_parameter(lexer_));
    }
  }
  lexer_.expect(':', "block");
}

void BodyReader::read_body(Computation& computation) {
  while (!computation.has_results()) {
    if (lexer_.peek().is('}')) throw lexer_.unexpected(computation.name(), "a return before");
    read_op(computation);
  }
  if (!lexer_.peek().is('}')) throw lexer_.unexpected(computation.name(), "'}' behind the return");
}

void BodyReader::read_op(Computation& computation) {
  const ParsedOp op = text::read_op(lexer_, scopes_);
  const size_t end = lexer_.position();
  if (op.name == "func.return" || op.name == "stablehlo.return") {
    set_results(computation, op);
  } else {
    define_results(op, make(computation, op));
  }
  lexer_.seek(end);
}

void BodyReader::set_results(Computation& computation, const ParsedOp& op) {
  if (!op.results.empty() || !op.regions.empty() || !op.result_names.empty()) {
    throw lexer_.error_at(op.offset(), "return, got results or regions, expected neither");
  }
  read_attrs(lexer_, Opcode::return_, op.offset(), op.attributes);
  computation.set_results(op.values());
  computation.terminator()->set_metadata(op.metadata);
}

std::vector<Value> BodyReader::make(Computation& computation, const ParsedOp& op) {
  if (const auto opcode = opcode_of(op.name)) return make_instruction(computation, *opcode, op);
  if (!op.regions.empty()) {
    throw lexer_.error_at(op.offset(),
                          fmt::format("op, got {} with regions, expected none", op.token.text));
  }
  const std::vector<Value> values = import(computation, op);
  const std::vector<TensorType> declared = flatten(op.results);
  if (types_of(values) != declared) {
    throw lexer_.error_at(op.offset(),
                          fmt::format("{}: result types, got {}, expected {}", op.name,
                                      to_string(declared), to_string(types_of(values))));
  }
  return values;
}

// The values that stand for an op that no module keeps.
std::vector<Value> BodyReader::import(Computation& computation, const ParsedOp& op) {
  if (op.name == "stablehlo.tuple") return op.values();
  if (op.name == "stablehlo.get_tuple_element") return element_of_tuple(op);
  try {
    return import_op(lexer_, computation, op);
  } catch (const Error& error) {
    // What is wrong with a part of the text has its place already.
    if (error.message().starts_with(lexer_.file() + ":")) throw;
    throw at(lexer_, op.offset(), error);
  }
}

// The leaves of one element.
std::vector<Value> BodyReader::element_of_tuple(const ParsedOp& op) {
  const int64_t index = read_legacy_attrs(lexer_, op.name, op.offset(), op.attributes).index;
  if (op.operands.size() != 1 || !op.operands[0]->type.is_tuple) {
    throw lexer_.error_at(op.offset(), "get_tuple_element: operand, expected one tuple");
  }
  const NamedValue& tuple = *op.operands[0];
  const std::vector<TypeTree>& elements = tuple.type.elements;
  if (index < 0 || index >= static_cast<int64_t>(elements.size())) {
    throw lexer_.error_at(op.offset(), fmt::format("get_tuple_element: index, got {}, expected one "
                                                   "of {} elements",
                                                   index, elements.size()));
  }
  const auto groups = group(elements, {tuple.values.begin(), tuple.values.end()});
  const auto& values = groups[static_cast<size_t>(index)].values;
  return {values.begin(), values.end()};
}

std::vector<Value> BodyReader::make_instruction(Computation& computation, Opcode opcode,
                                                const ParsedOp& op) {
  const std::vector<Value> operands = op.values();
  Attrs attrs = read_attrs(lexer_, opcode, op.offset(), op.attributes, op.pretty);
  if (!operands.empty()) complete_window(attrs, operands[0].shape().rank());
  Instruction& instruction =
      *computation.insert(opcode, operands, flatten(op.results), std::move(attrs));
  instruction.set_metadata(op.metadata);
  for (const ParsedRegion& region : op.regions) read_region(instruction, region);
  check_types(instruction, op.offset());
  if (!callees(instruction.attrs()).empty()) calls_.emplace_back(&instruction, op.offset());
  return results_of(instruction);
}

void BodyReader::read_region(Instruction& instruction, const ParsedRegion& parsed) {
  Computation& region = instruction.add_region();
  if (!parsed.applied.text.empty()) {
    const auto opcode = opcode_of(parsed.applied.text);
    const bool reduces = opcode && traits(*opcode).has(kElementwise) &&
                         traits(*opcode).min_operands == 2 && traits(*opcode).max_operands == 2 &&
                         std::holds_alternative<NoAttrs>(empty_attrs(*opcode));
    if (!reduces) {
      throw lexer_.error_at(
          parsed.applied.offset,
          fmt::format("reduce, got '{}', expected an elementwise op of two operands",
                      parsed.applied.text));
    }
    try {
      fill_reducer(region, *opcode, instruction.operand(0).dtype());
    } catch (const Error& error) {
      throw at(lexer_, parsed.applied.offset, error);
    }
    return;
  }
  lexer_.seek(parsed.body);
  if (++depth_ > kMaxRegionDepth) {
    throw lexer_.unexpected("region", fmt::format("at most {} levels", kMaxRegionDepth));
  }
  lexer_.expect('{', "region");
  open_scope();
  for (const ParsedParameter& parameter : parsed.parameters) add_parameter(region, parameter);
  read_block_label(region);
  read_body(region);
  lexer_.expect('}', "region");
  close_scope();
  --depth_;
}

void BodyReader::check_types(const Instruction& instruction, size_t offset) {
  std::vector<TensorType> inferred;
  try {
    inferred = infer_types({.opcode = instruction.opcode(),
                            .operands = instruction.operands(),
                            .attrs = instruction.attrs(),
                            .regions = instruction.regions(),
                            .declared = instruction.results(),
                            .module = &module_});
  } catch (const Error& error) {
    throw at(lexer_, offset, error);
  }
  const auto declared = instruction.results();
  if (std::ranges::equal(inferred, declared)) return;
  throw lexer_.error_at(offset,
                        fmt::format("{}: result types, got {}, expected {}", instruction.opcode(),
                                    to_string(declared), to_string(inferred)));
}

void BodyReader::check_calls() {
  for (const auto& [call, offset] : calls_) {
    for (const std::string& callee : callees(call->attrs())) {
      if (module_.find_function(callee) != nullptr) continue;
      throw lexer_.error_at(
          offset, fmt::format("{}: callee, got @{}, expected a function", call->opcode(), callee));
    }
    check_types(*call, offset);
  }
}

void BodyReader::define_results(const ParsedOp& op, std::vector<Value> values) {
  std::vector<NamedValue> groups = group(op.results, std::move(values));
  size_t named = 0;
  for (const ResultName& name : op.result_names) {
    const auto count = static_cast<size_t>(name.count);
    if (count > groups.size() - named) {
      named = groups.size() + 1;
      break;
    }
    const auto begin = groups.begin() + static_cast<std::ptrdiff_t>(named);
    scopes_.define(lexer_, name.token,
                   {std::make_move_iterator(begin),
                    std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(count))});
    named += count;
  }
  // A result without a name is unused; but MLIR wants names for all or none.
  if (named == groups.size() || op.result_names.empty()) return;
  throw lexer_.error_at(
      op.offset(), fmt::format("names of results, got another number, expected {}", groups.size()));
}

}  // namespace systole::hlo::text
