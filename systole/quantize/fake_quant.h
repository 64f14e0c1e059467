// The fake_quant ops of quantization-aware training, found in a program.
#pragma once

#include <functional>
#include <optional>

#include "systole/base/quantized_type.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::quantize {

// The value of one that depends on constants alone; nullopt for any other.
using KnownValue = std::function<std::optional<Tensor>(hlo::Value)>;

// output = input clamped to [least, greatest] and rounded to multiples of `scale`. The ranges are
// f32 scalars, or vectors with an element for each index of the last dimension.
struct FakeQuant {
  hlo::Value input;
  Tensor least;
  Tensor greatest;
  Tensor scale;

  // The signed 8-bit type of the range; null for several ranges or another number of bits.
  QuantizedTypePtr activation_type() const;
};

// Returns the op whose result the instruction is, as graph/ops/quantization lowers it; nullopt if
// it is no such result or the range is not constant.
std::optional<FakeQuant> match_fake_quant(const hlo::Instruction& x, const KnownValue& known);

}  // namespace systole::quantize
