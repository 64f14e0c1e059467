#include "systole/hlo/ir/attrs.h"

#include <algorithm>

namespace systole::hlo {
namespace {

template <class T>
Attrs make_attrs() {
  return T();
}

constexpr Attrs (*kMakeAttrs[])() = {
#define OP(enumerator, name, min_operands, max_operands, regions, attrs, flags) make_attrs<attrs>,
#include "systole/hlo/ir/opcodes.def"
#undef OP
};

void fill_if_empty(Dims& dims, size_t rank) {
  if (dims.empty()) dims.assign(rank, 1);
}

}  // namespace

Attrs default_attrs(Opcode opcode) { return kMakeAttrs[static_cast<size_t>(opcode)](); }

void WindowAttrs::set_window_defaults(int operand_rank) {
  const auto rank = static_cast<size_t>(operand_rank);
  fill_if_empty(window_strides, rank);
  fill_if_empty(base_dilations, rank);
  fill_if_empty(window_dilations, rank);
  if (padding.empty()) padding.resize(rank);
}

void ConvolutionAttrs::set_window_defaults(int operand_rank) {
  const auto rank = static_cast<size_t>(std::max(operand_rank - 2, 0));
  fill_if_empty(window_strides, rank);
  fill_if_empty(lhs_dilation, rank);
  fill_if_empty(rhs_dilation, rank);
  if (padding.empty()) padding.resize(rank);
  if (window_reversal.empty()) window_reversal.resize(rank);
}

void set_window_defaults(Attrs& attrs, int operand_rank) {
  std::visit(
      [operand_rank]<class T>(T& fields) {
        if constexpr (requires { fields.set_window_defaults(operand_rank); }) {
          fields.set_window_defaults(operand_rank);
        }
      },
      attrs);
}

std::string_view CustomCallAttrs::settings() const {
  for (const NamedAttrText& other : others) {
    if (other.name == "mhlo.backend_config") return other.attribute.text;
  }
  return backend_config.text;
}

}  // namespace systole::hlo
