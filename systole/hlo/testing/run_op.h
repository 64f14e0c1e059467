// Builds, infers and evaluates one op, for tests of opcodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "systole/base/error.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/evaluator.h"

namespace systole::hlo::testing {

// One instruction on parameters of the operands' types.
struct OpUnderTest {
  Opcode opcode;
  std::vector<Tensor> operands;
  Attrs attrs = NoAttrs{};
  std::vector<TensorType> declared = {};
  std::function<void(Instruction&)> fill_regions = nullptr;
};

// Fills `computation` with the op on parameters and returns its results.
inline Instruction* build_op(Computation& computation, const OpUnderTest& op) {
  std::vector<Value> operands;
  for (const Tensor& operand : op.operands) {
    operands.push_back(computation.add_parameter(operand.type()));
  }
  Instruction* instruction =
      Builder(computation)
          .op_with_regions(op.opcode, std::move(operands), op.attrs, op.fill_regions, op.declared);
  std::vector<Value> results;
  results.reserve(static_cast<size_t>(instruction->num_results()));
  for (int i = 0; i < instruction->num_results(); ++i) results.push_back(instruction->result(i));
  computation.set_results(std::move(results));
  return instruction;
}

// Evaluates the op.
inline std::vector<Tensor> run_op(const OpUnderTest& op) {
  Module module;
  Computation& main = module.add_function("main");
  build_op(main, op);
  return Evaluator().run(main, op.operands);
}

// Returns the text of the Error that `action` throws; "no error" if it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline std::string error_of(const OpUnderTest& op) {
  return error_of([&op] { run_op(op); });
}

}  // namespace systole::hlo::testing
