// The reference semantics: evaluates computations instruction by instruction, for readability, not
// speed.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/hlo/semantics/process.h"

namespace systole::hlo {

// One activation of a computation; values of the enclosing activations are visible to regions. A
// module may be evaluated from several threads at once, each with its own Evaluator.
class Evaluator {
 public:
  // A process of its own: collective ops work on a group of one.
  Evaluator() : own_process_(std::make_shared<Process>()), process_(own_process_.get()) {}
  // As `process`, which outlives the evaluator.
  explicit Evaluator(Process& process) : process_(&process) {}

  // The results of `computation` for these arguments. Errors: INVALID_ARGUMENT when their number or
  // types differ from the parameters; whatever the instructions throw, with their source.
  std::vector<Tensor> run(const Computation& computation, std::span<const Tensor> arguments) const;
  // A region of the instruction that is being evaluated: sees the values around it.
  std::vector<Tensor> run_region(const Computation& region,
                                 std::span<const Tensor> arguments) const {
    return run(region, arguments);
  }

  // The value of `value`, defined around the region that is being evaluated. Errors: INTERNAL when
  // it is not.
  const Tensor& captured(Value value) const { return lookup(value, {}); }

  // Who evaluates.
  Process& process() const { return *process_; }

  // The value of one instruction for given operand values.
  std::vector<Tensor> evaluate(const Instruction& instruction,
                               std::span<const Tensor> operands) const;

 private:
  using Environment = std::unordered_map<Value, Tensor, ValueHash>;
  Evaluator(const Evaluator* outer, const Environment* environment)
      : process_(outer->process_), outer_(outer), environment_(environment) {}
  const Tensor& lookup(Value value, const Environment& innermost) const;

  std::shared_ptr<Process> own_process_;
  Process* process_;
  const Evaluator* outer_ = nullptr;
  const Environment* environment_ = nullptr;
};

// What every process of `grid` returns when all run the function in lockstep, each on a thread of
// its own; `arguments` and the result have one entry a process, in order of their numbers. Errors:
// the first error of a process, which ends all of them; INVALID_ARGUMENT when the numbers differ.
std::vector<std::vector<Tensor>> evaluate_parallel(const Computation& function,
                                                   const ProcessGrid& grid,
                                                   std::span<const std::vector<Tensor>> arguments);

// The same for main, with a replica for each entry of `arguments`, and one partition.
std::vector<std::vector<Tensor>> evaluate_replicated(
    const Module& module, std::span<const std::vector<Tensor>> arguments);

}  // namespace systole::hlo
