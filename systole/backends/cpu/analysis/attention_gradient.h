// Gradients of attentions as they are written in HLO.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/attention.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

struct AttentionGradientMatch {
  AttentionGradient gradient;
  std::vector<hlo::Value> inputs;  // q, k, v, the arrays of the steps, the result's gradient
  // The products that are the gradients of q, k and v, and each product's transpose if the kernel
  // computes that, else the product.
  std::array<const hlo::Instruction*, 3> products, lasts;
  // What the kernel computes and the forward pass does not.
  std::vector<const hlo::Instruction*> inside;
};

// Returns how the kernel of an attention's gradient (kernels/attention.h) computes `of_q`, the
// product of the scores' gradients with k, and the gradients of k and v beside it; nullopt if it
// does not.
std::optional<AttentionGradientMatch> match_attention_gradient(const hlo::Instruction& of_q);

// Returns whether the instruction is a fusion that computes the gradients of an attention.
bool is_attention_gradient_fusion(const hlo::Instruction& instruction);

// How the kernel computes the fusion; inputs are parameters of its region.
// REQUIRES: is_attention_gradient_fusion(fusion).
AttentionGradientMatch fused_attention_gradient(const hlo::Instruction& fusion);

}  // namespace systole::cpu
