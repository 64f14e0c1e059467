// Attentions as they are written in HLO: two products with a softmax between them.
#pragma once

#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/attention.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns the matrices of a product's result in the array of `last`, the product or a transpose of
// it; nullopt if their rows are not dense.
std::optional<MatrixArray> result_matrices(const hlo::Instruction& dot,
                                           const hlo::Instruction& last);

struct AttentionMatch {
  Attention attention;
  std::vector<hlo::Value> inputs;  // q, k, v, the arrays of the steps: the kernel's first buffers
  // What the kernel computes, but for constants and masks.
  std::vector<const hlo::Instruction*> inside;
};

// Returns how the kernel of an attention (kernels/attention.h) computes `last`, the product of a
// softmax's weights with v, or the transpose of one; nullopt if it does not.
std::optional<AttentionMatch> match_attention(const hlo::Instruction& last);

// Returns whether the instruction is a fusion that computes an attention or the gradients of one,
// which passes/attention_fusion.h makes.
bool is_attention_fusion(const hlo::Instruction& instruction);

// How the kernel computes the fusion; inputs are parameters of its region.
// REQUIRES: is_attention_fusion(fusion), with one result.
AttentionMatch fused_attention(const hlo::Instruction& fusion);

}  // namespace systole::cpu
