// Writes the quantized program.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "systole/quantize/calibration.h"
#include "systole/quantize/float_program.h"
#include "systole/quantize/quantize.h"

namespace systole::quantize {

// Returns the f32 values of the program whose ranges the rewriting needs: inputs and outputs of
// layers, and results of ops that stay on 8 bits with a scale of their own.
std::vector<hlo::Value> values_to_calibrate(const FloatProgram& program);

using ActivationTypes = std::unordered_map<hlo::Value, QuantizedTypePtr, hlo::ValueHash>;

struct Rewritten {
  std::unique_ptr<hlo::Module> module;
  // With `observe`: the layers of main whose outputs, as f32, are main's last results, in order.
  std::vector<const Layer*> observed;
};

// Rewrites with these activation types. A value without a type is not quantized.
Rewritten rewrite(FloatProgram& program, const ActivationTypes& types, const Options& options,
                  bool observe);

}  // namespace systole::quantize
