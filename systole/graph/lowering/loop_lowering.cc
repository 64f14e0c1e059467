#include "systole/graph/lowering/loop_lowering.h"

#include <algorithm>

#include "systole/graph/core/variable_handle.h"
#include "systole/graph/lowering/trip_count.h"

namespace systole {

bool is_invariant(const Graph& body, size_t i) { return body.results()[i] == body.arguments()[i]; }

LoopLowering::LoopLowering(LowerContext& c)
    : c_(c),
      cond_(*c.attr<FunctionRef>("cond")),
      body_(*c.attr<FunctionRef>("body")),
      limit_(c.attr<int64_t>("_maximum_iterations")),
      outputs_{c.num_inputs()},
      cond_draft_(c, "cond"),
      body_draft_(c, "body") {}

std::vector<hlo::Value> LoopLowering::run() {
  carry(c_.b.constant(Tensor(int32_t{0})));
  carry_variables();
  lower_condition();
  lower_body();
  carry_checks();
  carry_histories();
  return results(*build());
}

// REQUIRES: the reference is used before the next call.
LoopLowering::State& LoopLowering::carry(hlo::Value initial) {
  State state{initial,
              cond_draft_.computation().add_parameter(initial.type()),
              body_draft_.computation().add_parameter(initial.type()),
              {}};
  states_.push_back(state);
  return states_.back();
}

void LoopLowering::carry_variables() {
  for (int i = 0; i < c_.num_inputs(); ++i) {
    if (is_invariant(body_, static_cast<size_t>(i))) continue;
    changing_.push_back(i);
    carry(c_.input(i));
  }
  if (!assigned_variables(cond_).empty()) {
    throw unimplemented("condition, got an assignment in it, expected it in the body");
  }
  assigned_ = assigned_variables(body_);
  for (const Node* variable : assigned_) {
    carry(c_.lowering.read_variable(*variable, /*at_start=*/false));
  }
}

// The function's arguments: what changes as it is in the condition, in the body or at the start.
std::vector<hlo::Value> LoopLowering::arguments(hlo::Value State::*where) const {
  std::vector<hlo::Value> result(c_.inputs.begin(), c_.inputs.end());
  for (size_t k = 0; k < changing_.size(); ++k) {
    result[changing_[k]] = states_[1 + k].*where;
  }
  return result;
}

std::vector<hlo::Value> LoopLowering::variables(hlo::Value State::*where) const {
  std::vector<hlo::Value> result;
  for (size_t k = 0; k < assigned_.size(); ++k) {
    result.push_back(states_[1 + changing_.size() + k].*where);
  }
  return result;
}

hlo::Value LoopLowering::iteration(hlo::Value State::*where) const {
  const auto chosen = c_.attr<int64_t>("_iteration_var");
  if (chosen < 0) return states_[0].*where;
  return arguments(where)[chosen];
}

void LoopLowering::lower_condition() {
  cond_result_ = lower_into(c_, cond_draft_, cond_, arguments(&State::in_cond), assigned_,
                            variables(&State::in_cond), iteration(&State::in_cond));
  if (limit_ < 0) return;
  hlo::Builder& b = cond_draft_.b();
  const hlo::Value limit = b.scalar(DType::s32, static_cast<double>(limit_));
  const hlo::Value below = b.compare(states_[0].in_cond, limit, hlo::ComparisonDirection::lt);
  cond_result_.results[0] = b.binary(hlo::Opcode::and_, below, cond_result_.results[0]);
}

void LoopLowering::lower_body() {
  hlo::Builder& b = body_draft_.b();
  states_[0].next = b.add(states_[0].in_body, b.scalar(DType::s32, 1));
  // A region for a condition returns nothing but it, so its checks are made in the body.
  if (!cond_result_.checks.empty()) {
    body_checks_ = lower_into(c_, body_draft_, cond_, arguments(&State::in_body), assigned_,
                              variables(&State::in_body), iteration(&State::in_body))
                       .checks;
  }
  const LoweredFunction lowered =
      lower_into(c_, body_draft_, body_, arguments(&State::in_body), assigned_,
                 variables(&State::in_body), iteration(&State::in_body));
  body_checks_.insert(body_checks_.end(), lowered.checks.begin(), lowered.checks.end());
  for (size_t k = 0; k < changing_.size(); ++k) {
    State& state = states_[1 + k];
    state.next = lowered.results[changing_[k]];
    if (state.next.type() != state.initial.type()) {
      throw invalid_argument("result {} of the body, got {}, expected {}", changing_[k],
                             state.next.type(), state.initial.type());
    }
  }
  for (size_t k = 0; k < assigned_.size(); ++k) {
    states_[1 + changing_.size() + k].next = lowered.variables[k];
  }
}

void LoopLowering::carry_checks() {
  for (const Lowering::RegionCheck& check : body_checks_) {
    State& flag = carry(c_.b.constant(Tensor(false)));
    flag.next = body_draft_.b().binary(hlo::Opcode::or_, flag.in_body, check.failed);
  }
}

void LoopLowering::carry_histories() {
  for (const int i : changing_) {
    if (c_.lowering.needed(outputs_.history(i))) histories_.push_back(i);
  }
  if (histories_.empty() && !c_.lowering.needed(outputs_.iterations())) return;
  std::vector<hlo::Value> next;
  for (const State& state : states_) next.push_back(state.next);
  trip_count_ = find_trip_count(
      {cond_draft_.computation(), cond_result_.results[0], body_draft_.computation(), next},
      [&](int i) { return c_.lowering.constant_value(states_[i].initial); });
  if (histories_.empty()) return;
  if (!trip_count_ && limit_ < 0) {
    throw invalid_argument(
        "gradient of a loop whose number of iterations is not known, got a condition that depends "
        "on values of the run, expected maximum_iterations or a counter");
  }
  const int64_t capacity = std::max<int64_t>(1, trip_count_.value_or(limit_));
  for (const int i : histories_) carry_history(i, capacity);
}

void LoopLowering::carry_history(int i, int64_t capacity) {
  const auto at = static_cast<size_t>(std::ranges::find(changing_, i) - changing_.begin());
  const hlo::Value value = states_[1 + at].in_body;
  Dims dims = {capacity};
  dims.insert(dims.end(), value.shape().dims().begin(), value.shape().dims().end());
  const Shape shape(dims);
  dims[0] = 1;
  hlo::Builder& b = body_draft_.b();
  std::vector<hlo::Value> starts(dims.size(), b.constant(Tensor(int32_t{0})));
  starts[0] = states_[0].in_body;
  State& history = carry(c_.b.splat({value.dtype(), shape}, 0));
  history.next = b.dynamic_update_slice(history.in_body, b.reshape(value, Shape(dims)), starts);
}

hlo::Instruction* LoopLowering::build() {
  std::vector<hlo::Value> initial;
  std::vector<hlo::Value> next;
  for (const State& state : states_) {
    initial.push_back(state.initial);
    next.push_back(state.next);
  }
  cond_draft_.computation().set_results({cond_result_.results[0]});
  body_draft_.computation().set_results(std::move(next));
  return c_.b.op_with_regions(hlo::Opcode::while_, std::move(initial), hlo::NoAttrs{},
                              [&](hlo::Instruction& loop) {
                                cond_draft_.clone_into(loop.add_region());
                                body_draft_.clone_into(loop.add_region());
                              });
}

std::vector<hlo::Value> LoopLowering::results(hlo::Instruction& loop) {
  std::vector<hlo::Value> result(c_.inputs.begin(), c_.inputs.end());
  result.resize(static_cast<size_t>(outputs_.count()));
  int next = 0;
  const hlo::Value iterations = loop.result(next++);
  result[outputs_.iterations()] =
      trip_count_ ? c_.b.constant(Tensor(static_cast<int32_t>(*trip_count_))) : iterations;
  for (const int i : changing_) result[i] = loop.result(next++);
  for (const Node* variable : assigned_) {
    c_.lowering.assign_variable(*variable, loop.result(next++));
  }
  for (const Lowering::RegionCheck& check : body_checks_) {
    c_.lowering.check(loop.result(next++), check.check.code, check.check.message);
  }
  for (const int i : histories_) {
    result[outputs_.history(i)] = loop.result(next++);
  }
  if (!cond_result_.checks.empty()) {  // the evaluation that ended the loop
    const std::span<const hlo::Value> last(result.data(), c_.inputs.size());
    c_.lowering.lower_function(cond_, c_.b, last);
  }
  return result;
}

}  // namespace systole
