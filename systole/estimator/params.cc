#include "systole/estimator/params.h"

#include <cxxabi.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <typeinfo>
#include <vector>

#include "systole/base/suggest.h"

namespace systole {

namespace {

// "systole::TPUContext".
std::string readable_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace

Error Param::not_a(std::string_view wanted) const {
  const Error error =
      invalid_argument("params['{}']: value, got {}, expected {}", name_, to_string(), wanted);
  return where_.known() ? error.with_context("at " + where_.to_string()) : error;
}

Param Param::at(SourceLocation where) const {
  Param copy = *this;
  copy.where_ = where;
  return copy;
}

int64_t Param::integer() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  const auto* number = std::get_if<double>(&value_);
  if (number != nullptr && std::trunc(*number) == *number && std::abs(*number) < 9e15) {
    return static_cast<int64_t>(*number);
  }
  throw not_a("an integer");
}

double Param::number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  throw not_a("a number");
}

std::string Param::to_string() const {
  struct Printer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool value) const { return value ? "True" : "False"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return fmt::format("'{}'", value); }
    std::string operator()(const std::any& value) const {
      return fmt::format("<{}>", readable_name(value.type()));
    }
  };
  return std::visit(Printer(), value_);
}

Params::Params(std::initializer_list<std::pair<std::string, Param>> params) {
  for (const auto& [name, value] : params) set(name, value);
}

Param Params::operator[](const NameAtLine& name) const {
  const auto it = params_.find(name.name);
  if (it != params_.end()) return it->second.at(name.where);
  std::vector<std::string> names;
  for (const auto& [known, value] : params_) names.push_back(known);
  throw not_found("params: key, got '{}', expected one of {}{}", name.name, to_string(),
                  did_you_mean(std::string(name.name), names))
      .with_context("at " + name.where.to_string());
}

void Params::set(const std::string& name, Param value) {
  value.name_ = name;
  params_[name] = std::move(value);
}

std::string Params::to_string() const {
  std::string text = "{";
  for (const auto& [name, value] : params_) {
    text += fmt::format("{}'{}': {}", text.size() == 1 ? "" : ", ", name, value.to_string());
  }
  return text + "}";
}

}  // namespace systole
