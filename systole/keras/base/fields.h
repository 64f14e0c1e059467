// Constructor arguments of layers, declared once. A layer lists its arguments as fields of its
// options struct; from the list come its configuration in JSON and YAML, the arguments in docs, and
// the check of unknown names.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "systole/base/dtype.h"
#include "systole/base/error.h"
#include "systole/keras/base/configured.h"
#include "systole/keras/base/input_shape.h"
#include "systole/keras/base/json.h"

namespace systole::keras {

// How a C++ type is written in a configuration. Specialise for another type: `name`, `to_json`,
// `from_json`. Errors of from_json: INVALID_ARGUMENT `got <json>, expected <name>`.
template <class T>
struct JsonType;

// What a configuration has for an argument of type T.
template <class T>
constexpr ArgumentKind argument_kind() {
  if constexpr (requires { JsonType<T>::kind; }) return JsonType<T>::kind;
  return ArgumentKind::value;
}

inline Error wrong_json(const Json& got, std::string_view expected) {
  return invalid_argument("got {}, expected {}", got.dump(), expected);
}

template <>
struct JsonType<bool> {
  static constexpr std::string_view name = "a boolean";
  static Json to_json(bool value) { return value; }
  static bool from_json(const Json& json) {
    if (!json.is_boolean() && !json.is_number_integer()) throw wrong_json(json, name);
    return json.is_boolean() ? json.get<bool>() : json.get<int64_t>() != 0;
  }
};

template <>
struct JsonType<int64_t> {
  static constexpr std::string_view name = "an integer";
  static Json to_json(int64_t value) { return value; }
  static int64_t from_json(const Json& json) {
    if (json.is_number_integer()) return json.get<int64_t>();
    if (json.is_number_float()) {  // Keras writes 2.0 where a program computed the number
      const double value = json.get<double>();
      if (value == static_cast<double>(static_cast<int64_t>(value))) {
        return static_cast<int64_t>(value);
      }
    }
    throw wrong_json(json, name);
  }
};

template <>
struct JsonType<double> {
  static constexpr std::string_view name = "a number";
  static Json to_json(double value) { return value; }
  static double from_json(const Json& json) {
    if (!json.is_number()) throw wrong_json(json, name);
    return json.get<double>();
  }
};

template <>
struct JsonType<std::string> {
  static constexpr std::string_view name = "a string";
  static Json to_json(const std::string& value) { return value; }
  static std::string from_json(const Json& json) {
    if (!json.is_string()) throw wrong_json(json, name);
    return json.get<std::string>();
  }
};

template <class T>
struct JsonType<std::vector<T>> {
  static constexpr std::string_view name = "a list";
  static constexpr ArgumentKind kind = argument_kind<T>();
  static Json to_json(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(JsonType<T>::to_json(value));
    return list;
  }
  // A single value is a list of one.
  static std::vector<T> from_json(const Json& json) {
    if (!json.is_array()) return {JsonType<T>::from_json(json)};
    std::vector<T> values;
    for (const Json& item : json) values.push_back(JsonType<T>::from_json(item));
    return values;
  }
};

template <class T>
struct JsonType<std::optional<T>> {
  static constexpr std::string_view name = JsonType<T>::name;
  static constexpr ArgumentKind kind = argument_kind<T>();
  static Json to_json(const std::optional<T>& value) {
    return value ? JsonType<T>::to_json(*value) : Json(nullptr);
  }
  static std::optional<T> from_json(const Json& json) {
    if (json.is_null()) return std::nullopt;
    return JsonType<T>::from_json(json);
  }
};

// The first member of options that may stand alone where sizes may: MaxPooling2D({.strides = 2}).
// With it {3, 3} can only mean sizes.
struct ByName {
  explicit ByName() = default;
};

// Sizes of a window or step along the spatial axes: 2, or {2, 3}. One number stands for all axes.
// No constructor takes an initializer_list: g++ would take {.strides = 2} for the list {2}.
struct Sizes {
  Sizes() = default;
  Sizes(int64_t all) : values{all} {}  // NOLINT
  Sizes(int64_t first, int64_t second) : values{first, second} {}
  Sizes(int64_t first, int64_t second, int64_t third) : values{first, second, third} {}
  explicit Sizes(std::vector<int64_t> values) : values(std::move(values)) {}

  bool empty() const { return values.empty(); }
  // The sizes of `rank` axes. Errors: INVALID_ARGUMENT for another number of sizes.
  std::vector<int64_t> of_rank(size_t rank, std::string_view what) const {
    if (values.size() == 1) return std::vector<int64_t>(rank, values[0]);
    if (values.size() != rank) {
      throw invalid_argument(
          "The `{}` argument must be a tuple of {} integers. Received {} of them", what, rank,
          values.size());
    }
    return values;
  }

  std::vector<int64_t> values;
};

// Returns `options` with these strides.
template <class Options>
Options with_strides(Options options, int64_t strides) {
  options.strides = strides;
  return options;
}
template <class Options, std::integral Stride>
Options with_strides(Options options, std::initializer_list<Stride> strides) {
  options.strides = Sizes(std::vector<int64_t>(strides.begin(), strides.end()));
  return options;
}

template <>
struct JsonType<InputShape> : JsonType<std::optional<Shape>> {};

template <>
struct JsonType<Sizes> {
  static constexpr std::string_view name = "an integer or a list of integers";
  static Json to_json(const Sizes& sizes) {
    return sizes.empty() ? Json(nullptr) : JsonType<std::vector<int64_t>>::to_json(sizes.values);
  }
  static Sizes from_json(const Json& json) {
    if (json.is_null()) return {};
    return Sizes(JsonType<std::vector<int64_t>>::from_json(json));
  }
};

// One constructor argument of a layer with options O.
template <class O>
struct Field {
  std::string name;
  std::string type;  // for docs and errors
  std::function<Json(const O&)> get;
  std::function<void(O&, const Json&)> set;
  ArgumentKind kind = ArgumentKind::value;
  std::vector<ClassDoc> (*classes)() = nullptr;  // of an object
  bool required = false;
};

template <class O, class T>
Field<O> field(const std::string& name, T O::*member) {
  std::vector<ClassDoc> (*classes)() = nullptr;
  if constexpr (requires { JsonType<T>::classes; }) classes = &JsonType<T>::classes;
  return {.name = name,
          .type = std::string(JsonType<T>::name),
          .get = [member](const O& options) { return JsonType<T>::to_json(options.*member); },
          .set =
              [member](O& options, const Json& json) {
                if constexpr (std::is_arithmetic_v<T>) {
                  if (json.is_null()) return;  // TensorFlow.js writes null for the default
                }
                options.*member = JsonType<T>::from_json(json);
              },
          .kind = argument_kind<T>(),
          .classes = classes};
}

// The field of an argument that has no default.
template <class O, class T>
Field<O> required(const std::string& name, T O::*member) {
  Field<O> made = field(name, member);
  made.required = true;
  return made;
}

}  // namespace systole::keras
