// The reference semantics. Evaluates computations instruction by instruction; written for
// readability, not speed.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/hlo/semantics/process.h"

namespace systole::hlo {

// One activation of a computation. Regions see the values of the enclosing activations. Several
// threads may evaluate a module at once, each with its own Evaluator.
class Evaluator {
 public:
  static constexpr int kMaxDepth = 512;

  // Evaluates as the only process: collective ops have groups of one.
  Evaluator() : own_process_(std::make_shared<Process>()), process_(own_process_.get()) {}
  // Evaluates as `process`, which must outlive the evaluator.
  explicit Evaluator(Process& process) : process_(&process) {}

  // Returns the results of `computation`. Errors: INVALID_ARGUMENT if number or types of the
  // arguments differ from the parameters; RESOURCE_EXHAUSTED for more than kMaxDepth calls and
  // regions within each other; those of the instructions, with their source.
  std::vector<Tensor> run(const Computation& computation, std::span<const Tensor> arguments) const;
  // Runs a region of the instruction being evaluated. The region sees the values around it.
  std::vector<Tensor> run_region(const Computation& region,
                                 std::span<const Tensor> arguments) const {
    return run(region, arguments);
  }

  // Returns the value of `value`, which is defined outside the region being evaluated. Errors:
  // INTERNAL if it is not.
  const Tensor& captured(Value value) const { return lookup(value, {}); }

  // The process that evaluates.
  Process& process() const { return *process_; }

  // Returns the results of one instruction for these operands.
  std::vector<Tensor> evaluate(const Instruction& instruction,
                               std::span<const Tensor> operands) const;

 private:
  using Environment = std::unordered_map<Value, Tensor, ValueHash>;
  Evaluator(const Evaluator* outer, const Environment* environment)
      : process_(outer->process_),
        outer_(outer),
        environment_(environment),
        depth_(outer->depth_ + 1) {}
  const Tensor& lookup(Value value, const Environment& innermost) const;

  std::shared_ptr<Process> own_process_;
  Process* process_;
  const Evaluator* outer_ = nullptr;
  const Environment* environment_ = nullptr;
  int depth_ = 0;  // of calls and regions
};

// Runs the function on all processes of `grid` in lockstep, one thread each, and returns the
// results of each. `arguments` and the result have one entry per process, in order of their
// numbers. Errors: the first error of a process, which stops all; INVALID_ARGUMENT if the number of
// entries is wrong.
std::vector<std::vector<Tensor>> evaluate_parallel(const Computation& function,
                                                   const ProcessGrid& grid,
                                                   std::span<const std::vector<Tensor>> arguments);

// The same for main, with one replica per entry of `arguments` and one partition.
std::vector<std::vector<Tensor>> evaluate_replicated(
    const Module& module, std::span<const std::vector<Tensor>> arguments);

}  // namespace systole::hlo
