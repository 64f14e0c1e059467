#include "systole/backends/cpu/analysis/attention_fusion.h"

#include <algorithm>
#include <utility>

#include "systole/backends/cpu/analysis/attention_gradient.h"
#include "systole/backends/cpu/analysis/scores_matcher.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// `mix` multiplies the weights by v.
bool set_values(Attention& a, const Instruction& mix) {
  const DotAxes axes(mix);
  const Shape& weights = mix.operand(0).shape();
  // The weights' axes are the batch axes, then those of the queries, then the keys.
  Dims order = axes.lhs_batch;
  order.insert(order.end(), axes.lhs_free.begin(), axes.lhs_free.end());
  order.insert(order.end(), axes.lhs_contracting.begin(), axes.lhs_contracting.end());
  if (!std::ranges::is_sorted(order) || axes.lhs_free.empty() || axes.rhs_free.size() != 1 ||
      axes.lhs_contracting.size() != 1 ||
      weights[static_cast<int>(axes.lhs_contracting[0])] != a.keys ||
      weights[static_cast<int>(axes.lhs_free.back())] != a.queries)
    return false;
  const int64_t shared = product(weights, axes.lhs_free) / a.queries;
  auto v = rhs_matrices(mix, axes.rhs_batch, axes.rhs_contracting, axes.rhs_free, shared);
  if (!v || v->offsets.size() != a.q.offsets.size()) return false;
  a.value_size = product(mix.operand(1).shape(), axes.rhs_free);
  a.v = *std::move(v);
  return true;
}

}  // namespace

std::optional<MatrixArray> result_matrices(const Instruction& dot, const Instruction& last) {
  Dims steps = dot.shape().strides();
  if (&last != &dot) {
    const Dims& permutation = last.attrs<hlo::TransposeAttrs>().permutation;
    const Dims strides = last.shape().strides();
    for (size_t i = 0; i < permutation.size(); ++i) steps[permutation[i]] = strides[i];
  }
  MatrixArray result = matrices_of(dot.shape(), steps);
  if (dot.shape()[dot.shape().rank() - 1] == 1) result.column_step = 1;
  return result.column_step == 1 ? std::optional(result) : std::nullopt;
}

std::optional<AttentionMatch> match_attention(const Instruction& last) {
  ScoresMatcher m;
  m.inside.push_back(&last);
  const Instruction& mix = last.is(Opcode::transpose) ? *last.operand(0).def : last;
  if (!is_f32_product(mix)) return std::nullopt;
  m.inside.push_back(&mix);
  Attention& a = m.attention;
  if (!m.find_scores(m.without_reshapes(mix.operand(0))) || !m.find_product() ||
      !set_values(a, mix))
    return std::nullopt;
  const auto result = result_matrices(mix, last);
  if (!result || result->offsets.size() != a.q.offsets.size()) return std::nullopt;
  a.result = *result;
  m.inputs = {m.product->operand(0), m.product->operand(1), mix.operand(1)};
  if (!m.set_steps() || !takes_attention(a)) return std::nullopt;
  return AttentionMatch{std::move(a), std::move(m.inputs), std::move(m.inside)};
}

bool is_attention_fusion(const Instruction& x) {
  if (!x.is(Opcode::fusion)) return false;
  if (x.num_results() != 1) return is_attention_gradient_fusion(x);
  const Instruction& last = *x.region().results()[0].def;
  return (last.is(Opcode::transpose) || last.is(Opcode::dot_general)) &&
         match_attention(last).has_value();
}

AttentionMatch fused_attention(const Instruction& fusion) {
  return *match_attention(*fusion.region().results()[0].def);
}

}  // namespace systole::cpu
