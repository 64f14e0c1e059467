// Programs of StableHLO as stages that run one after the other, on the host and on the machine.
#pragma once

#include <memory>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/tpu_v1/compiler/compiler.h"

namespace systole::tpu_v1 {

// A part of a module that runs on one device. Values that cross from one stage to another are named
// by their index in StagedModule::values.
struct ModuleStage {
  std::unique_ptr<hlo::Module> host;  // a module for the host; null: a program of the machine
  Program program;                    // ports "input0", "input1"..., "output0"...
  CompileReport report;
  std::vector<int> inputs;   // indices of values: by parameter of `host`, or by input port
  std::vector<int> outputs;  // the same, by result of `host` or by output port
};

struct StagedModule {
  std::vector<TensorType> values;  // the parameters of main come first
  std::vector<ModuleStage> stages;
  std::vector<int> results;  // indices of the values that main returns

  bool uses_machine() const;
};

// Splits a module. The machine computes the ops with quantized results. The host computes ops on
// real numbers, uniform_quantize of them, ops that StableHLO defines on real numbers and that the
// machine lacks (softmax, functions of other scales), and movements of quantized values before the
// machine needs them. Loops of a known number of steps are unrolled. Errors: those of network_of()
// and compile_network().
StagedModule stage_module(const hlo::Module& module, const MachineConfig& config);

}  // namespace systole::tpu_v1
