// Options of a backend, by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace systole::runtime {

using OptionValue = std::variant<std::string, int64_t, double, bool>;

// An option that a backend takes. The default's alternative is the option's type.
struct OptionDef {
  std::string name;
  OptionValue default_value;
  std::string help;  // one line
};

// Values by name: ClientOptions options{{"cores", int64_t{8}}, {"address", "host:8470"}}.
using ClientOptions = std::map<std::string, OptionValue, std::less<>>;

// `given`, with the default of every option that it leaves out. An integer is taken for a double.
// Errors: INVALID_ARGUMENT for a name that `defs` lacks, with the nearest, and for a value of
// another type.
ClientOptions resolve_options(std::string_view backend, std::span<const OptionDef> defs,
                              const ClientOptions& given);

// The value of `name` in options that resolve_options() returned. REQUIRES: T is its type.
template <class T>
const T& option(const ClientOptions& resolved, std::string_view name) {
  return std::get<T>(resolved.find(name)->second);
}

}  // namespace systole::runtime
