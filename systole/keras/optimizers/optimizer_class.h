// The registry of optimizers: one file of this folder each.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "systole/keras/optimizers/optimizer.h"

namespace systole::keras {

struct OptimizerClass {
  std::string name;   // "Adam"
  std::string alias;  // "adam"
  std::function<OptimizerSpec(const Json& config)> from_config;
};

// Defined by the build from the files of this folder.
std::span<OptimizerClass (*const)()> optimizer_class_files();

// A configuration's number, or the default.
inline double number(const Json& config, const char* key, double default_value) {
  const auto it = config.find(key);
  return it == config.end() || it->is_null() ? default_value : it->get<double>();
}

// What configurations hold: hyperparameters are stored in f32.
inline double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

}  // namespace systole::keras
