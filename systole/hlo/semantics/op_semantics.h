// What an opcode means: how its result types follow from its operands, and its value.
#pragma once

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

// What inference may look at. `declared` holds the result types that the program text or the
// builder's caller gave; it is empty when there are none. An opcode whose result type does not
// follow from its operands (reshape, iota, convert...) reads it and checks it.
struct InferContext {
  Opcode opcode;
  std::span<const Value> operands;
  const Attrs& attrs;
  std::span<const std::unique_ptr<Computation>> regions;
  std::span<const TensorType> declared;
  // For `call`: the module; nullptr while a free-standing instruction is inferred.
  const Module* module = nullptr;

  const TensorType& operand(int i) const { return operands[static_cast<size_t>(i)].type(); }
  int num_operands() const { return static_cast<int>(operands.size()); }
  template <class T>
  const T& get() const {
    return std::get<T>(attrs);
  }
  // The only declared result type. Errors: INVALID_ARGUMENT when there is not exactly one.
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
  // Elementwise opcodes need no rule.
  VectorizeRule vectorize = nullptr;
  SumRule sum_over_replicas = nullptr;
};

struct NamedSemantics {
  std::string_view name;
  const OpSemantics* semantics;
};
// Made by the build from the folder hlo/ops.
std::span<const NamedSemantics> all_semantics();

const OpSemantics& semantics_of(Opcode opcode);

// Checks operand and region counts against the opcode table, infers, and checks the declared types,
// where given, against what was inferred. The caller, who knows the instruction's metadata, puts it
// behind the error.
std::vector<TensorType> infer_types(const InferContext& context);

}  // namespace systole::hlo
