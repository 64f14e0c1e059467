#include "systole/hlo/semantics/lifted_region.h"

#include <algorithm>
#include <unordered_map>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/reducer.h"

namespace systole::hlo {
namespace {

bool is_liftable(const Computation& region) {
  return std::ranges::all_of(region.instructions(), [&](const Instruction* instruction) {
    if (instruction != region.terminator() && instruction->type().is_quantized()) return false;
    return instruction->is(Opcode::parameter) || instruction == region.terminator() ||
           instruction->is(Opcode::constant) || instruction->traits().has(kElementwise);
  });
}

// `region` with vectors of `size` elements instead of scalars.
std::unique_ptr<Module> lift(const Computation& region, const Evaluator& evaluator, int64_t size) {
  auto module = std::make_unique<Module>();
  Computation& main = module->add_function("main");
  Builder builder(main);
  ValueMap map;
  const auto splat = [&](const Tensor& scalar) {
    return builder.broadcast_in_dim(builder.constant(scalar), {size}, {});
  };
  const auto lifted = [&](Value value) {
    if (!map.contains(value)) map[value] = splat(evaluator.captured(value));
    return map.at(value);
  };
  for (Instruction* instruction : region.instructions()) {
    if (instruction == region.terminator()) continue;
    const TensorType type{instruction->dtype(), {size}};
    if (instruction->is(Opcode::parameter)) {
      map[instruction->result()] = main.add_parameter(type);
    } else if (instruction->is(Opcode::constant)) {
      map[instruction->result()] = splat(instruction->attrs<ConstantAttrs>().value);
    } else {
      std::vector<Value> operands;
      for (const Value& operand : instruction->operands()) operands.push_back(lifted(operand));
      map[instruction->result()] =
          builder.op(instruction->opcode(), std::move(operands), instruction->attrs(), {type})
              ->result();
    }
  }
  std::vector<Value> results;
  for (const Value& result : region.results()) results.push_back(lifted(result));
  main.set_results(std::move(results));
  return module;
}

}  // namespace

LiftedRegion::LiftedRegion(const Computation& region, const Evaluator& evaluator)
    : region_(region), evaluator_(evaluator), liftable_(is_liftable(region)) {}

std::vector<Tensor> LiftedRegion::apply(std::span<const Tensor> inputs) const {
  const Shape& shape = inputs[0].shape();
  const int64_t size = shape.num_elements();
  std::vector<Tensor> results;
  for (const Value& result : region_.results()) results.emplace_back(result.dtype(), shape);
  // Building a program is too expensive for a few elements.
  if (!liftable_ || size < 4) return apply_to_each(inputs, std::move(results));
  if (size != lifted_size_) {
    lifted_ = lift(region_, evaluator_, size);
    lifted_size_ = size;
  }
  std::vector<Tensor> vectors;
  for (const Tensor& input : inputs) vectors.push_back(input.reshape({size}));
  vectors = Evaluator(evaluator_.process()).run(lifted_->entry(), vectors);
  for (Tensor& vector : vectors) vector = vector.reshape(shape);
  return vectors;
}

std::vector<Tensor> LiftedRegion::apply_to_each(std::span<const Tensor> inputs,
                                                std::vector<Tensor> results) const {
  for (int64_t i = 0; i < inputs[0].num_elements(); ++i) {
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs) arguments.push_back(element(input, i));
    const std::vector<Tensor> values = evaluator_.run_region(region_, arguments);
    for (size_t k = 0; k < results.size(); ++k) set_element(results[k], i, values[k]);
  }
  return results;
}

Tensor elements_at(const Tensor& tensor, std::span<const int64_t> offsets) {
  Tensor result(tensor.dtype(), {static_cast<int64_t>(offsets.size())});
  visit_dtype(tensor.dtype(), [&]<class T>() {
    const T* const from = tensor.data<T>().data();
    std::ranges::transform(offsets, result.data<T>().begin(),
                           [from](int64_t offset) { return from[offset]; });
  });
  return result;
}

void fold_into(std::vector<Tensor>& results, std::span<const int64_t> targets,
               std::span<const Tensor> updates, const LiftedRegion& region) {
  std::unordered_map<int64_t, size_t> seen;
  std::vector<std::vector<int64_t>> rounds;  // of places in `targets`
  for (size_t i = 0; i < targets.size(); ++i) {
    const size_t round = seen[targets[i]]++;
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back(static_cast<int64_t>(i));
  }
  for (const std::vector<int64_t>& round : rounds) {
    std::vector<int64_t> at;
    for (const int64_t i : round) at.push_back(targets[i]);
    std::vector<Tensor> arguments;
    for (const Tensor& result : results) arguments.push_back(elements_at(result, at));
    for (const Tensor& update : updates) arguments.push_back(elements_at(update, round));
    const std::vector<Tensor> values = region.apply(arguments);
    for (size_t k = 0; k < results.size(); ++k) {
      for (size_t i = 0; i < at.size(); ++i) {
        copy_element(results[k], at[i], values[k], static_cast<int64_t>(i));
      }
    }
  }
}

}  // namespace systole::hlo
