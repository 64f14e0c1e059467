#include "systole/hlo/semantics/op_semantics.h"

#include <array>

#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/semantics/quantized_types.h"

namespace systole::hlo {
namespace {

using SemanticsTable = std::array<const OpSemantics*, kNumOpcodes>;

SemanticsTable make_table() {
  SemanticsTable table{};
  for (const NamedSemantics& row : all_semantics()) {
    const auto opcode = opcode_from_name(row.name);
    if (!opcode) {
      throw internal_error("hlo/ops: got '{}.cc', expected a name of opcodes.def", row.name);
    }
    table[static_cast<size_t>(*opcode)] = row.semantics;
  }
  return table;
}

void check_count(Opcode opcode, std::string_view what, int got, int min, int max) {
  if (got >= min && (max < 0 || got <= max)) return;
  const std::string_view bound = min == max ? "" : got < min ? "at least " : "at most ";
  throw invalid_argument("{}: number of {}, got {}, expected {}{}", opcode, what, got, bound,
                         got < min ? min : max);
}

}  // namespace

const TensorType& InferContext::declared_type() const {
  if (declared.size() != 1) {
    throw invalid_argument("{}: declared result types, got {}, expected 1", opcode,
                           declared.size());
  }
  return declared[0];
}

const OpSemantics& semantics_of(Opcode opcode) {
  static const SemanticsTable kTable = make_table();
  const OpSemantics* semantics = kTable[static_cast<size_t>(opcode)];
  if (semantics == nullptr) {
    throw unimplemented("hlo: semantics, got '{0}', expected a file hlo/ops/{0}.cc", opcode);
  }
  return *semantics;
}

OpQuantization quantization_of(Opcode opcode) {
  const bool elementwise = traits(opcode).has(kElementwise);
  return semantics_of(opcode).quantized.value_or(
      OpQuantization{.form = elementwise ? QuantizedForm::real : QuantizedForm::none});
}

AcrossReplicas across_replicas(Opcode opcode) {
  const bool contextual = traits(opcode).has(kContextual);
  return semantics_of(opcode).replicas.value_or(contextual ? AcrossReplicas::one_each
                                                           : AcrossReplicas::by_operands);
}

std::vector<TensorType> infer_types(const InferContext& context) {
  const OpcodeTraits& row = traits(context.opcode);
  check_count(context.opcode, "operands", context.num_operands(), row.min_operands,
              row.max_operands);
  const int regions = static_cast<int>(context.regions.size());
  check_count(context.opcode, "regions", regions, row.regions < 0 ? 0 : row.regions, row.regions);
  std::vector<TensorType> types;
  try {
    types = is_quantized(context) ? infer_quantized(context)
                                  : semantics_of(context.opcode).infer(context);
  } catch (const std::bad_variant_access&) {
    throw internal_error("{}: attributes, got those of another opcode, expected its own",
                         context.opcode);
  }
  if (!context.declared.empty()) {
    check_types(to_string(context.opcode), "declared result types", context.declared, types);
  }
  return types;
}

}  // namespace systole::hlo
