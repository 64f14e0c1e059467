#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "systole/hlo/text.h"
#include "systole/hlo/text_attrs.h"
#include "systole/hlo/text_lexer.h"
#include "systole/hlo/text_literal.h"

namespace systole::hlo {
namespace text {
namespace {

template <class Range>
std::string join(const Range& range) {
  return fmt::format("{}", fmt::join(range.begin(), range.end(), ", "));
}

std::string array_text(std::string_view type, const std::vector<std::string>& elements) {
  return elements.empty() ? fmt::format("array<{}>", type)
                          : fmt::format("array<{}: {}>", type, join(elements));
}

// The fields of #stablehlo.gather<...> and its like.
class StructWriter {
 public:
  void optional(std::string_view name, const Dims& field, const Dims& missing) {
    if (field != missing) entries.push_back(fmt::format("{} = [{}]", name, join(field)));
  }
  void required(std::string_view name, int64_t field) {
    entries.push_back(fmt::format("{} = {}", name, field));
  }
  void optional(std::string_view name, int64_t field, int64_t missing) {
    if (field != missing) entries.push_back(fmt::format("{} = {}", name, field));
  }

  std::vector<std::string> entries;
};

// The printing visitor of text_attrs.h.
class AttrWriter {
 public:
  explicit AttrWriter(int64_t max_literal_elements) : max_literal_elements_(max_literal_elements) {}

  template <class T>
  void required(std::string_view name, const T& field) {
    entries.push_back(fmt::format("{} = {}", name, value(field)));
  }
  template <class T>
  void optional(std::string_view name, const T& field, const T& missing) {
    if (!(field == missing)) required(name, field);
  }
  void callee(std::string_view name, const std::string& field) {
    entries.push_back(fmt::format("{} = @{}", name, symbol_text(field)));
  }
  void callees(std::string_view name, const std::vector<std::string>& field) {
    std::vector<std::string> symbols;
    for (const std::string& function : field) symbols.push_back("@" + symbol_text(function));
    if (!field.empty()) entries.push_back(fmt::format("{} = [{}]", name, join(symbols)));
  }
  void flag(std::string_view name, bool field) {
    if (field) entries.emplace_back(name);
  }
  void rest(const std::vector<NamedAttrText>& field) {
    for (const NamedAttrText& entry : field) {
      const std::string name = symbol_text(entry.name);
      flag(name, entry.attribute.text.empty());
      optional(name, entry.attribute, AttrText());
    }
  }
  template <class Fill>
  void optional_structure(std::string_view name, std::string_view attribute, bool present,
                          Fill&& fill) {
    if (present) structure(name, attribute, fill);
  }
  template <class Fill>
  void structure(std::string_view name, std::string_view attribute, Fill&& fill) {
    StructWriter fields;
    fill(fields);
    entries.push_back(fmt::format("{} = #{}<{}>", name, attribute, join(fields.entries)));
  }
  void window_padding(std::string_view name,
                      const std::vector<std::pair<int64_t, int64_t>>& padding) {
    required(name, padding);
  }
  void convolution(std::string_view name, const ConvolutionAttrs& a) {
    entries.push_back(
        fmt::format("{} = #stablehlo.conv<[{}]x[{}]->[{}]>", name,
                    axis_order('b', a.input_batch_dimension, 'f', a.input_feature_dimension,
                               a.input_spatial_dimensions),
                    axis_order('i', a.kernel_input_feature_dimension, 'o',
                               a.kernel_output_feature_dimension, a.kernel_spatial_dimensions),
                    axis_order('b', a.output_batch_dimension, 'f', a.output_feature_dimension,
                               a.output_spatial_dimensions)));
  }

  std::vector<std::string> entries;

 private:
  static std::string value(bool field) { return field ? "true" : "false"; }
  static std::string value(int64_t field) { return fmt::format("{} : i64", field); }
  static std::string value(float field) { return float_text(field); }
  static std::string value(const std::string& field) { return quote(field); }
  static std::string value(const AttrText& field) { return field.text; }
  std::string value(const std::vector<std::pair<int64_t, int64_t>>& pairs) const {
    std::vector<int64_t> flat;
    for (const auto& [first, second] : pairs) flat.insert(flat.end(), {first, second});
    const Shape shape{static_cast<int64_t>(pairs.size()), 2};
    return value(Tensor::of<int64_t>(shape, flat));
  }
  template <class E>
  requires std::is_enum_v<E>
  static std::string value(const std::vector<E>& field) {
    std::vector<std::string> elements;
    for (const E element : field) elements.push_back(value(element));
    return fmt::format("[{}]", join(elements));
  }
  static std::string value(int field) { return fmt::format("{} : i32", field); }
  static std::string value(const Dims& field) {
    std::vector<std::string> elements;
    for (const int64_t element : field) elements.push_back(std::to_string(element));
    return array_text("i64", elements);
  }
  static std::string value(const std::vector<bool>& field) {
    std::vector<std::string> elements;
    elements.reserve(field.size());
    for (const bool element : field) elements.push_back(value(element));
    return array_text("i1", elements);
  }
  std::string value(const Tensor& field) const {
    return literal_text(field, max_literal_elements_);
  }
  template <class E>
  requires std::is_enum_v<E>
  static std::string value(E field) {
    return fmt::format("#stablehlo<{} {}>", EnumNames<E>::kind,
                       EnumNames<E>::names[static_cast<size_t>(field)]);
  }

  // "b, 0, 1, f". An axis out of range, which inference rejects, is left out.
  static std::string axis_order(char first, int64_t first_axis, char second, int64_t second_axis,
                                const Dims& spatial) {
    std::vector<std::string> names(spatial.size() + 2, "?");
    const auto put = [&names](int64_t axis, std::string name) {
      if (axis >= 0 && axis < static_cast<int64_t>(names.size())) {
        names[static_cast<size_t>(axis)] = std::move(name);
      }
    };
    put(first_axis, {first});
    put(second_axis, {second});
    for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
    return join(names);
  }

  int64_t max_literal_elements_;
};

std::string type_list(const std::vector<std::string>& types, bool parentheses) {
  return parentheses || types.size() != 1 ? fmt::format("({})", join(types)) : types[0];
}

std::vector<std::string> texts_of(std::span<const TensorType> types) {
  std::vector<std::string> texts;
  for (const TensorType& type : types) texts.push_back(type_text(type));
  return texts;
}

const Computation& function_around(const Computation& computation) {
  const Computation* root = &computation;
  while (root->owner() != nullptr) root = &root->owner()->parent();
  return *root;
}

// The name of each value of a function, nested regions included: %arg0 for parameters, %0 for
// others, %0#1 for one of several results. No name is given twice in a function, so regions need no
// scopes to be read.
class Names {
 public:
  explicit Names(const Computation& inside) { name(function_around(inside)); }

  const std::string& of(const Instruction* instruction) const { return names_.at(instruction); }
  std::string of(Value value) const {
    const auto found = names_.find(value.def);
    if (found == names_.end())
      return "%<outside>";  // a broken module is printed, too, to be looked at
    if (value.def->num_results() == 1) return found->second;
    return fmt::format("{}#{}", found->second, value.index);
  }

 private:
  void name(const Computation& computation) {
    for (const Instruction* instruction : computation.instructions()) {
      if (instruction->is(Opcode::parameter)) {
        names_[instruction] = fmt::format("%arg{}", num_parameters_++);
      } else if (instruction->num_results() > 0) {
        names_[instruction] = fmt::format("%{}", num_values_++);
      }
      for (int i = 0; i < instruction->num_regions(); ++i) name(instruction->region(i));
    }
  }

  std::unordered_map<const Instruction*, std::string> names_;
  int num_parameters_ = 0;
  int num_values_ = 0;
};

class Printer {
 public:
  Printer(const Computation& inside, const PrintOptions& options)
      : names_(inside), options_(options) {}

  void print_function(const Computation& function, const std::vector<Module::Alias>& aliases,
                      int indent) {
    const bool is_main = function.name() == "main";
    line(indent, "func.func {} @{}(", is_main ? "public" : "private", symbol_text(function.name()));
    for (int i = 0; i < function.num_parameters(); ++i) {
      if (i > 0) out_ += ", ";
      print_parameter(function, i);
      if (is_main) print_aliases(aliases, i);
    }
    out_ += ')';
    if (function.has_results() && !function.results().empty()) {
      std::vector<std::string> types;
      for (const Value& value : function.results()) types.push_back(type_text(value.type()));
      out_ += " -> " + type_list(types, false);
    }
    out_ += " {\n";
    print_body(function, indent + 1);
    line(indent, "}}\n");
  }

  // A region as its owner prints it, without the braces.
  void print_region(const Computation& region, int indent) {
    if (region.num_parameters() > 0) {
      line(indent, "^bb0(");
      for (int i = 0; i < region.num_parameters(); ++i) {
        if (i > 0) out_ += ", ";
        print_parameter(region, i);
      }
      out_ += "):\n";
    }
    print_body(region, indent + 1);
  }

  void print_instruction(const Instruction& instruction, int indent) {
    line(indent, "");
    if (instruction.num_results() == 1) append("{} = ", names_.of(&instruction));
    if (instruction.num_results() > 1) {
      append("{}:{} = ", names_.of(&instruction), instruction.num_results());
    }
    std::vector<std::string> operands;
    std::vector<std::string> types;
    for (const Value& operand : instruction.operands()) {
      operands.push_back(names_.of(operand));
      types.push_back(type_text(operand.type()));
    }
    append("\"{}.{}\"({})", dialect_of(instruction), instruction.opcode(), join(operands));
    print_regions(instruction, indent);
    print_attributes(instruction);
    append(" : {} -> {}", type_list(types, true),
           type_list(texts_of(instruction.results()), false));
    print_location(instruction);
    out_ += '\n';
  }

  std::string take() { return std::move(out_); }

 private:
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void line(int indent, fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * static_cast<size_t>(indent), ' ');
    append(format, std::forward<Args>(args)...);
  }

  // Functions are called and left with the ops of MLIR's own dialect.
  static std::string_view dialect_of(const Instruction& instruction) {
    const bool leaves_function =
        instruction.traits().has(kTerminator) && instruction.parent().owner() == nullptr;
    if (leaves_function || instruction.is(Opcode::call)) return "func";
    return instruction.traits().has(kInternal) ? "systole" : "stablehlo";
  }

  void print_parameter(const Computation& computation, int i) {
    const Instruction& parameter = *computation.parameter(i).def;
    append("{}: {}", names_.of(&parameter), type_text(parameter.type()));
    if (computation.owner() != nullptr) print_location(parameter);
  }

  void print_aliases(const std::vector<Module::Alias>& aliases, int parameter) {
    for (const Module::Alias& alias : aliases) {
      if (alias.parameter == parameter) append(" {{tf.aliasing_output = {} : i32}}", alias.result);
    }
  }

  void print_body(const Computation& computation, int indent) {
    for (const Instruction* instruction : computation.instructions()) {
      if (!instruction->is(Opcode::parameter)) print_instruction(*instruction, indent);
    }
  }

  void print_regions(const Instruction& instruction, int indent) {
    if (instruction.num_regions() == 0) return;
    for (int i = 0; i < instruction.num_regions(); ++i) {
      out_ += i == 0 ? " ({\n" : ", {\n";
      print_region(instruction.region(i), indent);
      line(indent, "}}");
    }
    out_ += ')';
  }

  void print_attributes(const Instruction& instruction) {
    AttrWriter writer(options_.max_literal_elements);
    Attrs attrs = instruction.attrs();
    std::visit([&writer](auto& fields) { describe(writer, fields); }, attrs);
    if (!writer.entries.empty()) append(" {{{}}}", join(writer.entries));
  }

  void print_location(const Instruction& instruction) {
    const Metadata& metadata = instruction.metadata();
    if (!options_.locations || (metadata.name.empty() && !metadata.where.known())) return;
    const std::string place =
        metadata.where.known()
            ? fmt::format("{}:{}:0", quote(metadata.where.file), metadata.where.line)
            : "";
    if (metadata.name.empty()) {
      append(" loc({})", place);
    } else if (place.empty()) {
      append(" loc({})", quote(metadata.name));
    } else {
      append(" loc({}({}))", quote(metadata.name), place);
    }
  }

  Names names_;
  PrintOptions options_;
  std::string out_;
};

}  // namespace
}  // namespace text

std::string print(const Module& module, const PrintOptions& options) {
  std::string out = fmt::format("module @{} {{\n", text::symbol_text(module.name()));
  for (const auto& function : module.functions()) {
    text::Printer printer(*function, options);
    printer.print_function(*function, module.aliases, 1);
    out += printer.take();
  }
  return out + "}\n";
}

std::string print(const Computation& computation, const PrintOptions& options) {
  text::Printer printer(computation, options);
  if (computation.owner() == nullptr) {
    printer.print_function(computation, {}, 0);
  } else {
    printer.print_region(computation, 0);
  }
  return printer.take();
}

std::string print(const Instruction& instruction) {
  text::Printer printer(instruction.parent(), {});
  printer.print_instruction(instruction, 0);
  std::string out = printer.take();
  out.pop_back();  // the line's end
  return out;
}

}  // namespace systole::hlo
