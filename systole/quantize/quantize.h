// Post-training quantization: a program on f32 with constant weights becomes one on 8-bit integers,
// in StableHLO's quantized types.
//
//   const auto quantized = quantize::quantize(*module, batches, {});
//   hlo::print(*quantized.module);
//
// Products with constant weights become products of signed 8-bit integers with exact 32-bit sums,
// biases of 32 bits and one requantization, which batch normalisation, scale and ReLU are folded
// into. Weights are symmetric in [-127, 127] with one scale per output channel; activations have
// one scale and a zero point. Moves, pooling, additions and multiplications between them stay on 8
// bits; all other ops run on f32. Parameters and results of main keep their types.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/base/fixed_point.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/quantize/ranges.h"

namespace systole::quantize {

struct Options {
  RangeMethod method = RangeMethod::min_max;
  double percentile = 99.99;  // of RangeMethod::percentile
  // How sums are rescaled: recorded in the module (hlo/semantics/quantized.h). nullopt: as
  // StableHLO's specification says.
  std::optional<FixedPointRounding> rounding = FixedPointRounding::tflite;
  std::string backend = "cpu";  // runs the calibration
  // Measures each layer against the original program on the calibration data.
  bool measure = true;
};

// One quantized layer.
struct LayerReport {
  std::string name;
  std::string kind;  // the opcode of its product
  Range range;       // of its output
  double scale = 0;
  int64_t zero_point = 0;
  int64_t weight_bytes = 0;  // as 8-bit integers
  // Signal to quantization noise of the output, in dB, and the fraction of the original outputs
  // that lie outside of the representable range. NaN if not measured: layers in loops are not.
  double sqnr = 0;
  double saturation = 0;
};

struct Report {
  std::vector<LayerReport> layers;
  int64_t products = 0;  // dot_general and convolution in the original program
  int64_t constant_bytes_before = 0;
  int64_t constant_bytes_after = 0;

  // A table, one line per layer, and the sizes.
  std::string to_string() const;
};

struct Quantized {
  std::unique_ptr<hlo::Module> module;
  Report report;
};

// Cuts examples, a tensor [examples, ...] for each parameter of main, into the arguments of runs:
// at most `most` whole batches; the examples left over are not used. Errors: INVALID_ARGUMENT for
// fewer examples than one batch, and for tensors with different numbers of examples.
std::vector<std::vector<Tensor>> batches_of(std::span<const Tensor> examples, int64_t batch,
                                            int64_t most);

// Quantizes a verified module. `batches` are the arguments of main, one list for each run of the
// calibration. Errors: INVALID_ARGUMENT if the module has quantized types already or no product
// with constant weights, if there are no batches, for arguments of another type or shape, and for
// NaN or infinity in arguments and activations, with batch, parameter and element.
Quantized quantize(const hlo::Module& module, std::span<const std::vector<Tensor>> batches,
                   const Options& options);

}  // namespace systole::quantize
