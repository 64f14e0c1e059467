// A program on real numbers, analysed for quantization: which values are constant, and which
// products, with what follows them, become one 8-bit layer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "systole/base/quantized_type.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::quantize {

// A dot_general or convolution with constant weights and the operations on its channels that follow
// it: output = max(scale * product + shift, 0), the maximum only with `relu`.
struct Layer {
  std::string name;  // of the graph's node; else the opcode and a number
  hlo::Instruction* product = nullptr;
  hlo::Value output;
  Tensor weights;        // f32
  int weight_axis = 0;   // of the output channels in the weights
  int channel_axis = 0;  // of the output channels in the output
  // The scale of weights that fake_quant rounded: one, or one by channel. Empty: of the weights'
  // greatest magnitudes.
  std::vector<double> weight_scales;
  std::vector<float> scale;  // by channel
  std::vector<float> shift;
  bool relu = false;
  bool in_loop = false;
};

// Owns the module: functions are inlined, calls are gone, and so are the fake_quant ops on
// activations, whose ranges own_type() has. Not thread-safe.
class FloatProgram {
 public:
  // Copies and analyses a verified module. Errors: INVALID_ARGUMENT for a module that has quantized
  // types.
  explicit FloatProgram(const hlo::Module& module);

  const hlo::Module& module() const { return *module_; }
  const hlo::Computation& main() const { return module_->entry(); }
  const std::vector<Layer>& layers() const { return layers_; }

  // The layer whose output is the instruction's result; null if there is none.
  const Layer* layer_of(const hlo::Instruction& instruction) const;
  // Whether a layer computes the instruction on its way to its output.
  bool inside_layer(const hlo::Instruction& instruction) const {
    return inside_.contains(&instruction);
  }

  // The type of a value that fake_quant rounded in training; null for others.
  QuantizedTypePtr own_type(hlo::Value value) const;

  // The value of one that depends on constants alone; nullopt for any other, and for those that
  // need more than 256 MB.
  std::optional<Tensor> known(hlo::Value value);

 private:
  void remove_fake_quants(const hlo::Computation& computation);
  std::vector<double> weight_scales_of(const hlo::Instruction& product, const Layer& layer);
  void find_layers(const hlo::Computation& computation, bool in_loop);
  std::optional<Layer> layer_from(hlo::Instruction& product);
  void extend(Layer& layer);
  bool absorb(Layer& layer, hlo::Instruction& user);
  bool absorb_batch_norm(Layer& layer, hlo::Instruction& user);
  bool absorb_relu(Layer& layer, hlo::Instruction& user);
  std::optional<std::vector<float>> channel_values(hlo::Value value, const Layer& layer);

  std::unique_ptr<hlo::Module> module_;
  std::vector<Layer> layers_;
  std::unordered_map<const hlo::Instruction*, size_t> by_output_;
  std::unordered_set<const hlo::Instruction*> inside_;
  std::unordered_map<hlo::Value, QuantizedTypePtr, hlo::ValueHash> own_types_;
  std::unordered_map<hlo::Value, std::optional<Tensor>, hlo::ValueHash> known_;
};

}  // namespace systole::quantize
