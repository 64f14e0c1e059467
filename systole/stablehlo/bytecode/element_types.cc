#include "systole/stablehlo/bytecode/element_types.h"

#include <algorithm>
#include <iterator>

namespace systole::hlo::bytecode {
namespace {

template <class Key, class Field>
const ElementType* find_type(const Key& key, Field field) {
  const auto* found = std::ranges::find(kElementTypes, key, field);
  return found == std::end(kElementTypes) ? nullptr : found;
}

}  // namespace

const ElementType* element_type(uint64_t code) { return find_type(code, &ElementType::code); }

const ElementType* element_type(std::string_view name) {
  return find_type(name, &ElementType::name);
}

}  // namespace systole::hlo::bytecode
