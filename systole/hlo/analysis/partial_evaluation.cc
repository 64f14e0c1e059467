#include "systole/hlo/analysis/partial_evaluation.h"

#include <algorithm>
#include <unordered_map>

#include "systole/base/error.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/semantics/evaluator.h"

namespace systole::hlo {
namespace {

// Limits in elements. The evaluator takes some nanoseconds per element of an elementwise or data
// movement operation. A product may combine all elements of its operands, and a region costs
// microseconds per element.
struct Bounds {
  int64_t operands;
  int64_t results;
};
constexpr Bounds kLight{1 << 20, 1 << 16};
constexpr Bounds kHeavy{1 << 12, 1 << 12};
constexpr Bounds kRegion{1 << 9, 1 << 9};
// The bytes of all values of one computation.
constexpr int64_t kMaxBytes = 16 << 20;

Bounds bounds_of(const Instruction& instruction) {
  if (instruction.traits().has(kElementwise | kIndexed)) return kLight;
  return instruction.num_regions() == 0 ? kHeavy : kRegion;
}

bool has_unbounded_cost(const Instruction& instruction) {
  if (instruction.is(Opcode::while_) || !callees(instruction.attrs()).empty()) return true;
  for (const auto& region : instruction.regions()) {
    if (std::ranges::any_of(region->instructions(), [](const Instruction* nested) {
          return has_unbounded_cost(*nested);
        })) {
      return true;
    }
  }
  return false;
}

bool is_cheap(const Instruction& instruction) {
  const Bounds bounds = bounds_of(instruction);
  int64_t operands = 0;
  for (const Value& operand : instruction.operands()) operands += operand.shape().num_elements();
  int64_t results = 0;
  for (const TensorType& type : instruction.results()) results += type.shape.num_elements();
  return operands <= bounds.operands && results <= bounds.results &&
         !has_unbounded_cost(instruction);
}

class PartialEvaluation {
 public:
  std::vector<Tensor> run(const Computation& computation, std::span<const Tensor> arguments) {
    for (int i = 0; i < computation.num_parameters(); ++i) {
      values_[computation.parameter(i)] = arguments[i];
    }
    for (Instruction* instruction : computation.instructions()) {
      if (instruction->is(Opcode::parameter) || instruction == computation.terminator()) continue;
      std::vector<Tensor> results =
          evaluate_if_cheap(*instruction, lookup(instruction->operands()));
      for (const Tensor& result : results) bytes_ += result.byte_size();
      if (bytes_ > kMaxBytes) results.clear();
      for (int i = 0; i < instruction->num_results(); ++i) {
        const bool known = !results.empty();
        values_[instruction->result(i)] = known ? results[i] : Tensor();
      }
    }
    return lookup(computation.results());
  }

 private:
  std::vector<Tensor> lookup(std::span<const Value> values) const {
    std::vector<Tensor> result;
    for (const Value& value : values) {
      const auto found = values_.find(value);
      result.push_back(found == values_.end() ? known_value(value) : found->second);
    }
    return result;
  }

  std::unordered_map<Value, Tensor, ValueHash> values_;
  int64_t bytes_ = 0;  // of them
};

}  // namespace

Tensor known_value(Value value) {
  if (const Tensor* constant = constant_of(value)) return *constant;
  if (splat_of(value) == nullptr || value.shape().num_elements() > kLight.results) return {};
  const std::vector<Tensor> operands{*splat_of(value)};
  return Evaluator().evaluate(*value.def, operands)[0];
}

std::vector<Tensor> evaluate_if_cheap(const Instruction& instruction,
                                      std::span<const Tensor> operands) {
  if (!std::ranges::all_of(operands, &Tensor::valid)) return {};
  if (!is_cheap(instruction) || !is_pure(instruction) || is_contextual(instruction)) return {};
  if (!captures(instruction).empty()) return {};
  try {
    return Evaluator().evaluate(instruction, operands);
  } catch (const Error&) {
    // If it fails, it must fail at run time.
    return {};
  }
}

std::vector<Tensor> partially_evaluate(const Computation& computation,
                                       std::span<const Tensor> arguments) {
  return PartialEvaluation().run(computation, arguments);
}

}  // namespace systole::hlo
