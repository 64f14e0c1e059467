#include "systole/hlo/testing/random_module.h"

#include <algorithm>
#include <cmath>

#include "systole/hlo/testing/random_scope.h"

namespace systole::hlo::testing {
namespace {

constexpr double kArgumentBound = 2;

// A function of tame arguments with maximal errors.
Callee add_callee(Module& module, RandomStream& random, const RandomModuleOptions& options,
                  std::span<const Callee> callees) {
  Computation& function = module.add_function(fmt::format("helper_{}", callees.size()));
  RandomScope scope(random, options, function, {}, 1);
  scope.callees = callees;
  for (int i = 0; i < 2; ++i) {
    const Value parameter = function.add_parameter(scope.random_type());
    scope.add(parameter, kTameBound, assumed_error(parameter.dtype()));
  }
  scope.grow(options.instructions / 8 + 1);
  Callee callee{&function, {}};
  std::vector<Value> results;
  for (int i = 0; i < 2; ++i) {
    callee.results.push_back(scope.any());
    results.push_back(callee.results.back().value);
  }
  function.set_results(results);
  return callee;
}

void add_parameters(Computation& main, RandomScope& scope, int count) {
  std::vector<TensorType> types{{DType::s32, {}}, {DType::pred, {}}};
  for (int i = 0; i < count; ++i) {
    types.push_back(i == 0 ? TensorType{scope.random_floating(), scope.random_shape()}
                           : scope.random_type());
  }
  for (const TensorType& type : types) scope.add(main.add_parameter(type), kArgumentBound, 0);
}

// Returns all unused values, so that little is dead, and one used value.
std::vector<Entry> choose_results(RandomScope& scope) {
  constexpr size_t kMax = 8;
  std::vector<Entry> results;
  for (const Entry& entry : scope.pool()) {
    const bool is_parameter = entry.value.def->is(Opcode::parameter);
    if (entry.value.def->unused() && !is_parameter) results.push_back(entry);
  }
  while (results.size() > kMax) {
    results.erase(results.begin() + scope.below(static_cast<int64_t>(results.size())));
  }
  results.push_back(scope.any());
  return results;
}

double random_argument(RandomStream& random, DType dtype) {
  if (dtype == DType::pred) return static_cast<double>(random.next_below(2));
  if (!is_floating(dtype)) return static_cast<double>(random.next_below(5));
  const uint64_t kind = random.next_below(8);
  if (kind == 0) return random.next_below(2) == 0 ? 0.0 : -0.0;
  if (kind < 4) return static_cast<double>(random.next_below(17)) / 4 - 2;
  return random.next_uniform() * 2 * kArgumentBound - kArgumentBound;
}

bool close(double got, double expected, double tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (got == expected) return true;
  constexpr double kRelative = 1.0 / (1 << 20);
  return tolerance > 0 &&
         std::abs(got - expected) <= std::max(tolerance, std::abs(expected) * kRelative);
}

}  // namespace

RandomModule random_module(uint64_t seed, const RandomModuleOptions& options) {
  RandomStream random(seed);
  RandomModule result{std::make_unique<Module>("random"), {}};
  std::vector<Callee> callees;
  for (int i = 0; options.calls && i < 2; ++i) {
    callees.push_back(add_callee(*result.module, random, options, callees));
  }
  Computation& main = result.module->add_function("main");
  RandomScope scope(random, options, main, {}, 0);
  scope.callees = callees;
  add_parameters(main, scope, options.parameters);
  scope.grow(options.instructions);
  std::vector<Value> values;
  for (const Entry& entry : choose_results(scope)) {
    values.push_back(entry.value);
    result.tolerances.push_back(entry.error);
  }
  main.set_results(values);
  return result;
}

std::vector<Tensor> random_arguments(const Module& module, uint64_t seed) {
  RandomStream random(seed, 1);
  std::vector<Tensor> arguments;
  const Computation& main = module.entry();
  for (int i = 0; i < main.num_parameters(); ++i) {
    const TensorType type = main.parameter(i).type();
    const bool small = is_small_float(type.dtype);
    Tensor argument(small ? DType::f32 : type.dtype, type.shape);
    visit_dtype(argument.dtype(), [&]<class T>() {
      for (T& element : argument.data<T>()) {
        element = Tensor::full(dtype_of<T>(), {}, random_argument(random, dtype_of<T>()))
                      .template item<T>();
      }
    });
    arguments.push_back(small ? argument.cast(type.dtype) : std::move(argument));
  }
  return arguments;
}

std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  if (got.type() != expected.type()) {
    return fmt::format("got type {}, expected {}", got.type(), expected.type());
  }
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    if (close(got.as_double(i), expected.as_double(i), tolerance)) continue;
    return fmt::format("element {} of {}: got {:.9g}, expected {:.9g}, tolerance {:.3g}", i,
                       expected.type(), got.as_double(i), expected.as_double(i), tolerance);
  }
  return "";
}

}  // namespace systole::hlo::testing
