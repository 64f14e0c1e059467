// An op as it stands in the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/attribute.h"
#include "systole/stablehlo/text/names.h"

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

}  // namespace systole::hlo::text
