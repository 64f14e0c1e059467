// Runs a program on calibration data and collects the ranges of its values.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/quantize/ranges.h"

namespace systole::quantize {

using Histograms = std::unordered_map<hlo::Value, Histogram, hlo::ValueHash>;

// Returns histograms of f32 values of main and of the bodies of its loops. Of values in loops, only
// the least and the greatest number of each run are added. Errors: INVALID_ARGUMENT for arguments
// of other types than main's parameters, and for NaN or infinity in an argument or a value.
Histograms calibrate(const hlo::Module& module, std::span<const hlo::Value> values,
                     std::span<const std::vector<Tensor>> batches, const std::string& backend);

// Returns the program with these values of main as its only results.
std::unique_ptr<hlo::Module> with_results(const hlo::Module& module,
                                          std::span<const hlo::Value> values);

}  // namespace systole::quantize
