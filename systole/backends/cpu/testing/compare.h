// Runs a program on this backend in every way there is and compares with the reference semantics.
#pragma once

#include <span>
#include <string>

#include "systole/base/random.h"
#include "systole/hlo/testing/run_op.h"
#include "systole/runtime/client.h"

namespace systole::cpu::testing {

// What a failure is about: "f32 [3,4] add".
template <class... T>
std::string words(const T&... items) {
  std::string result;
  ((result += fmt::format("{} ", items)), ...);
  return result;
}

// How far results may lie from the reference: in units of the last place of the element's own
// format, as a share of the largest element of the result, for sums whose terms cancel, and as a
// number, for results of which all may be such sums.
struct Tolerance {
  double ulps = 0;
  double of_largest = 0;
  double absolute = 0;
};

// One client for all tests.
runtime::Client& client();

// Numbers between low and high; integers are whole. NaN, infinities and zeros of both signs among
// floats when `special`.
Tensor random_tensor(RandomStream& random, const TensorType& type, double low, double high,
                     bool special = false);

std::vector<Tensor> run(const hlo::Module& module, std::span<const Tensor> arguments,
                        const runtime::CompileOptions& options = {});
// "" when they agree; otherwise the first element that does not.
std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);
// Compiled with and without optimisation, on one thread and on all, against hlo::Evaluator. "" when
// all agree.
std::string check(const hlo::Module& module, std::span<const Tensor> arguments,
                  const Tolerance& tolerance = {});
std::string check(const hlo::testing::OpUnderTest& op, const Tolerance& tolerance = {});

}  // namespace systole::cpu::testing
