#include <algorithm>
#include <cmath>

#include "systole/hlo/testing/random_scope.h"

namespace systole::hlo::testing {
namespace {

constexpr int kMaxDepth = 2;

// The initial scope of a region: all enclosing values and its parameters.
RandomScope region_scope(RandomScope& scope, Computation& region) {
  RandomScope inner(scope.random(), scope.options(), region, scope.pool(), scope.depth() + 1);
  inner.callees = scope.callees;
  return inner;
}

// A loop may use an outside float once per iteration. Carried values must stay within the assumed
// bounds.
struct Carried {
  Entry initial;
  Entry last;
};

Entry carried_value(RandomScope& scope) {
  const Entry entry = scope.tamed(scope.any());
  if (entry.error <= assumed_error(entry.dtype())) return entry;
  return scope.leaf(entry.value.type());
}

void fill_condition(Computation& region, std::span<const Value> operands, int64_t trips) {
  for (const Value& operand : operands) region.add_parameter(operand.type());
  Builder b(region);
  region.set_results(
      {b.compare(region.parameter(0), b.scalar(DType::s32, static_cast<double>(trips)),
                 ComparisonDirection::lt)});
}

void fill_body(RandomScope& scope, Computation& region, std::vector<Carried>& carried) {
  region.add_parameter({DType::s32, {}});
  RandomScope body = region_scope(scope, region);
  body.add(region.parameter(0), 0, 0);
  for (const Carried& c : carried) {
    const Value parameter = region.add_parameter(c.initial.value.type());
    body.add(parameter, kTameBound, assumed_error(parameter.dtype()));
  }
  body.grow(static_cast<int>(2 + scope.below(6)));
  std::vector<Value> results{
      body.builder.add(region.parameter(0), body.builder.scalar(DType::s32, 1))};
  for (size_t i = 0; i < carried.size(); ++i) {
    const Value parameter = region.parameter(static_cast<int>(i) + 1);
    const Entry unchanged{parameter, kTameBound, assumed_error(parameter.dtype())};
    carried[i].last = body.chance(0.2) ? unchanged : body.tamed(body.of_type(parameter.type()));
    results.push_back(carried[i].last.value);
  }
  region.set_results(results);
}

// Counts from 0 to a constant below 4.
void make_while(RandomScope& scope) {
  if (!scope.options().control_flow || scope.depth() >= kMaxDepth) return;
  const int64_t trips = scope.below(4);
  std::vector<Carried> carried;
  std::vector<Value> operands{scope.builder.scalar(DType::s32, 0)};
  for (int64_t i = 1 + scope.below(3); i > 0; --i) {
    carried.push_back({carried_value(scope), {}});
    operands.push_back(carried.back().initial.value);
  }
  Instruction* loop =
      scope.builder.op_with_regions(Opcode::while_, operands, NoAttrs{}, [&](Instruction& op) {
        fill_condition(op.add_region(), operands, trips);
        fill_body(scope, op.add_region(), carried);
      });
  // An iteration amplifies larger errors in proportion to the assumed one.
  double growth = 1;
  for (const Carried& c : carried) {
    const double assumed = assumed_error(c.last.dtype());
    if (assumed > 0) growth = std::max(growth, c.last.error / assumed);
  }
  for (size_t i = 0; i < carried.size(); ++i) {
    const double error =
        assumed_error(carried[i].last.dtype()) * std::pow(growth, static_cast<double>(trips));
    scope.add(loop->result(static_cast<int>(i) + 1), kTameBound, error);
  }
}

// Adds a branch's results, with the types of `wanted`, and records their worst bounds there.
void fill_branch(RandomScope& scope, Computation& region, std::vector<Entry>& wanted) {
  RandomScope branch = region_scope(scope, region);
  branch.grow(static_cast<int>(1 + scope.below(5)));
  std::vector<Value> results;
  for (Entry& entry : wanted) {
    const Entry result = branch.of_type(entry.value.type());
    results.push_back(result.value);
    entry.bound = std::max(entry.bound, result.bound);
    entry.error = std::max(entry.error, result.error);
  }
  region.set_results(results);
}

void make_branches(RandomScope& scope) {
  if (!scope.options().control_flow || scope.depth() >= kMaxDepth) return;
  const bool is_if = scope.chance(0.6);
  const Entry chosen = scope.scalar(is_if ? DType::pred : DType::s32);
  std::vector<Entry> results;
  for (int64_t i = 1 + scope.below(2); i > 0; --i) results.push_back({scope.any().value, 0, 0});
  Instruction* branches = scope.builder.op_with_regions(
      is_if ? Opcode::if_ : Opcode::case_, {chosen.value}, NoAttrs{}, [&](Instruction& op) {
        const int64_t count = is_if ? 2 : 1 + scope.below(3);
        for (int64_t i = 0; i < count; ++i) fill_branch(scope, op.add_region(), results);
      });
  for (int i = 0; i < branches->num_results(); ++i) {
    const Entry& result = results[i];
    scope.add(branches->result(i), result.bound, result.error);
  }
}

void make_call(RandomScope& scope) {
  if (scope.callees.empty()) return;
  const Callee& callee = scope.one_of(scope.callees);
  std::vector<Value> arguments;
  for (int i = 0; i < callee.computation->num_parameters(); ++i) {
    const TensorType& type = callee.computation->parameter(i).type();
    arguments.push_back(scope.of_type(type, kTameBound, assumed_error(type.dtype)).value);
  }
  Instruction* call =
      scope.builder.op(Opcode::call, arguments, CallAttrs{callee.computation->name()});
  for (int i = 0; i < call->num_results(); ++i) {
    const Entry& result = callee.results[i];
    scope.add(call->result(i), result.bound, result.error);
  }
}

void make_random_bits(RandomScope& scope) {
  if (!scope.options().random_bits) return;
  constexpr RngAlgorithm kAlgorithms[] = {RngAlgorithm::three_fry, RngAlgorithm::philox};
  const std::vector<uint64_t> seed{scope.random().next_u64() >> 32, 1};
  const Value state = scope.builder.constant(Tensor::of<uint64_t>({2}, seed));
  const TensorType type{DType::u32, scope.random_shape()};
  Instruction* bits =
      scope.builder.op(Opcode::rng_bit_generator, {state},
                       RngBitGeneratorAttrs{scope.one_of(kAlgorithms)}, {state.type(), type});
  scope.add(scope.builder.convert(bits->result(1), DType::s32), 0, 0);
}

void make_barrier(RandomScope& scope) {
  const Entry x = scope.any();
  const Entry y = scope.any();
  Instruction* barrier = scope.builder.op(Opcode::optimization_barrier, {x.value, y.value});
  scope.add(barrier->result(0), x.bound, x.error);
  scope.add(barrier->result(1), y.bound, y.error);
}

constexpr Maker kRandomControlFlowMakers[] = {
    {2, make_while}, {2, make_branches}, {2, make_call}, {1, make_random_bits}, {1, make_barrier},
};

}  // namespace

std::span<const Maker> control_flow_makers() { return kRandomControlFlowMakers; }

}  // namespace systole::hlo::testing
