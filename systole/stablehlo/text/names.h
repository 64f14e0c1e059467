// The names of values in a text.
#pragma once

#include <absl/container/inlined_vector.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/type.h"

namespace systole::hlo::text {

// A value, or the leaves of a tuple.
struct NamedValue {
  TypeTree type;
  absl::InlinedVector<Value, 1> values;  // one per leaf of `type`
};

// Values by name. A name is visible from its definition to the end of the enclosing region.
class Scopes {
 public:
  void open() { scopes_.emplace_back(); }
  // Names of the scopes around it are not visible, and may be defined again.
  void open_isolated() { scopes_.push_back({.names = {}, .isolated = true}); }
  void close() { scopes_.pop_back(); }

  // Defines %a, or %a:2 with two values. Errors: INVALID_ARGUMENT if the name is taken.
  void define(const Lexer& lexer, const Token& name, std::vector<NamedValue> values);
  // Reads %a or %a#1. The reference is valid while the name is visible. Errors: INVALID_ARGUMENT if
  // it is not defined.
  const NamedValue& read(Lexer& lexer) const;

 private:
  const std::vector<NamedValue>* find(std::string_view name) const;

  struct Scope {
    std::unordered_map<std::string, std::vector<NamedValue>> names;
    bool isolated = false;
  };
  std::vector<Scope> scopes_;
};

// Groups `values`, the leaves of `types`, in order.
std::vector<NamedValue> group(const std::vector<TypeTree>& types, std::vector<Value> values);

}  // namespace systole::hlo::text
