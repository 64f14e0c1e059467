// Random valid programs, to compare two ways of running the same one: before and after a pass, on a
// backend and by the evaluator.
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
  // At least one is floating-point; s32 and pred are there anyway.
  std::vector<DType> dtypes = {DType::f32, DType::bf16};
  bool transcendental = true;  // operations that backends may round differently
  bool windows = true;         // reduce_window, convolution
  bool control_flow = true;    // while, if, case
  bool calls = true;           // functions besides main
  bool random_bits = true;     // rng_bit_generator
};

struct RandomModule {
  std::unique_ptr<Module> module;
  // For each result of main, how far two correct ways of computing an element may be apart. 0: not
  // at all.
  std::vector<double> tolerances;
};

// The same seed and options give the same module. Values are tame: no NaN, no infinity, floats
// below about 1000 in magnitude; what depends on a float discontinuously (compare, floor, convert
// to an integer) sees only such floats as every correct implementation gets to the bit.
RandomModule random_module(uint64_t seed, const RandomModuleOptions& options = {});

// Arguments for main: floats in [-2, 2], zeros of both signs among them; small integers.
std::vector<Tensor> random_arguments(const Module& module, uint64_t seed);

// What is wrong with `got`: "" when types agree and each element differs from the expected one by
// at most `tolerance`, or by its 2^-20th part (at tolerance 0: is the same number; zeros of either
// sign are the same).
std::string difference(const Tensor& got, const Tensor& expected, double tolerance);

}  // namespace systole::hlo::testing
