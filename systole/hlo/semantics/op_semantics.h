// The meaning of an opcode: its result types, its value, its text form and its rules for replicas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/hlo/semantics/assembly_format.h"

namespace systole::hlo {

class Evaluator;
namespace replicas {
class Vectorizer;
}

// The input of inference. `declared` holds the result types given by the text or the builder's
// caller, or is empty. Opcodes whose result type does not follow from their operands (reshape,
// iota, convert...) read and check it.
struct InferContext {
  Opcode opcode;
  std::span<const Value> operands;
  const Attrs& attrs;
  std::span<const std::unique_ptr<Computation>> regions;
  std::span<const TensorType> declared;
  // For `call`: the module; nullptr for an instruction outside of a module.
  const Module* module = nullptr;

  const TensorType& operand(int i) const { return operands[static_cast<size_t>(i)].type(); }
  int num_operands() const { return static_cast<int>(operands.size()); }
  template <class T>
  const T& get() const {
    return std::get<T>(attrs);
  }
  // Returns the only declared result type. Errors: INVALID_ARGUMENT if there is not exactly one.
  const TensorType& declared_type() const;
};

// The smallest program that uses an opcode, as a template: $T stands for the element type, $R for
// the element type of the parts of a complex $T, and $1 for the number one.
struct OpExample {
  std::string_view parameters = {};  // of main: "%a: tensor<4x$T>"
  std::string_view results = {};     // types of main's results, which are %r, or %r#0, %r#1...
  std::string_view body = {};
  std::string_view functions = {};  // besides main
};

// How an opcode computes with quantized types; quantized.h has the arithmetic.
enum class QuantizedForm : uint8_t {
  none,      // not at all
  moves,     // moves integers
  picks,     // picks one of several integers of one type; on other types as `real`
  adds,      // adds 32-bit integers of one type without zero points; on other types as `real`
  products,  // sums products of integers, or of reals by dequantized weights
  own,       // `infer` and `evaluate` handle quantized types
  real,      // dequantizes, computes on real numbers, quantizes
};
struct OpQuantization {
  QuantizedForm form = QuantizedForm::none;
  bool per_axis = false;  // operands and results may have a scale per index; otherwise one scale
};

// Whether the replicas that run one program get equal results of an op. Ops of the last three kinds
// meet others: they communicate, or read which process runs them.
enum class AcrossReplicas : uint8_t {
  by_operands,    // equal results where the operands are equal
  apart,          // each replica has results of its own, without the others
  one_each,       // each replica has results of its own
  one_per_group,  // a replica group has equal results, unless an operand names its root
  one_for_all,    // all replicas have equal results
};

// Computes an instruction for all replicas at once; see passes/replicas. Returns the results, or
// nothing if the instruction must be written once per replica.
using VectorizeRule = std::vector<Value> (*)(replicas::Vectorizer&, Instruction&);
// Computes the sum of an instruction's result over all replicas. Returns nullopt if that is no
// cheaper than adding up the results.
using SumRule = std::optional<Value> (*)(replicas::Vectorizer&, Instruction&);

// Everything about an opcode besides its row in opcodes.def. hlo/ops/<opcode>.cc defines
// `extern const OpSemantics <opcode>_semantics`.
struct OpSemantics {
  // Checks the operands, attributes and regions against the specification's constraints (labels
  // C1..Cn in the code) and returns the result types. One function for inference and verification.
  // Errors: INVALID_ARGUMENT `<opcode>: <what>, got <value>, expected <value>`.
  std::vector<TensorType> (*infer)(const InferContext&) = nullptr;
  // Returns the reference value; written for readability. Null for structure (parameter, return).
  std::vector<Tensor> (*evaluate)(const Instruction&, std::span<const Tensor> operands,
                                  const Evaluator&) = nullptr;
  // The pretty form in text. Without one, elementwise opcodes have `$* : same`, and other opcodes
  // the generic form only.
  std::optional<AssemblyFormat> format = {};
  // The opcode's row in the tables of docs/stablehlo.md. Elementwise opcodes without an example use
  // operands and a result of type tensor<4x$T>.
  std::optional<OpExample> example = {};
  // Without it, elementwise opcodes have the form `real`, and others `none`.
  std::optional<OpQuantization> quantized = {};
  // Whether each result element is a copy of an operand's element whose place the types and the
  // attributes tell.
  bool moves_elements = false;
  // Without it, contextual opcodes have `one_each`, and others `by_operands`.
  std::optional<AcrossReplicas> replicas = {};
  // Elementwise opcodes need no rule.
  VectorizeRule vectorize = nullptr;
  SumRule sum_over_replicas = nullptr;
};

struct NamedSemantics {
  std::string_view name;
  const OpSemantics* semantics;
};
// Generated by the build from the folder hlo/ops.
std::span<const NamedSemantics> all_semantics();

const OpSemantics& semantics_of(Opcode opcode);

// Return the fields `quantized` and `replicas` of the opcode's OpSemantics. A field that the op's
// file does not set follows from the opcode's traits.
OpQuantization quantization_of(Opcode opcode);
AcrossReplicas across_replicas(Opcode opcode);

// Checks operand and region counts against the opcode table, infers the result types, and compares
// them with the declared types. Errors: INVALID_ARGUMENT; the caller, who knows the instruction's
// metadata, appends it.
std::vector<TensorType> infer_types(const InferContext& context);

}  // namespace systole::hlo
