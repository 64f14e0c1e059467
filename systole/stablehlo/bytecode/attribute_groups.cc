#include "systole/stablehlo/bytecode/attribute_groups.h"

#include <utility>

namespace systole::hlo::bytecode {
namespace {

constexpr std::string_view kConvolutionFields[] = {
    "input_batch_dimension",           "input_feature_dimension",
    "input_spatial_dimensions",        "kernel_input_feature_dimension",
    "kernel_output_feature_dimension", "kernel_spatial_dimensions",
    "output_batch_dimension",          "output_feature_dimension",
    "output_spatial_dimensions"};

// The visitor of ir/attrs.h that collects names.
class GroupCollector {
 public:
  template <class T>
  void required(std::string_view name, const T&) {
    if (group_ != nullptr) group_->fields.emplace_back(name);
  }
  template <class T>
  void optional(std::string_view name, const T&, const T&) {
    if (group_ != nullptr) group_->fields.emplace_back(name);
  }
  void callee(std::string_view name, const std::string&) { result.functions.emplace_back(name); }
  void callees(std::string_view name, const std::vector<std::string>&) {
    result.functions.emplace_back(name);
  }
  void flag(std::string_view name, bool) { result.flags.emplace_back(name); }
  template <class T>
  void rest(const T&) {}
  template <class T>
  void window_padding(std::string_view, const T&) {}
  void convolution(std::string_view name, const ConvolutionAttrs&) {
    AttributeGroup& group = result.groups.emplace_back();
    group.name = name;
    group.structure = kConvolutionStructure;
    group.fields.assign(std::begin(kConvolutionFields), std::end(kConvolutionFields));
  }
  template <class Fill>
  void structure(std::string_view name, std::string_view attribute, Fill&& fill) {
    AttributeGroup group{.name = std::string(name), .structure = std::string(attribute)};
    group_ = &group;
    fill(*this);
    group_ = nullptr;
    result.groups.push_back(std::move(group));
  }
  template <class Fill>
  void optional_structure(std::string_view name, std::string_view attribute, bool, Fill&& fill) {
    structure(name, attribute, fill);
    result.groups.back().optional = true;
  }

  AttributeGroups result;

 private:
  AttributeGroup* group_ = nullptr;
};

}  // namespace

AttributeGroups attribute_groups(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
      {"dynamic_conv", "convolution"}, {"dynamic_gather", "gather"}};
  for (const auto& [name, replacement] : kReplaced) {
    if (op == name) op = replacement;
  }
  GroupCollector collector;
  if (const auto opcode = opcode_from_name(op)) {
    Attrs attrs = default_attrs(*opcode);
    std::visit([&](auto& fields) { fields.describe(collector); }, attrs);
  }
  return std::move(collector.result);
}

std::string_view vhlo_field_name(std::string_view structure, std::string_view field) {
  if (structure != kChannelStructure) return field;
  return field == "handle" ? "channel_id" : "channel_type";
}

}  // namespace systole::hlo::bytecode
