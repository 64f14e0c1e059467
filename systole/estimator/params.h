// The parameters of an input_fn and a model_fn.
#pragma once

#include <any>
#include <concepts>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "systole/base/error.h"
#include "systole/base/name_at_line.h"

namespace systole {

// One parameter: an integer, a number, a bool, a string, or any C++ value (an optimizer).
class Param {
 public:
  Param() = default;
  Param(bool value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
  Param(T value) : value_(static_cast<int64_t>(value)) {}   // NOLINT(google-explicit-constructor)
  Param(double value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  Param(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Param(std::string value) : value_(std::move(value)) {}    // NOLINT(google-explicit-constructor)
  Param(std::any value) : value_(std::move(value)) {}       // NOLINT(google-explicit-constructor)

  // The value: `const int64_t n = params["batch_size"]`, `params["rate"].as<double>()`. Integers
  // convert to numbers, and numbers without a fraction to integers. Errors: INVALID_ARGUMENT names
  // the parameter, its value and the caller's line.
  template <class T>
  T as() const;
  template <class T>
  requires(std::is_arithmetic_v<T> || std::same_as<T, std::string>) operator T()
      const {  // NOLINT(google-explicit-constructor)
    return as<T>();
  }

  // "32", "'adam'".
  std::string to_string() const;

 private:
  friend class Params;
  // Returns the same parameter with the line that asks for it.
  Param at(SourceLocation where) const;
  Error not_a(std::string_view wanted) const;
  int64_t integer() const;
  double number() const;

  std::string name_;
  SourceLocation where_;  // of the last look-up, for errors
  std::variant<std::monostate, bool, int64_t, double, std::string, std::any> value_;
};

// Parameters by name. A value type.
//   st::Params params = {{"learning_rate", 0.05}, {"layers", 3}};
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<std::string, Param>> params);

  // Errors, with the caller's line: NOT_FOUND lists the names, with near misses.
  Param operator[](const NameAtLine& name) const;
  bool contains(std::string_view name) const { return params_.contains(name); }
  // Returns `otherwise` if there is no such parameter.
  template <class T>
  T get(const NameAtLine& name, T otherwise) const {
    return contains(name.name) ? (*this)[name].as<T>() : otherwise;
  }
  std::string get(const NameAtLine& name, const char* otherwise) const {
    return get(name, std::string(otherwise));
  }
  void set(const std::string& name, Param value);
  std::string to_string() const;

 private:
  std::map<std::string, Param, std::less<>> params_;
};

template <class T>
T Param::as() const {
  if constexpr (std::same_as<T, bool>) {
    if (const auto* value = std::get_if<bool>(&value_)) return *value;
    throw not_a("a truth value");
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(integer());
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(number());
  } else if constexpr (std::same_as<T, std::string>) {
    if (const auto* value = std::get_if<std::string>(&value_)) return *value;
    throw not_a("a text");
  } else {
    const auto* value = std::get_if<std::any>(&value_);
    const T* typed = value == nullptr ? nullptr : std::any_cast<T>(value);
    if (typed == nullptr) throw not_a("a value of the type asked for");
    return *typed;
  }
}

}  // namespace systole
