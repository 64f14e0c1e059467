// Parses one op in its generic or pretty form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/text/attribute.h"
#include "systole/hlo/text/names.h"

namespace systole::hlo::text {

struct ResultName {
  Token token;
  int count;  // %0:2 names two values
};

// %arg0: tensor<f32> loc("x")
struct ParsedParameter {
  Token name;
  TypeTree type;
  Metadata metadata;
};

struct ParsedRegion {
  size_t body = 0;  // the offset of its '{'
  // The parameters, if the op declares them; empty if the block does.
  std::vector<ParsedParameter> parameters;
  // The op of reduce's `applies stablehlo.add`, which has no body.
  Token applied;
};

struct ParsedOp {
  Token token;       // its name as written
  std::string name;  // "stablehlo.add"
  bool pretty = false;
  std::vector<ResultName> result_names;
  std::vector<const NamedValue*> operands;  // of the scopes
  std::vector<Dictionary> attributes;       // properties, attributes, fields of the pretty form
  std::vector<ParsedRegion> regions;
  std::vector<TypeTree> results;
  Metadata metadata;

  size_t offset() const { return token.offset; }
  // The leaves of all operands.
  std::vector<Value> values() const;
  // "add": the name without its dialect.
  std::string_view stem() const;
};

// Reads an op, from the names of its results to its location. Skips regions; their bodies are read
// when the instruction that owns them exists. Errors: INVALID_ARGUMENT; UNIMPLEMENTED for an
// unknown op.
ParsedOp read_op(Lexer& lexer, const Scopes& scopes);

// Reads %arg0: tensor<f32> loc("x").
ParsedParameter read_parameter(Lexer& lexer);

}  // namespace systole::hlo::text
