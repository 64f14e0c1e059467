#include "systole/backends/cpu/analysis/product_fusion.h"

#include <algorithm>
#include <array>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/backends/cpu/kernels/onednn_convolution.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/hlo/analysis/match.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;
using StepKind = EpilogueStep::Code;
using Operand = EpilogueStep::Operand;

bool multiplies_matrices(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution);
}

struct StepCode {
  Opcode opcode;
  StepKind left, right;  // with the value so far on this side
};
constexpr StepCode kStepCodes[] = {
    {Opcode::add, StepKind::add, StepKind::add},
    {Opcode::subtract, StepKind::subtract, StepKind::subtract_from},
    {Opcode::multiply, StepKind::multiply, StepKind::multiply},
    {Opcode::maximum, StepKind::maximum, StepKind::maximum},
    {Opcode::minimum, StepKind::minimum, StepKind::minimum},
};

// A vector that lies along the last axis of `operand`; a value without a definition otherwise.
Value columns_of(const Value& operand) {
  const Instruction* const broadcast = hlo::match(operand, Opcode::broadcast_in_dim);
  if (broadcast == nullptr) return {};
  const Value source = broadcast->operand(0);
  const Dims& axes = broadcast->attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions;
  const int last = operand.shape().rank() - 1;
  const bool along =
      axes.size() == 1 && axes[0] == last && source.shape()[0] == operand.shape()[last];
  return along ? source : Value{};
}

bool is_f32_value(const Value& value) { return value.dtype() == DType::f32; }

// The last axis of the result has the columns of the product.
bool has_columns_last(const Instruction& product) {
  if (product.is(Opcode::convolution)) {
    return product.attrs<hlo::ConvolutionAttrs>().output_feature_dimension ==
           product.shape().rank() - 1;
  }
  return DotAxes(product).rhs_free.size() == 1;
}

}  // namespace

bool is_product_fusion(const Instruction& x) {
  if (!x.is(Opcode::fusion)) return false;
  int products = 0;
  for (const Instruction* inner : x.region().instructions()) {
    products += multiplies_matrices(*inner) ? 1 : 0;
    if (inner->num_regions() > 0) return false;  // thunks of a row fusion
  }
  return products == 1;
}

std::optional<StepMatch> match_step(const Instruction& x, Value so_far) {
  const auto* const code = std::ranges::find(kStepCodes, x.opcode(), &StepCode::opcode);
  if (code == std::end(kStepCodes) || !is_f32_value(so_far) || x.results()[0] != so_far.type())
    return std::nullopt;
  const bool left = x.operand(0) == so_far;
  const Value other = x.operand(left ? 1 : 0);
  if (other == so_far || (!left && x.operand(1) != so_far)) return std::nullopt;
  StepMatch match{.step = {.code = left ? code->left : code->right, .operand = Operand::elements},
                  .operand = other};
  if (const Tensor* const number = hlo::splat_of(other)) {
    match.step.operand = Operand::scalar;
    match.step.scalar = number->data<float>()[0];
  } else if (const Value columns = columns_of(other); columns.def != nullptr) {
    match.step.operand = Operand::columns;
    match.operand = columns;
  }
  return match;
}

CompletedProduct completed_product(const Instruction& fusion) {
  // The fusion's operand that a parameter of its region is.
  const auto outside = [&](const Value& parameter) {
    return fusion.operand(static_cast<int>(parameter.def->attrs<hlo::ParameterAttrs>().index));
  };
  const std::vector<Instruction*> inside = fusion.region().instructions();
  Instruction* const product =
      *std::ranges::find_if(inside, [](const Instruction* y) { return multiplies_matrices(*y); });
  CompletedProduct result{.product = product, .epilogue = {}, .operands = {}};
  for (const Value& operand : product->operands()) result.operands.push_back(outside(operand));
  Value so_far = product->result();
  for (Instruction* const y : inside) {
    auto match = match_step(*y, so_far);
    if (!match) continue;
    if (match->step.operand != Operand::scalar) {
      match->step.buffer = static_cast<int>(result.operands.size());
      result.operands.push_back(outside(match->operand));
    }
    result.epilogue.push_back(match->step);
    so_far = y->result();
  }
  return result;
}

bool takes_epilogue(const Instruction& x, bool stays) {
  if (!multiplies_matrices(x) || !is_f32_value({const_cast<Instruction*>(&x), 0}) ||
      !has_columns_last(x))
    return false;
  return x.is(Opcode::convolution)
             ? make_convolution_with_epilogue(x, stays, 1, {}) != nullptr
             : !dot_is_small(x) && make_dot_with_epilogue(x, stays, 1, {}) != nullptr;
}

bool stays_for_long(const Instruction& user, Value operand) {
  if (!is_program_input(operand)) return false;
  const Instruction* x = operand.def;
  while (x->traits().has(hlo::kBitcast)) x = x->operand(0).def;
  if (x->is(Opcode::constant) || user.parent().owner() != nullptr) return true;
  const int64_t parameter = x->attrs<hlo::ParameterAttrs>().index;
  return std::ranges::none_of(user.parent().module().aliases,
                              [&](const auto& a) { return a.parameter == parameter; });
}

}  // namespace systole::cpu
