#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "systole/hlo/ir/builder.h"
#include "systole/stablehlo/text/attr_writer.h"
#include "systole/stablehlo/text/kept_symbols.h"
#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/syntax_writer.h"
#include "systole/stablehlo/text/text.h"
#include "systole/stablehlo/text/type.h"

namespace systole::hlo {
namespace text {
namespace {

// "a = 1 : i32, b"
std::string entries_text(const AttributeTexts& attributes) {
  std::vector<std::string> entries;
  for (const auto& [name, text] : attributes) {
    entries.push_back(text.empty() ? symbol_text(name)
                                   : fmt::format("{} = {}", symbol_text(name), text));
  }
  return join(entries);
}

std::string mesh_text(std::string_view name, std::string_view mesh, bool pretty) {
  if (pretty) return fmt::format("  sdy.mesh @{} = {}\n", symbol_text(name), mesh);
  return fmt::format("  \"sdy.mesh\"() {{mesh = #sdy.mesh{}, sym_name = {}}} : () -> ()\n", mesh,
                     quote(name));
}

std::string declaration_text(std::string_view name, std::string_view type, bool pretty) {
  if (pretty) return fmt::format("  func.func private @{}{}\n", symbol_text(name), type);
  return fmt::format(
      "  \"func.func\"() <{{function_type = {}, sym_name = {}, sym_visibility = \"private\"}}> "
      "({{}}) : () -> ()\n",
      type, quote(name));
}

// Returns the op of a reducer that `applies` can express.
std::optional<Opcode> applied_opcode(const Instruction& reduce) {
  if (reduce.num_regions() != 1) return {};
  const auto opcode = match_reducer(reduce.region());
  if (reduce.num_operands() != 2 || !opcode || !traits(*opcode).has(kCommutative)) return {};
  const TensorType scalar{reduce.operand(0).dtype(), {}};
  const bool plain = reduce.region().parameter(0).type() == scalar &&
                     reduce.region().parameter(1).type() == scalar &&
                     reduce.region().results()[0].type() == scalar;
  return plain ? opcode : std::nullopt;
}

const Computation& function_around(const Computation& computation) {
  const Computation* root = &computation;
  while (root->owner() != nullptr) root = &root->owner()->parent();
  return *root;
}

// The names of a function's values, with nested regions: %arg0 for parameters, %0 for others, %0#1
// for one of several results. Names are unique within a function, so readers need no scopes; except
// that a pretty `while` names its parameters once for both regions.
class Names {
 public:
  Names(const Computation& inside, bool pretty) : pretty_(pretty) { name(function_around(inside)); }

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
    const Instruction* owner = computation.owner();
    const bool again = pretty_ && owner != nullptr && owner->is(Opcode::while_) &&
                       owner->num_regions() == 2 && &owner->region(1) == &computation &&
                       owner->region(0).num_parameters() == computation.num_parameters();
    for (const Instruction* instruction : computation.instructions()) {
      if (instruction->is(Opcode::parameter) && again) {
        const int index = instruction->attrs<ParameterAttrs>().index;
        names_[instruction] = names_.at(owner->region(0).parameter(index).def);
      } else if (instruction->is(Opcode::parameter)) {
        names_[instruction] = fmt::format("%arg{}", num_parameters_++);
      } else if (instruction->num_results() > 0) {
        names_[instruction] = fmt::format("%{}", num_values_++);
      }
      // A region printed as `applies` needs no names.
      if (pretty_ && instruction->is(Opcode::reduce) && applied_opcode(*instruction)) continue;
      for (const auto& region : instruction->regions()) name(*region);
    }
  }

  bool pretty_;
  std::unordered_map<const Instruction*, std::string> names_;
  int num_parameters_ = 0;
  int num_values_ = 0;
};

class Printer {
 public:
  Printer(const Computation& inside, const PrintOptions& options)
      : names_(inside, options.pretty), options_(options) {}

  void print_function(const Computation& function, const std::vector<Module::Alias>& aliases,
                      int indent) {
    const bool is_main = function.name() == "main";
    AttributeTexts attributes = function.attributes().function;
    std::string visibility = is_main ? "public" : "private";
    if (const auto found = attributes.find("sym_visibility"); found != attributes.end()) {
      visibility = unquote(found->second);
      attributes.erase(found);
    }
    line(indent, "func.func {} @{}(", visibility, symbol_text(function.name()));
    for (int i = 0; i < function.num_parameters(); ++i) {
      if (i > 0) out_ += ", ";
      print_parameter(function, i);
      print_parameter_attributes(function, i, aliases);
    }
    out_ += ')';
    if (function.has_results() && !function.results().empty()) print_results(function);
    if (!attributes.empty()) append(" attributes {{{}}}", entries_text(attributes));
    out_ += " {\n";
    print_body(function, indent + 1);
    line(indent, "}}\n");
  }

  // Prints a region without its braces.
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
    if (!options_.pretty || !print_pretty(instruction, indent)) {
      print_generic(instruction, indent);
    }
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

  // Calls and returns of functions use MLIR's func dialect.
  static std::string_view dialect_of(const Instruction& instruction) {
    const bool leaves_function =
        instruction.traits().has(kTerminator) && instruction.parent().owner() == nullptr;
    if (leaves_function || instruction.is(Opcode::call)) return "func";
    return instruction.traits().has(kInternal) ? "systole" : "stablehlo";
  }

  std::vector<std::string> operands_of(const Instruction& instruction) const {
    std::vector<std::string> operands;
    for (const Value& operand : instruction.operands()) operands.push_back(names_.of(operand));
    return operands;
  }

  void print_generic(const Instruction& instruction, int indent) {
    append("\"{}.{}\"({})", dialect_of(instruction), instruction.opcode(),
           join(operands_of(instruction)));
    print_regions(instruction, indent);
    print_dictionary(write_attrs(instruction.attrs(), nullptr, options_.max_literal_elements));
    out_ += function_type_text(instruction);
    print_location(instruction);
  }

  // Returns false if it has no pretty form.
  bool print_pretty(const Instruction& instruction, int indent) {
    if (instruction.is(Opcode::while_)) return print_while(instruction, indent);
    if (instruction.is(Opcode::reduce)) return print_reduce(instruction, indent);
    // The pretty form has one type, that of the integers.
    if (instruction.is(Opcode::constant) && instruction.type().is_quantized()) return false;
    const Syntax* syntax = find_syntax(to_string(instruction.opcode()));
    // An empty list of types has no notation.
    const bool nothing =
        instruction.is(Opcode::optimization_barrier) && instruction.num_operands() == 0;
    if (syntax == nullptr || nothing || instruction.num_regions() > 0 ||
        instruction.traits().has(kInternal)) {
      return false;
    }
    const auto attrs = write_attrs(instruction.attrs(), syntax, options_.max_literal_elements);
    const std::string_view dialect = dialect_of(instruction);
    append("{}{}{}", dialect == "func" ? "" : dialect, dialect == "func" ? "" : ".",
           instruction.opcode());
    out_ += syntax_text(*syntax, operands_of(instruction), attrs);
    print_dictionary(attrs);
    out_ += op_types_text(syntax->types, instruction);
    print_location(instruction);
    return true;
  }

  bool print_while(const Instruction& instruction, int indent) {
    const int count = instruction.num_operands();
    for (const auto& region : instruction.regions()) {
      if (region->num_parameters() != count) return false;
    }
    if (instruction.num_regions() != 2) return false;
    out_ += "stablehlo.while(";
    for (int i = 0; i < count; ++i) {
      append("{}{} = {}", i > 0 ? ", " : "", names_.of(instruction.region(0).parameter(i)),
             names_.of(instruction.operand(i)));
    }
    out_ += ')';
    out_ += op_types_text(TypeForm::list, instruction);
    out_ += '\n';
    line(indent, " cond {{\n");
    print_body(instruction.region(0), indent + 1);
    line(indent, "}} do {{\n");
    print_body(instruction.region(1), indent + 1);
    line(indent, "}}");
    print_location(instruction);
    return true;
  }

  bool print_reduce(const Instruction& instruction, int indent) {
    const int count = instruction.num_operands() / 2;
    if (count == 0 || instruction.num_regions() != 1 ||
        instruction.region().num_parameters() != 2 * count) {
      return false;
    }
    out_ += "stablehlo.reduce";
    for (int i = 0; i < count; ++i) {
      append("{}({} init: {})", i > 0 ? ", " : "", names_.of(instruction.operand(i)),
             names_.of(instruction.operand(count + i)));
    }
    const auto applied = applied_opcode(instruction);
    if (applied) append(" applies stablehlo.{}", *applied);
    const auto& dimensions = instruction.attrs<DimensionsAttrs>().dimensions;
    append(" across dimensions = [{}]", fmt::join(dimensions, ", "));
    out_ += function_type_text(instruction);
    if (!applied) {
      out_ += '\n';
      line(indent, " reducer");
      print_reducer(instruction.region(), count, indent);
    }
    print_location(instruction);
    return true;
  }

  // One pair of parameters per operand.
  void print_reducer(const Computation& region, int count, int indent) {
    for (int i = 0; i < count; ++i) {
      out_ += '(';
      print_parameter(region, i);
      out_ += ", ";
      print_parameter(region, count + i);
      out_ += ") ";
    }
    out_ += "{\n";
    print_body(region, indent + 1);
    line(indent, "}}");
  }

  void print_parameter(const Computation& computation, int i) {
    const Instruction& parameter = *computation.parameter(i).def;
    append("{}: {}", names_.of(&parameter), type_text(parameter.type()));
    if (computation.owner() != nullptr) print_location(parameter);
  }

  void print_parameter_attributes(const Computation& function, int parameter,
                                  const std::vector<Module::Alias>& aliases) {
    const auto& kept = function.attributes().parameters;
    const auto found = kept.find(parameter);
    AttributeTexts attributes = found == kept.end() ? AttributeTexts() : found->second;
    for (const Module::Alias& alias : aliases) {
      if (alias.parameter == parameter && function.name() == "main") {
        attributes["tf.aliasing_output"] = fmt::format("{} : i32", alias.result);
      }
    }
    if (!attributes.empty()) append(" {{{}}}", entries_text(attributes));
  }

  void print_results(const Computation& function) {
    const auto& kept = function.attributes().results;
    std::vector<std::string> results;
    for (const Value& value : function.results()) {
      const auto found = kept.find(static_cast<int>(results.size()));
      results.push_back(type_text(value.type()));
      if (found != kept.end())
        results.back() += fmt::format(" {{{}}}", entries_text(found->second));
    }
    const bool list = results.size() != 1 || !kept.empty();
    append(" -> {}{}{}", list ? "(" : "", join(results), list ? ")" : "");
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

  void print_dictionary(const std::vector<WrittenAttr>& attrs) {
    const std::string entries = dictionary_text(attrs);
    if (!entries.empty()) append(" {{{}}}", entries);
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
  std::string out = fmt::format("module @{} ", text::symbol_text(module.name()));
  AttributeTexts attributes;
  std::string symbols;
  for (const auto& [name, value] : module.attributes) {
    if (name.starts_with(text::kMeshAttribute)) {
      symbols += text::mesh_text(name.substr(text::kMeshAttribute.size()), value, options.pretty);
    } else if (name.starts_with(text::kDeclaration)) {
      symbols +=
          text::declaration_text(name.substr(text::kDeclaration.size()), value, options.pretty);
    } else {
      attributes[name] = value;
    }
  }
  if (!attributes.empty()) {
    out += fmt::format("attributes {{{}}} ", text::entries_text(attributes));
  }
  out += "{\n" + symbols;
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
