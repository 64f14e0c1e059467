#include "systole/stablehlo/text/body_reader.h"

#include <algorithm>
#include <iterator>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/stablehlo/text/attr_reader.h"
#include "systole/stablehlo/text/custom_call.h"
#include "systole/stablehlo/text/import.h"
#include "systole/stablehlo/text/kept_symbols.h"
#include "systole/stablehlo/text/mesh_groups.h"
#include "systole/stablehlo/text/sharding.h"

namespace systole::hlo::text {
namespace {

// Nested regions are parsed recursively.
constexpr int kMaxRegionDepth = 64;

std::vector<Value> results_of(Instruction& instruction) {
  std::vector<Value> values;
  for (int i = 0; i < instruction.num_results(); ++i) values.push_back(instruction.result(i));
  return values;
}

bool returns(const ParsedOp& op) {
  return op.name == "func.return" || op.name == "stablehlo.return";
}

// Tuples pass through calls alone; StableHLO's other ops have tensors and tokens.
bool takes_tuples(const ParsedOp& op) {
  constexpr std::string_view kNames[] = {"func.call",
                                         "func.return",
                                         "stablehlo.composite",
                                         "stablehlo.custom_call",
                                         "stablehlo.get_tuple_element",
                                         "stablehlo.tuple"};
  return std::ranges::find(kNames, op.name) != std::end(kNames) ||
         !op.name.starts_with("stablehlo.");
}

// Returns the splat of a large constant of equal elements; otherwise nullptr.
const Splat* splat_of(const ParsedOp& op) {
  if (op.name != "stablehlo.constant") return nullptr;
  for (const Dictionary& dictionary : op.attributes) {
    const Attribute* value = dictionary.find("value");
    if (value != nullptr) return std::get_if<Splat>(&value->value);
  }
  return nullptr;
}

// Prefixes `error`, which inference threw, with the op's place.
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
  for (const ParsedParameter& parameter : read_block_parameters()) {
    add_parameter(computation, parameter);
  }
}

std::vector<ParsedParameter> BodyReader::read_block_parameters() {
  std::vector<ParsedParameter> parameters;
  lexer_.expect(TokenKind::block, "block", "a name such as ^bb0");
  if (lexer_.accept('(')) {
    while (!lexer_.accept(')')) {
      if (!parameters.empty()) lexer_.expect(',', "block");
      parameters.push_back(read_parameter(lexer_));
    }
  }
  lexer_.expect(':', "block");
  return parameters;
}

void BodyReader::read_body(Computation& computation) {
  while (!computation.has_results()) {
    if (lexer_.peek().is('}')) throw lexer_.unexpected(computation.name(), "a return before");
    read_op(computation);
  }
  if (!lexer_.peek().is('}')) throw lexer_.unexpected(computation.name(), "'}' after the return");
}

void BodyReader::read_op(Computation& computation) {
  ParsedOp op = text::read_op(lexer_, scopes_);
  flatten_mesh_groups(lexer_, module_, op);
  if (returns(op)) {
    set_results(computation, op);
  } else {
    add_op(computation, op);
  }
}

void BodyReader::check_tuples(const ParsedOp& op) const {
  const auto operand_is_tuple = [](const NamedValue* operand) { return operand->type.is_tuple; };
  const bool of_operands = std::ranges::any_of(op.operands, operand_is_tuple);
  if (takes_tuples(op) || !(of_operands || std::ranges::any_of(op.results, &TypeTree::is_tuple))) {
    return;
  }
  throw lexer_.error_at(op.offset(), fmt::format("{}: {}, got a tuple, expected tensors and tokens",
                                                 op.stem(), of_operands ? "operands" : "results"));
}

void BodyReader::add_op(Computation& computation, const ParsedOp& op) {
  check_tuples(op);
  const size_t end = lexer_.position();
  define_results(op, shard_results(computation, op, make(computation, op)));
  lexer_.seek(end);
}

void BodyReader::set_results(Computation& computation, const ParsedOp& op) {
  check_tuples(op);
  if (!op.results.empty() || !op.regions.empty() || !op.result_names.empty()) {
    throw lexer_.error_at(op.offset(), "return, got results or regions, expected neither");
  }
  read_attrs(lexer_, Opcode::return_, op.offset(), op.attributes);
  computation.set_results(op.values());
  computation.terminator()->set_metadata(op.metadata);
}

std::vector<Value> BodyReader::make(Computation& computation, const ParsedOp& op) {
  const Splat* splat = splat_of(op);
  const auto opcode = opcode_of(op.name);
  const bool kept =
      opcode && splat == nullptr && !chlo_of_custom_call(op) && !has_foreign_rng_state(op);
  if (kept) return make_instruction(computation, *opcode, op);
  const bool sharded = op.name == kShardedRegion || op.name == kNamedRegion;
  if (op.regions.size() != (sharded ? 1 : 0)) {
    throw lexer_.error_at(op.offset(),
                          fmt::format("op, got {} with {} regions, expected {}", op.token.text,
                                      op.regions.size(), sharded ? "one" : "none"));
  }
  std::vector<Value> values;
  if (splat != nullptr) {
    values = {import_splat(lexer_, computation, *splat, op)};
  } else {
    values = op.name == kShardedRegion ? call_region(computation, op)
             : sharded                 ? inline_region(computation, op)
                                       : import(computation, op);
  }
  const std::vector<TensorType> declared = flatten(op.results);
  if (types_of(values) != declared) {
    throw lexer_.error_at(op.offset(),
                          fmt::format("{}: result types, got {}, expected {}", op.name,
                                      to_string(declared), to_string(types_of(values))));
  }
  return values;
}

// Opens the region; leave_region() closes it.
std::vector<ParsedParameter> BodyReader::read_sharded_parameters(const ParsedOp& op) {
  const ParsedRegion& region = op.regions[0];
  lexer_.seek(region.body);
  enter_region(true);
  std::vector<ParsedParameter> parameters = region.parameters;
  if (lexer_.peek().is(TokenKind::block)) parameters = read_block_parameters();
  if (parameters.size() == op.operands.size()) return parameters;
  throw lexer_.error_at(op.offset(),
                        fmt::format("{}: parameters of its region, got {}, expected {}", op.name,
                                    parameters.size(), op.operands.size()));
}

// Reads the ops of the region of `op`. The names of what it returns stay visible.
ParsedOp BodyReader::read_to_sharded_return(Computation& computation, const ParsedOp& op) {
  while (true) {
    if (lexer_.peek().is('}')) throw lexer_.unexpected(op.name, "a return before");
    ParsedOp inner = text::read_op(lexer_, scopes_);
    flatten_mesh_groups(lexer_, module_, inner);
    if (returns(inner)) {
      throw lexer_.error_at(inner.offset(), fmt::format("{}, got {}, expected {} at its end",
                                                        op.name, inner.name, kShardedReturn));
    }
    if (inner.name == kShardedReturn) return inner;
    add_op(computation, inner);
  }
}

std::vector<Value> BodyReader::inline_region(Computation& computation, const ParsedOp& op) {
  // Operands are names of the scopes around the region, which close over them.
  std::vector<NamedValue> operands;
  for (const NamedValue* operand : op.operands) operands.push_back(*operand);
  const std::vector<ParsedParameter> parameters = read_sharded_parameters(op);
  for (size_t i = 0; i < parameters.size(); ++i) {
    expect_same_type(op, "parameter", parameters[i].type, operands[i].type);
    scopes_.define(lexer_, parameters[i].name, {std::move(operands[i])});
  }
  const ParsedOp end = read_to_sharded_return(computation, op);
  for (size_t i = 0; i < std::min(end.operands.size(), op.results.size()); ++i) {
    expect_same_type(op, "result", end.operands[i]->type, op.results[i]);
  }
  std::vector<Value> results = end.values();
  leave_region();
  return results;
}

// Each device runs the region on its part of the operands: a function between two custom calls that
// change whole values to parts and back.
std::vector<Value> BodyReader::call_region(Computation& computation, const ParsedOp& op) {
  const ManualShardings shardings = read_manual_shardings(lexer_, op);
  std::string name(kManualBody);
  for (int i = 1; module_.find_function(name) != nullptr; ++i) {
    name = fmt::format("{}_{}", kManualBody, i);
  }
  Computation& body = module_.add_function(name);
  body.attributes().function[std::string(kManualAxesAttribute)] = shardings.axes;
  for (const ParsedParameter& parameter : read_sharded_parameters(op)) {
    add_parameter(body, parameter);
  }
  const ParsedOp end = read_to_sharded_return(body, op);
  body.set_results(end.values());
  leave_region();
  const std::vector<TensorType> results = flatten(op.results);
  if (body.results().size() != results.size()) {
    throw lexer_.error_at(op.offset(), fmt::format("{}: values that its region returns, got {}, "
                                                   "expected {}",
                                                   op.name, body.results().size(), results.size()));
  }
  Builder builder(computation);
  builder.set_metadata(op.metadata);
  std::vector<TensorType> parameters;
  for (int i = 0; i < body.num_parameters(); ++i) parameters.push_back(body.parameter(i).type());
  const std::vector<Value> parts =
      add_shape_change(builder, kGlobalToLocal, op.values(), parameters, shardings);
  Instruction* const call =
      computation.insert(Opcode::call, parts, result_types(body), CallAttrs{.callee = name});
  call->set_metadata(op.metadata);
  return add_shape_change(builder, kLocalToGlobal, results_of(*call), results, shardings);
}

// An op may say how its results are sharded. A custom call keeps its attributes.
std::vector<Value> BodyReader::shard_results(Computation& computation, const ParsedOp& op,
                                             std::vector<Value> values) {
  if (op.name == "stablehlo.custom_call") return values;
  for (const Dictionary& dictionary : op.attributes) {
    for (const std::string_view name : {kShardyAttribute, kGspmdAttribute}) {
      const Attribute* attribute = dictionary.find(name);
      if (attribute == nullptr) continue;
      const std::vector<std::string> texts = sharding_texts(lexer_, *attribute);
      if (texts.size() != values.size()) continue;
      Builder builder(computation);
      builder.set_metadata(op.metadata);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = add_sharding(builder, values[i], name, texts[i]);
      }
    }
  }
  return values;
}

// A region that is no manual one has whole values.
void BodyReader::expect_same_type(const ParsedOp& op, std::string_view what, const TypeTree& local,
                                  const TypeTree& global) const {
  if (local == global) return;
  throw lexer_.error_at(op.offset(),
                        fmt::format("{}: {}, got {}, expected {}", op.name, what,
                                    to_string(flatten({{local}})), to_string(flatten({{global}}))));
}

// Returns the results of an op that modules do not keep.
std::vector<Value> BodyReader::import(Computation& computation, const ParsedOp& op) {
  if (op.name == "stablehlo.tuple") return op.values();
  if (op.name == "stablehlo.get_tuple_element") return element_of_tuple(op);
  try {
    return import_op(lexer_, computation, op);
  } catch (const Error& error) {
    // Errors in a part of the text already have a place.
    if (error.message().starts_with(lexer_.file() + ":")) throw;
    throw at(lexer_, op.offset(), error);
  }
}

// Returns the leaves of one element.
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
  const auto& values = groups[index].values;
  return {values.begin(), values.end()};
}

std::vector<Value> BodyReader::make_instruction(Computation& computation, Opcode opcode,
                                                const ParsedOp& op) {
  const std::vector<Value> operands = op.values();
  Attrs attrs = read_attrs(lexer_, opcode, op.offset(), op.attributes, op.pretty);
  if (!operands.empty()) set_window_defaults(attrs, operands[0].shape().rank());
  Instruction& instruction =
      *computation.insert(opcode, operands, flatten(op.results), std::move(attrs));
  instruction.set_metadata(op.metadata);
  for (const ParsedRegion& region : op.regions) read_region(instruction, region);
  if (opcode == Opcode::custom_call) check_custom_call(lexer_, op);
  const std::vector<std::string> called = callees(instruction.attrs());
  const auto is_defined = [this](const std::string& name) {
    const Computation* function = module_.find_function(name);
    return function != nullptr && function->has_results();
  };
  if (std::ranges::all_of(called, is_defined)) check_types(instruction, op.offset());
  if (!called.empty()) calls_.emplace_back(&instruction, op.offset());
  return results_of(instruction);
}

void BodyReader::read_region(Instruction& instruction, const ParsedRegion& parsed) {
  Computation& region = instruction.add_region();
  if (!parsed.applied.text.empty()) {
    const auto opcode = opcode_of(native_name(parsed.applied.text));
    const bool reduces = opcode && traits(*opcode).has(kElementwise) &&
                         traits(*opcode).min_operands == 2 && traits(*opcode).max_operands == 2 &&
                         std::holds_alternative<NoAttrs>(default_attrs(*opcode));
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
  enter_region();
  std::vector<ParsedParameter> parameters = parsed.parameters;
  if (lexer_.peek().is(TokenKind::block)) parameters = read_block_parameters();
  for (const ParsedParameter& parameter : parameters) {
    if (parameter.type.is_tuple && !instruction.is(Opcode::composite)) {
      throw lexer_.error_at(parameter.name.offset,
                            fmt::format("{}: parameter of a region, got a tuple, expected tensors "
                                        "and tokens",
                                        instruction.opcode()));
    }
    add_parameter(region, parameter);
  }
  read_body(region);
  leave_region();
}

void BodyReader::enter_region(bool isolated) {
  if (++depth_ > kMaxRegionDepth) {
    throw lexer_.unexpected("region", fmt::format("at most {} levels", kMaxRegionDepth));
  }
  lexer_.expect('{', "region");
  isolated ? scopes_.open_isolated() : scopes_.open();
}

void BodyReader::leave_region() {
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
      if (!module_.attributes.contains(std::string(kDeclaration) + callee)) {
        throw lexer_.error_at(offset, fmt::format("{}: callee, got @{}, expected a function",
                                                  call->opcode(), callee));
      }
      // The target of a custom call may know what the function does.
      if (call->is(Opcode::custom_call)) continue;
      throw unimplemented(
          "{}: {}: callee, got @{}, which has no body, expected a function with one",
          lexer_.place(offset), call->opcode(), callee);
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
  // MLIR requires names for all results or for none.
  if (named == groups.size() || op.result_names.empty()) return;
  throw lexer_.error_at(
      op.offset(), fmt::format("names of results, got another number, expected {}", groups.size()));
}

}  // namespace systole::hlo::text
