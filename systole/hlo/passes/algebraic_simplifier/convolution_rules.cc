// Convolutions of padded operands.
#include <algorithm>
#include <optional>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

size_t u(int64_t axis) { return static_cast<size_t>(axis); }

// An operand that is padded with zeros, pad(source, 0) or transpose(pad(source, 0)), and by how
// much along its axes.
struct Padded {
  Value source;
  Dims permutation;  // empty: none
  Dims low, high, interior;

  // In the operand's order of axes.
  Value without_padding(Builder& builder) const {
    return permutation.empty() ? source : builder.transpose(source, permutation);
  }

  bool only_at(const Dims& axes) const {
    for (size_t axis = 0; axis < low.size(); ++axis) {
      const bool allowed = std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
      if (!allowed && (low[axis] != 0 || high[axis] != 0 || interior[axis] != 0)) return false;
    }
    return true;
  }
};

std::optional<Padded> padded(Value operand) {
  const Instruction* transpose = match(operand, Opcode::transpose);
  const Instruction* pad =
      match(transpose == nullptr ? operand : transpose->operand(0), Opcode::pad);
  if (pad == nullptr || !is_splat(pad->operand(1), 0)) return std::nullopt;
  const auto& attrs = pad->attrs<PadAttrs>();
  Padded result{.source = pad->operand(0),
                .permutation = {},
                .low = attrs.edge_padding_low,
                .high = attrs.edge_padding_high,
                .interior = attrs.interior_padding};
  if (transpose == nullptr) return result;
  result.permutation = transpose->attrs<TransposeAttrs>().permutation;
  for (size_t i = 0; i < result.permutation.size(); ++i) {
    const size_t axis = u(result.permutation[i]);
    result.low[i] = attrs.edge_padding_low[axis];
    result.high[i] = attrs.edge_padding_high[axis];
    result.interior[i] = attrs.interior_padding[axis];
  }
  return result;
}

bool all_zero(const Dims& amounts) {
  return std::ranges::all_of(amounts, [](int64_t amount) { return amount == 0; });
}

bool some_negative(const Dims& amounts) {
  return std::ranges::any_of(amounts, [](int64_t amount) { return amount < 0; });
}

// The attributes with a list for each that has none.
ConvolutionAttrs with_lists(const Instruction& convolution) {
  ConvolutionAttrs attrs = convolution.attrs<ConvolutionAttrs>();
  const size_t rank = attrs.input_spatial_dimensions.size();
  if (attrs.padding.empty()) attrs.padding.assign(rank, {0, 0});
  if (attrs.lhs_dilation.empty()) attrs.lhs_dilation.assign(rank, 1);
  if (attrs.rhs_dilation.empty()) attrs.rhs_dilation.assign(rank, 1);
  return attrs;
}

// convolution(pad(x), k): holes become the input's dilation, edges the window's padding. The array
// with the holes, often many times as large as x, is not made. (The gradients of a strided layer
// are written so.)
Replacement convolution_of_padded_input(Instruction& op, Builder& builder) {
  const std::optional<Padded> input = padded(op.operand(0));
  if (!input) return {};
  ConvolutionAttrs attrs = with_lists(op);
  if (!input->only_at(attrs.input_spatial_dimensions) || some_negative(input->low) ||
      some_negative(input->high))
    return {};
  for (size_t d = 0; d < attrs.padding.size(); ++d) {
    const size_t axis = u(attrs.input_spatial_dimensions[d]);
    attrs.padding[d].first += input->low[axis] * attrs.lhs_dilation[d];
    attrs.padding[d].second += input->high[axis] * attrs.lhs_dilation[d];
    attrs.lhs_dilation[d] *= input->interior[axis] + 1;
  }
  return {builder
              .op(Opcode::convolution, {input->without_padding(builder), op.operand(1)},
                  std::move(attrs), {op.type()})
              ->result()};
}

// convolution(x, pad(k)), with holes alone: they become the kernel's dilation.
Replacement convolution_of_padded_kernel(Instruction& op, Builder& builder) {
  const std::optional<Padded> kernel = padded(op.operand(1));
  if (!kernel) return {};
  ConvolutionAttrs attrs = with_lists(op);
  if (!kernel->only_at(attrs.kernel_spatial_dimensions) || !all_zero(kernel->low) ||
      !all_zero(kernel->high))
    return {};
  for (size_t d = 0; d < attrs.rhs_dilation.size(); ++d)
    attrs.rhs_dilation[d] *= kernel->interior[u(attrs.kernel_spatial_dimensions[d])] + 1;
  return {builder
              .op(Opcode::convolution, {op.operand(0), kernel->without_padding(builder)},
                  std::move(attrs), {op.type()})
              ->result()};
}

constexpr Rule kConvolutionRules[] = {
    {"convolution_of_padded_input", Opcode::convolution, convolution_of_padded_input},
    {"convolution_of_padded_kernel", Opcode::convolution, convolution_of_padded_kernel},
};

}  // namespace

std::span<const Rule> convolution_rules() { return kConvolutionRules; }

}  // namespace systole::hlo
