#include "systole/stablehlo/text/import.h"

#include <algorithm>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/signature.h"
#include "systole/stablehlo/chlo/chlo.h"
#include "systole/stablehlo/text/attr_reader.h"
#include "systole/stablehlo/text/einsum.h"
#include "systole/stablehlo/text/sharding.h"

namespace systole::hlo::text {
namespace {

constexpr std::string_view kDeprecated[] = {
    "stablehlo.broadcast",   "stablehlo.create_token", "stablehlo.cross-replica-sum",
    "stablehlo.dot",         "stablehlo.einsum",       "stablehlo.torch_index_select",
    "stablehlo.unary_einsum"};
constexpr std::string_view kTuples[] = {"stablehlo.get_tuple_element", "stablehlo.tuple"};
constexpr std::string_view kChlo = "chlo.";
constexpr std::string_view kMhlo = "mhlo.";
constexpr std::string_view kTopK = "top_k";
// Ops whose value is their operand, as a whole. sharding_group has no result.
constexpr std::string_view kPlacements[] = {"sdy.propagation_barrier", "sdy.reshard",
                                            "sdy.sharding_constraint", "sdy.sharding_group"};

class Importer {
 public:
  Importer(Lexer& lexer, Computation& computation, const ParsedOp& op)
      : lexer_(lexer), builder_(computation), op_(op), declared_(flatten(op.results)) {
    builder_.set_metadata(op.metadata);
  }

  std::vector<Value> run() {
    if (op_.name.starts_with(kChlo)) return expand_chlo();
    if (const auto op = chlo_of_custom_call(op_)) return expand_custom_call(*op);
    if (op_.name.starts_with("sdy.")) return placement();
    if (op_.name.starts_with("check.") || op_.name.starts_with("interpreter.")) return call();
    const std::string_view stem = op_.stem();
    if (stem == "broadcast") return broadcast();
    if (stem == "create_token") return create_token();
    if (stem == "cross-replica-sum") return cross_replica_sum();
    if (stem == "dot") return dot();
    if (stem == "rng_bit_generator") return rng_bit_generator();
    if (stem == "torch_index_select") return torch_index_select();
    if (stem == "unary_einsum") return unary_einsum();
    return einsum();
  }

 private:
  std::vector<Value> expand_chlo() {
    const auto has_k = [](const Dictionary& fields) { return fields.find("k") != nullptr; };
    if (op_.stem() == kTopK && std::ranges::none_of(op_.attributes, has_k)) throw no_k();
    const chlo::Expand expand = chlo::find_expansion(op_.stem());
    const chlo::Attrs attrs = read_chlo_attrs(lexer_, op_.name, op_.offset(), op_.attributes);
    return expand(builder_, op_.values(), attrs, declared_);
  }

  // The attributes of mhlo.topk are in a nested dictionary; the other targets have none.
  std::vector<Value> expand_custom_call(const std::string& name) {
    chlo::Attrs attrs;
    bool has_k = name != kTopK;
    for (const Dictionary& dictionary : op_.attributes) {
      const Attribute* own = dictionary.find("mhlo.attributes");
      if (own == nullptr) continue;
      const auto* fields = std::get_if<Dictionary>(&own->value);
      if (fields == nullptr) throw lexer_.error_at(own->offset, "mhlo.attributes, expected {...}");
      attrs.k = read_integer_or(lexer_, *fields, "k", 0);
      has_k = has_k || fields->find("k") != nullptr;
      const Attribute* largest = fields->find("largest");
      const bool* value = largest == nullptr ? nullptr : std::get_if<bool>(&largest->value);
      if (value != nullptr && !*value) {
        throw unimplemented("{}: mhlo.topk, got largest = false, expected true",
                            lexer_.place(largest->offset));
      }
    }
    if (!has_k) throw no_k();
    return chlo::find_expansion(name)(builder_, op_.values(), attrs, declared_);
  }

  static Error no_k() { return invalid_argument("top_k: attributes, got no 'k', expected one"); }

  // The target is the op's name. An expected value that is an attribute becomes an operand.
  std::vector<Value> call() {
    std::vector<Value> operands = op_.values();
    Dictionary attributes;
    attributes.entries.push_back({"call_target_name", {.value = op_.name}});
    attributes.entries.push_back({"has_side_effect", {.value = true}});
    for (const Dictionary& dictionary : op_.attributes) {
      for (const NamedAttribute& entry : dictionary.entries) {
        const auto* constant = std::get_if<Tensor>(&entry.attribute.value);
        const auto* splat = std::get_if<Splat>(&entry.attribute.value);
        if (constant != nullptr && entry.name == "value") {
          operands.push_back(builder_.constant(*constant));
        } else if (splat != nullptr && entry.name == "value") {
          lexer_.charge(entry.attribute.offset, splat->type.byte_size());
          operands.push_back(builder_.constant(elements_of(*splat)));
        } else {
          attributes.entries.push_back(entry);
        }
      }
    }
    Attrs attrs = read_attrs(lexer_, Opcode::custom_call, op_.offset(), {std::move(attributes)});
    return results(
        builder_.op(Opcode::custom_call, std::move(operands), std::move(attrs), declared_));
  }

  std::vector<Value> placement() {
    expect_operands(1);
    if (op_.stem() == "sharding_group") return sharding_group();
    for (const Dictionary& dictionary : op_.attributes) {
      const Attribute* sharding = dictionary.find("sharding");
      if (sharding == nullptr) continue;
      return {add_sharding(builder_, op_.values()[0], kShardyAttribute,
                           sharding_text(lexer_, *sharding))};
    }
    return op_.values();
  }

  // Values of a group are split alike. The call that tells it has a result, which nothing uses.
  std::vector<Value> sharding_group() {
    for (const Dictionary& dictionary : op_.attributes) {
      if (dictionary.find("group_id") == nullptr) continue;
      const int64_t id = read_integer_or(lexer_, dictionary, "group_id", 0);
      add_sharding(builder_, op_.values()[0], "sdy.sharding_group", fmt::format("{} : i64", id));
    }
    return {};
  }

  std::vector<Value> broadcast() {
    expect_operands(1);
    const Dims sizes = legacy_attrs().broadcast_sizes;
    const auto& operand = op_.values()[0].shape();
    BroadcastInDimAttrs attrs;
    Dims dims = sizes;
    for (int i = 0; i < operand.rank(); ++i) {
      attrs.broadcast_dimensions.push_back(static_cast<int64_t>(sizes.size()) + i);
      dims.push_back(operand[i]);
    }
    const TensorType type{op_.values()[0].dtype(), Shape(std::move(dims))};
    return results(builder_.op(Opcode::broadcast_in_dim, op_.values(), std::move(attrs), {type}));
  }

  std::vector<Value> create_token() {
    return results(builder_.op(Opcode::after_all, op_.values()));
  }

  // Sums over groups of replicas.
  std::vector<Value> cross_replica_sum() {
    expect_operands(1);
    Attrs attrs = read_attrs(lexer_, Opcode::all_reduce, op_.offset(), op_.attributes);
    const DType dtype = op_.values()[0].dtype();
    const auto fill = [dtype](Instruction& instruction) {
      fill_reducer(instruction.add_region(), Opcode::add, dtype);
    };
    return results(builder_.op_with_regions(Opcode::all_reduce, op_.values(), std::move(attrs),
                                            fill, declared_));
  }

  // Contracts the last axis of the left side with the first of the right side.
  std::vector<Value> dot() {
    expect_operands(2);
    DotAttrs attrs;
    attrs.precision_config = legacy_attrs().precision_config;
    const int rank = op_.values()[0].shape().rank();
    if (rank == 0 || op_.values()[1].shape().rank() == 0) {
      throw invalid_argument("dot: ranks of operands, got a scalar, expected 1 or 2");
    }
    attrs.lhs_contracting_dimensions = {rank - 1};
    attrs.rhs_contracting_dimensions = {0};
    return results(builder_.op(Opcode::dot_general, op_.values(), std::move(attrs), declared_));
  }

  std::vector<Value> einsum() {
    expect_operands(2);
    const LegacyAttrs attrs = legacy_attrs();
    return {build_einsum(builder_, attrs.einsum_config, op_.values()[0], op_.values()[1], declared_,
                         attrs.precision_config)};
  }

  std::vector<Value> unary_einsum() {
    expect_operands(1);
    return {build_unary_einsum(builder_, legacy_attrs().einsum_config, op_.values()[0])};
  }

  // Draws with the state's bits as ui64 words: 64-bit elements unchanged, pairs of 32-bit elements
  // with the low word first.
  std::vector<Value> rng_bit_generator() {
    expect_operands(1);
    const Value state = op_.values()[0];
    const TensorType& type = state.type();
    const bool halves = dtype_info(type.dtype).bits == 32;
    if (type.shape.rank() != 1 || declared_.size() != 2 || declared_[0] != type ||
        (halves && type.shape[0] % 2 != 0)) {
      throw invalid_argument(
          "rng_bit_generator: types, got a state of {} and results {}, expected a state of rank 1, "
          "with an even number of elements where these have 32 bits, and results of its type and "
          "of the bits",
          type, to_string(declared_));
    }
    const int64_t words = type.shape[0] / (halves ? 2 : 1);
    const TensorType wide{DType::u64, {words}};
    const TensorType parts{type.dtype, halves ? Shape{words, 2} : Shape{words}};
    const auto cast = [this](Value value, const TensorType& to) {
      return builder_.op(Opcode::bitcast_convert, {value}, NoAttrs(), {to})->result();
    };
    Attrs attrs = read_attrs(lexer_, Opcode::rng_bit_generator, op_.offset(), op_.attributes);
    const Value from = cast(builder_.reshape(state, parts.shape), wide);
    Instruction* const drawn =
        builder_.op(Opcode::rng_bit_generator, {from}, std::move(attrs), {wide, declared_[1]});
    const Value next = cast(drawn->result(0), parts);
    return {builder_.reshape(next, type.shape), drawn->result(1)};
  }

  // The indices replace the axis `dim`. The first `batch_dims` axes of both are batches.
  std::vector<Value> torch_index_select() {
    expect_operands(2);
    const Shape& operand = op_.values()[0].shape();
    const int64_t indices = op_.values()[1].shape().rank();
    const auto [dim, batch] = index_axes(operand.rank(), indices);
    GatherAttrs attrs;
    for (int64_t d = 0; d < operand.rank(); ++d) {
      const bool whole = d >= batch && d != dim;
      attrs.slice_sizes.push_back(whole ? operand[static_cast<int>(d)] : 1);
      if (whole) attrs.offset_dims.push_back(d < dim ? d : d - 1 + indices - batch);
    }
    for (int64_t d = 0; d < batch; ++d) {
      attrs.operand_batching_dims.push_back(d);
      attrs.start_indices_batching_dims.push_back(d);
    }
    attrs.collapsed_slice_dims = attrs.start_index_map = {dim};
    attrs.index_vector_dim = indices;
    return results(builder_.op(Opcode::gather, op_.values(), std::move(attrs), declared_));
  }

  std::pair<int64_t, int64_t> index_axes(int64_t operand, int64_t indices) {
    const LegacyAttrs attrs = legacy_attrs();
    const int64_t dim = attrs.dim < 0 ? attrs.dim + operand : attrs.dim;
    const int64_t batch = attrs.batch_dims < 0 ? attrs.batch_dims + indices : attrs.batch_dims;
    if (dim < 0 || dim >= operand || batch < 0 || batch > dim || batch > indices) {
      throw invalid_argument(
          "torch_index_select: dim and batch_dims, got {} and {}, expected an axis of {} and axes "
          "before it of {}",
          attrs.dim, attrs.batch_dims, operand, indices);
    }
    return {dim, batch};
  }

  LegacyAttrs legacy_attrs() {
    return read_legacy_attrs(lexer_, op_.name, op_.offset(), op_.attributes);
  }

  void expect_operands(size_t count) const {
    if (op_.values().size() == count) return;
    throw invalid_argument("{}: number of operands, got {}, expected {}", op_.name,
                           op_.values().size(), count);
  }

  static std::vector<Value> results(Instruction* instruction) {
    std::vector<Value> values;
    for (int i = 0; i < instruction->num_results(); ++i) values.push_back(instruction->result(i));
    return values;
  }

  Lexer& lexer_;
  Builder builder_;
  const ParsedOp& op_;
  std::vector<TensorType> declared_;
};

}  // namespace

std::string native_name(std::string_view name) {
  if (name == "arith.constant" || name == "sdy.constant") return "stablehlo.constant";
  if (name == "mhlo.erf") return "chlo.erf";
  if (!name.starts_with(kMhlo)) return std::string(name);
  return fmt::format("stablehlo.{}", name.substr(kMhlo.size()));
}

Value import_splat(Lexer& lexer, Computation& computation, const Splat& splat, const ParsedOp& op) {
  Builder builder(computation);
  builder.set_metadata(op.metadata);
  const std::vector<TensorType> declared = flatten(op.results);
  if (declared.size() == 1 && declared[0].is_quantized()) {
    lexer.charge(op.offset(), splat.type.byte_size());
    return builder.op(Opcode::constant, {}, ConstantAttrs{elements_of(splat)}, declared)->result();
  }
  return builder.broadcast_in_dim(builder.constant(splat.element), splat.type.shape, {});
}

std::optional<Opcode> opcode_of(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view dialect = name.substr(0, dot);
  const std::optional<Opcode> opcode = opcode_from_name(name.substr(dot + 1));
  if (!opcode || *opcode == Opcode::parameter) return std::nullopt;
  if (dialect == "func") {
    const bool in_func = *opcode == Opcode::call || *opcode == Opcode::return_;
    return in_func ? opcode : std::nullopt;
  }
  if (dialect != (traits(*opcode).has(kInternal) ? "systole" : "stablehlo")) return std::nullopt;
  return opcode == Opcode::call ? std::nullopt : opcode;
}

std::optional<std::string> chlo_of_custom_call(const ParsedOp& op) {
  if (op.name != "stablehlo.custom_call") return std::nullopt;
  for (const Dictionary& dictionary : op.attributes) {
    const Attribute* attribute = dictionary.find("call_target_name");
    if (attribute == nullptr) continue;
    const auto* symbol = std::get_if<Symbol>(&attribute->value);
    const auto* string = std::get_if<std::string>(&attribute->value);
    const std::string target = symbol != nullptr ? symbol->name : string != nullptr ? *string : "";
    if (!target.starts_with(kMhlo)) return std::nullopt;
    std::string name = target == "mhlo.topk" ? std::string(kTopK) : target.substr(kMhlo.size());
    if (chlo::find_expansion(name) == nullptr) return std::nullopt;
    return name;
  }
  return std::nullopt;
}

bool has_foreign_rng_state(const ParsedOp& op) {
  if (op.name != "stablehlo.rng_bit_generator" || op.operands.size() != 1) return false;
  if (op.operands[0]->type.is_tuple) return false;
  const DType dtype = op.operands[0]->type.leaf.dtype;
  return dtype == DType::s64 || dtype == DType::s32 || dtype == DType::u32;
}

bool is_known_op(std::string_view name) {
  if (name.starts_with(kChlo)) return chlo::find_expansion(name.substr(kChlo.size())) != nullptr;
  return opcode_of(name).has_value() || name.starts_with("check.") ||
         name.starts_with("interpreter.") ||
         std::ranges::find(kTuples, name) != std::end(kTuples) ||
         std::ranges::find(kPlacements, name) != std::end(kPlacements) || name == kShardedRegion ||
         name == kNamedRegion || name == kShardedReturn ||
         std::ranges::find(kDeprecated, name) != std::end(kDeprecated);
}

std::vector<Value> import_op(Lexer& lexer, Computation& computation, const ParsedOp& op) {
  return Importer(lexer, computation, op).run();
}

}  // namespace systole::hlo::text
