#include "systole/stablehlo/chlo/chlo.h"

#include <algorithm>
#include <functional>

#include "systole/base/error.h"
#include "systole/stablehlo/chlo/broadcast.h"
#include "systole/stablehlo/chlo/op_list.h"

namespace systole::hlo::chlo {
namespace {

// `broadcast_<opcode>` of every elementwise opcode on two operands; null rows for the others.
constexpr NamedExpansion kBroadcastForms[] = {
#define OP(enumerator, name, min_operands, max_operands, regions, attrs, flags) \
  {"broadcast_" name, ((flags)&kElementwise) != 0 && (max_operands) == 2        \
                          ? &expand_broadcast_form<Opcode::enumerator>          \
                          : nullptr},
#include "systole/hlo/ir/opcodes.def"
#undef OP
};

std::vector<NamedExpansion> collect() {
  const std::span<const NamedExpansion> files = expansion_files();
  std::vector<NamedExpansion> all(files.begin(), files.end());
  std::ranges::copy_if(kBroadcastForms, std::back_inserter(all),
                       [](const NamedExpansion& row) { return row.expand != nullptr; });
  std::ranges::sort(all, {}, &NamedExpansion::name);
  return all;
}

}  // namespace

std::span<const NamedExpansion> all_expansions() {
  static const std::vector<NamedExpansion> all = collect();
  return all;
}

Expand find_expansion(std::string_view name) {
  const std::span<const NamedExpansion> all = all_expansions();
  const auto row = std::ranges::lower_bound(all, name, {}, &NamedExpansion::name);
  return row != all.end() && row->name == name ? row->expand : nullptr;
}

Value expand(Builder& b, std::string_view name, std::initializer_list<Value> operands) {
  const Expand expansion = find_expansion(name);
  if (expansion == nullptr) throw internal_error("chlo: got '{}', expected an op", name);
  return expansion(b, operands, {}, {})[0];
}

}  // namespace systole::hlo::chlo
