#include "systole/graph/ops/control_flow/loop_gradient.h"

#include <algorithm>
#include <unordered_set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/blocks_gradient.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/lowering/loop_lowering.h"
#include "systole/graph/ops/control_flow/control_flow.h"

namespace systole {
namespace {

bool differentiable(const Output& value) {
  return is_floating(value.dtype()) || is_complex(value.dtype());
}

class LoopGradient {
 public:
  explicit LoopGradient(GradientContext& c)
      : c_(c), body_(*c.attr<FunctionRef>("body")), outputs_{c.node.num_inputs()} {
    const std::unordered_set<Node*> behind = nodes_behind_results();
    for (int i = 0; i < outputs_.n; ++i) {
      const bool fixed = is_invariant(body_, static_cast<size_t>(i));
      const bool used = behind.contains(body_.arguments()[i].node());
      if (!differentiable(c.input(i))) continue;
      if (!fixed) changing_.push_back(i);
      if (fixed && used && c.wanted(i)) fixed_.push_back(i);
    }
  }

  std::vector<Output> run() {
    std::vector<Output> initial = {subtract(c_.output(outputs_.iterations()), 1)};
    for (const int i : changing_) initial.push_back(c_.grad(i));
    // -0 changes nothing that is added to it.
    for (const int i : fixed_) initial.push_back(negative(zeros_like(c_.input(i))));
    Node* loop = add_while({.initial = std::move(initial),
                            .cond = [](const auto& vars) { return greater_equal(vars[0], 0); },
                            .body = [this](const auto& vars) { return step(vars); },
                            .maximum_iterations = c_.attr<int64_t>("_maximum_iterations"),
                            .iteration_var = 0},
                           c_.node.where(), "while");
    return results(*loop);
  }

 private:
  // The nodes of the body through which a gradient may flow from its results.
  std::unordered_set<Node*> nodes_behind_results() const {
    std::unordered_set<Node*> seen;
    std::vector<Node*> pending;
    const auto push = [&](const Output& value) {
      if (differentiable(value) && seen.insert(value.node()).second)
        pending.push_back(value.node());
    };
    for (size_t i = 0; i < body_.results().size(); ++i) {
      if (!is_invariant(body_, i)) push(body_.results()[i]);
    }
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      if (blocks_gradient(*node)) continue;
      for (const Output& input : node->inputs()) push(input);
    }
    return seen;
  }

  // One iteration backwards: vars are its number, the gradients of what changes, the sums for what
  // stays.
  std::vector<Output> step(const std::vector<Output>& vars) {
    const Output number = vars[0];
    FunctionCopy copy(body_, [&](int i) {
      if (is_invariant(body_, static_cast<size_t>(i))) return c_.input(i);
      return read_history(c_.output(outputs_.history(i)), number);
    });
    std::vector<Output> ys;
    GradientsOptions options;
    for (size_t k = 0; k < changing_.size(); ++k) {
      ys.push_back(copy(body_.results()[changing_[k]]));
      options.grad_ys.push_back(vars[1 + k]);
    }
    const std::vector<Output> found = argument_gradients(copy, ys, options);
    std::vector<Output> next = {subtract(number, 1)};
    for (size_t k = 0; k < changing_.size(); ++k) {
      const Output kept = c_.output_gradients[outputs_.history(changing_[k])];
      Output gradient = found[k].valid() ? found[k] : zeros_like(vars[1 + k]);
      if (kept.valid()) gradient = add(gradient, read_history(kept, number));
      next.push_back(gradient);
    }
    for (size_t k = changing_.size(); k < found.size(); ++k) {
      next.push_back(found[k].valid() ? add(vars[1 + k], found[k]) : vars[1 + k]);
    }
    return next;
  }

  // For the changing variables, then the fixed ones; invalid where there is none.
  std::vector<Output> argument_gradients(const FunctionCopy& copy, const std::vector<Output>& ys,
                                         const GradientsOptions& options) const {
    std::vector<int> arguments = changing_;
    arguments.insert(arguments.end(), fixed_.begin(), fixed_.end());
    std::vector<Output> xs;
    for (const int i : arguments) {
      if (const Output x = copy.copied_argument(i); x.valid()) xs.push_back(x);
    }
    const std::vector<Output> found = gradients(ys, xs, options);
    std::vector<Output> result;
    size_t next = 0;
    for (const int i : arguments) {
      result.push_back(copy.copied_argument(i).valid() ? found[next++] : Output());
    }
    return result;
  }

  std::vector<Output> results(Node& loop) {
    std::vector<Output> result(static_cast<size_t>(outputs_.n));
    int next = 1;
    for (const int i : changing_) result[i] = loop.output(next++);
    for (const int i : fixed_) result[i] = loop.output(next++);
    for (int i = 0; i < outputs_.n; ++i) {
      const Output passed = c_.output_gradients[i];
      if (!passed.valid() || !is_invariant(body_, static_cast<size_t>(i))) continue;
      Output& gradient = result[i];
      gradient = gradient.valid() ? add(gradient, passed) : passed;
    }
    return result;
  }

  GradientContext& c_;
  const Graph& body_;
  WhileOutputs outputs_;
  std::vector<int> changing_;  // differentiable loop variables
  std::vector<int> fixed_;
};

}  // namespace

std::vector<Output> loop_gradient(GradientContext& c) { return LoopGradient(c).run(); }

}  // namespace systole
