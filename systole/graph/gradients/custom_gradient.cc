#include "systole/graph/gradients/custom_gradient.h"

#include <mutex>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/lowering/plan.h"
#include "systole/graph/op_def.h"

namespace systole {
namespace {

class GradientRegistry {
 public:
  static GradientRegistry& instance() {
    static GradientRegistry registry;
    return registry;
  }

  void add(std::string_view name, RegisteredGradient gradient) {
    const std::lock_guard lock(mutex_);
    if (gradients_.emplace(name, std::move(gradient)).second) return;
    throw make_error(Code::already_exists, "register_gradient: name, got '{}' a second time", name);
  }

  const RegisteredGradient* find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto it = gradients_.find(name);
    return it == gradients_.end() ? nullptr : &it->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, RegisteredGradient, std::less<>> gradients_;  // entries never move
};

thread_local const GradientOverrideMap* innermost_map = nullptr;

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

void register_gradient(std::string_view name, RegisteredGradient gradient) {
  if (gradient == nullptr) {
    throw invalid_argument("register_gradient: gradient of '{}', got none, expected a function",
                           name);
  }
  GradientRegistry::instance().add(name, std::move(gradient));
}

const RegisteredGradient* find_registered_gradient(std::string_view name) {
  return GradientRegistry::instance().find(name);
}

GradientOverrideMap::GradientOverrideMap(
    std::initializer_list<std::pair<std::string_view, std::string_view>> op_type_map)
    : outer_(innermost_map) {
  for (const auto& [op, name] : op_type_map) {
    find_op_def(op);
    if (find_registered_gradient(name) == nullptr) find_op_def(name);
    names_.emplace(op, name);
  }
  innermost_map = this;
}

GradientOverrideMap::~GradientOverrideMap() { innermost_map = outer_; }

const std::string* GradientOverrideMap::find(std::string_view op_name) {
  for (const GradientOverrideMap* map = innermost_map; map != nullptr; map = map->outer_) {
    const auto it = map->names_.find(op_name);
    if (it != map->names_.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace systole
