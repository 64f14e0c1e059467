// Builds instructions with inferred types. Lowerings, gradients and passes write HLO with it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Appends to a computation, or inserts before one of its instructions. Every method infers and
// checks its result type. Errors: INVALID_ARGUMENT from inference. As in StableHLO, both operands
// of a binary operation must have the same type; `broadcast` and `splat` provide that.
class Builder {
 public:
  explicit Builder(Computation& computation, Instruction* before = nullptr)
      : computation_(&computation), before_(before) {}

  Computation& computation() const { return *computation_; }
  // Metadata of the instructions built from now on.
  void set_metadata(Metadata metadata) { metadata_ = std::move(metadata); }
  const Metadata& metadata() const { return metadata_; }

  // Builds any opcode. `declared` is required if the result type does not follow from the operands.
  Instruction* op(Opcode opcode, std::vector<Value> operands, Attrs attrs = NoAttrs{},
                  std::vector<TensorType> declared = {});
  // Builds an opcode with regions. `fill` adds them to the new instruction before types are
  // inferred.
  Instruction* op_with_regions(Opcode opcode, std::vector<Value> operands, Attrs attrs,
                               const std::function<void(Instruction&)>& fill,
                               std::vector<TensorType> declared = {});

  // Leaves.
  Value constant(Tensor value);
  Value scalar(DType dtype, double value);
  // A tensor with every element equal to `value`.
  Value splat(const TensorType& type, double value);
  Value splat_like(Value like, double value) { return splat(like.type(), value); }
  Value iota(const TensorType& type, int64_t dimension);

  // Elementwise.
  Value unary(Opcode opcode, Value x);
  Value binary(Opcode opcode, Value x, Value y);
  Value add(Value x, Value y) { return binary(Opcode::add, x, y); }
  Value subtract(Value x, Value y) { return binary(Opcode::subtract, x, y); }
  Value multiply(Value x, Value y) { return binary(Opcode::multiply, x, y); }
  Value divide(Value x, Value y) { return binary(Opcode::divide, x, y); }
  Value maximum(Value x, Value y) { return binary(Opcode::maximum, x, y); }
  Value minimum(Value x, Value y) { return binary(Opcode::minimum, x, y); }
  Value negate(Value x) { return unary(Opcode::negate, x); }
  Value convert(Value x, DType dtype);  // x itself when it has that dtype
  Value compare(Value x, Value y, ComparisonDirection direction);
  Value select(Value condition, Value on_true, Value on_false);

  // Data movement.
  Value broadcast_in_dim(Value x, const Shape& shape, Dims broadcast_dimensions);
  // NumPy broadcasting: aligns trailing axes and expands sizes of 1. Returns x if the shapes are
  // equal.
  Value broadcast(Value x, const Shape& shape);
  Value reshape(Value x, const Shape& shape);
  Value transpose(Value x, Dims permutation);
  Value slice(Value x, Dims start, Dims limit, Dims strides = {});
  Value pad(Value x, Value padding_value, Dims low, Dims high, Dims interior = {});
  Value concatenate(std::span<const Value> values, int64_t dimension);
  Value reverse(Value x, Dims dimensions);
  Value dynamic_slice(Value x, std::span<const Value> starts, Dims sizes);
  Value dynamic_update_slice(Value x, Value update, std::span<const Value> starts);

  // Reductions. `reducer` is an elementwise opcode on two operands; its identity is the initial
  // value.
  Value reduce(Value x, Opcode reducer, Dims dimensions);
  // Returns the value e with reducer(e, x) == x: 0 for add, -inf or the lowest value for maximum...
  Value identity(Opcode reducer, DType dtype);

  Value dot_general(Value x, Value y, DotAttrs attrs, DType result_dtype = DType::invalid);

 private:
  Computation* computation_;
  Instruction* before_;
  Metadata metadata_;
};

// Builds the region (a, b) -> reducer(a, b) on scalars of `dtype`.
void fill_reducer(Computation& region, Opcode reducer, DType dtype);
// Returns the reducer if `region` is exactly that region, with operands in order; otherwise
// nullopt.
std::optional<Opcode> match_reducer(const Computation& region);

}  // namespace systole::hlo
