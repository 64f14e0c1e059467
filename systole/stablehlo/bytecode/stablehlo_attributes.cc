#include "systole/stablehlo/bytecode/stablehlo_attributes.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "systole/base/number_text.h"
#include "systole/stablehlo/bytecode/attribute_groups.h"
#include "systole/stablehlo/bytecode/reader_parts.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

// VHLO stores these defaults; StableHLO leaves the attributes out.
struct DefaultRow {
  std::string_view name;
  std::string_view text;
};
constexpr DefaultRow kDefaults[] = {
    {"api_version", "1 : i32"},
    {"arg_attrs", "[]"},
    {"backend_config", "\"\""},
    {"backend_config", "{}"},
    {"called_computations", "[]"},
    {"compare_type", "#stablehlo<comparison_type NOTYPE>"},
    {"composite_attributes", "{}"},
    {"has_dynamic_root", "false"},
    {"has_side_effect", "false"},
    {"indices_are_sorted", "false"},
    {"infeed_config", "\"\""},
    {"is_host_transfer", "false"},
    {"known_expanding_dimensions", "dense<> : tensor<0xi64>"},
    {"known_nonexpanding_dimensions", "dense<> : tensor<0xi64>"},
    {"layout", "[]"},
    {"outfeed_config", "\"\""},
    {"output_operand_aliases", "[]"},
    {"precision_config", "[]"},
    {"precision_config", "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"},
    {"res_attrs", "[]"},
    {"result_accuracy",
     "#stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 0, mode = "
     "#stablehlo<result_accuracy_mode DEFAULT>>"},
    {"result_tilings", "[]"},
    {"source_target_pairs", "dense<> : tensor<0xi64>"},
    {"sym_visibility", "\"\""},
    {"unique_indices", "false"},
};

bool is_default(std::string_view name, std::string_view text) {
  return std::ranges::any_of(
      kDefaults, [&](const DefaultRow& row) { return row.name == name && row.text == text; });
}

// VHLO has tensors where StableHLO has arrays: "dense<true> : tensor<2xi1>" is
// "array<i1: true, true>".
std::string bool_array(std::string_view text) {
  const size_t size_at = text.rfind('<') + 1;
  const size_t count =
      parse_number<size_t>(text.substr(size_at, text.rfind('x') - size_at)).value_or(0);
  std::string list(text.substr(6, text.find('>') - 6));  // behind "dense<"
  if (list.starts_with('[')) {
    list = list.substr(1, list.size() - 2);
  } else {
    list = fmt::format("{}", fmt::join(std::vector<std::string>(count, list), ", "));
  }
  return list.empty() ? "array<i1>" : fmt::format("array<i1: {}>", list);
}

std::string integer_array(const std::vector<int64_t>& integers) {
  return integers.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(integers, ", "));
}

class Converter {
 public:
  Converter(std::string_view op, const std::vector<NamedIndex>& vhlo, AttributeReader& attributes,
            const ByteReader& at)
      : op_(op), vhlo_(vhlo), attributes_(attributes), at_(at), groups_(attribute_groups(op)) {}

  std::vector<std::string> convert() {
    for (const AttributeGroup& group : groups_.groups) convert_group(group);
    skip_layouts();
    for (const auto& [name, index] : vhlo_) {
      if (!used_.contains(name)) convert_one(name, attributes_.attribute(index, at_));
    }
    return std::move(result_);
  }

 private:
  const DecodedAttribute* find(std::string_view name) {
    const auto found = std::ranges::find(vhlo_, name, &NamedIndex::first);
    return found == vhlo_.end() ? nullptr : &attributes_.attribute(found->second, at_);
  }

  // The layouts of a custom_call are missing together.
  void skip_layouts() {
    const std::string_view names[] = {"operand_layouts", "result_layouts"};
    const auto is_empty = [&](std::string_view name) {
      const DecodedAttribute* value = find(name);
      return value == nullptr || value->text == "[]";
    };
    if (std::ranges::all_of(names, is_empty)) used_.insert(std::begin(names), std::end(names));
  }

  void convert_group(const AttributeGroup& group) {
    if (find(group.name) != nullptr) return;  // not an op of VHLO
    if (group.optional && is_absent(group)) return;
    std::vector<std::string> fields;
    for (const std::string& field : group.fields) {
      const std::string name(vhlo_field_name(group.structure, field));
      used_.insert(name);
      const DecodedAttribute* value = find(name);
      if (value != nullptr) {
        fields.push_back(fmt::format("{} = {}", field, field_text(name, *value)));
      } else if (name == "channel_type") {
        fields.emplace_back("type = 0");  // collectives have no type of channel
      }
    }
    const std::string_view raw = group.structure == kConvolutionStructure ? "raw " : "";
    add(group.name, fmt::format("#{}<{}{}>", group.structure, raw, fmt::join(fields, ", ")));
  }

  // All attributes of an absent structure are missing, or have the value none or channel 0.
  bool is_absent(const AttributeGroup& group) {
    std::set<std::string> names;
    for (const std::string& field : group.fields) {
      const std::string name(vhlo_field_name(group.structure, field));
      const DecodedAttribute* value = find(name);
      names.insert(name);
      if (value == nullptr) continue;
      const bool no_channel = group.structure == kChannelStructure && value->string == "0";
      if (!no_channel && value->text != "none") return false;
    }
    used_.merge(names);
    return true;
  }

  // Fields of structures have a short spelling.
  std::string field_text(const std::string& name, const DecodedAttribute& value) const {
    if (value.integers) return list_text(*value.integers);
    if (value.kind == AttributeKind::integer) return value.string;
    if (value.kind == AttributeKind::boolean || value.kind == AttributeKind::type)
      return value.text;
    throw at_.error("{}: {}, got {}, expected an integer, a list of i64, a boolean or a type", op_,
                    name, value.text);
  }

  void convert_one(const std::string& name, const DecodedAttribute& value) {
    const auto is_in = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (is_in(groups_.functions)) return convert_function(name, value);
    if (is_in(groups_.flags) && value.kind == AttributeKind::boolean) {
      if (value.text == "true") add(name, "");
      return;
    }
    if (is_default(name, value.text)) return;
    const bool is_array = name != "value" && name.find('.') == std::string::npos;
    if (is_array && value.integers) return add(name, integer_array(*value.integers));
    if (name == "window_reversal") return add(name, bool_array(value.text));
    add(name, value.text);
  }

  void convert_function(const std::string& name, const DecodedAttribute& value) {
    if (value.kind == AttributeKind::array) {
      std::vector<std::string> symbols;
      for (const uint64_t index : value.elements)
        symbols.push_back(symbol(attributes_.attribute(index, at_)));
      if (!symbols.empty()) add(name, fmt::format("[{}]", fmt::join(symbols, ", ")));
    } else {
      add(name, symbol(value));
    }
  }

  static std::string symbol(const DecodedAttribute& value) {
    return value.kind == AttributeKind::string ? "@" + text::symbol_text(value.string) : value.text;
  }

  void add(std::string_view name, std::string_view text) {
    attributes_.charge(name.size() + text.size() + 4, at_);
    const std::string spelled = text::symbol_text(name);
    result_.push_back(text.empty() ? spelled : fmt::format("{} = {}", spelled, text));
  }

  std::string_view op_;
  const std::vector<NamedIndex>& vhlo_;
  AttributeReader& attributes_;
  const ByteReader& at_;
  AttributeGroups groups_;
  std::set<std::string> used_;
  std::vector<std::string> result_;
};

}  // namespace

std::vector<std::string> stablehlo_attributes(std::string_view op,
                                              const std::vector<NamedIndex>& vhlo,
                                              AttributeReader& attributes, const ByteReader& at) {
  return Converter(op, vhlo, attributes, at).convert();
}

}  // namespace systole::hlo::bytecode
