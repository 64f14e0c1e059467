// What functions that are made of other ops have in common.
#pragma once

#include <string>
#include <string_view>

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/where_scope.h"

namespace systole {

// While a composition builds: its nodes stand under one name and carry the user's line.
class CompositionScope {
 public:
  // `usual` is the name where the user gave none.
  CompositionScope(SourceLocation where, const std::string& given, std::string_view usual)
      : where_(where), name_(given.empty() ? usual : std::string_view(given)) {}
  CompositionScope(const Input& first, const std::string& given, std::string_view usual)
      : CompositionScope(first.where(), given, usual) {}

  // For the last node: it has the name of the whole.
  NameOptions result() const { return {.name = name_.name()}; }

 private:
  WhereScope where_;
  NameScope name_;
};

// A symbolic tensor whose dtype is one of `dtypes`. Errors: INVALID_ARGUMENT
// `<op>: dtype, got s32, expected a floating one, at <file>:<line>`.
Output resolve_as(std::string_view op, const Input& input, DTypeClass dtypes);

}  // namespace systole
