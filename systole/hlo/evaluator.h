// The reference semantics: evaluates computations instruction by instruction, for readability, not
// speed.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/module.h"

namespace systole::hlo {

// One activation of a computation; values of the enclosing activations are visible to regions. A
// module may be evaluated from several threads at once, each with its own Evaluator.
class Evaluator {
 public:
  Evaluator() = default;

  // The results of `computation` for these arguments. Errors: INVALID_ARGUMENT when their number or
  // types differ from the parameters; whatever the instructions throw, with their source.
  std::vector<Tensor> run(const Computation& computation, std::span<const Tensor> arguments) const;
  // A region of the instruction that is being evaluated: sees the values around it.
  std::vector<Tensor> run_region(const Computation& region,
                                 std::span<const Tensor> arguments) const {
    return run(region, arguments);
  }

  // The value of one instruction for given operand values.
  std::vector<Tensor> evaluate(const Instruction& instruction,
                               std::span<const Tensor> operands) const;

 private:
  using Environment = std::unordered_map<Value, Tensor, ValueHash>;
  Evaluator(const Evaluator* outer, const Environment* environment)
      : outer_(outer), environment_(environment) {}
  const Tensor& lookup(Value value, const Environment& innermost) const;

  const Evaluator* outer_ = nullptr;
  const Environment* environment_ = nullptr;
};

}  // namespace systole::hlo
