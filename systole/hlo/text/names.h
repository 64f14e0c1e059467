// What the names of a text stand for.
#pragma once

#include <absl/container/inlined_vector.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/text/lexer.h"
#include "systole/hlo/text/type.h"

namespace systole::hlo::text {

// A value, or the values that are the leaves of a tuple.
struct NamedValue {
  TypeTree type;
  absl::InlinedVector<Value, 1> values;  // as many as `type` has leaves
};

// Values by name. A name holds from its definition to the end of the region that it stands in.
class Scopes {
 public:
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }

  // %a, or %a:2 with two of them. Errors: INVALID_ARGUMENT when the name is taken.
  void define(const Lexer& lexer, const Token& name, std::vector<NamedValue> values);
  // Reads %a or %a#1. What it stands for is kept as long as its name holds. Errors:
  // INVALID_ARGUMENT when it is not defined.
  const NamedValue& read(Lexer& lexer) const;

 private:
  const std::vector<NamedValue>* find(std::string_view name) const;

  std::vector<std::unordered_map<std::string, std::vector<NamedValue>>> scopes_;
};

// Groups `values`, the leaves of `types` in order.
std::vector<NamedValue> group(const std::vector<TypeTree>& types, std::vector<Value> values);

}  // namespace systole::hlo::text
