// The ops of map functions in a pipeline's YAML.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "apps/systole/data/pipeline_spec.h"
#include "systole/base/suggest.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/parsing_ops.h"

namespace systole::app {
namespace {

DType dtype_of_yaml(const YAML::Node& node, const std::string& op) {
  return dtype_from_tf(yaml_value<std::string>(node, op, "a dtype such as float32"));
}

Shape shape_of_yaml(const YAML::Node& node, const std::string& op) {
  if (!node.IsSequence()) throw yaml_error(node, op, "no list", "the sizes of a shape");
  Dims dims;
  for (const YAML::Node& size : node) dims.push_back(yaml_value<int64_t>(size, op, "a size"));
  return Shape(std::move(dims));
}

FeatureSpec feature_of_yaml(const YAML::Node& node, const std::string& op) {
  if (node.IsScalar()) return FixedLenFeature{.dtype = dtype_of_yaml(node, op)};
  if (node.IsMap() && node["var_len"].IsDefined()) {
    return VarLenFeature{.dtype = dtype_of_yaml(node["var_len"], op)};
  }
  if (!node.IsMap() || !node["dtype"].IsDefined()) {
    throw yaml_error(node, op, "something else", "a dtype, {dtype, shape} or {var_len: dtype}");
  }
  FixedLenFeature feature{.dtype = dtype_of_yaml(node["dtype"], op)};
  if (node["shape"].IsDefined()) feature.shape = shape_of_yaml(node["shape"], op);
  return feature;
}

GraphOp parse_op(const std::string& name, const YAML::Node& argument) {
  if (!argument.IsMap()) throw yaml_error(argument, name, "no names", "{feature: dtype}");
  FeatureSpecs features;
  for (const auto& entry : argument) {
    features.emplace(yaml_value<std::string>(entry.first, name, "a feature's name"),
                     feature_of_yaml(entry.second, name));
  }
  const bool batched = name == "parse_example";
  return [features, batched](const Nest<Output>& element) {
    return batched ? parse_example(element.leaf(), features)
                   : parse_single_example(element.leaf(), features);
  };
}

using Change = std::function<Output(const Output&)>;

// What an op does to one feature.
struct FeatureOp {
  const char* name;
  Change (*parse)(const YAML::Node& argument, const std::string& op);
};
constexpr FeatureOp kFeatureOps[] = {
    {"decode_raw",
     [](const YAML::Node& argument, const std::string& op) -> Change {
       const DType dtype = dtype_of_yaml(argument, op);
       return [dtype](const Output& x) { return decode_raw(x, dtype); };
     }},
    {"cast",
     [](const YAML::Node& argument, const std::string& op) -> Change {
       const DType dtype = dtype_of_yaml(argument, op);
       return [dtype](const Output& x) { return cast(x, dtype); };
     }},
    {"reshape",
     [](const YAML::Node& argument, const std::string& op) -> Change {
       const Shape shape = shape_of_yaml(argument, op);
       return [shape](const Output& x) { return reshape(x, shape); };
     }},
    {"scale",
     [](const YAML::Node& argument, const std::string& op) -> Change {
       if (!argument.IsSequence() || argument.size() != 2) {
         throw yaml_error(argument, op, "something else", "[factor, offset]");
       }
       const auto factor = static_cast<float>(yaml_value<double>(argument[0], op, "a number"));
       const auto offset = static_cast<float>(yaml_value<double>(argument[1], op, "a number"));
       return [factor, offset](const Output& x) { return x * factor + offset; };
     }},
};

// Changes the features that `changes` names; the rest stays.
Nest<Output> changed(const Nest<Output>& element, const std::map<std::string, Change>& changes) {
  std::vector<Nest<Output>::Entry> entries;
  for (const std::string& name : element.names()) {
    const auto change = changes.find(name);
    const Nest<Output>& value = element[name];
    entries.emplace_back(
        name, change == changes.end() ? value : Nest<Output>(change->second(value.leaf())));
  }
  for (const auto& [name, change] : changes) (void)element[name];  // names what is there
  return Nest<Output>::dict(std::move(entries));
}

GraphOp feature_op(const FeatureOp& op, const YAML::Node& argument) {
  const std::string name = op.name;
  if (!argument.IsMap()) {
    const Change change = op.parse(argument, name);
    return [change](const Nest<Output>& element) -> Nest<Output> { return change(element.leaf()); };
  }
  std::map<std::string, Change> changes;
  for (const auto& entry : argument) {
    changes[yaml_value<std::string>(entry.first, name, "a feature's name")] =
        op.parse(entry.second, name);
  }
  return [changes](const Nest<Output>& element) { return changed(element, changes); };
}

bool is_parser(const std::string& name) {
  return name == "parse_single_example" || name == "parse_example";
}

}  // namespace

std::vector<std::string> pipeline_op_names() {
  std::vector<std::string> names = {"parse_single_example", "parse_example"};
  for (const FeatureOp& op : kFeatureOps) names.emplace_back(op.name);
  return names;
}

bool is_pipeline_op(const std::string& name) {
  const std::vector<std::string> names = pipeline_op_names();
  return std::ranges::find(names, name) != names.end();
}

GraphOp parse_pipeline_op(const std::string& name, const YAML::Node& argument) {
  if (is_parser(name)) return parse_op(name, argument);
  for (const FeatureOp& op : kFeatureOps) {
    if (name == op.name) return feature_op(op, argument);
  }
  const std::vector<std::string> names = pipeline_op_names();
  throw yaml_error(argument, "op", "'" + name + "'",
                   fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace systole::app
