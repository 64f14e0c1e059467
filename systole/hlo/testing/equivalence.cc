#include "systole/hlo/testing/equivalence.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "systole/base/random.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/testing/random_module.h"

namespace systole::hlo::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWild[] = {
    0.0,        -0.0, 1,      -1,      kInfinity,
    -kInfinity, 1e30, -1e-30, 3.3e-39, std::numeric_limits<double>::quiet_NaN()};

// Every second element.
void make_wild(Tensor& tensor, RandomStream& random) {
  visit_dtype(tensor.dtype(), [&]<class T>() {
    for (T& element : tensor.data<T>()) {
      const double number = kWild[random.next_below(std::size(kWild))];
      if (random.next_below(2) == 0) {
        element = Tensor::full(dtype_of<T>(), {}, number).template item<T>();
      }
    }
  });
}

bool same_element(const Tensor& a, const Tensor& b, int64_t i) {
  const double x = a.as_double(i);
  const double y = b.as_double(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  const auto size = static_cast<size_t>(size_of(a.dtype()));
  const auto at = static_cast<size_t>(i) * size;
  return std::memcmp(static_cast<const std::byte*>(a.raw()) + at,
                     static_cast<const std::byte*>(b.raw()) + at, size) == 0;
}

std::string bit_difference(const Tensor& before, const Tensor& after) {
  if (before.type() != after.type()) {
    return fmt::format("type {} became {}", before.type(), after.type());
  }
  for (int64_t i = 0; i < before.num_elements(); ++i) {
    if (same_element(before, after, i)) continue;
    return fmt::format("element {} of {}: {:.17g} became {:.17g}", i, before.type(),
                       before.as_double(i), after.as_double(i));
  }
  return "";
}

}  // namespace

std::string run_difference(const Module& before, const Module& after, uint64_t seed, bool wild) {
  std::vector<Tensor> arguments = random_arguments(before, seed);
  RandomStream random(seed, 2);
  if (wild) {
    for (Tensor& argument : arguments) make_wild(argument, random);
  }
  const std::vector<Tensor> a = Evaluator().run(before.entry(), arguments);
  const std::vector<Tensor> b = Evaluator().run(after.entry(), arguments);
  if (a.size() != b.size()) return fmt::format("{} results became {}", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string text = bit_difference(a[i], b[i]);
    if (!text.empty()) return fmt::format("result {}: {}", i, text);
  }
  return "";
}

}  // namespace systole::hlo::testing
