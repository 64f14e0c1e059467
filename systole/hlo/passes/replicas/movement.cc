// Data movement: the replicas are a leading axis that the instruction does not move.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

// The same opcode on the stacked operands with attributes `attrs`.
std::vector<Value> with_attrs(Vectorizer& v, Instruction& x, Attrs attrs) {
  return {v.b()
              .op(x.opcode(), v.stacked(x.operands()), std::move(attrs), {v.stacked_type(x.type())})
              ->result()};
}

}  // namespace

std::vector<Value> vectorize_broadcast_in_dim(Vectorizer& v, Instruction& x) {
  const Dims& axes = x.attrs<BroadcastInDimAttrs>().broadcast_dimensions;
  return with_attrs(v, x, BroadcastInDimAttrs{with_front(shifted(axes), 0)});
}

std::vector<Value> vectorize_transpose(Vectorizer& v, Instruction& x) {
  const Dims& permutation = x.attrs<TransposeAttrs>().permutation;
  return with_attrs(v, x, TransposeAttrs{with_front(shifted(permutation), 0)});
}

std::vector<Value> vectorize_same_attrs(Vectorizer& v, Instruction& x) {
  return with_attrs(v, x, x.attrs());
}

std::vector<Value> vectorize_reverse(Vectorizer& v, Instruction& x) {
  return with_attrs(v, x, DimensionsAttrs{shifted(x.attrs<DimensionsAttrs>().dimensions)});
}

std::vector<Value> vectorize_concatenate(Vectorizer& v, Instruction& x) {
  return with_attrs(v, x, ConcatenateAttrs{x.attrs<ConcatenateAttrs>().dimension + 1});
}

std::vector<Value> vectorize_slice(Vectorizer& v, Instruction& x) {
  const auto& a = x.attrs<SliceAttrs>();
  return with_attrs(v, x,
                    SliceAttrs{.start_indices = with_front(a.start_indices, 0),
                               .limit_indices = with_front(a.limit_indices, v.num_replicas()),
                               .strides = with_front(a.strides, 1)});
}

std::vector<Value> vectorize_pad(Vectorizer& v, Instruction& x) {
  if (v.varying(x.operand(1))) return {};
  const auto& a = x.attrs<PadAttrs>();
  return {v.b().pad(v.stacked(x.operand(0)), v.at(x.operand(1)), with_front(a.edge_padding_low, 0),
                    with_front(a.edge_padding_high, 0), with_front(a.interior_padding, 0))};
}

namespace {

// Returns start indices with a leading 0 for the replicas; nullopt if they vary.
std::optional<std::vector<Value>> starts_of(Vectorizer& v, std::span<const Value> starts) {
  const DType dtype = starts.empty() ? DType::s32 : starts[0].dtype();
  std::vector<Value> result{v.b().scalar(dtype, 0)};
  for (const Value& start : starts) {
    if (v.varying(start)) return std::nullopt;
    result.push_back(v.at(start));
  }
  return result;
}

bool is_replica_id(Value value) {
  while (value.def->is(Opcode::convert)) value = value.def->operand(0);
  return value.def->is(Opcode::replica_id);
}

// Returns whether the slice is row replica_id of an array with one row per replica; the result is
// then the array itself.
bool takes_own_row(const Vectorizer& v, const Instruction& x) {
  const Shape& shape = x.operand(0).shape();
  if (shape.rank() == 0 || shape[0] != v.num_replicas() || x.shape()[0] != 1) return false;
  if (v.varying(x.operand(0)) || !is_replica_id(x.operand(1))) return false;
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (x.shape()[axis] != shape[axis]) return false;
  }
  return true;
}

}  // namespace

std::vector<Value> vectorize_dynamic_slice(Vectorizer& v, Instruction& x) {
  if (takes_own_row(v, x)) {
    return {v.b().reshape(v.at(x.operand(0)), v.stacked_type(x.type()).shape)};
  }
  const auto starts = starts_of(v, x.operands().subspan(1));
  if (!starts) return {};
  return {
      v.b().dynamic_slice(v.stacked(x.operand(0)), *starts, v.stacked_type(x.type()).shape.dims())};
}

std::vector<Value> vectorize_dynamic_update_slice(Vectorizer& v, Instruction& x) {
  const auto starts = starts_of(v, x.operands().subspan(2));
  if (!starts) return {};
  return {v.b().dynamic_update_slice(v.stacked(x.operand(0)), v.stacked(x.operand(1)), *starts)};
}

}  // namespace systole::hlo::replicas
