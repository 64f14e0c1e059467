// Custom gradients: of a function, of an op's kind, of an op in a part of a graph.
// (tensorflow/python/ops/custom_gradient.py, framework/ops.py)
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/api/graph.h"

namespace systole {

// A value with its gradient: dL/dy -> dL/dx.
struct CustomGradient {
  Output result;
  std::function<Output(const Output& dy)> grad;
};
using CustomGradientFn = std::function<CustomGradient(const Output& x)>;

// Several: the gradients of all results -> one for each input, an invalid Output for none. A result
// that nothing depends on has the gradient 0.
struct CustomGradients {
  std::vector<Output> results;
  std::function<std::vector<Output>(const std::vector<Output>& dys)> grad;
};
using CustomGradientsFn = std::function<CustomGradients(const std::vector<Output>& xs)>;

// `f` as a function whose gradient is what it gives with its results, in place of that of its ops:
//
//   auto log1pexp = st::custom_gradient([](const st::Output& x) {
//     auto e = st::exp(x);
//     return st::CustomGradient{
//         st::log(1.0F + e), [=](auto& dy) { return dy * (1.0F - 1.0F / (1.0F + e)); }};
//   });
//   auto y = log1pexp(x);
//
// `grad` is called at once, while the function is applied; its ops run where a gradient is wanted,
// and may be differentiated again. Variables that f reads itself get no gradient: pass what is to
// have one as an input. (tf.custom_gradient) Errors, when it is applied: INVALID_ARGUMENT for
// another number of gradients than inputs, and for one of another type than its input.
std::function<Output(const Input& x)> custom_gradient(CustomGradientFn f);
std::function<std::vector<Output>(const InputList& xs)> custom_gradient(CustomGradientsFn f);

// dL/d(output i) for each output of `op`, zeros where it has no gradient -> one for each of its
// inputs, an invalid Output for none. `op.input(i)`, `op.output(i)` are its tensors.
using RegisteredGradient =
    std::function<std::vector<Output>(Node& op, const std::vector<Output>& grads)>;

// A gradient that a GradientOverrideMap can name, for the life of the process. Thread-safe. Errors:
// ALREADY_EXISTS; INVALID_ARGUMENT for an empty function. (tf.RegisterGradient)
void register_gradient(std::string_view name, RegisteredGradient gradient);
// Returns nullptr when no gradient has that name. The result lives until exit. Thread-safe.
const RegisteredGradient* find_registered_gradient(std::string_view name);

// `with g.gradient_override_map({"Relu": "GuidedRelu"}):` while it lives, ops of these names that
// this thread adds have the gradient registered by that name, or that of the op which has that name
// ({"Round": "Identity"}). Inner maps go before outer ones. The names of ops are TensorFlow's, as
// Node::op_name() gives them. Errors: NOT_FOUND for a name that is neither, with near misses.
class GradientOverrideMap {
 public:
  explicit GradientOverrideMap(
      std::initializer_list<std::pair<std::string_view, std::string_view>> op_type_map);
  ~GradientOverrideMap();
  GradientOverrideMap(const GradientOverrideMap&) = delete;
  GradientOverrideMap& operator=(const GradientOverrideMap&) = delete;

  // The name given for an op on this thread; nullptr when there is none.
  static const std::string* find(std::string_view op_name);

 private:
  std::map<std::string, std::string, std::less<>> names_;
  const GradientOverrideMap* outer_;
};

// The attribute of a node that has another gradient than its op's.
inline constexpr std::string_view kGradientOpType = "_gradient_op_type";

}  // namespace systole
