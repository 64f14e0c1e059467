#include "systole/stablehlo/text/custom_call.h"

#include <algorithm>
#include <numeric>

#include "systole/hlo/ir/signature.h"
#include "systole/hlo/semantics/token.h"
#include "systole/stablehlo/text/attr_reader.h"

namespace systole::hlo::text {
namespace {

// api_version: 1 original, 2 status returning, 3 status returning unified, 4 typed FFI.
constexpr int64_t kTypedFfi = 4;

class CustomCallChecker {
 public:
  CustomCallChecker(Lexer& lexer, const ParsedOp& op) : lexer_(lexer), op_(op) {}

  void check() {
    check_version();
    check_backend_config();
    const Attribute* operands = find("operand_layouts");
    const Attribute* results = find("result_layouts");
    if ((operands == nullptr) != (results == nullptr)) {
      throw wrong(operands == nullptr ? *results : *operands,
                  "layouts, got those of operands or of results, expected both or none");
    }
    if (operands != nullptr) {
      check_layouts("operand_layouts", *operands, operand_types());
      check_layouts("result_layouts", *results, unpacked_results());
    }
    if (const Attribute* aliases = find("output_operand_aliases")) {
      for (const Attribute& alias : list_of("output_operand_aliases", *aliases)) check_alias(alias);
    }
  }

 private:
  const Attribute* find(std::string_view name) const {
    for (const Dictionary& dictionary : op_.attributes) {
      if (const Attribute* attribute = dictionary.find(name)) return attribute;
    }
    return nullptr;
  }

  template <class... Args>
  Error wrong(const Attribute& at, fmt::format_string<Args...> format, Args&&... args) const {
    return lexer_.error_at(at.offset,
                           "custom_call: " + fmt::format(format, std::forward<Args>(args)...));
  }

  const std::vector<Attribute>& list_of(std::string_view name, const Attribute& attribute) const {
    if (const auto* list = std::get_if<std::vector<Attribute>>(&attribute.value)) return *list;
    throw wrong(attribute, "{}, got another kind, expected a list", name);
  }

  std::vector<TypeTree> operand_types() const {
    std::vector<TypeTree> types;
    for (const NamedValue* operand : op_.operands) types.push_back(operand->type);
    return types;
  }

  // The results; the elements of a tuple if it is the only result.
  std::vector<TypeTree> unpacked_results() const {
    const bool packed = op_.results.size() == 1 && op_.results[0].is_tuple;
    return packed ? op_.results[0].elements : op_.results;
  }

  // A number without a type is an i64.
  void check_version() const {
    const Attribute* version = find("api_version");
    if (version == nullptr || attribute_text(lexer_, *version).ends_with(": i32")) return;
    throw wrong(*version, "api_version, got {}, expected an integer of type i32",
                attribute_text(lexer_, *version));
  }

  void check_backend_config() const {
    const Attribute* config = find("backend_config");
    const Attribute* version = find("api_version");
    if (config == nullptr) return;
    const int64_t* number = version == nullptr ? nullptr : std::get_if<int64_t>(&version->value);
    const bool typed = number != nullptr && *number == kTypedFfi;
    const bool dictionary = std::holds_alternative<Dictionary>(config->value);
    const bool string = std::holds_alternative<std::string>(config->value);
    if (typed ? dictionary : string) return;
    throw wrong(*config, "backend_config, got another kind, expected {} with api_version {}",
                typed ? "a dictionary" : "a string", number == nullptr ? 1 : *number);
  }

  // Each type needs one layout: a permutation of its axes, which is empty for a token.
  void check_layouts(std::string_view name, const Attribute& attribute,
                     const std::vector<TypeTree>& types) const {
    const std::vector<Attribute>& layouts = list_of(name, attribute);
    if (layouts.size() != types.size()) {
      throw wrong(attribute, "{}, got {}, expected {}", name, layouts.size(), types.size());
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i].is_tuple) {
        throw wrong(layouts[i], "{}, got one for a tuple, expected tensors and tokens", name);
      }
      Dims axes(static_cast<size_t>(types[i].leaf.shape.rank()));
      std::iota(axes.begin(), axes.end(), 0);
      const auto* tensor = std::get_if<Tensor>(&layouts[i].value);
      const bool integers =
          tensor != nullptr && tensor->dtype() == DType::s64 && tensor->rank() == 1;
      const bool indices = attribute_text(lexer_, layouts[i]).ends_with("xindex>");
      if (!integers || !indices || !std::ranges::is_permutation(tensor->data<int64_t>(), axes)) {
        throw wrong(
            layouts[i],
            "{}, got another layout for {}, expected a permutation of its {} axes as indices", name,
            types[i].leaf, axes.size());
      }
    }
  }

  // #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 2,
  // operand_tuple_indices = [1]>
  void check_alias(const Attribute& attribute) {
    const auto* alias = std::get_if<DialectAttribute>(&attribute.value);
    if (alias == nullptr || alias->name != "stablehlo.output_operand_alias") {
      throw wrong(attribute,
                  "output_operand_aliases, expected #stablehlo.output_operand_alias<...>");
    }
    check_dialect_attribute(lexer_, attribute);
    const size_t position = lexer_.position();
    lexer_.seek(alias->body);
    const Dictionary fields = read_struct(lexer_);
    lexer_.seek(position);
    const Attribute* index = fields.find("operand_index");
    const int64_t* operand = index == nullptr ? nullptr : std::get_if<int64_t>(&index->value);
    const auto count = static_cast<int64_t>(op_.operands.size());
    if (operand == nullptr || *operand < 0 || *operand >= count) {
      throw wrong(attribute, "operand_index of an alias, got {}, expected in [0, {})",
                  operand == nullptr ? "none" : std::to_string(*operand), count);
    }
    const TypeTree from =
        part_of(attribute, fields, "operand_tuple_indices", op_.operands[*operand]->type);
    TypeTree results{{}, true, op_.results};
    if (op_.results.size() == 1) results = op_.results[0];
    const TypeTree to = part_of(attribute, fields, "output_tuple_indices", results);
    if (from == to) return;
    throw wrong(attribute,
                "types of an alias, got {} of the operand and {} of the output, expected "
                "equal",
                to_string(flatten({{from}})), to_string(flatten({{to}})));
  }

  TypeTree part_of(const Attribute& attribute, const Dictionary& fields, std::string_view name,
                   TypeTree type) const {
    const Attribute* path = fields.find(name);
    if (path == nullptr) return type;
    for (const Attribute& step : list_of(name, *path)) {
      const int64_t* index = std::get_if<int64_t>(&step.value);
      const auto count = static_cast<int64_t>(type.is_tuple ? type.elements.size() : 0);
      if (index == nullptr || *index < 0 || *index >= count) {
        throw wrong(attribute, "{} of an alias, got {}, expected in [0, {})", name,
                    index == nullptr ? "none" : std::to_string(*index), count);
      }
      const TypeTree element = type.elements[*index];
      type = element;
    }
    return type;
  }

  Lexer& lexer_;
  const ParsedOp& op_;
};

}  // namespace

void check_custom_call(Lexer& lexer, const ParsedOp& op) { CustomCallChecker(lexer, op).check(); }

}  // namespace systole::hlo::text
