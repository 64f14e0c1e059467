#include "systole/stablehlo/bytecode/program_reader.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "systole/stablehlo/bytecode/attribute_reader.h"
#include "systole/stablehlo/bytecode/builtin_reader.h"
#include "systole/stablehlo/bytecode/encoding.h"
#include "systole/stablehlo/bytecode/reader_parts.h"
#include "systole/stablehlo/bytecode/sdy_reader.h"
#include "systole/stablehlo/bytecode/stablehlo_attributes.h"
#include "systole/stablehlo/bytecode/vhlo_ops.h"
#include "systole/stablehlo/bytecode/vhlo_reader.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

constexpr int kMaxRegionDepth = 64;

constexpr Dialect kDialects[] = {
    {"vhlo", read_vhlo_attribute, read_vhlo_type},
    {"builtin", read_builtin_attribute, read_builtin_type},
    {"sdy", read_sdy_attribute, nullptr},
};

// The properties of registered ops of other dialects, sorted; a '?' marks those that may be
// missing.
struct ForeignProperties {
  std::string_view op;
  std::vector<std::string_view> names;
};

const ForeignProperties* foreign_properties(std::string_view op) {
  static const ForeignProperties kRows[] = {
      {"builtin.module", {"sym_name?", "sym_visibility?"}},
      {"func.call", {"callee"}},
      {"func.func", {"arg_attrs?", "function_type", "res_attrs?", "sym_name", "sym_visibility?"}},
      {"sdy.manual_computation", {"in_shardings", "manual_axes", "out_shardings"}},
      {"sdy.mesh", {"mesh", "sym_name"}},
      {"sdy.named_computation", {"in_shardings?", "name", "out_shardings?"}},
      {"sdy.propagation_barrier", {"allowed_direction"}},
      {"sdy.reshard", {"sharding"}},
      {"sdy.sharding_constraint", {"sharding"}},
      {"sdy.sharding_group", {"group_id"}},
  };
  const auto* found = std::ranges::find(kRows, op, &ForeignProperties::op);
  return found == std::end(kRows) ? nullptr : found;
}

// An op as the file has it.
struct RawOp {
  size_t offset = 0;
  std::string dialect;
  std::string stem;  // StableHLO's name without the dialect
  std::vector<NamedIndex> attributes;
  std::vector<uint64_t> result_types;
  std::vector<uint64_t> operands;
  std::string location;
};

class ProgramReader {
 public:
  explicit ProgramReader(const Container& container)
      : container_(container), attributes_(container, kDialects) {}

  ProgramText read() {
    ByteReader reader(container_.ir, container_.file, container_.ir_offset);
    scopes_.push_back({.values = {}, .next = {0}});  // no values outside of regions
    read_block(reader, "");
    reader.expect_end("IR");
    return std::move(result_);
  }

 private:
  struct DefinedValue {
    bool defined = false;
    uint64_t id = 0;  // unique in the text
    uint64_t type = 0;
  };
  // The values that an op can use: those of the regions around it, up to the first isolated one.
  struct ValueScope {
    std::vector<DefinedValue> values;
    std::vector<size_t> next;  // of each open region, the index of the next value
  };

  void write(std::string_view text, const ByteReader& at) {
    attributes_.charge(text.size(), at);
    result_.text += text;
  }
  void end_line(size_t offset) {
    result_.text += '\n';
    result_.offsets.push_back(offset);
  }

  uint64_t define(uint64_t type, const ByteReader& at) {
    ValueScope& scope = scopes_.back();
    size_t& next = scope.next.back();
    if (next >= scope.values.size()) {
      throw at.error("values of a region, got more than it declares, expected {}",
                     scope.values.size());
    }
    scope.values[next++] = {true, num_values_, type};
    return num_values_++;
  }

  const DefinedValue& value(uint64_t index, const ByteReader& at) const {
    const ValueScope& scope = scopes_.back();
    if (index < scope.values.size() && scope.values[index].defined) return scope.values[index];
    throw at.error("operand, got value {}, expected one that an op before defines", index);
  }

  void read_block(ByteReader& reader, std::string_view parent) {
    const auto [ops, has_arguments] = reader.flagged("number of ops");
    if (ops > reader.remaining())
      throw reader.error("number of ops, got {}, expected fewer than the bytes", ops);
    if (has_arguments) read_arguments(reader);
    for (uint64_t i = 0; i < ops; ++i) read_op(reader, parent);
  }

  // ^bb0(%0: tensor<f32>):
  void read_arguments(ByteReader& reader) {
    const size_t offset = reader.offset();
    const size_t count = reader.count("arguments of a block");
    std::string text = "^bb0(";
    for (size_t i = 0; i < count; ++i) {
      uint64_t type = 0;
      bool has_location = true;
      if (container_.format < kArgumentLocationFlag) {
        type = reader.varint("type of an argument");
      } else {
        std::tie(type, has_location) = reader.flagged("type of an argument");
      }
      const std::string location = has_location ? read_location(reader) : "";
      const std::string& type_text = attributes_.type(type, reader).text;
      attributes_.charge(type_text.size(), reader);
      text +=
          fmt::format("{}%{}: {}{}", i == 0 ? "" : ", ", define(type, reader), type_text, location);
    }
    if (container_.format >= kUseListOrders && reader.byte("order of uses") != 0)
      skip_use_lists(reader, count);
    write(text + "):", reader);
    end_line(offset);
  }

  // " loc("name")", or nothing.
  std::string read_location(ByteReader& reader) {
    const std::string name = attributes_.location_name(reader.varint("location"), reader);
    return name.empty() ? "" : fmt::format(" loc({})", text::quote(name));
  }

  // The order of a value's uses means nothing here.
  static void skip_use_lists(ByteReader& reader, size_t num_values) {
    const uint64_t lists = num_values > 1 ? reader.count("orders of uses") : 1;
    for (uint64_t i = 0; i < lists; ++i) {
      if (num_values > 1) reader.varint("value");
      const auto [count, pairs] = reader.flagged("order of uses");
      static_cast<void>(pairs);
      if (count > reader.remaining())
        throw reader.error("order of uses, got {}, expected fewer", count);
      for (uint64_t j = 0; j < count; ++j) reader.varint("use");
    }
  }

  void read_op(ByteReader& reader, std::string_view parent) {
    RawOp op;
    op.offset = reader.offset();
    const OpName& name = container_.op_names[reader.index(container_.op_names.size(), "op")];
    const uint8_t mask = reader.byte("parts of an op");
    op.location = read_location(reader);
    op.dialect = name.dialect;
    op.stem = name.name;
    const std::optional<VhloOp> versioned = resolve(name, reader);
    if (versioned) {
      op.dialect = "stablehlo";
      op.stem = versioned->name;
    }
    if ((mask & kHasAttributes) != 0) read_attributes(reader, op);
    if ((mask & kHasProperties) != 0) read_properties(reader, name, versioned, op);
    if ((mask & kHasResults) != 0) op.result_types = read_indices(reader, "results");
    if ((mask & kHasOperands) != 0) op.operands = read_indices(reader, "operands");
    if ((mask & kHasSuccessors) != 0 && !read_indices(reader, "successors").empty()) {
      throw unimplemented("{}: byte {}: op {}, got branches to blocks, expected none",
                          container_.file, op.offset, op.stem);
    }
    if ((mask & kHasUseLists) != 0) skip_use_lists(reader, op.result_types.size());
    if (is_cast(op)) return pass_through(op, reader);
    write_head(op, parent, reader);
    if ((mask & kHasRegions) != 0) read_regions(reader, op);
    write_tail(op, reader);
  }

  // MLIR changes a type of VHLO to one of another dialect, which is the same type here.
  static bool is_cast(const RawOp& op) {
    return op.dialect == "builtin" && op.stem == "unrealized_conversion_cast" &&
           op.operands.size() == op.result_types.size();
  }

  void pass_through(const RawOp& op, const ByteReader& at) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const uint64_t id = value(op.operands[i], at).id;
      define(op.result_types[i], at);
      ValueScope& scope = scopes_.back();
      scope.values[scope.next.back() - 1].id = id;
    }
  }

  // Returns the op of VHLO; nullopt for those of other dialects.
  std::optional<VhloOp> resolve(const OpName& name, const ByteReader& at) const {
    if (name.dialect != "vhlo") return std::nullopt;
    if (auto op = vhlo_op(name.name)) return op;
    throw unimplemented("{}: byte {}: op, got 'vhlo.{}', expected one of VHLO {}.{} to {}.{}",
                        container_.file, at.offset(), name.name, kOldestVhlo.major,
                        kOldestVhlo.minor, kNewestVhlo.major, kNewestVhlo.minor);
  }

  static std::vector<uint64_t> read_indices(ByteReader& reader, std::string_view what) {
    std::vector<uint64_t> indices(reader.count(what));
    for (uint64_t& index : indices) index = reader.varint(what);
    return indices;
  }

  void read_attributes(ByteReader& reader, RawOp& op) {
    const DecodedAttribute& dictionary =
        attributes_.attribute(reader.varint("attributes of an op"), reader);
    if (dictionary.kind != DecodedAttribute::Kind::dictionary) {
      throw reader.error("attributes of an op, got {}, expected a dictionary", dictionary.text);
    }
    op.attributes.insert(op.attributes.end(), dictionary.entries.begin(), dictionary.entries.end());
  }

  void read_properties(ByteReader& reader, const OpName& name,
                       const std::optional<VhloOp>& versioned, RawOp& op) {
    if (!name.registered) return read_attributes(reader, op);
    const uint64_t index = reader.index(container_.properties.size(), "properties");
    const Entry& entry = container_.properties[index];
    ByteReader properties(entry.bytes, container_.file, entry.offset);
    const std::string full_name = fmt::format("{}.{}", name.dialect, name.name);
    const ForeignProperties* foreign = versioned ? nullptr : foreign_properties(full_name);
    if (!versioned && foreign == nullptr) {
      throw unimplemented(
          "{}: byte {}: op {}, got properties in its own encoding, expected ops of vhlo: "
          "`stablehlo-translate "
          "--serialize` writes a portable artifact, which has no others",
          container_.file, op.offset, full_name);
    }
    for (std::string_view attribute : versioned ? versioned->attributes : foreign->names) {
      if (!attribute.ends_with('?')) {
        op.attributes.emplace_back(attribute, properties.varint("property"));
        continue;
      }
      attribute.remove_suffix(1);
      const auto [value, present] = properties.flagged("property");
      if (present) op.attributes.emplace_back(attribute, value);
    }
    properties.expect_end("properties");
  }

  // %1:2 = "stablehlo.add"(%0, %0)
  void write_head(const RawOp& op, std::string_view parent, const ByteReader& at) {
    std::string operands;
    for (const uint64_t index : op.operands) {
      operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", value(index, at).id);
    }
    operand_types_.clear();
    for (const uint64_t index : op.operands) operand_types_.push_back(value(index, at).type);
    std::string results;
    for (const uint64_t type : op.result_types) {
      const uint64_t id = define(type, at);
      results += fmt::format("{}%{}", results.empty() ? "" : ", ", id);
    }
    if (!results.empty()) results += " = ";
    write(fmt::format("{}{}({})", results, text::quote(text_name(op, parent)), operands), at);
  }

  // Functions, calls and returns are ops of another dialect in text.
  static std::string text_name(const RawOp& op, std::string_view parent) {
    const bool function = op.dialect == "stablehlo" && (op.stem == "func" || op.stem == "call");
    const bool leaves_function = op.stem == "return" && parent == "func";
    return fmt::format(
        "{}.{}", function || (op.dialect == "stablehlo" && leaves_function) ? "func" : op.dialect,
        op.stem);
  }

  void read_regions(ByteReader& reader, const RawOp& op) {
    const std::vector<uint64_t> operand_types = operand_types_;
    const auto [count, isolated] = reader.flagged("number of regions");
    if (count > reader.remaining())
      throw reader.error("number of regions, got {}, expected fewer", count);
    if (depth_ >= kMaxRegionDepth) {
      throw reader.error("regions, got more than {} levels, expected fewer", kMaxRegionDepth);
    }
    ++depth_;
    if (isolated && container_.format >= kIsolatedSections) {
      const uint8_t id = reader.byte("section of regions");
      if (id != static_cast<uint8_t>(Section::ir))
        throw reader.error("section of regions, got number {}, expected 4", id);
      const uint64_t size = reader.varint("size of regions");
      ByteReader part = reader.part(size, "regions");
      read_region_list(part, op, count, isolated);
      part.expect_end("regions");
    } else {
      read_region_list(reader, op, count, isolated);
    }
    --depth_;
    operand_types_ = operand_types;
  }

  void read_region_list(ByteReader& reader, const RawOp& op, uint64_t count, bool isolated) {
    for (uint64_t i = 0; i < count; ++i) {
      write(i == 0 ? " ({" : ", {", reader);
      read_region(reader, op, isolated);
      write("}", reader);
    }
    if (count > 0) write(")", reader);
  }

  void read_region(ByteReader& reader, const RawOp& op, bool isolated) {
    const uint64_t blocks = reader.varint("number of blocks");
    if (blocks == 0) return;
    if (blocks > 1) {
      throw unimplemented("{}: byte {}: op {}, got {} blocks in a region, expected one",
                          container_.file, op.offset, op.stem, blocks);
    }
    const size_t values = reader.count("values of a region");
    if (isolated) scopes_.emplace_back();
    const size_t begin = scopes_.back().values.size();
    scopes_.back().next.push_back(begin);
    scopes_.back().values.resize(begin + values);
    end_line(op.offset);
    read_block(reader, op.stem);
    scopes_.back().next.pop_back();
    if (isolated) {
      scopes_.pop_back();
    } else {
      scopes_.back().values.resize(begin);
    }
  }

  //  {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  void write_tail(const RawOp& op, const ByteReader& at) {
    const std::vector<std::string> attributes =
        stablehlo_attributes(op.stem, op.attributes, attributes_, at);
    if (!attributes.empty()) write(fmt::format(" {{{}}}", fmt::join(attributes, ", ")), at);
    write(" : (", at);
    write_types(operand_types_, at);
    write(") -> (", at);
    write_types(op.result_types, at);
    write(fmt::format("){}", op.location), at);
    end_line(op.offset);
  }

  void write_types(const std::vector<uint64_t>& types, const ByteReader& at) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (i > 0) write(", ", at);
      write(attributes_.type(types[i], at).text, at);
    }
  }

  const Container& container_;
  AttributeReader attributes_;
  ProgramText result_;
  std::vector<ValueScope> scopes_;
  std::vector<uint64_t> operand_types_;
  uint64_t num_values_ = 0;
  int depth_ = 0;
};

}  // namespace

ProgramText read_program(const Container& container) { return ProgramReader(container).read(); }

}  // namespace systole::hlo::bytecode
