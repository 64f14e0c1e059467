// The enums of instructions' attributes as attributes of VHLO: the one table of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "systole/hlo/ir/attrs.h"
#include "systole/stablehlo/bytecode/encoding.h"

namespace systole::hlo::bytecode {

struct EnumAttribute {
  std::string_view kind;  // in text: #stablehlo<kind name>
  std::span<const std::string_view> names;
  VhloAttr code;
  uint64_t first = 0;  // the number of the first value in files
};

template <class E>
constexpr EnumAttribute make_enum_attribute(VhloAttr code, uint64_t first = 0) {
  return {EnumNames<E>::kind, EnumNames<E>::names, code, first};
}

inline constexpr EnumAttribute kEnumAttributes[] = {
    make_enum_attribute<ComparisonDirection>(VhloAttr::comparison_direction),
    make_enum_attribute<ComparisonType>(VhloAttr::comparison_type),
    make_enum_attribute<FftType>(VhloAttr::fft_type),
    make_enum_attribute<Precision>(VhloAttr::precision),
    make_enum_attribute<RngAlgorithm>(VhloAttr::rng_algorithm),
    make_enum_attribute<RngDistribution>(VhloAttr::rng_distribution, 1),
    make_enum_attribute<Transpose>(VhloAttr::transpose),
};

// Returns the row of a kind of attribute, or null.
constexpr const EnumAttribute* find_enum_attribute(VhloAttr code) {
  const auto* found = std::ranges::find(kEnumAttributes, code, &EnumAttribute::code);
  return found == std::ranges::end(kEnumAttributes) ? nullptr : found;
}
constexpr const EnumAttribute* find_enum_attribute(std::string_view kind) {
  const auto* found = std::ranges::find(kEnumAttributes, kind, &EnumAttribute::kind);
  return found == std::ranges::end(kEnumAttributes) ? nullptr : found;
}

}  // namespace systole::hlo::bytecode
