// Rows of tests/golden/make_formulas.py: numbers of TensorFlow for a definition's name and
// arguments.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/core/rule_arguments.h"
#include "systole/io/testing/golden.h"

namespace systole::testing {

inline RuleValues golden_values(std::span<const RuleArgument> arguments,
                                const nlohmann::json& config) {
  RuleValues values = usual_values(arguments);
  for (const auto& [name, value] : config.items()) {
    if (value.is_string()) {
      values.set(name, value.get<std::string>());
    } else if (value.is_array()) {
      values.values[name] = value.get<std::vector<double>>();
    } else if (value.is_boolean()) {
      values.set(name, value.get<bool>() ? 1.0 : 0.0);
    } else {
      values.set(name, value.get<double>());
    }
  }
  return values;
}

// {"shape": [..], "values": [..]} as f32.
inline Tensor golden_tensor(const nlohmann::json& json) {
  Tensor tensor(DType::f32, Shape(json.at("shape").get<std::vector<int64_t>>()));
  const auto values = json.at("values").get<std::vector<double>>();
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(values[i]);
  }
  return tensor;
}

inline void expect_golden_values(const Tensor& tensor, const nlohmann::json& expected,
                                 double tolerance) {
  const auto values = expected.at("values").get<std::vector<double>>();
  ASSERT_EQ(static_cast<size_t>(tensor.num_elements()), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(tensor.as_double(static_cast<int64_t>(i)), values[i],
                tolerance * std::max(1.0, std::abs(values[i])))
        << "element " << i;
  }
}

// The definition of a name. REQUIRES: there is one.
template <class Def>
const Def& def_of(std::span<const Def* const> all, const std::string& name) {
  for (const Def* def : all) {
    if (def->name == name) return *def;
  }
  throw not_found("no definition '{}'", name);
}

}  // namespace systole::testing
