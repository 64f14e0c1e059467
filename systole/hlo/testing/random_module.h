// Random valid programs, to compare two ways of running the same program: before and after a pass,
// or on a backend and in the evaluator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo::testing {

struct RandomModuleOptions {
  int instructions = 40;  // about; what they need comes on top
  int parameters = 4;     // of main, besides a scalar s32 and a scalar pred
  int max_rank = 3;
  int64_t max_dim = 4;
  // At least one must be floating-point. s32 and pred are always used.
  std::vector<DType> dtypes = {DType::f32, DType::bf16};
  bool transcendental = true;  // operations that backends may round differently
  bool windows = true;         // reduce_window, convolution
  bool control_flow = true;    // while, if, case
  bool calls = true;           // functions besides main
  bool random_bits = true;     // rng_bit_generator
};

struct RandomModule {
  std::unique_ptr<Module> module;
  // For each result of main, how far two correct computations of an element may differ; 0 if they
  // must be equal.
  std::vector<double> tolerances;
};

// Deterministic in seed and options. Values are tame: no NaN, no infinity, floats below about 1000
// in magnitude. Discontinuous functions of floats (compare, floor, conversion to integers) get only
// floats that every correct implementation computes exactly.
RandomModule random_module(uint64_t seed, const RandomModuleOptions& options = {});

// Returns arguments for main: floats in [-2, 2], signed zeros among them, and small integers.
std::vector<Tensor> random_arguments(const Module& module, uint64_t seed);

// Returns "" if types agree and each element differs from the expected one by at most `tolerance`
// or 2^-20 of its magnitude (with tolerance 0: is equal; 0 and -0 are equal). Otherwise describes
// the difference.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance);

}  // namespace systole::hlo::testing
