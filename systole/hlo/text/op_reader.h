// One op of a text, in its generic or its pretty form, before anything is made of it.
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
  size_t body = 0;  // where its '{' stands
  // What the op says of them; nothing when the block does.
  std::vector<ParsedParameter> parameters;
  // reduce's `applies stablehlo.add`, which has no body.
  Token applied;
};

struct ParsedOp {
  Token token;       // its name as it is written
  std::string name;  // "stablehlo.add"
  bool pretty = false;
  std::vector<ResultName> result_names;
  std::vector<const NamedValue*> operands;  // of the scopes
  std::vector<Dictionary> attributes;  // its properties, its attributes, those of its pretty form
  std::vector<ParsedRegion> regions;
  std::vector<TypeTree> results;
  Metadata metadata;

  size_t offset() const { return token.offset; }
  // The operands' leaves.
  std::vector<Value> values() const;
  // "add": what stands behind the dialect.
  std::string_view stem() const;
};

// Reads from the names of the results to the op's location. Regions are skipped: their bodies are
// read when the instruction that owns them is made. Errors: INVALID_ARGUMENT; UNIMPLEMENTED for a
// pretty form that is not known.
ParsedOp read_op(Lexer& lexer, const Scopes& scopes);

// Reads %arg0: tensor<f32> loc("x").
ParsedParameter read_parameter(Lexer& lexer);

}  // namespace systole::hlo::text
