// Gradients in place of those that ops have: by name, for the nodes of a part of a graph.
// (tensorflow/python/framework/ops.py)
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

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
