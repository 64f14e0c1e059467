#include "systole/backends/cpu/analysis/causal_mask.h"

#include <algorithm>

#include "systole/hlo/analysis/match.h"

namespace systole::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Positions and numbers up to this: their sums do not wrap around in s32.
constexpr int64_t kMaxPosition = int64_t{1} << 30;

// Returns the axis of a broadcast's operand that becomes `axis` of its result, with the same size;
// -1 if there is none.
int64_t axis_before(const Instruction& broadcast, int64_t axis) {
  const Dims& axes = broadcast.attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions;
  const auto found = std::ranges::find(axes, axis);
  if (found == axes.end()) return -1;
  const int64_t before = found - axes.begin();
  const bool same = broadcast.operand(0).shape()[static_cast<int>(before)] ==
                    broadcast.shape()[static_cast<int>(axis)];
  return same ? before : -1;
}

std::optional<int64_t> whole_number(const Value& value) {
  const Tensor* const number = hlo::splat_of(value);
  if (number == nullptr) return std::nullopt;
  if (value.dtype() == DType::s32) return number->data<int32_t>()[0];
  if (value.dtype() == DType::s64) return number->data<int64_t>()[0];
  return std::nullopt;
}

// Returns the difference of every element and its position along the axis; nullopt if it is not one
// number, none is found or elements may wrap around.
std::optional<int64_t> beyond_position(const Value& value, int64_t axis) {
  const Instruction& x = *value.def;
  if (x.is(Opcode::iota)) {
    const bool wide = x.dtype() == DType::s32 || x.dtype() == DType::s64;
    const bool along = x.attrs<hlo::IotaAttrs>().iota_dimension == axis &&
                       x.shape()[static_cast<int>(axis)] <= kMaxPosition;
    return wide && along ? std::optional<int64_t>(0) : std::nullopt;
  }
  if (x.is(Opcode::broadcast_in_dim)) {
    const int64_t before = axis_before(x, axis);
    return before < 0 ? std::nullopt : beyond_position(x.operand(0), before);
  }
  if (x.is(Opcode::add)) {
    const auto number = whole_number(x.operand(1));
    const auto rest = beyond_position(x.operand(0), axis);
    const auto is_short = [](int64_t n) { return -kMaxPosition <= n && n <= kMaxPosition; };
    if (number && rest && is_short(*number) && is_short(*rest + *number)) return *rest + *number;
  }
  return std::nullopt;
}

// The shift of a comparison of positions along a query's and a key's axis.
std::optional<int64_t> shift_of_comparison(const Instruction& x, int64_t query, int64_t key) {
  const ComparisonDirection direction = x.attrs<hlo::CompareAttrs>().direction;
  const bool query_first =
      direction == ComparisonDirection::ge || direction == ComparisonDirection::gt;
  if (!query_first && direction != ComparisonDirection::le && direction != ComparisonDirection::lt)
    return std::nullopt;
  const auto of_query = beyond_position(x.operand(query_first ? 0 : 1), query);
  const auto of_key = beyond_position(x.operand(query_first ? 1 : 0), key);
  if (!of_query || !of_key) return std::nullopt;
  const bool strict = direction == ComparisonDirection::gt || direction == ComparisonDirection::lt;
  return *of_query - *of_key - (strict ? 1 : 0);
}

// The shift of a constant [queries, keys].
std::optional<int64_t> shift_of_constant(const Tensor& mask) {
  if (mask.shape().rank() != 2) return std::nullopt;
  const auto seen = mask.data<bool>();
  const int64_t keys = mask.shape()[1];
  const int64_t shift = std::count(seen.begin(), seen.begin() + keys, true) - 1;
  if (shift < 0) return std::nullopt;
  for (int64_t i = 0; i < mask.shape()[0]; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      if (seen[i * keys + j] != (j <= i + shift)) return std::nullopt;
    }
  }
  return shift;
}

std::optional<int64_t> shift_along(const Value& mask, int64_t query, int64_t key) {
  const Instruction& x = *mask.def;
  if (x.is(Opcode::broadcast_in_dim)) {
    const int64_t query_before = axis_before(x, query);
    const int64_t key_before = axis_before(x, key);
    if (query_before < 0 || key_before < 0) return std::nullopt;
    return shift_along(x.operand(0), query_before, key_before);
  }
  if (x.is(Opcode::reshape)) {
    const Shape& before = x.operand(0).shape();
    const int rank = before.rank();
    const bool keeps_both = rank >= 2 && query == mask.shape().rank() - 2 && key == query + 1 &&
                            before[rank - 2] == mask.shape()[static_cast<int>(query)] &&
                            before[rank - 1] == mask.shape()[static_cast<int>(key)];
    return keeps_both ? shift_along(x.operand(0), rank - 2, rank - 1) : std::nullopt;
  }
  if (x.is(Opcode::compare)) return shift_of_comparison(x, query, key);
  const Tensor* const constant = hlo::constant_of(mask);
  if (constant != nullptr && query == 0 && key == 1) return shift_of_constant(*constant);
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> causal_shift(const Value& mask) {
  const int rank = mask.shape().rank();
  if (rank < 2 || mask.shape().num_elements() == 0) return std::nullopt;
  return shift_along(mask, rank - 2, rank - 1);
}

}  // namespace systole::cpu
