#include "systole/backends/cpu/passes/move_transposes.h"

#include <algorithm>
#include <numeric>

#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::DotAttrs;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

const Dims& permutation_of(const Instruction& transpose) {
  return transpose.attrs<hlo::TransposeAttrs>().permutation;
}

int64_t size(const Value& value) { return value.shape().num_elements(); }

bool in_order(const Dims& permutation) { return std::ranges::is_sorted(permutation); }

Dims first_numbers(size_t count, int64_t from) {
  Dims result(count);
  std::iota(result.begin(), result.end(), from);
  return result;
}

Dims joined(Dims a, const Dims& b, const Dims& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

bool is_batch_product(const Instruction& x) {
  return x.is(Opcode::dot_general) && !x.attrs<DotAttrs>().lhs_batching_dimensions.empty() &&
         x.attrs<DotAttrs>().algorithm == hlo::DotAlgorithm();
}

// transpose(q . k): the permutation moves only axes that q alone has.
bool transpose_operand(Instruction& x) {
  const Instruction* dot = hlo::match(x.operand(0), Opcode::dot_general);
  if (dot == nullptr || !is_batch_product(*dot) || dot->users().size() != 1 ||
      size(dot->operand(0)) >= x.shape().num_elements())
    return false;
  const DotAxes axes(*dot);
  const size_t batch = axes.lhs_batch.size();
  const size_t free = axes.lhs_free.size();
  const Dims& permutation = permutation_of(x);
  Dims lhs_free;
  for (size_t i = 0; i < permutation.size(); ++i) {
    const auto to = static_cast<size_t>(permutation[i]);
    const bool moves = i >= batch && i < batch + free;
    if (moves ? to < batch || to >= batch + free : to != i) return false;
    if (moves) lhs_free.push_back(axes.lhs_free[to - batch]);
  }
  if (in_order(permutation)) return false;
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(dot->metadata());
  const Value lhs =
      b.transpose(dot->operand(0), joined(axes.lhs_batch, lhs_free, axes.lhs_contracting));
  DotAttrs attrs = dot->attrs<DotAttrs>();
  attrs.lhs_batching_dimensions = first_numbers(batch, 0);
  attrs.lhs_contracting_dimensions =
      first_numbers(axes.lhs_contracting.size(), static_cast<int64_t>(batch + free));
  attrs.rhs_contracting_dimensions = axes.rhs_contracting;
  const Value product = b.dot_general(lhs, dot->operand(1), attrs, x.dtype());
  hlo::replace_and_erase(x, {&product, 1});
  return true;
}

// transpose(s) . y: the product reads s, and y or the result is transposed instead.
bool read_untransposed(Instruction& x) {
  const Instruction* transpose = hlo::match(x.operand(0), Opcode::transpose);
  if (transpose == nullptr || !is_batch_product(x)) return false;
  const Value s = transpose->operand(0);
  if (size(x.operand(1)) >= size(s) || x.shape().num_elements() >= size(s)) return false;
  const Dims& permutation = permutation_of(*transpose);
  const DotAxes before(x);
  DotAttrs attrs = x.attrs<DotAttrs>();
  for (int64_t& axis : attrs.lhs_batching_dimensions) axis = permutation[u(axis)];
  for (int64_t& axis : attrs.lhs_contracting_dimensions) axis = permutation[u(axis)];
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  // The pairs of summed axes in the order that they have in s.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < attrs.lhs_contracting_dimensions.size(); ++i)
    pairs.emplace_back(attrs.lhs_contracting_dimensions[i], attrs.rhs_contracting_dimensions[i]);
  std::ranges::sort(pairs);
  Value y = x.operand(1);
  Dims contracted;
  for (const auto& [left, right] : pairs) contracted.push_back(right);
  if (!in_order(contracted)) {
    y = b.transpose(y, joined(before.rhs_batch, contracted, before.rhs_free));
    const size_t batch = before.rhs_batch.size();
    attrs.rhs_batching_dimensions = first_numbers(batch, 0);
    contracted = first_numbers(pairs.size(), static_cast<int64_t>(batch));
  }
  attrs.lhs_contracting_dimensions.clear();
  for (const auto& [left, right] : pairs) attrs.lhs_contracting_dimensions.push_back(left);
  attrs.rhs_contracting_dimensions = contracted;
  Value product = b.dot_general(s, y, attrs, x.dtype());
  // The result has the free axes of s in their order there.
  const size_t batch = before.lhs_batch.size();
  Dims there;
  for (const int64_t axis : before.lhs_free) there.push_back(permutation[u(axis)]);
  Dims sorted = there;
  std::ranges::sort(sorted);
  Dims back = first_numbers(u(x.shape().rank()), 0);
  for (size_t i = 0; i < there.size(); ++i) {
    back[batch + i] =
        static_cast<int64_t>(batch) + (std::ranges::find(sorted, there[i]) - sorted.begin());
  }
  if (!in_order(back)) product = b.transpose(product, back);
  hlo::replace_and_erase(x, {&product, 1});
  return true;
}

}  // namespace

bool MoveTransposes::run(hlo::Module& module) {
  return rewrite_each(module, [&](Instruction& x) {
    if (x.is(Opcode::transpose)) return transpose_operand(x);
    return x.is(Opcode::dot_general) && read_untransposed(x);
  });
}

}  // namespace systole::cpu
