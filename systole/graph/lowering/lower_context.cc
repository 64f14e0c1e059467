#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/specialize.h"

namespace systole {

Tensor LowerContext::constant_input(int i) const {
  if (auto value = lowering.constant_value(input(i))) return *std::move(value);
  throw invalid_argument(
      "{}: input {} must be known when the program is compiled, got '{}', expected a constant",
      node.op_name(), i, node.input(i).name());
}

std::vector<int64_t> LowerContext::constant_ints(int i) const {
  const Tensor wide = constant_input(i).cast(DType::s64);
  const auto elements = wide.data<int64_t>();
  return {elements.begin(), elements.end()};
}

}  // namespace systole
