#include "systole/hlo/semantics/comparator.h"

#include <compare>
#include <limits>

#include "systole/base/convert.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

// IEEE-754's total order as integers: -NaN, -inf, ..., -0, +0, ..., +inf, +NaN.
std::vector<int64_t> total_order_keys(const Tensor& elements) {
  const int shift = 64 - dtype_info(elements.dtype()).bits;
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < elements.num_elements(); ++i) {
    const auto bits = static_cast<int64_t>(element_bits(elements, i) << shift) >> shift;
    keys.push_back(bits < 0 ? bits ^ ~kLowest : bits);
  }
  return keys;
}

}  // namespace

bool holds_for(ComparisonDirection direction, std::partial_ordering order) {
  switch (direction) {
    case ComparisonDirection::eq:
      return std::is_eq(order);
    case ComparisonDirection::ne:
      return std::is_neq(order);
    case ComparisonDirection::ge:
      return std::is_gteq(order);
    case ComparisonDirection::gt:
      return std::is_gt(order);
    case ComparisonDirection::le:
      return std::is_lteq(order);
    default:
      return std::is_lt(order);
  }
}

std::optional<Comparator> match_comparator(const Computation& region) {
  if (!region.has_results() || region.results().size() != 1) return std::nullopt;
  const Instruction& compare = *region.results()[0].def;
  // The region has only parameters, the comparison and the return.
  const bool alone = region.num_instructions() == region.num_parameters() + 2;
  if (!alone || !compare.is(Opcode::compare) || &compare.parent() != &region) return std::nullopt;
  if (is_complex(compare.operand(0).dtype())) return std::nullopt;
  for (int pair = 0; 2 * pair + 1 < region.num_parameters(); ++pair) {
    if (compare.operand(0) == region.parameter(2 * pair) &&
        compare.operand(1) == region.parameter(2 * pair + 1)) {
      return Comparator{pair, compare.attrs<CompareAttrs>()};
    }
  }
  return std::nullopt;
}

ComparisonKeys::ComparisonKeys(const Tensor& elements, ComparisonType type) {
  if (type == ComparisonType::totalorder) {
    keys_ = total_order_keys(elements);
  } else if (is_floating(elements.dtype())) {
    const Tensor wide = elements.cast(DType::f64);
    keys_ = std::vector<double>(wide.data<double>().begin(), wide.data<double>().end());
  } else {
    const Tensor wide = elements.cast(DType::s64);
    std::vector<int64_t> keys(wide.data<int64_t>().begin(), wide.data<int64_t>().end());
    if (elements.dtype() == DType::u64) {
      for (int64_t& key : keys)
        key ^= kLowest;  // the upper half of u64 wrapped to negative numbers
    }
    keys_ = std::move(keys);
  }
}

bool ComparisonKeys::holds(ComparisonDirection direction, int64_t a, int64_t b) const {
  return std::visit([&](const auto& keys) { return holds_for(direction, keys[a] <=> keys[b]); },
                    keys_);
}

}  // namespace systole::hlo
