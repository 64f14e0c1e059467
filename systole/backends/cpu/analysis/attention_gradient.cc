#include "systole/backends/cpu/analysis/attention_gradient.h"

#include <algorithm>
#include <utility>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/scores_matcher.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

Value value_of(const Instruction& x) { return {const_cast<Instruction*>(&x), 0}; }

bool is_binary(const Value& value, Opcode opcode) {
  return value.def->is(opcode) && value.def->num_operands() == 2;
}

// Whether batch axes lead, and the left operand is contracted along one axis, `from_last` before
// its last.
bool contracts_axis(const Instruction& dot, const DotAxes& axes, int from_last) {
  const int rank = dot.operand(0).shape().rank();
  for (size_t i = 0; i < axes.lhs_batch.size(); ++i) {
    if (axes.lhs_batch[i] != static_cast<int64_t>(i)) return false;
  }
  return axes.lhs_contracting.size() == 1 && axes.lhs_contracting[0] == rank - 1 - from_last &&
         std::ranges::is_sorted(axes.lhs_free);
}

class AttentionGradientMatcher {
 public:
  explicit AttentionGradientMatcher(const Instruction& of_q) : of_q_(of_q) {}

  std::optional<AttentionGradientMatch> match() {
    if (!is_f32_product(of_q_)) return std::nullopt;
    of_scores_ = gradient_side(of_q_.operand(0));
    if (!peel_steps() || !find_softmax() || !forward_.find_product() || !same_steps())
      return std::nullopt;
    if (!set_values() || !set_of_q() || !set_of_k_and_v() || !set_results()) return std::nullopt;
    forward_.inputs = {forward_.product->operand(0), forward_.product->operand(1),
                       by_weights_->operand(1)};
    if (!forward_.set_steps()) return std::nullopt;
    match_.inputs = std::move(forward_.inputs);
    match_.inputs.push_back(by_weights_->operand(0));
    match_.gradient.forward = std::move(forward_.attention);
    if (!takes_attention_gradient(match_.gradient)) return std::nullopt;
    return std::move(match_);
  }

 private:
  Attention& a() { return forward_.attention; }

  // Returns the value below any reshapes, which belong to the gradient alone.
  Value gradient_side(Value value) {
    while (value.def->is(Opcode::reshape)) {
      match_.inside.push_back(value.def);
      value = value.def->operand(0);
    }
    return value;
  }
  static Value below_reshapes(Value value) {
    while (value.def->is(Opcode::reshape)) value = value.def->operand(0);
    return value;
  }

  // Collects the gradients of the steps, the first step's first.
  bool peel_steps() {
    Value at = of_scores_;
    while (true) {
      const Instruction& x = *at.def;
      const bool scales = (x.is(Opcode::multiply) || x.is(Opcode::divide)) &&
                          hlo::splat_of(x.operand(1)) != nullptr;
      const bool masks = x.is(Opcode::select) && hlo::is_splat(x.operand(2), 0);
      if (!scales && !masks) break;
      match_.inside.push_back(&x);
      steps_.push_back(&x);
      at = gradient_side(x.operand(masks ? 1 : 0));
    }
    of_softmax_ = at;
    return is_binary(at, Opcode::multiply);
  }

  // The gradient of e / sum(e):   (g / sum + row(-sum(g * e / sum^2))) * e
  // or of the weights w:          (g - row(sum(g * w))) * w
  bool find_softmax() {
    match_.inside.push_back(of_softmax_.def);
    for (const int i : {0, 1}) {
      const Value factor = below_reshapes(of_softmax_.def->operand(i));
      const Value other = of_softmax_.def->operand(1 - i);
      const Value rest = below_reshapes(other);
      if (factor.def->is(Opcode::exponential) && is_binary(rest, Opcode::add))
        return find_by_exponentials(factor, *gradient_side(other).def);
      if (factor.def->is(Opcode::divide) && is_binary(rest, Opcode::subtract))
        return find_by_weights(factor, *gradient_side(other).def);
    }
    return false;
  }

  bool find_by_exponentials(const Value& e, const Instruction& sum) {
    match_.inside.push_back(&sum);
    for (const int i : {0, 1}) {
      const Value quotient = gradient_side(sum.operand(i));
      if (!is_binary(quotient, Opcode::divide)) continue;
      // (Any weights divide e by the same sum.)
      const Instruction* const weights = weights_of(e);
      if (weights == nullptr || !forward_.find_scores(value_of(*weights))) return false;
      if (forward_.exponential != e ||
          forward_.reduced_rows(quotient.def->operand(1), Opcode::add) != e)
        return false;
      match_.inside.push_back(quotient.def);
      weights_ = value_of(*weights);
      return set_product_by_values(quotient.def->operand(0)) &&
             is_negated_mean(sum.operand(1 - i), e);
    }
    return false;
  }

  bool find_by_weights(const Value& weights, const Instruction& difference) {
    match_.inside.push_back(&difference);
    if (!forward_.find_scores(weights)) return false;
    weights_ = weights;
    if (!set_product_by_values(difference.operand(0))) return false;
    const auto before = std::ssize(forward_.inside);
    const Value product = forward_.reduced_rows(difference.operand(1), Opcode::add);
    if (product.def == nullptr || !is_binary(product, Opcode::multiply)) return false;
    match_.inside.insert(match_.inside.end(), forward_.inside.begin() + before,
                         forward_.inside.end());
    match_.inside.push_back(product.def);
    return are_factors(*product.def, weights);
  }

  bool set_product_by_values(const Value& value) {
    by_weights_ = gradient_side(value).def;
    match_.inside.push_back(by_weights_);
    return is_f32_product(*by_weights_);
  }
  bool is_gradient_of_weights(const Value& value) {
    return below_reshapes(value).def == by_weights_ && gradient_side(value).def == by_weights_;
  }
  bool are_factors(const Instruction& product, const Value& weights) {
    for (const int i : {0, 1}) {
      if (is_gradient_of_weights(product.operand(i)) &&
          below_reshapes(product.operand(1 - i)) == weights)
        return true;
    }
    return false;
  }

  // Returns a user that divides e; null if there is none.
  static const Instruction* weights_of(const Value& e) {
    for (const Instruction* user : e.def->users()) {
      if (user->is(Opcode::divide) && user->operand(0) == e) return user;
    }
    return nullptr;
  }

  // Returns whether it is a broadcast of -sum(g * (1 / sum(e)^2) * e).
  bool is_negated_mean(const Value& value, const Value& e) {
    const Value rows = gradient_side(value);
    if (!repeats_rows_of_softmax(rows)) return false;
    match_.inside.push_back(rows.def);
    bool negative = false;
    Value at = gradient_side(rows.def->operand(0));
    while (!at.def->is(Opcode::reduce)) {
      const bool adds_zero = is_binary(at, Opcode::add) && hlo::is_splat(at.def->operand(1), 0);
      if (!at.def->is(Opcode::negate) && !adds_zero) return false;
      negative = negative != at.def->is(Opcode::negate);
      match_.inside.push_back(at.def);
      at = gradient_side(at.def->operand(0));
    }
    if (!negative) return false;
    const Value sums = at;
    if (!reduces_rows(*sums.def)) return false;
    match_.inside.push_back(sums.def);
    return is_product_of_three(gradient_side(sums.def->operand(0)), e);
  }
  bool repeats_rows_of_softmax(const Value& value) const {
    return value.def->is(Opcode::broadcast_in_dim) && repeats_along_rows(*value.def) &&
           value.shape()[value.shape().rank() - 1] == forward_.row_size;
  }
  bool reduces_rows(const Instruction& reduce) const {
    const Dims& axes = reduce.attrs<hlo::DimensionsAttrs>().dimensions;
    return reduce.num_operands() == 2 && hlo::match_reducer(reduce.region()) == Opcode::add &&
           axes.size() == 1 && axes[0] == reduce.operand(0).shape().rank() - 1 &&
           reduce.operand(0).shape()[static_cast<int>(axes[0])] == forward_.row_size &&
           (hlo::is_splat(reduce.operand(1), 0) || hlo::is_splat(reduce.operand(1), -0.0));
  }

  bool is_product_of_three(const Value& value, const Value& e) {
    std::vector<Value> factors;
    std::vector<Value> waiting = {value};
    while (!waiting.empty()) {
      const Value top = waiting.back();
      const Value next = below_reshapes(top);
      waiting.pop_back();
      if (is_binary(next, Opcode::multiply)) {
        match_.inside.push_back(gradient_side(top).def);
        waiting.push_back(next.def->operand(0));
        waiting.push_back(next.def->operand(1));
      } else {
        factors.push_back(is_gradient_of_weights(top) ? value_of(*by_weights_) : next);
      }
    }
    const auto has = [&](const auto& is) { return std::ranges::count_if(factors, is) == 1; };
    return factors.size() == 3 && has([&](const Value& x) { return x.def == by_weights_; }) &&
           has([&](const Value& x) { return x == e; }) &&
           has([&](const Value& x) { return is_inverse_square(x, e); });
  }

  // Returns whether it is a broadcast of 1 / sum(e)^2.
  bool is_inverse_square(const Value& value, const Value& e) {
    if (!repeats_rows_of_softmax(value)) return false;
    const Value inverse = below_reshapes(value.def->operand(0));
    if (!is_binary(inverse, Opcode::divide) || !hlo::is_splat(inverse.def->operand(0), 1))
      return false;
    const Value square = below_reshapes(inverse.def->operand(1));
    if (!is_binary(square, Opcode::multiply)) return false;
    const Value sum = below_reshapes(square.def->operand(0));
    return below_reshapes(square.def->operand(1)) == sum && sum.def->is(Opcode::reduce) &&
           reduces_rows(*sum.def) && below_reshapes(sum.def->operand(0)) == e;
  }

  // Whether the gradients of the steps belong to the forward steps.
  bool same_steps() const {
    size_t next = 0;
    for (auto step = forward_.steps.rbegin(); step != forward_.steps.rend(); ++step) {
      const Instruction& x = **step;
      if (x.is(Opcode::add)) continue;
      if (next == steps_.size()) return false;
      const Instruction& of_x = *steps_[next++];
      if (of_x.opcode() != x.opcode()) return false;
      const int same = x.is(Opcode::select) ? 0 : 1;
      if (x.is(Opcode::select) ? x.operand(same) != of_x.operand(same)
                               : !same_number(x, of_x.operand(same)))
        return false;
    }
    return next == steps_.size();
  }
  static bool same_number(const Instruction& step, const Value& value) {
    const Tensor* const number = hlo::splat_of(value);
    for (const int i : {0, 1}) {
      const Tensor* const of_step = hlo::splat_of(step.operand(i));
      if (of_step != nullptr && (i == 1 || step.is(Opcode::multiply)))
        return hlo::same_element(*number, *of_step);
    }
    return false;
  }

  // by_weights_ is [.., queries, keys] = the result's gradient . v
  bool set_values() {
    const DotAxes axes(*by_weights_);
    const Shape& left = by_weights_->operand(0).shape();
    if (axes.lhs_free.empty() || left[static_cast<int>(axes.lhs_free.back())] != a().queries)
      return false;
    Dims matrices = axes.lhs_batch;
    matrices.insert(matrices.end(), axes.lhs_free.begin(), axes.lhs_free.end() - 1);
    const auto column_step = merged_stride(left, axes.lhs_contracting);
    const int64_t shared = product(left, axes.lhs_free) / a().queries;
    auto v =
        rhs_matrices(*by_weights_, axes.rhs_batch, axes.rhs_free, axes.rhs_contracting, shared);
    if (!column_step || !v || product(by_weights_->operand(1).shape(), axes.rhs_free) != a().keys)
      return false;
    a().value_size = product(left, axes.lhs_contracting);
    a().v = *std::move(v);
    match_.gradient.of_result = {offsets_along(left, matrices),
                                 *merged_stride(left, {axes.lhs_free.back()}), *column_step};
    return a().v.offsets.size() == a().q.offsets.size() &&
           match_.gradient.of_result.offsets.size() == a().q.offsets.size();
  }

  bool has_scores_shape(const Value& value) const {
    const Shape& shape = value.shape();
    return shape.rank() >= 2 && shape[shape.rank() - 1] == forward_.attention.keys &&
           shape[shape.rank() - 2] == forward_.attention.queries;
  }

  // Returns whether the right operand of `dot` is these matrices of `array`.
  static bool reads(const Instruction& dot, const MatrixArray& matrices, const Value& array,
                    bool rows_contract) {
    const DotAxes axes(dot);
    const auto right =
        rhs_matrices(dot, axes.rhs_batch, rows_contract ? axes.rhs_contracting : axes.rhs_free,
                     rows_contract ? axes.rhs_free : axes.rhs_contracting, 1);
    return right && *right == matrices && dot.operand(1) == array;
  }

  bool set_of_q() {
    match_.products[0] = &of_q_;
    return has_scores_shape(of_q_.operand(0)) && contracts_axis(of_q_, DotAxes(of_q_), 0) &&
           reads(of_q_, a().k, forward_.product->operand(1), true);
  }

  bool set_of_k_and_v() {
    match_.products[1] = product_over_queries(of_scores_, a().q, forward_.product->operand(0));
    match_.products[2] =
        product_over_queries(weights_, match_.gradient.of_result, by_weights_->operand(0));
    return match_.products[1] != nullptr && match_.products[2] != nullptr;
  }

  // Returns the product that sums over the queries: of `numbers`, laid out as scores, and these
  // matrices of `array`. Null if there is none.
  const Instruction* product_over_queries(const Value& numbers, const MatrixArray& matrices,
                                          const Value& array) const {
    for (const Instruction* user : numbers.def->users()) {
      if (user->is(Opcode::reshape)) {
        const Value reshaped = value_of(*user);
        const Instruction* const found = product_over_queries(reshaped, matrices, array);
        if (found != nullptr) return found;
      }
      if (is_f32_product(*user) && user->operand(0) == numbers && has_scores_shape(numbers) &&
          contracts_axis(*user, DotAxes(*user), 1) && reads(*user, matrices, array, true))
        return user;
    }
    return nullptr;
  }

  bool set_results() {
    MatrixArray* const arrays[] = {&match_.gradient.of_q, &match_.gradient.of_k,
                                   &match_.gradient.of_v};
    for (size_t i = 0; i < 3; ++i) {
      const Instruction& dot = *match_.products[i];
      match_.inside.push_back(&dot);
      match_.lasts[i] = &dot;
      auto matrices = result_matrices(dot, dot);
      for (const Instruction* user : dot.users()) {
        if (!user->is(Opcode::transpose) || &user->parent() != &dot.parent()) continue;
        const auto transposed = result_matrices(dot, *user);
        if (!transposed) continue;
        matrices = transposed;
        match_.lasts[i] = user;
        break;
      }
      if (!matrices || matrices->offsets.size() != a().q.offsets.size()) return false;
      *arrays[i] = *std::move(matrices);
    }
    return true;
  }

  const Instruction& of_q_;
  ScoresMatcher forward_;
  AttentionGradientMatch match_;
  Value of_scores_, of_softmax_, weights_;
  const Instruction* by_weights_ = nullptr;  // the product that is the weights' gradient
  std::vector<const Instruction*> steps_;    // gradients of steps, of the first one first
};

}  // namespace

std::optional<AttentionGradientMatch> match_attention_gradient(const Instruction& of_q) {
  return AttentionGradientMatcher(of_q).match();
}

namespace {

// The product that is the gradient of q in a fusion's region, or its transpose's operand.
const Instruction& product_of_q(const Instruction& fusion) {
  const Instruction& last = *fusion.region().results()[0].def;
  return last.is(Opcode::transpose) ? *last.operand(0).def : last;
}

}  // namespace

bool is_attention_gradient_fusion(const Instruction& x) {
  if (!x.is(Opcode::fusion) || x.num_results() != 3) return false;
  const Instruction& of_q = product_of_q(x);
  return of_q.is(Opcode::dot_general) && match_attention_gradient(of_q).has_value();
}

AttentionGradientMatch fused_attention_gradient(const Instruction& fusion) {
  return *match_attention_gradient(product_of_q(fusion));
}

}  // namespace systole::cpu
