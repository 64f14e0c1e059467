#include "systole/runtime/client_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/suggest.h"

namespace systole::runtime {
namespace {

std::string_view option_type(const OptionValue& value) {
  constexpr std::array<std::string_view, 4> kNames = {"a string", "an integer", "a number",
                                                      "true or false"};
  return kNames[value.index()];
}

// The option as its definition's type.
OptionValue converted(std::string_view backend, const OptionDef& def, const OptionValue& value) {
  if (value.index() == def.default_value.index()) return value;
  const auto* const integer = std::get_if<int64_t>(&value);
  if (integer != nullptr && std::holds_alternative<double>(def.default_value)) {
    return static_cast<double>(*integer);
  }
  throw invalid_argument("{}: client option '{}', got {}, expected {} ({})", backend, def.name,
                         option_type(value), option_type(def.default_value), def.help);
}

}  // namespace

ClientOptions resolve_options(std::string_view backend, std::span<const OptionDef> defs,
                              const ClientOptions& given) {
  ClientOptions resolved;
  for (const OptionDef& def : defs) resolved[def.name] = def.default_value;
  for (const auto& [name, value] : given) {
    const auto def = std::ranges::find(defs, name, &OptionDef::name);
    if (def == defs.end()) {
      std::vector<std::string> names;
      for (const OptionDef& known : defs) names.push_back(known.name);
      if (names.empty()) {
        throw invalid_argument("{}: client option, got '{}', expected none", backend, name);
      }
      throw invalid_argument("{}: client option, got '{}', expected one of {}{}", backend, name,
                             fmt::join(names, ", "), did_you_mean(name, names));
    }
    resolved[name] = converted(backend, *def, value);
  }
  return resolved;
}

}  // namespace systole::runtime
