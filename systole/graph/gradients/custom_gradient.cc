#include "systole/graph/gradients/custom_gradient.h"

#include <memory>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/lowering/plan.h"

namespace systole {
namespace {

// What `grad` makes of arguments that stand for dL/dy, as a function; which inputs its results are
// for in `of`.
std::shared_ptr<Graph> gradient_function(const CustomGradients& made, const std::vector<Output>& xs,
                                         SourceLocation where, std::vector<int64_t>& of) {
  auto function = Graph::make_function(Graph::current());
  const GraphScope scope(*function);
  std::vector<Output> dys;
  for (const Output& y : made.results) dys.push_back(function->add_argument(y.type(), "dy"));
  const std::vector<Output> found = made.grad(dys);
  if (found.size() != xs.size()) {
    throw at_line(invalid_argument("custom_gradient: number of gradients, got {}, expected {}, "
                                   "one for each input",
                                   found.size(), xs.size()),
                  where);
  }
  std::vector<Output> results;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].valid()) continue;
    const TensorType& want = xs[i].type();
    if (found[i].dtype() != want.dtype || !found[i].shape().compatible_with(want.shape)) {
      throw at_line(invalid_argument("custom_gradient: gradient of input {}, got {}, expected {}",
                                     i, found[i].type(), want),
                    where);
    }
    of.push_back(static_cast<int64_t>(i));
    results.push_back(function->capture(found[i]));
  }
  function->set_results(std::move(results));
  function->keep_captures(plan_function(*function).needed);
  return function;
}

std::vector<Output> apply(const CustomGradientsFn& f, const std::vector<Output>& given,
                          SourceLocation where) {
  std::vector<Output> xs;
  for (const Output& x : given) xs.push_back(identity(x));
  const CustomGradients made = f(xs);
  for (const Output& y : made.results) {
    if (!y.valid()) {
      throw at_line(
          invalid_argument("custom_gradient: result of the function, got none, expected tensors"),
          where);
    }
  }
  if (made.grad == nullptr) {
    throw at_line(invalid_argument("custom_gradient: gradient, got none, expected a function"),
                  where);
  }
  std::vector<int64_t> of;
  const std::shared_ptr<Graph> function = gradient_function(made, xs, where, of);
  std::vector<Output> inputs = made.results;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  inputs.insert(inputs.end(), function->captures().begin(), function->captures().end());
  for (int64_t& i : of) i += static_cast<int64_t>(made.results.size());
  Node* node = Graph::current().add_node(
      "IdentityN", std::move(inputs),
      {{"_gradient", FunctionRef(function)},
       {"_gradient_of", std::move(of)},
       {"_gradient_captures", static_cast<int64_t>(made.results.size() + xs.size())}},
      where);
  std::vector<Output> results;
  for (size_t i = 0; i < made.results.size(); ++i) {
    results.push_back(node->output(static_cast<int>(i)));
  }
  return results;
}

}  // namespace

std::function<Output(const Input& x)> custom_gradient(CustomGradientFn f) {
  const CustomGradientsFn of_list = [f = std::move(f)](const std::vector<Output>& xs) {
    CustomGradient made = f(xs[0]);
    CustomGradients list{.results = {made.result}, .grad = nullptr};
    if (made.grad != nullptr) {
      list.grad = [grad = std::move(made.grad)](const std::vector<Output>& dys) {
        return std::vector{grad(dys[0])};
      };
    }
    return list;
  };
  return [of_list](const Input& x) {
    return apply(of_list, {resolve("custom_gradient", x)}, x.where())[0];
  };
}

std::function<std::vector<Output>(const InputList& xs)> custom_gradient(CustomGradientsFn f) {
  return [f = std::move(f)](const InputList& xs) {
    std::vector<Output> given;
    for (const Input& x : xs.inputs()) given.push_back(resolve("custom_gradient", x));
    return apply(f, given, xs.inputs().empty() ? SourceLocation() : xs.inputs()[0].where());
  };
}

}  // namespace systole
