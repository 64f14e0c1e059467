#include "systole/backends/cpu/testing/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "systole/backends/cpu/cpu_backend.h"

namespace systole::cpu::testing {

runtime::Client& client() {
  static const auto instance = make_client();
  return *instance;
}

namespace {

constexpr double kSpecial[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               1.5e-38,
                               -3e38,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};

// The distance between neighbours at x in the format.
double unit_in_last_place(DType dtype, double x) {
  const int mantissa = dtype == DType::bf16  ? 7
                       : dtype == DType::f16 ? 10
                       : dtype == DType::f64 ? 52
                                             : 23;
  const int lowest = dtype == DType::f16 ? -14 : dtype == DType::f64 ? -1022 : -126;
  const int exponent = x == 0 ? lowest : std::max(std::ilogb(x), lowest);
  return std::ldexp(1.0, exponent - mantissa);
}

// Programs flush denormals, except those of f16, which are normal in f32.
bool is_flushed(DType dtype, double x) {
  if (dtype == DType::f16) return false;
  return std::fabs(x) < (dtype == DType::f64 ? std::numeric_limits<double>::min()
                                             : std::numeric_limits<float>::min());
}

bool close(DType dtype, double got, double want, const Tolerance& tolerance, double largest) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (got == want || (got == 0 && is_flushed(dtype, want))) return true;
  const double allowed = tolerance.ulps * unit_in_last_place(dtype, want) +
                         tolerance.of_largest * largest + tolerance.absolute;
  // Rounding up from the largest number gives infinity.
  const double finite = dtype == DType::f16   ? 65504
                        : dtype == DType::f64 ? std::numeric_limits<double>::max()
                                              : 3.3e38;
  if (std::isinf(got) != std::isinf(want))
    return tolerance.ulps > 0 && std::fabs(got) >= finite && std::fabs(want) >= finite;
  return std::fabs(got - want) <= allowed;
}

// The real and imaginary parts along a last axis.
Tensor parts_of(const Tensor& x) {
  Dims dims = x.shape().dims();
  dims.push_back(2);
  Tensor parts(real_dtype(x.dtype()), Shape(dims));
  if (x.byte_size() > 0) std::memcpy(parts.raw(), x.raw(), static_cast<size_t>(x.byte_size()));
  return parts;
}

}  // namespace

Tensor random_tensor(RandomStream& random, const TensorType& type, double low, double high,
                     bool special) {
  Tensor wide(DType::f64, type.shape);
  const bool whole = is_integer(type.dtype) || type.dtype == DType::pred;
  for (double& x : wide.data<double>()) {
    x = low + (high - low) * random.next_uniform();
    if (whole) x = std::floor(x);
    if (special && is_floating(type.dtype) && random.next_below(4) == 0)
      x = kSpecial[random.next_below(std::size(kSpecial))];
  }
  if (type.dtype != DType::pred) return wide.cast(type.dtype);
  for (double& x : wide.data<double>()) x = random.next_below(2) == 0 ? 0 : 1;
  return wide.cast(DType::pred);
}

std::vector<Tensor> run(const hlo::Module& module, std::span<const Tensor> arguments,
                        const runtime::CompileOptions& options) {
  return runtime::run(*client().compile(module, options), arguments);
}

std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.type() != want.type())
    return fmt::format("type {} instead of {}", got.type(), want.type());
  if (is_complex(want.dtype())) return difference(parts_of(got), parts_of(want), tolerance);
  if (!is_floating(want.dtype())) {
    return got.identical(want)
               ? ""
               : fmt::format("got {} expected {}", got.to_string(), want.to_string());
  }
  double largest = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    if (std::isfinite(want.as_double(i))) largest = std::max(largest, std::fabs(want.as_double(i)));
  }
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    if (close(want.dtype(), got.as_double(i), want.as_double(i), tolerance, largest)) continue;
    return fmt::format("element {} of {}: got {}, expected {}, {} units off", i, want.type(),
                       got.as_double(i), want.as_double(i),
                       (got.as_double(i) - want.as_double(i)) /
                           unit_in_last_place(want.dtype(), want.as_double(i)));
  }
  return "";
}

std::string check(const hlo::Module& module, std::span<const Tensor> arguments,
                  const Tolerance& tolerance) {
  const std::vector<Tensor> want = hlo::Evaluator().run(module.entry(), arguments);
  const runtime::CompileOptions ways[] = {
      {.optimize = false, .num_threads = 1}, {.num_threads = 1}, {.num_threads = 3}};
  for (const auto& options : ways) {
    const std::vector<Tensor> got = run(module, arguments, options);
    for (size_t k = 0; k < want.size(); ++k) {
      const std::string text = difference(got[k], want[k], tolerance);
      if (text.empty()) continue;
      return fmt::format("result {}, optimize={}, threads={}: {}", k, options.optimize,
                         options.num_threads, text);
    }
  }
  return "";
}

std::string check(const hlo::testing::OpUnderTest& op, const Tolerance& tolerance) {
  hlo::Module module;
  hlo::testing::build_op(module.add_function("main"), op);
  return check(module, op.operands, tolerance);
}

TEST(Compare, FindsADifference) {
  EXPECT_EQ(difference(Tensor(1.0F), Tensor(1.0F), {}), "");
  EXPECT_NE(difference(Tensor(1.0F), Tensor(1.0000001F), {}), "");
  EXPECT_EQ(difference(Tensor(1.0F), Tensor(1.0000001F), {.ulps = 1}), "");
}

}  // namespace systole::cpu::testing
