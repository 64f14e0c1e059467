#include "systole/backends/cpu/passes/attention_fusion.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <vector>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/attention_gradient.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/dce.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Whether nothing else reads what is inside, but for `results`.
bool stand_alone(const std::vector<const Instruction*>& members,
                 std::span<const Instruction* const> results) {
  const std::unordered_set<const Instruction*> inside(members.begin(), members.end());
  return std::ranges::all_of(inside, [&](const Instruction* x) {
    return std::ranges::find(results, x) != results.end() ||
           std::ranges::all_of(x->users(),
                               [&](const Instruction* user) { return inside.contains(user); });
  });
}

void copy_from_inputs(const Instruction& x, hlo::ValueMap& map, hlo::Computation& region) {
  for (const Value& operand : x.operands()) {
    if (!map.contains(operand)) copy_from_inputs(*operand.def, map, region);
  }
  hlo::copy_instruction(x, map, region, nullptr);
}

Value value_of_last(const Instruction& x) { return {const_cast<Instruction*>(&x), 0}; }

// A fusion of all that computes `lasts` from the inputs.
Instruction* make_fusion(std::span<const Value> read, std::span<const Instruction* const> lasts,
                         Instruction& before) {
  std::vector<Value> inputs;
  for (const Value& input : read) {
    if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
  }
  std::vector<TensorType> types;
  for (const Instruction* last : lasts) types.push_back(last->results()[0]);
  Instruction* const fusion =
      before.parent().insert(Opcode::fusion, inputs, std::move(types), hlo::NoAttrs{}, &before);
  fusion->set_metadata(lasts[0]->metadata());
  hlo::Computation& region = fusion->add_region();
  hlo::ValueMap map;
  for (const Value& input : inputs) map[input] = region.add_parameter(input.type());
  std::vector<Value> results;
  for (const Instruction* last : lasts) {
    if (!map.contains(value_of_last(*last))) copy_from_inputs(*last, map, region);
    results.push_back(map.at(value_of_last(*last)));
  }
  region.set_results(std::move(results));
  return fusion;
}

bool fuse_attention(Instruction& last) {
  const auto match = match_attention(last);
  const Instruction* const lasts[] = {&last};
  if (!match || !stand_alone(match->inside, lasts)) return false;
  const Value result = make_fusion(match->inputs, lasts, last)->result();
  hlo::replace_and_erase(last, {&result, 1});
  return true;
}

// The transpose behind a product joins it if the kernel can write its result.
bool fuse_product(Instruction& product) {
  const auto users = product.users();
  const bool transposed = users.size() == 1 && users[0]->is(Opcode::transpose) &&
                          &users[0]->parent() == &product.parent();
  return (transposed && fuse_attention(*users[0])) || fuse_attention(product);
}

Dims inverse(const Dims& permutation) {
  Dims result = permutation;
  for (size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

// Other users of a product whose transpose `result` is read the transpose of that.
void replace_result(const Instruction& product, const Instruction& last, Value result,
                    Instruction& behind) {
  hlo::Computation::replace_all_uses(value_of_last(last), result);
  if (&product == &last) return;
  const bool others =
      std::ranges::any_of(product.users(), [&](const Instruction* user) { return user != &last; });
  if (!others) return;
  hlo::Builder b(behind.parent(), &behind);
  const Value back = b.transpose(result, inverse(last.attrs<hlo::TransposeAttrs>().permutation));
  hlo::Computation::replace_all_uses(value_of_last(product), back);
}

bool fuse_gradient(Instruction& of_q) {
  const auto match = match_attention_gradient(of_q);
  std::vector<const Instruction*> results;
  if (match) results.assign(match->products.begin(), match->products.end());
  if (!match || !stand_alone(match->inside, results)) return false;
  // Before all users of results, behind the inputs.
  const std::vector<Instruction*> program = of_q.parent().instructions();
  const auto first_of = std::ranges::find_if(program, [&](const Instruction* x) {
    return std::ranges::find(results, x) != results.end();
  });
  const bool too_early = std::any_of(first_of, program.end(), [&](const Instruction* x) {
    return std::ranges::find(match->inputs, x, &Value::def) != match->inputs.end();
  });
  if (too_early) return false;
  Instruction* const first = *first_of;
  Instruction* const fusion = make_fusion(match->inputs, match->lasts, *first);
  for (size_t i = 0; i < results.size(); ++i)
    replace_result(*match->products[i], *match->lasts[i], fusion->result(static_cast<int>(i)),
                   *first);
  return true;
}

template <class Fuse>
bool fuse_products(hlo::Module& module, const Fuse& fuse) {
  return rewrite_programs(module, [&](hlo::Computation& computation) {
    std::vector<Instruction*> products = computation.instructions();
    std::erase_if(products, [](const Instruction* x) { return !x->is(Opcode::dot_general); });
    bool changed = false;
    for (Instruction* const product : products) changed = fuse(*product) || changed;
    return changed;
  });
}

}  // namespace

bool AttentionFusion::run(hlo::Module& module) {
  // A gradient computes its scores again: the forward pass need not keep them then.
  bool changed = false;
  for (const auto fuse : {fuse_gradient, fuse_product}) {
    if (!fuse_products(module, fuse)) continue;
    hlo::DeadCodeElimination().run(module);
    changed = true;
  }
  return changed;
}

}  // namespace systole::cpu
