#include <limits>

#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/lowering/run_check.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_check_numerics(LowerContext& c) {
  using enum hlo::ComparisonDirection;
  const hlo::Value x = c.input(0);
  const auto fail = [&](hlo::Value failed, std::string_view what) {
    fail_where(c, failed,
               fmt::format("CheckNumerics: {}: Tensor had {} values, {}",
                           c.attr<std::string>("message"), what, c.node.describe()));
  };
  fail(c.b.compare(x, x, ne), "NaN");
  fail(compare_with(c.b, c.b.unary(hlo::Opcode::abs, x), eq,
                    std::numeric_limits<double>::infinity()),
       "Inf");
  return {x};
}

std::vector<Output> check_numerics_gradient(GradientContext& c) {
  return {check_numerics(c.grad(),
                         "Not a number (NaN) or infinity (Inf) values detected in "
                         "gradient. " +
                             c.attr<std::string>("message"))};
}

}  // namespace

Output check_numerics(const Input& tensor, const std::string& message, const NameOptions& options) {
  return add_op("CheckNumerics", {tensor}, options.name, {{"message", message}});
}

namespace ops {
extern const OpDef op_check_numerics{
    .name = "CheckNumerics",
    .doc = "Its input; fails the run when an element is no finite number.",
    .inputs = "tensor: T",
    .outputs = "output: T",
    .attrs = "message: string",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_check_numerics,
    .gradient = check_numerics_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
