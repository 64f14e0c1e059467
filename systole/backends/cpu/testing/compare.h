// Runs a program on this backend in all modes and compares with the reference semantics.
#pragma once

#include <span>
#include <string>

#include "systole/base/random.h"
#include "systole/hlo/testing/run_op.h"
#include "systole/runtime/client.h"

namespace systole::cpu::testing {

// Describes a test case in a failure: "f32 [3,4] add".
template <class... T>
std::string words(const T&... items) {
  std::string result;
  ((result += fmt::format("{} ", items)), ...);
  return result;
}

// Allowed difference from the reference: in units in the last place of the element type; relative
// to the largest element of the result, for sums whose terms cancel; and absolute, for results that
// consist of such sums.
struct Tolerance {
  double ulps = 0;
  double of_largest = 0;
  double absolute = 0;
};

// One client for all tests.
runtime::Client& client();

// Returns numbers between low and high; integers are whole. With `special`, floats include NaN,
// infinities and zeros of both signs.
Tensor random_tensor(RandomStream& random, const TensorType& type, double low, double high,
                     bool special = false);

std::vector<Tensor> run(const hlo::Module& module, std::span<const Tensor> arguments,
                        const runtime::CompileOptions& options = {});
// Returns "" if they agree, otherwise the first element that does not.
std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);
// Compares with hlo::Evaluator: with and without optimisation, on one thread and on all. Returns ""
// if all agree.
std::string check(const hlo::Module& module, std::span<const Tensor> arguments,
                  const Tolerance& tolerance = {});
std::string check(const hlo::testing::OpUnderTest& op, const Tolerance& tolerance = {});

}  // namespace systole::cpu::testing
