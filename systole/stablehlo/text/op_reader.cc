#include "systole/stablehlo/text/op_reader.h"

#include <charconv>

#include "systole/stablehlo/text/format.h"
#include "systole/stablehlo/text/import.h"
#include "systole/stablehlo/text/location.h"
#include "systole/stablehlo/text/op_types.h"
#include "systole/stablehlo/text/sharding.h"
#include "systole/stablehlo/text/syntax_reader.h"

namespace systole::hlo::text {
namespace {

class OpReader {
 public:
  OpReader(Lexer& lexer, const Scopes& scopes) : lexer_(lexer), scopes_(scopes) {}

  ParsedOp read() {
    read_result_names();
    op_.token = lexer_.peek();
    op_.pretty = op_.token.is(TokenKind::identifier);
    if (!op_.pretty && !op_.token.is(TokenKind::string)) {
      throw lexer_.unexpected("op", "a name such as stablehlo.add or \"stablehlo.add\"");
    }
    lexer_.take();
    op_.name = native_name(unquote(op_.token.text));
    // Inside functions, func's ops have no dialect prefix.
    if (op_.name == "return" || op_.name == "call") op_.name = "func." + op_.name;
    // A truncated text may end in the middle of a name.
    if (lexer_.peek().is(TokenKind::end)) {
      throw lexer_.unexpected("op", "the rest of the program after it");
    }
    if (!is_known_op(op_.name)) {
      throw unimplemented("{}: op, got {}, expected one of the opcode table{}",
                          lexer_.place(op_.offset()), op_.token.text,
                          advice_on(unquote(op_.token.text)));
    }
    op_.pretty ? read_pretty() : read_generic();
    return std::move(op_);
  }

 private:
  void read_result_names() {
    if (!lexer_.peek().is(TokenKind::value)) return;
    do {
      ResultName name{lexer_.expect(TokenKind::value, "op", "a result's name"), 1};
      if (lexer_.accept(':')) {
        const Token count = lexer_.expect(TokenKind::integer, "op", "a number of results");
        const auto parsed =
            std::from_chars(count.text.data(), count.text.data() + count.text.size(), name.count);
        if (parsed.ec != std::errc() || name.count < 1) {
          throw lexer_.error_at(
              count.offset, fmt::format("number of results, got {}, expected >= 1", count.text));
        }
      }
      op_.result_names.push_back(name);
    } while (lexer_.accept(','));
    lexer_.expect('=', "op");
  }

  // %0:2 = "stablehlo.sort"(%a, %b) <{...}> ({...}) {...} : (...) -> (...)
  void read_generic() {
    const size_t begin = lexer_.position();
    lexer_.expect('(', "operands");
    if (!lexer_.peek().is(')')) read_operands();
    lexer_.expect(')', "operands");
    if (lexer_.accept('<')) {
      op_.attributes.push_back(read_dictionary(lexer_));
      lexer_.expect('>', "op");
    }
    if (lexer_.accept('(')) {
      do {
        skip_region({});
      } while (lexer_.accept(','));
      lexer_.expect(')', "regions");
    }
    read_attributes();
    lexer_.expect(':', "op");
    read_function_type(lexer_, begin, op_);
    op_.metadata = read_location(lexer_);
  }

  void read_pretty() {
    if (op_.name == "stablehlo.while") {
      read_while();
    } else if (op_.name == "stablehlo.reduce") {
      read_reduce();
    } else if (op_.name == kShardedRegion || op_.name == kNamedRegion) {
      read_sharded_region();
    } else if (op_.name.starts_with("sdy.") && op_.name != kShardedReturn) {
      read_placement();
    } else if (const Syntax* syntax = syntax_of_op()) {
      read_attributes();
      // A constant whose type differs from its literal's type uses the generic form without quotes.
      if (syntax->types == TypeForm::none && lexer_.peek().is('(')) return read_generic();
      if (op_.token.text == "arith.constant" && begins_number()) return read_scalar_constant();
      const size_t begin = lexer_.position();
      read_syntax(lexer_, scopes_, *syntax, op_);
      read_attributes();
      read_op_types(lexer_, syntax->types, begin, op_);
      op_.metadata = read_location(lexer_);
    } else if (opcode_of(op_.name)) {
      throw lexer_.error_at(
          op_.offset(),
          fmt::format("op, got {}, expected its generic form, \"{}\"", op_.token.text, op_.name));
    } else {
      read_foreign();
    }
  }

  bool begins_number() const {
    const Token& token = lexer_.peek();
    return token.is(TokenKind::integer) || token.is(TokenKind::floating) || token.is('-') ||
           token.is_word("true") || token.is_word("false");
  }

  // arith.constant 5 : i32, arith.constant true: a tensor of rank 0.
  void read_scalar_constant() {
    Attribute value{.offset = lexer_.position(), .end = 0, .value = Unit()};
    Tensor number;
    if (lexer_.peek().is(TokenKind::identifier)) {
      number = Tensor::of<bool>({}, {lexer_.take().text == "true"});
    } else {
      number = read_scalar(lexer_);
    }
    op_.results = {{number.type(), false, {}}};
    value.end = lexer_.last_end();
    value.value = std::move(number);
    Dictionary fields;
    fields.entries.push_back({"value", std::move(value)});
    op_.attributes.push_back(std::move(fields));
    op_.metadata = read_location(lexer_);
  }

  const Syntax* syntax_of_op() const {
    const bool ours = op_.name.starts_with("stablehlo.");
    const bool func = op_.name == "func.call" || op_.name == "func.return";
    if (op_.name == kShardedReturn) return find_syntax("return");
    return ours || func ? find_syntax(op_.stem()) : nullptr;
  }

  // stablehlo.while(%i = %0, %s = %1) : tensor<i64>, tensor<f32> attributes {...} cond {...} do
  // {...}
  void read_while() {
    std::vector<Token> names;
    const size_t begin = lexer_.position();
    lexer_.expect('(', "while");
    while (!lexer_.accept(')')) {
      if (!names.empty()) lexer_.expect(',', "while");
      names.push_back(lexer_.expect(TokenKind::value, "while", "a name such as %iterArg"));
      lexer_.expect('=', "while");
      op_.operands.push_back(&scopes_.read(lexer_));
    }
    read_op_types(lexer_, TypeForm::list, begin, op_);
    if (lexer_.accept_word("attributes")) op_.attributes.push_back(read_dictionary(lexer_));
    std::vector<ParsedParameter> parameters;
    for (size_t i = 0; i < names.size(); ++i) {
      parameters.push_back({names[i], op_.operands[i]->type, {}});
    }
    lexer_.expect_word("cond", "while");
    skip_region(parameters);
    lexer_.expect_word("do", "while");
    skip_region(parameters);
    op_.metadata = read_location(lexer_);
  }

  // stablehlo.reduce(%a init: %b), (%c init: %d) across dimensions = [0] {...} : (...) -> (...)
  //   reducer(%x: tensor<f32>, %y: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {...}
  // stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0] {...} : (...) -> T
  void read_reduce() {
    const size_t begin = lexer_.position();
    read_reduce_operands();
    ParsedRegion region;
    if (lexer_.accept_word("applies")) {
      region.applied =
          lexer_.expect(TokenKind::identifier, "reduce", "an op such as stablehlo.add");
    }
    lexer_.expect_word("across", "reduce");
    lexer_.expect_word("dimensions", "reduce");
    lexer_.expect('=', "reduce");
    Dictionary dimensions;
    dimensions.entries.push_back({"dimensions", read_short_attribute(lexer_)});
    op_.attributes.push_back(std::move(dimensions));
    read_attributes();
    lexer_.expect(':', "op");
    read_function_type(lexer_, begin, op_);
    if (!region.applied.text.empty()) {
      op_.regions.push_back(region);
    } else {
      lexer_.expect_word("reducer", "reduce");
      skip_region(read_reducer_parameters());
    }
    op_.metadata = read_location(lexer_);
  }

  void read_reduce_operands() {
    std::vector<const NamedValue*> initial;
    do {
      lexer_.expect('(', "reduce");
      op_.operands.push_back(&scopes_.read(lexer_));
      lexer_.expect_word("init", "reduce");
      lexer_.expect(':', "reduce");
      initial.push_back(&scopes_.read(lexer_));
      lexer_.expect(')', "reduce");
    } while (lexer_.accept(','));
    op_.operands.insert(op_.operands.end(), initial.begin(), initial.end());
  }

  // One pair per operand. The block takes all accumulators first, then all elements.
  std::vector<ParsedParameter> read_reducer_parameters() {
    std::vector<ParsedParameter> parameters;
    std::vector<ParsedParameter> incoming;
    while (lexer_.accept('(')) {
      parameters.push_back(read_parameter(lexer_));
      lexer_.expect(',', "reducer");
      incoming.push_back(read_parameter(lexer_));
      lexer_.expect(')', "reducer");
    }
    parameters.insert(parameters.end(), incoming.begin(), incoming.end());
    read_location(lexer_);
    return parameters;
  }

  // sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
  // sdy.propagation_barrier %0 allowed_direction=NONE : tensor<4x8xf32>
  // sdy.sharding_group %0 group_id=3 : tensor<4x8xf32>
  void read_placement() {
    const size_t begin = lexer_.position();
    read_operands();
    Dictionary named;
    if (lexer_.peek().is('<')) {
      named.entries.push_back({"sharding", read_body("sdy.sharding", '<', '>')});
    }
    read_shardings(std::move(named));
    read_attributes();
    read_foreign_types(lexer_, begin, op_);
    op_.metadata = read_location(lexer_);
  }

  // sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={"x"}
  //   (%arg0: tensor<4xf32>) {...} : (tensor<4xf32>) -> tensor<4xf32>
  // sdy.named_computation<"name">(%0) ... likewise
  void read_sharded_region() {
    const size_t begin = lexer_.position();
    if (lexer_.peek().is('<')) lexer_.skip_balanced('<', '>');
    lexer_.expect('(', "operands");
    if (!lexer_.peek().is(')')) read_operands();
    lexer_.expect(')', "operands");
    read_shardings({});
    std::vector<ParsedParameter> parameters;
    lexer_.expect('(', "region");
    while (!lexer_.accept(')')) {
      if (!parameters.empty()) lexer_.expect(',', "region");
      parameters.push_back(read_parameter(lexer_));
    }
    skip_region(std::move(parameters));
    read_attributes();
    lexer_.expect(':', "op");
    read_function_type(lexer_, begin, op_);
    op_.metadata = read_location(lexer_);
  }

  // name=[...], name={...}, name=WORD, name=2: shardings of values, axes of a mesh, groups.
  void read_shardings(Dictionary named) {
    while (lexer_.peek().is(TokenKind::identifier)) {
      std::string name(lexer_.take().text);
      lexer_.expect('=', "op");
      if (lexer_.peek().is('[')) {
        named.entries.push_back({std::move(name), read_body(kShardingPerValue, '[', ']')});
      } else if (lexer_.peek().is('{')) {
        named.entries.push_back({std::move(name), read_body(kManualAxes, '{', '}')});
      } else if (lexer_.peek().is(TokenKind::integer)) {
        named.entries.push_back({std::move(name), read_short_attribute(lexer_)});
      } else {
        lexer_.take();
      }
    }
    op_.attributes.push_back(std::move(named));
  }

  // The body of an attribute without its name.
  Attribute read_body(std::string_view name, char open, char close) {
    const size_t begin = lexer_.position();
    lexer_.skip_balanced(open, close);
    return {.offset = begin,
            .end = lexer_.last_end(),
            .value = DialectAttribute{std::string(name), begin}};
  }

  // An op of another dialect: operands and attributes in a list, in parentheses or not, attributes
  // in braces, types of which each may be the type of all.
  //   chlo.top_k(%0, k = 2) : T -> (T, U)      check.expect_eq_const %0, dense<1> : tensor<i64>
  void read_foreign() {
    const size_t begin = lexer_.position();
    const bool in_parentheses = lexer_.accept('(');
    Dictionary named;
    while (begins_item()) {
      if (lexer_.peek().is(TokenKind::value)) {
        op_.operands.push_back(&scopes_.read(lexer_));
      } else if (lexer_.peek().is_word("dense")) {
        named.entries.push_back({"value", read_attribute(lexer_)});
      } else {
        std::string name(lexer_.take().text);
        lexer_.expect('=', "op");
        named.entries.push_back({std::move(name), read_short_attribute(lexer_)});
      }
      if (!lexer_.accept(',')) break;
    }
    op_.attributes.push_back(std::move(named));
    if (in_parentheses) lexer_.expect(')', "op");
    read_attributes();
    read_foreign_types(lexer_, begin, op_);
    op_.metadata = read_location(lexer_);
  }

  bool begins_item() const {
    return lexer_.peek().is(TokenKind::value) || lexer_.peek().is(TokenKind::identifier);
  }

  void read_operands() {
    do {
      op_.operands.push_back(&scopes_.read(lexer_));
    } while (lexer_.accept(','));
  }

  void read_attributes() {
    if (lexer_.peek().is('{')) op_.attributes.push_back(read_dictionary(lexer_));
  }

  void skip_region(std::vector<ParsedParameter> parameters) {
    op_.regions.push_back({lexer_.position(), std::move(parameters), {}});
    if (!lexer_.peek().is('{')) throw lexer_.unexpected("region", "'{'");
    lexer_.skip_balanced('{', '}');
  }

  Lexer& lexer_;
  const Scopes& scopes_;
  ParsedOp op_;
};

}  // namespace

ParsedOp read_op(Lexer& lexer, const Scopes& scopes) { return OpReader(lexer, scopes).read(); }

ParsedParameter read_parameter(Lexer& lexer) {
  const Token name = lexer.expect(TokenKind::value, "parameter", "a name such as %arg0");
  lexer.expect(':', "parameter");
  TypeTree type = read_type(lexer);
  return {name, std::move(type), read_location(lexer)};
}

}  // namespace systole::hlo::text
