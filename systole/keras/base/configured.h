// Objects that are known by a class name and a configuration: initializers, regularizers,
// constraints.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/keras/base/json.h"

namespace systole::keras {

// What a configuration has for an argument of a layer.
enum class ArgumentKind : uint8_t {
  value,   // a number, a text, a list
  object,  // the class of an initializer, a regularizer or a constraint, with its arguments
  layer,   // a layer, or a list of layers
};

// A class of a ClassTable, for docs and checks.
struct ClassDoc {
  std::string name;
  std::vector<std::string> aliases;
  // Names of arguments; nullopt for a program's own class, which may take any.
  std::optional<std::vector<std::string>> arguments;
  std::string doc;  // a sentence
};

// A function of type F with the class name and configuration that files know it by.
template <class F>
struct Configured {
  std::string class_name;
  Json config = Json::object();
  F function = nullptr;
};

// Classes of one kind: "GlorotUniform" -> a function of its configuration. Short names are aliases
// with default configurations. Not thread-safe while classes are added.
template <class F>
class ClassTable {
 public:
  using Make = std::function<F(const Json& config)>;
  explicit ClassTable(std::string kind) : kind_(std::move(kind)) {}

  // `arguments`: the names that a configuration may have; files of other versions may have more.
  void add(const std::string& class_name, std::vector<std::string> aliases, Make make,
           std::optional<std::vector<std::string>> arguments = std::nullopt, std::string doc = {}) {
    if (!makers_.emplace(class_name, std::move(make)).second) {
      throw make_error(Code::already_exists, "{} '{}' is registered already", kind_, class_name);
    }
    for (const std::string& alias : aliases) aliases_.emplace(alias, class_name);
    docs_.push_back({class_name, std::move(aliases), std::move(arguments), std::move(doc)});
  }

  // Errors: NOT_FOUND with the nearest name; INVALID_ARGUMENT for a configuration with a value of
  // another type.
  Configured<F> make(const std::string& name, Json config = Json::object()) const {
    const auto alias = aliases_.find(name);
    const std::string& class_name = alias == aliases_.end() ? name : alias->second;
    const auto it = makers_.find(class_name);
    if (it == makers_.end()) {
      const std::vector<std::string> known = names();
      throw not_found("Unknown {}: {}{}", kind_, name, did_you_mean(name, known));
    }
    try {
      F function = it->second(config);
      return {
          .class_name = class_name, .config = std::move(config), .function = std::move(function)};
    } catch (const Json::exception&) {
      throw invalid_argument("{}: arguments, got {}, expected an object with values of their types",
                             class_name, config.dump());
    }
  }

  // From {"class_name": ..., "config": {...}} or a name.
  Configured<F> from_json(const Json& json) const {
    if (json.is_string()) return make(json.get<std::string>());
    if (!json.is_object() || !json.contains("class_name")) {
      throw invalid_argument("got {}, expected the name or configuration of a {}", json.dump(),
                             kind_);
    }
    return make(json.at("class_name").get<std::string>(),
                json.value("config", Json(Json::object())));
  }

  static Json to_json(const Configured<F>& object) {
    return {{"class_name", object.class_name}, {"config", object.config}};
  }

  // In the order in which they were added.
  const std::vector<ClassDoc>& docs() const { return docs_; }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, make] : makers_) all.push_back(name);
    for (const auto& [alias, name] : aliases_) all.push_back(alias);
    return all;
  }

 private:
  std::string kind_;
  std::map<std::string, Make> makers_;
  std::map<std::string, std::string> aliases_;
  std::vector<ClassDoc> docs_;
};

// null for none. Errors: UNIMPLEMENTED for a function without a class name.
template <class F>
Json optional_to_json(const Configured<F>& object, std::string_view kind) {
  if (object.function == nullptr) return nullptr;
  if (object.class_name.empty()) {
    throw make_error(Code::unimplemented,
                     "{}: a function without a name cannot be saved, expected a registered class",
                     kind);
  }
  return ClassTable<F>::to_json(object);
}

}  // namespace systole::keras
