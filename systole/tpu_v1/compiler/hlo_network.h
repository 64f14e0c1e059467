// Quantized ops of StableHLO as layers of a network.
#pragma once

#include <span>
#include <string>

#include "systole/hlo/ir/module.h"
#include "systole/tpu_v1/compiler/network.h"

namespace systole::tpu_v1 {

// A part of a program that the machine computes. All borrowed.
struct HloPart {
  std::vector<hlo::Instruction*> instructions;  // in program order
  std::vector<hlo::Value> inputs;               // values of the host that they read
  std::vector<hlo::Value> outputs;              // their values that the host reads
  // The values of constants and of what is computed from constants alone.
  const std::unordered_map<hlo::Value, Tensor, hlo::ValueHash>* constants = nullptr;
};

struct HloNetwork {
  Network network;  // its inputs and outputs are those of the part, in order
  int64_t batch = 0;
};

// Returns whether the machine computes an op that StableHLO defines on real numbers: additions and
// multiplications by integers, and the functions of its own scales (machine/activation.h).
bool computes_real_op(const hlo::Instruction& op);

// Arrays have the batch as their first dimension, features as their last, and at most two spatial
// dimensions between them. 8-bit and 16-bit storage types are arrays; sums of 32 bits stay in the
// accumulators, and become arrays by uniform_quantize. Errors: UNIMPLEMENTED, with the op and its
// place, for what the machine has no instruction for; INVALID_ARGUMENT if the module does not say
// how to round (hlo/semantics/quantized.h).
HloNetwork network_of(const HloPart& part);

}  // namespace systole::tpu_v1
