#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "systole/hlo/op_semantics.h"
#include "systole/hlo/signature.h"
#include "systole/hlo/text.h"
#include "systole/hlo/text_attr_reader.h"
#include "systole/hlo/text_attrs.h"
#include "systole/hlo/text_lexer.h"
#include "systole/hlo/text_literal.h"

namespace systole::hlo {
namespace text {
namespace {

// Regions in regions are read by recursion.
constexpr int kMaxRegionDepth = 64;

struct ParsedName {
  Token token;
  int count;  // %0:2 names two values
};

// Values by name. A name holds from its definition to the end of the region that it stands in.
class Scopes {
 public:
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }

  // False when the name is taken.
  bool define(std::string_view name, std::vector<Value> values) {
    if (find(name) != nullptr) return false;
    scopes_.back()[std::string(name)] = std::move(values);
    return true;
  }
  const std::vector<Value>* find(std::string_view name) const {
    for (size_t i = scopes_.size(); i-- > 0;) {
      const auto found = scopes_[i].find(std::string(name));
      if (found != scopes_[i].end()) return &found->second;
    }
    return nullptr;
  }

 private:
  std::vector<std::unordered_map<std::string, std::vector<Value>>> scopes_;
};

// "func.call" -> call; nullopt for what is no op of ours.
std::optional<Opcode> opcode_of(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view dialect = name.substr(0, dot);
  const std::optional<Opcode> opcode = opcode_from_name(name.substr(dot + 1));
  if (!opcode || *opcode == Opcode::parameter) return std::nullopt;
  if (dialect == "func") {
    const bool in_func = *opcode == Opcode::call || *opcode == Opcode::return_;
    return in_func ? opcode : std::nullopt;
  }
  if (dialect != (traits(*opcode).has(kInternal) ? "systole" : "stablehlo")) return std::nullopt;
  return opcode == Opcode::call ? std::nullopt : opcode;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : lexer_(text, file) {}

  std::unique_ptr<Module> parse() {
    const bool wrapped = lexer_.accept_word("module");
    std::string name = "module";
    if (wrapped && lexer_.peek().is(TokenKind::symbol)) {
      name = unquote(lexer_.take().text.substr(1));
    }
    module_ = std::make_unique<Module>(std::move(name));
    if (wrapped) {
      if (lexer_.accept_word("attributes")) read_dictionary(lexer_);
      lexer_.expect('{', "module");
    }
    while (wrapped ? !lexer_.accept('}') : !lexer_.peek().is(TokenKind::end)) parse_function();
    if (wrapped) parse_location();
    if (!lexer_.peek().is(TokenKind::end)) throw lexer_.unexpected("module", "the end of the text");
    check_calls();
    return std::move(module_);
  }

 private:
  // func.func public @main(%arg0: tensor<f32> {...}) -> (tensor<f32>) { ... }
  void parse_function() {
    lexer_.expect_word("func.func", "module");
    if (!lexer_.accept_word("public")) lexer_.accept_word("private");
    const Token symbol = lexer_.expect(TokenKind::symbol, "function", "a name such as @main");
    const std::string name = unquote(symbol.text.substr(1));
    if (module_->find_function(name) != nullptr) {
      throw lexer_.error_at(symbol.offset,
                            fmt::format("function, got @{} again, expected a new name", name));
    }
    Computation& function = module_->add_function(name);
    scopes_.open();
    parse_parameters(function);
    const std::vector<TensorType> results = parse_function_results();
    if (lexer_.accept_word("attributes")) read_dictionary(lexer_);
    lexer_.expect('{', "function");
    parse_body(function);
    lexer_.expect('}', "function");
    parse_location();
    scopes_.close();
    const std::vector<TensorType> returned = result_types(function);
    if (returned != results) {
      throw lexer_.error_at(
          symbol.offset, fmt::format("@{}: types of results, got {} from return, expected {}", name,
                                     to_string(returned), to_string(results)));
    }
    check_aliases(function, symbol);
  }

  void parse_parameters(Computation& function) {
    lexer_.expect('(', "function");
    while (!lexer_.accept(')')) {
      if (function.num_parameters() > 0) lexer_.expect(',', "function");
      parse_parameter(function);
      if (!lexer_.peek().is('{')) continue;
      const size_t offset = lexer_.position();
      const Dictionary attributes = read_dictionary(lexer_);
      const int64_t result = read_integer_or(lexer_, attributes, "tf.aliasing_output", -1);
      const bool fits = result >= 0 && result <= std::numeric_limits<int>::max();
      if (function.name() == "main" && attributes.find("tf.aliasing_output") != nullptr) {
        if (!fits) throw lexer_.error_at(offset, "tf.aliasing_output, expected a result's index");
        module_->aliases.push_back({function.num_parameters() - 1, static_cast<int>(result)});
      }
      parse_location();
    }
  }

  // %arg0: tensor<f32> loc(...)
  void parse_parameter(Computation& computation) {
    const Token name = lexer_.expect(TokenKind::value, "parameter", "a name such as %arg0");
    lexer_.expect(':', "parameter");
    const TensorType type = read_type(lexer_);
    const Value parameter = computation.add_parameter(type, parse_location());
    define(name, {parameter});
  }

  std::vector<TensorType> parse_function_results() {
    if (!lexer_.peek().is(TokenKind::arrow)) return {};
    lexer_.take();
    if (!lexer_.accept('(')) return {read_type(lexer_)};
    std::vector<TensorType> types;
    while (!lexer_.accept(')')) {
      if (!types.empty()) lexer_.expect(',', "function results");
      types.push_back(read_type(lexer_));
      if (lexer_.peek().is('{')) read_dictionary(lexer_);
    }
    return types;
  }

  void check_aliases(const Computation& function, const Token& symbol) const {
    if (function.name() != "main") return;
    for (const Module::Alias& alias : module_->aliases) {
      const auto results = static_cast<int>(function.results().size());
      if (alias.result < results) continue;
      throw lexer_.error_at(symbol.offset,
                            fmt::format("tf.aliasing_output, got {}, expected one of {} results",
                                        alias.result, results));
    }
  }

  // The ops of a function or region; the last is its return.
  void parse_body(Computation& computation) {
    while (!computation.has_results()) {
      if (lexer_.peek().is('}')) throw lexer_.unexpected(computation.name(), "a return before");
      parse_op(computation);
    }
    if (!lexer_.peek().is('}'))
      throw lexer_.unexpected(computation.name(), "'}' behind the return");
  }

  // %0:2 = "stablehlo.sort"(%a, %b) ({...}) {...} : (...) -> (...)
  void parse_op(Computation& computation) {
    const std::vector<ParsedName> names = parse_result_names();
    if (!lexer_.peek().is(TokenKind::string)) {
      throw lexer_.unexpected("op", "one in generic form such as \"stablehlo.add\"");
    }
    const Token name = lexer_.take();
    const std::optional<Opcode> opcode = opcode_of(unquote(name.text));
    if (!opcode) {
      throw unimplemented("{}: op, got {}, expected one of the opcode table",
                          lexer_.place(name.offset), name.text);
    }
    const size_t operands_begin = lexer_.position();
    const std::vector<Value> operands = parse_operands();
    std::vector<Dictionary> dictionaries;
    if (lexer_.accept('<')) {
      dictionaries.push_back(read_dictionary(lexer_));
      lexer_.expect('>', "op");
    }
    // Regions are read last: what stands behind them says of which types the instruction that owns
    // them is.
    std::optional<size_t> regions;
    if (lexer_.peek().is('(')) {
      regions = lexer_.position();
      lexer_.skip_balanced('(', ')');
    }
    if (lexer_.peek().is('{')) dictionaries.push_back(read_dictionary(lexer_));
    const std::vector<TensorType> results = parse_op_type(operands, operands_begin);
    const Metadata metadata = parse_location();
    const size_t end = lexer_.position();

    Attrs attrs = read_attrs(lexer_, *opcode, name.offset, dictionaries);
    if (!operands.empty()) complete_window(attrs, operands[0].shape().rank());
    if (traits(*opcode).has(kTerminator)) {
      if (!results.empty() || regions) {
        throw lexer_.error_at(name.offset, "return, got results or regions, expected neither");
      }
      computation.set_results(operands);
      computation.terminator()->set_metadata(metadata);
    } else {
      Instruction& instruction = *computation.insert(*opcode, operands, results, std::move(attrs));
      instruction.set_metadata(metadata);
      if (regions) parse_regions(instruction, *regions);
      lexer_.seek(end);
      check_types(instruction, name);
      define_results(names, name, instruction);
    }
  }

  std::vector<ParsedName> parse_result_names() {
    std::vector<ParsedName> names;
    if (!lexer_.peek().is(TokenKind::value)) return names;
    do {
      ParsedName name{lexer_.expect(TokenKind::value, "op", "a result's name"), 1};
      if (lexer_.accept(':')) {
        const Token count = lexer_.expect(TokenKind::integer, "op", "a number of results");
        const auto parsed =
            std::from_chars(count.text.data(), count.text.data() + count.text.size(), name.count);
        if (parsed.ec != std::errc() || name.count < 1) {
          throw lexer_.error_at(
              count.offset, fmt::format("number of results, got {}, expected >= 1", count.text));
        }
      }
      names.push_back(name);
    } while (lexer_.accept(','));
    lexer_.expect('=', "op");
    return names;
  }

  std::vector<Value> parse_operands() {
    std::vector<Value> operands;
    lexer_.expect('(', "operands");
    while (!lexer_.accept(')')) {
      if (!operands.empty()) lexer_.expect(',', "operands");
      operands.push_back(parse_operand());
    }
    return operands;
  }

  // %0, or %0#1
  Value parse_operand() {
    const Token name = lexer_.expect(TokenKind::value, "operands", "a name such as %0");
    const std::vector<Value>* values = scopes_.find(name.text);
    if (values == nullptr) {
      throw lexer_.error_at(name.offset, fmt::format("operand, got {}, expected a name that is "
                                                     "defined before",
                                                     name.text));
    }
    size_t index = 0;
    if (lexer_.peek().is(TokenKind::hash)) {
      const std::string_view number = lexer_.take().text.substr(1);
      const auto parsed = std::from_chars(number.data(), number.data() + number.size(), index);
      const bool whole = parsed.ec == std::errc() && parsed.ptr == number.data() + number.size();
      if (!whole || index >= values->size()) {
        throw lexer_.error_at(
            name.offset, fmt::format("operand, got {}#{}, expected one of {} values", name.text,
                                     number, values->size()));
      }
    }
    return (*values)[index];
  }

  // : (operand types) -> result types
  std::vector<TensorType> parse_op_type(const std::vector<Value>& operands, size_t operands_begin) {
    lexer_.expect(':', "op");
    std::vector<TensorType> types;
    lexer_.expect('(', "operand types");
    while (!lexer_.accept(')')) {
      if (!types.empty()) lexer_.expect(',', "operand types");
      types.push_back(read_type(lexer_));
    }
    if (types != types_of(operands)) {
      throw lexer_.error_at(operands_begin,
                            fmt::format("operand types, got {}, expected {}", to_string(types),
                                        to_string(types_of(operands))));
    }
    if (!lexer_.peek().is(TokenKind::arrow)) throw lexer_.unexpected("op", "'->'");
    return parse_function_results();
  }

  // ({^bb0(%arg0: tensor<f32>): ...}, {...})
  void parse_regions(Instruction& instruction, size_t offset) {
    lexer_.seek(offset);
    if (++depth_ > kMaxRegionDepth) {
      throw lexer_.unexpected("region", fmt::format("at most {} levels", kMaxRegionDepth));
    }
    lexer_.expect('(', "regions");
    do {
      lexer_.expect('{', "region");
      scopes_.open();
      Computation& region = instruction.add_region();
      if (lexer_.peek().is(TokenKind::block)) parse_block_label(region);
      parse_body(region);
      lexer_.expect('}', "region");
      scopes_.close();
    } while (lexer_.accept(','));
    lexer_.expect(')', "regions");
    --depth_;
  }

  void parse_block_label(Computation& region) {
    lexer_.take();
    if (lexer_.accept('(')) {
      while (!lexer_.accept(')')) {
        if (region.num_parameters() > 0) lexer_.expect(',', "block");
        parse_parameter(region);
      }
    }
    lexer_.expect(':', "block");
  }

  // loc("node"("file.cc":41:0)): the name is kept; a file's name would have to outlive every
  // program.
  Metadata parse_location() {
    Metadata metadata;
    if (!lexer_.accept_word("loc")) return metadata;
    const size_t begin = lexer_.position();
    lexer_.expect('(', "location");
    if (lexer_.peek().is(TokenKind::string)) {
      const std::string name = unquote(lexer_.take().text);
      if (!lexer_.peek().is(':')) metadata.name = name;
    }
    lexer_.seek(begin);
    lexer_.skip_balanced('(', ')');
    return metadata;
  }

  std::vector<TensorType> infer(const Instruction& instruction) const {
    return infer_types({.opcode = instruction.opcode(),
                        .operands = instruction.operands(),
                        .attrs = instruction.attrs(),
                        .regions = instruction.regions(),
                        .declared = instruction.results(),
                        .module = module_.get()});
  }

  void check_types(const Instruction& instruction, const Token& name) {
    std::vector<TensorType> inferred;
    try {
      inferred = infer(instruction);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", lexer_.place(name.offset), error.message()));
    }
    const auto declared = instruction.results();
    if (!std::ranges::equal(inferred, declared)) {
      throw lexer_.error_at(
          name.offset, fmt::format("{}: result types, got {}, expected {}", instruction.opcode(),
                                   to_string(declared), to_string(inferred)));
    }
    if (instruction.is(Opcode::call)) calls_.emplace_back(&instruction, name);
  }

  // A function may be called before it is defined.
  void check_calls() {
    const auto calls = std::move(calls_);
    for (const auto& [call, name] : calls) {
      if (module_->find_function(call->attrs<CallAttrs>().callee) == nullptr) {
        throw lexer_.error_at(name.offset, fmt::format("call: callee, got @{}, expected a function",
                                                       call->attrs<CallAttrs>().callee));
      }
      check_types(*call, name);
    }
  }

  void define(const Token& name, std::vector<Value> values) {
    if (scopes_.define(name.text, std::move(values))) return;
    throw lexer_.error_at(name.offset,
                          fmt::format("name, got {} again, expected a new one", name.text));
  }

  void define_results(const std::vector<ParsedName>& names, const Token& op,
                      Instruction& instruction) {
    int next = 0;
    for (const ParsedName& name : names) {
      std::vector<Value> values;
      for (int i = 0; i < name.count && next < instruction.num_results(); ++i) {
        values.push_back(instruction.result(next++));
      }
      if (static_cast<int>(values.size()) != name.count) next = -1;
      if (next < 0) break;
      define(name.token, std::move(values));
    }
    // A result without a name is unused; but MLIR wants names for all or none.
    if (next == instruction.num_results() || names.empty()) return;
    throw lexer_.error_at(op.offset,
                          fmt::format("names of results, got another number, expected {}",
                                      instruction.num_results()));
  }

  Lexer lexer_;
  std::unique_ptr<Module> module_;
  Scopes scopes_;
  std::vector<std::pair<const Instruction*, Token>> calls_;
  int depth_ = 0;
};

}  // namespace
}  // namespace text

std::unique_ptr<Module> parse(std::string_view text, std::string_view file) {
  return text::Parser(text, file).parse();
}

}  // namespace systole::hlo
