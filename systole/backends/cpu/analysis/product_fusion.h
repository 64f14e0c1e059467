// Products whose results are completed by elementwise steps in the same kernel.
#pragma once

#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns whether the instruction is a fusion of a product or convolution and the steps after it,
// which passes/epilogue_fusion.h makes. Its region holds the product of two parameters, and the
// steps with the broadcasts that they read.
bool is_product_fusion(const hlo::Instruction& instruction);

// An elementwise instruction as a step after a product.
struct StepMatch {
  EpilogueStep step;   // `buffer` is not set
  hlo::Value operand;  // the columns' numbers, or the array
};
// Returns nullopt unless the instruction computes its result from `so_far`, once, and a number, one
// number for each element of the last axis, or an array of the same type.
std::optional<StepMatch> match_step(const hlo::Instruction& instruction, hlo::Value so_far);

// What a product fusion computes.
struct CompletedProduct {
  const hlo::Instruction* product;   // inside of the fusion
  Epilogue epilogue;                 // its buffers count from the first of `operands`
  std::vector<hlo::Value> operands;  // of the fusion: the product's, then those of the steps
};
// REQUIRES: is_product_fusion(fusion).
CompletedProduct completed_product(const hlo::Instruction& fusion);

// Returns whether a kernel exists that applies steps to this product or convolution, whose second
// operand `stays` (stays_for_long) or not.
bool takes_epilogue(const hlo::Instruction& product, bool stays);

// Returns whether the operand has the same value from run to run: a constant, or a parameter of the
// program that no result is written over. A packed copy of it is worth keeping then.
bool stays_for_long(const hlo::Instruction& user, hlo::Value operand);

}  // namespace systole::cpu
