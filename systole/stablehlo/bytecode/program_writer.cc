#include "systole/stablehlo/bytecode/program_writer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "systole/base/error.h"
#include "systole/stablehlo/bytecode/encoder.h"
#include "systole/stablehlo/bytecode/encoding.h"
#include "systole/stablehlo/bytecode/text_encoder.h"
#include "systole/stablehlo/bytecode/vhlo_attributes.h"
#include "systole/stablehlo/bytecode/vhlo_encoder.h"
#include "systole/stablehlo/bytecode/vhlo_ops.h"
#include "systole/stablehlo/text/kept_symbols.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

constexpr std::string_view kVisibility = "sym_visibility";

// What one op consists of, besides its regions.
struct OpParts {
  std::string_view name;  // StableHLO's
  std::string described;  // for errors: "add, from node 'x'"
  std::vector<VhloAttribute> attributes;
  std::vector<TensorType> results;
  std::vector<uint64_t> operands;
  size_t num_regions = 0;
  Metadata metadata;
  bool has_dictionary_config = false;  // of a custom_call
};

// "add, from node 'x' at file.cc:41"
std::string described(const Instruction& instruction) {
  return fmt::format("{}, {}", instruction.opcode(), instruction.describe());
}

class ProgramWriter {
 public:
  ProgramWriter(const Module& module, const VhloVersion& version)
      : module_(module), format_(format_of(version)), encoder_(tables_, version) {}

  std::string write() {
    // The dialects in this order: attributes, types and ops are sorted by it.
    const OpId module_op = tables_.op("builtin", "module", true);
    Encoding body;
    const size_t members = write_members(body);
    Encoding regions;
    regions.varint(1).varint(0).flagged(members, false).append(body);  // one block, no values
    return tables_.file(format_, "StableHLO_v" + encoder_.version().to_string(),
                        module_head(module_op), regions);
  }

 private:
  Encoding module_head(OpId op) {
    std::vector<std::pair<std::string, AttrId>> attributes;
    for (const auto& [name, text] : module_.attributes) {
      if (name.starts_with(text::kMeshAttribute) || name.starts_with(text::kDeclaration)) continue;
      attributes.emplace_back(
          name, text.empty() ? encoder_.unit() : tables_.text_attribute("builtin", text));
    }
    const AttrId name = encoder_.builtin_string(module_.name());
    Encoding properties;
    properties.present(name).varint(0);  // sym_name, and no sym_visibility
    if (format_ < kProperties) attributes.emplace_back("sym_name", name);
    Encoding head;
    uint8_t mask = kHasRegions;
    if (!attributes.empty()) mask |= kHasAttributes;
    if (format_ >= kProperties) mask |= kHasProperties;
    head.op(op).byte(mask).attribute(encoder_.unknown_location());
    if (!attributes.empty()) head.attribute(encoder_.builtin_dictionary(std::move(attributes)));
    if (format_ >= kProperties) head.varint(tables_.properties(properties));
    head.flagged(1, true);  // one isolated region
    return head;
  }

  // Returns the number of ops.
  size_t write_members(Encoding& out) {
    size_t members = 0;
    for (const auto& [name, text] : module_.attributes) {
      if (name.starts_with(text::kDeclaration)) {
        write_declaration(out, name.substr(text::kDeclaration.size()), text);
        ++members;
      } else if (name.starts_with(text::kMeshAttribute)) {
        write_mesh(out, name.substr(text::kMeshAttribute.size()), text);
        ++members;
      }
    }
    for (const auto& function : module_.functions()) {
      write_function(out, *function);
      ++members;
    }
    return members;
  }

  void write_declaration(Encoding& out, const std::string& name, const std::string& type) {
    OpParts parts{.name = "func", .described = "@" + name, .num_regions = 1};
    parts.attributes = {{"sym_name", encoder_.string(name)},
                        {"function_type", encode_text(type, encoder_)},
                        {std::string(kVisibility), encoder_.string("private")},
                        {"arg_attrs", encoder_.array({})},
                        {"res_attrs", encoder_.array({})}};
    write_op_head(out, parts);
    out.varint(0);  // no blocks
  }

  // VHLO has no meshes: the op stays one of Shardy's.
  void write_mesh(Encoding& out, const std::string& name, const std::string& mesh) {
    const AttrId attributes =
        encoder_.builtin_dictionary({{"mesh", tables_.text_attribute("sdy", "#sdy.mesh" + mesh)},
                                     {"sym_name", encoder_.builtin_string(name)}});
    out.op(tables_.op("sdy", "mesh", false)).byte(kHasAttributes);
    out.attribute(encoder_.unknown_location()).attribute(attributes);
  }

  void write_function(Encoding& out, const Computation& function) {
    OpParts parts{.name = "func", .described = "@" + function.name(), .num_regions = 1};
    AttributeTexts texts = function.attributes().function;
    std::string visibility = function.name() == "main" ? "public" : "private";
    if (const auto found = texts.find(std::string(kVisibility)); found != texts.end()) {
      visibility = text::unquote(found->second);
      texts.erase(found);
    }
    parts.attributes = {
        {"sym_name", encoder_.string(function.name())},
        {"function_type", encoder_.type_attribute(function_type(function))},
        {std::string(kVisibility), encoder_.string(visibility)},
        {"arg_attrs", dictionaries(parameter_attributes(function), function.num_parameters())},
        {"res_attrs",
         dictionaries(function.attributes().results, static_cast<int>(function.results().size()))}};
    for (const auto& [name, text] : texts)
      parts.attributes.push_back({name, encode_text(text, encoder_)});
    values_.clear();
    num_values_ = 0;
    write_op_head(out, parts);
    write_region(out, function);
  }

  TypeId function_type(const Computation& function) {
    std::vector<TypeId> inputs;
    std::vector<TypeId> results;
    for (int i = 0; i < function.num_parameters(); ++i)
      inputs.push_back(encoder_.type(function.parameter(i).type()));
    for (const Value& value : function.results()) results.push_back(encoder_.type(value.type()));
    return encoder_.function(inputs, results);
  }

  std::map<int, AttributeTexts> parameter_attributes(const Computation& function) const {
    std::map<int, AttributeTexts> attributes = function.attributes().parameters;
    if (function.name() != "main") return attributes;
    for (const Module::Alias& alias : module_.aliases) {
      attributes[alias.parameter]["tf.aliasing_output"] = fmt::format("{} : i32", alias.result);
    }
    return attributes;
  }

  // A list of one dictionary each; an empty list if none has entries.
  AttrId dictionaries(const std::map<int, AttributeTexts>& texts, int count) {
    std::vector<AttrId> list;
    for (int i = 0; i < count && !texts.empty(); ++i) {
      std::vector<std::pair<std::string, AttrId>> entries;
      if (const auto found = texts.find(i); found != texts.end()) {
        for (const auto& [name, text] : found->second)
          entries.emplace_back(name, encode_text(text, encoder_));
      }
      list.push_back(encoder_.dictionary(std::move(entries)));
    }
    return encoder_.array(list);
  }

  // Values are numbered by region: first all of a region, then those of the regions in it.
  void write_region(Encoding& out, const Computation& region) {
    const std::vector<Instruction*> instructions = region.instructions();
    size_t ops = 0;
    size_t values = 0;
    for (const Instruction* instruction : instructions) {
      if (!instruction->is(Opcode::parameter)) ++ops;
      values += static_cast<size_t>(instruction->num_results());
    }
    const size_t begin = num_values_;
    size_t next = begin;
    for (int i = 0; i < region.num_parameters(); ++i) values_[region.parameter(i)] = next++;
    num_values_ += values;
    out.varint(1).varint(values).flagged(ops, region.num_parameters() > 0);
    if (region.num_parameters() > 0) write_arguments(out, region);
    for (Instruction* instruction : instructions) {
      if (instruction->is(Opcode::parameter)) continue;
      for (int i = 0; i < instruction->num_results(); ++i) values_[instruction->result(i)] = next++;
      write_instruction(out, *instruction);
    }
    num_values_ = begin;
  }

  void write_arguments(Encoding& out, const Computation& region) {
    out.varint(static_cast<uint64_t>(region.num_parameters()));
    for (int i = 0; i < region.num_parameters(); ++i) {
      const Instruction& parameter = *region.parameter(i).def;
      const TypeId type = encoder_.type(parameter.type());
      const bool unknown = parameter.metadata().name.empty();
      if (format_ < kArgumentLocationFlag) {
        out.type(type).attribute(location(parameter.metadata()));
      } else {
        out.flagged_type(type, !unknown);
        if (!unknown) out.attribute(location(parameter.metadata()));
      }
    }
    if (format_ >= kUseListOrders) out.byte(0);
  }

  AttrId location(const Metadata& metadata) {
    if (metadata.name.empty() && !metadata.where.known()) return encoder_.unknown_location();
    return encoder_.location(metadata.name, metadata.where.known() ? metadata.where.file : "",
                             metadata.where.line);
  }

  void write_instruction(Encoding& out, const Instruction& instruction) {
    if (instruction.traits().has(kInternal)) {
      throw invalid_argument("bytecode: op, got {}, expected one of StableHLO",
                             described(instruction));
    }
    OpParts parts{.name = to_string(instruction.opcode()),
                  .described = described(instruction),
                  .attributes = vhlo_attributes(instruction, encoder_),
                  .results = {instruction.results().begin(), instruction.results().end()},
                  .num_regions = static_cast<size_t>(instruction.num_regions()),
                  .metadata = instruction.metadata()};
    if (instruction.is(Opcode::custom_call)) {
      parts.has_dictionary_config =
          instruction.attrs<CustomCallAttrs>().backend_config.text.starts_with("{");
    }
    for (const Value& operand : instruction.operands())
      parts.operands.push_back(values_.at(operand));
    write_op_head(out, parts);
    for (const auto& region : instruction.regions()) write_region(out, *region);
  }

  // Writes all of an op but the contents of its regions.
  void write_op_head(Encoding& out, OpParts& parts) {
    const auto op = vhlo_op(parts.name, encoder_.version());
    if (!op) {
      throw unimplemented("bytecode: {}, got VHLO {}, expected a version that has this op",
                          parts.described, encoder_.version().to_string());
    }
    check_operands(*op, parts);
    check_config(parts);
    std::vector<std::pair<std::string, AttrId>> inherent;
    std::vector<std::pair<std::string, AttrId>> others;
    sort_attributes(*op, parts, inherent, others);
    const bool has_properties = format_ >= kProperties && !inherent.empty();
    if (format_ < kProperties) others.insert(others.end(), inherent.begin(), inherent.end());
    uint8_t mask = 0;
    if (!others.empty()) mask |= kHasAttributes;
    if (has_properties) mask |= kHasProperties;
    if (!parts.results.empty()) mask |= kHasResults;
    if (!parts.operands.empty()) mask |= kHasOperands;
    if (parts.num_regions > 0) mask |= kHasRegions;
    out.op(tables_.op("vhlo", fmt::format("{}_v{}", op->name, op->version), true)).byte(mask);
    out.attribute(location(parts.metadata));
    if (!others.empty()) out.attribute(encoder_.builtin_dictionary(std::move(others)));
    if (has_properties) {
      Encoding properties;
      for (const auto& [name, value] : inherent) properties.attribute(value);
      out.varint(tables_.properties(properties));
    }
    if (!parts.results.empty()) {
      out.varint(parts.results.size());
      for (const TensorType& type : parts.results) out.type(encoder_.type(type));
    }
    if (!parts.operands.empty()) {
      out.varint(parts.operands.size());
      for (const uint64_t operand : parts.operands) out.varint(operand);
    }
    if (parts.num_regions > 0) out.flagged(parts.num_regions, false);
  }

  // The first versions of collectives have one operand.
  void check_operands(const VhloOp& op, const OpParts& parts) const {
    if (!op.one_operand || parts.operands.size() <= 1) return;
    throw unimplemented("bytecode: {}, got {} operands, expected one in VHLO {}", parts.described,
                        parts.operands.size(), encoder_.version().to_string());
  }

  // custom_call takes its configuration as a dictionary since VHLO 1.3.
  void check_config(const OpParts& parts) const {
    if (!parts.has_dictionary_config || !(encoder_.version() < VhloVersion{1, 3, 0})) return;
    throw unimplemented(
        "bytecode: {}, got a dictionary as backend_config, expected a string in VHLO {}",
        parts.described, encoder_.version().to_string());
  }

  // Splits the attributes into those of VHLO's op, in the order in which files store them, and
  // others.
  void sort_attributes(const VhloOp& op, const OpParts& parts,
                       std::vector<std::pair<std::string, AttrId>>& inherent,
                       std::vector<std::pair<std::string, AttrId>>& others) {
    for (const std::string_view name : op.attributes) {
      const auto found = std::ranges::find(parts.attributes, name, &VhloAttribute::name);
      inherent.emplace_back(name,
                            found == parts.attributes.end() ? default_of(name) : found->value);
    }
    for (const VhloAttribute& attribute : parts.attributes) {
      if (std::ranges::find(op.attributes, attribute.name) != op.attributes.end()) continue;
      // Ops besides send and recv do not store the type of their channel.
      if (attribute.is_default || attribute.name == "channel_type") continue;
      if (is_discardable(op, attribute.name)) {
        others.emplace_back(attribute.name, attribute.value);
        continue;
      }
      throw unimplemented("bytecode: {}, got attribute {}, expected none of that name in VHLO {}",
                          parts.described, attribute.name, encoder_.version().to_string());
    }
  }

  // Functions and custom calls have attributes that VHLO does not know.
  static bool is_discardable(const VhloOp& op, std::string_view name) {
    return op.name == "func" || (op.name == "custom_call" && name != "result_tilings");
  }

  // Returns the default of an attribute that modules do not keep.
  AttrId default_of(std::string_view name) {
    if (name == "result_accuracy") return encoder_.default_accuracy();
    if (name == "result_tilings") return encoder_.array({});
    throw internal_error("bytecode: attribute {} of VHLO, got none, expected one", name);
  }

  const Module& module_;
  uint64_t format_;
  Tables tables_;
  VhloEncoder encoder_;
  std::unordered_map<Value, uint64_t, ValueHash> values_;
  size_t num_values_ = 0;
};

}  // namespace

std::string write_program(const Module& module, const VhloVersion& version) {
  return ProgramWriter(module, version).write();
}

}  // namespace systole::hlo::bytecode
