// Names and values, as callbacks see them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/suggest.h"

namespace systole::keras {

// In the order in which Keras shows them. A callback may add to those of an epoch.
class Logs {
 public:
  double* find(std::string_view name) {
    for (auto& [key, value] : values_) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  const double* find(std::string_view name) const { return const_cast<Logs*>(this)->find(name); }
  // Errors: NOT_FOUND with the names there are.
  double operator[](std::string_view name) const {
    if (const double* const found = find(name)) return *found;
    std::vector<std::string> names;
    for (const auto& [key, value] : values_) names.push_back(key);
    throw not_found("no value '{}' in the logs{}", name, did_you_mean(name, names));
  }
  // For literals: some compilers take logs["loss"] for a subscript of "loss" otherwise.
  template <size_t Size>
  double operator[](const char (&name)[Size]) const {
    return (*this)[std::string_view(name)];
  }
  void set(std::string name, double value) {
    if (double* const found = find(name)) {
      *found = value;
    } else {
      values_.emplace_back(std::move(name), value);
    }
  }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool empty() const { return values_.empty(); }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

inline Logs make_logs(const std::vector<std::string>& names, const std::vector<double>& values) {
  Logs logs;
  for (size_t i = 0; i < names.size(); ++i) logs.set(names[i], values[i]);
  return logs;
}

}  // namespace systole::keras
