// Expands and evaluates one CHLO op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/testing/run_op.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole::hlo::chlo::testing {

// Fills `computation` with the op on parameters and returns its results.
inline void build(Computation& computation, std::string_view op,
                  const std::vector<Tensor>& operands, const Attrs& attrs = {},
                  const std::vector<TensorType>& declared = {}) {
  std::vector<Value> parameters;
  for (const Tensor& operand : operands) {
    parameters.push_back(computation.add_parameter(operand.type()));
  }
  Builder b(computation);
  computation.set_results(find_expansion(op)(b, parameters, attrs, declared));
}

// Evaluates the op.
inline std::vector<Tensor> run(std::string_view op, const std::vector<Tensor>& operands,
                               const Attrs& attrs = {},
                               const std::vector<TensorType>& declared = {}) {
  Module module;
  Computation& main = module.add_function("main");
  build(main, op, operands, attrs, declared);
  return Evaluator().run(main, operands);
}

// Returns the text of the error; "no error" if there is none.
inline std::string error_of(std::string_view op, const std::vector<Tensor>& operands,
                            const Attrs& attrs = {}) {
  return hlo::testing::error_of([&] { run(op, operands, attrs); });
}

}  // namespace systole::hlo::chlo::testing
