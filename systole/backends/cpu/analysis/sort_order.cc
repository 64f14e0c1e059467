#include "systole/backends/cpu/analysis/sort_order.h"

#include <algorithm>

namespace systole::cpu {

using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

bool is_compare(const Instruction& x, ComparisonDirection direction) {
  return x.is(Opcode::compare) && x.attrs<hlo::CompareAttrs>().direction == direction;
}

// Larger comparators are called as they are.
constexpr int kMaxPairs = 256;

bool mirrored(Value left, Value right, int& pairs) {
  if (--pairs < 0) return false;
  const Instruction& a = *left.def;
  const Instruction& b = *right.def;
  if (a.opcode() != b.opcode() || left.index != right.index || left.type() != right.type())
    return false;
  if (a.is(Opcode::parameter)) {
    const int64_t index = a.attrs<hlo::ParameterAttrs>().index;
    return &a.parent() == &b.parent() && index % 2 == 0 &&
           b.attrs<hlo::ParameterAttrs>().index == index + 1;
  }
  if (!a.is(Opcode::constant) && !a.traits().has(hlo::kElementwise)) return false;
  if (a.attrs() != b.attrs() || a.num_operands() != b.num_operands()) return false;
  for (int i = 0; i < a.num_operands(); ++i) {
    if (!mirrored(a.operand(i), b.operand(i), pairs)) return false;
  }
  return true;
}

// `right` is computed from right elements as `left` is from the left ones.
bool mirrored(Value left, Value right) {
  int pairs = kMaxPairs;
  return mirrored(left, right, pairs);
}

std::optional<SortOrder> match_comparison(const Instruction& x) {
  const bool descending = is_compare(x, ComparisonDirection::gt);
  if (!descending && !is_compare(x, ComparisonDirection::lt)) return std::nullopt;
  if (is_complex(x.operand(0).dtype()) || !mirrored(x.operand(0), x.operand(1)))
    return std::nullopt;
  return SortOrder{
      .key = x.operand(0),
      .total = x.attrs<hlo::CompareAttrs>().compare_type == hlo::ComparisonType::totalorder,
      .descending = descending};
}

// left != left and right == right: NaN before a number.
bool is_nan_before_number(const Instruction& x, const SortOrder& order) {
  if (!x.is(Opcode::and_)) return false;
  const auto matches = [&](const Instruction& nan, const Instruction& number) {
    return is_compare(nan, ComparisonDirection::ne) &&
           is_compare(number, ComparisonDirection::eq) && nan.operand(0) == nan.operand(1) &&
           nan.operand(0) == order.key && number.operand(0) == number.operand(1) &&
           mirrored(order.key, number.operand(0));
  };
  const Instruction& a = *x.operand(0).def;
  const Instruction& b = *x.operand(1).def;
  return matches(a, b) || matches(b, a);
}

// How much of `value` is read along `axis`.
int64_t elements_read(Value value, int axis) {
  int64_t result = 0;
  for (const Instruction* user : value.def->users()) {
    for (int i = 0; i < user->num_operands(); ++i) {
      if (user->operand(i) != value) continue;
      int64_t read = value.shape()[axis];
      if (user->is(Opcode::slice)) {
        read = user->attrs<hlo::SliceAttrs>().limit_indices[axis];
      } else if (user->is(Opcode::fusion)) {
        read = elements_read(user->region().parameter(i), axis);
      }
      result = std::max(result, read);
    }
  }
  return result;
}

}  // namespace

std::optional<SortOrder> match_sort_order(const Instruction& sort) {
  const Instruction& x = *sort.region().results()[0].def;
  if (!x.is(Opcode::or_)) return match_comparison(x);
  for (int i = 0; i < 2; ++i) {
    const auto order = match_comparison(*x.operand(i).def);
    if (order && order->descending && !order->total &&
        is_nan_before_number(*x.operand(1 - i).def, *order)) {
      return order;
    }
  }
  return std::nullopt;
}

int64_t sorted_elements_read(const Instruction& sort) {
  const int axis =
      normalize_axis("sort", sort.attrs<hlo::SortAttrs>().dimension, sort.shape().rank());
  int64_t result = 0;
  for (int k = 0; k < sort.num_results(); ++k) {
    result = std::max(result, elements_read(const_cast<Instruction&>(sort).result(k), axis));
  }
  return result;
}

}  // namespace systole::cpu
