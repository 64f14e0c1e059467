#include "systole/quantize/fake_quant.h"

#include <cmath>

namespace systole::quantize {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// The value, or that before it was broadcast; nullopt if it is not known.
std::optional<Tensor> known_unspread(const KnownValue& known, Value value) {
  const Instruction& x = *value.def;
  return known(x.is(Opcode::broadcast_in_dim) ? x.operand(0) : value);
}

// Steps from a result to what it is computed from, along first operands.
class OperandChain {
 public:
  OperandChain(Value at, const KnownValue& known) : at_(at), known_(known) {}

  Value at() const { return at_; }
  // Moves to the first operand of the instruction at at(), which must be of this opcode. `other`,
  // if not null, gets the known value of the second operand. Returns false if either is not so.
  bool step(Opcode opcode, std::optional<Tensor>* other = nullptr) {
    const Instruction& x = *at_.def;
    if (!x.is(opcode)) return false;
    if (other != nullptr) *other = known_unspread(known_, x.operand(1));
    at_ = x.operand(0);
    return other == nullptr || other->has_value();
  }

 private:
  Value at_;
  const KnownValue& known_;
};

}  // namespace

QuantizedTypePtr FakeQuant::activation_type() const {
  constexpr double kSteps = 255;
  if (scale.num_elements() != 1) return nullptr;
  const double step = scale.item<float>();
  const double low = least.item<float>();
  const double levels = std::round((greatest.item<float>() - low) / step);
  const double zero = std::round(-128 - low / step);
  if (levels != kSteps || !(zero >= -128 && zero <= 127)) return nullptr;
  return per_tensor_type(DType::s8, step, static_cast<int64_t>(zero));
}

std::optional<FakeQuant> match_fake_quant(const Instruction& x, const KnownValue& known) {
  if (!x.is(Opcode::select) || x.dtype() != DType::f32) return std::nullopt;
  OperandChain chain(x.operand(2), known);
  std::optional<Tensor> scale;
  std::optional<Tensor> least;
  std::optional<Tensor> greatest;
  const bool found = chain.step(Opcode::multiply, &scale) && chain.step(Opcode::floor) &&
                     chain.step(Opcode::add) && chain.step(Opcode::subtract) &&
                     chain.step(Opcode::multiply) && chain.step(Opcode::subtract) &&
                     chain.step(Opcode::maximum, &least) && chain.step(Opcode::minimum, &greatest);
  if (!found || least->num_elements() != scale->num_elements() ||
      greatest->num_elements() != scale->num_elements()) {
    return std::nullopt;
  }
  // No range was given: the op returns zeros.
  const std::optional<Tensor> none = known_unspread(known, x.operand(0));
  for (int64_t i = 0; none && i < none->num_elements(); ++i) {
    if (none->as_double(i) != 0) return std::nullopt;
  }
  if (!none) return std::nullopt;
  return FakeQuant{chain.at(), *least, *greatest, *scale};
}

}  // namespace systole::quantize
