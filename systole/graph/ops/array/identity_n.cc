#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/control_flow/control_flow.h"

namespace systole {
namespace {

// The inputs of a custom_gradient's node are its results, what it was applied to, and what its
// gradient reads besides.
std::vector<Output> custom_gradients_of(GradientContext& c, const FunctionRef& function) {
  const auto captures = static_cast<int>(c.attr<int64_t>("_gradient_captures"));
  const auto declared =
      static_cast<int>(function->arguments().size() - function->captures().size());
  const auto argument = [&](int i) {
    return i < declared ? c.grad(i) : c.input(captures + i - declared);
  };
  FunctionCopy copy(*function, argument, FunctionCopy::Controls::copied);
  const auto& of = c.attr<std::vector<int64_t>>("_gradient_of");
  std::vector<Output> result(static_cast<size_t>(c.node.num_inputs()));
  for (size_t i = 0; i < of.size(); ++i) {
    if (c.wanted(static_cast<int>(of[i]))) {
      result[of[i]] = copy(function->results()[i]);
    }
  }
  return result;
}

std::vector<Output> identity_n_gradient(GradientContext& c) {
  const auto it = c.node.attrs().find("_gradient");
  if (it != c.node.attrs().end()) {
    return custom_gradients_of(c, std::get<FunctionRef>(it->second));
  }
  return {c.output_gradients.begin(), c.output_gradients.end()};
}

}  // namespace

namespace ops {
extern const OpDef op_identity_n{
    .name = "IdentityN",
    .doc = "Its inputs; custom_gradient says where another gradient than theirs belongs.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "T: list(type)",
    .infer =
        [](const InferContext& c) {
          std::vector<TensorType> types;
          for (int i = 0; i < c.num_inputs(); ++i) types.push_back(c.input(i));
          return types;
        },
    .lower = [](LowerContext& c) { return std::vector(c.inputs.begin(), c.inputs.end()); },
    .gradient = identity_n_gradient,
};
}  // namespace ops
}  // namespace systole
