#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::FftType;

// Every kind of length: passes of each factor, of a factor without a function of its own, the
// convolution of large primes, and no pass.
constexpr int64_t kLengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 30, 37, 49, 64, 90, 97};

std::string check_fft(FftType type, DType dtype, const Shape& shape, Dims lengths) {
  RandomStream random(7);
  const DType operand = type == FftType::rfft ? real_dtype(dtype) : dtype;
  return testing::check({.opcode = hlo::Opcode::fft,
                         .operands = {testing::random_tensor(random, {operand, shape}, -1, 1)},
                         .attrs = hlo::FftAttrs{type, std::move(lengths)}},
                        {.of_largest = dtype == DType::c64 ? 3e-6 : 1e-14});
}

TEST(Fft, LengthsOfEveryKind) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    for (const int64_t n : kLengths) {
      SCOPED_TRACE(fmt::format("{} of {}", dtype, n));
      EXPECT_EQ(check_fft(FftType::fft, dtype, {19, n}, {n}), "");
      EXPECT_EQ(check_fft(FftType::ifft, dtype, {3, n}, {n}), "");
      EXPECT_EQ(check_fft(FftType::rfft, dtype, {5, n}, {n}), "");
      EXPECT_EQ(check_fft(FftType::irfft, dtype, {6, n / 2 + 1}, {n}), "");
    }
  }
}

TEST(Fft, SeveralAxes) {
  for (const FftType type : {FftType::fft, FftType::ifft, FftType::rfft}) {
    EXPECT_EQ(check_fft(type, DType::c64, {12, 10}, {12, 10}), "");
    EXPECT_EQ(check_fft(type, DType::c64, {2, 5, 7, 6}, {7, 6}), "");
    EXPECT_EQ(check_fft(type, DType::c128, {3, 4, 6, 5}, {4, 6, 5}), "");
  }
  EXPECT_EQ(check_fft(FftType::irfft, DType::c64, {12, 6}, {12, 10}), "");
  EXPECT_EQ(check_fft(FftType::irfft, DType::c64, {2, 3, 4, 3}, {3, 4, 5}), "");
}

// Lines by themselves that are transformed as matrices, real ones by pairs, several of them, and
// long ones that threads share.
TEST(Fft, LinesAlone) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    for (const int64_t n : {256, 512, 960, 1024, 1280}) {
      SCOPED_TRACE(fmt::format("{} of {}", dtype, n));
      EXPECT_EQ(check_fft(FftType::fft, dtype, {n}, {n}), "");
      EXPECT_EQ(check_fft(FftType::ifft, dtype, {2, n}, {n}), "");
      EXPECT_EQ(check_fft(FftType::rfft, dtype, {2, n}, {n}), "");
      EXPECT_EQ(check_fft(FftType::irfft, dtype, {2, n / 2 + 1}, {n}), "");
    }
  }
}

// The reference takes the square of the length: an impulse at place p has the spectrum
// exp(-2 pi i k p / n).
TEST(Fft, LongLines) {
  constexpr int64_t kPlace = 12345;
  for (const int64_t n : {4096 * 8, 4096 * 32}) {
    for (const FftType type : {FftType::fft, FftType::rfft}) {
      const bool real = type == FftType::rfft;
      hlo::Module module;
      hlo::Computation& main = module.add_function("main");
      const DType dtype = real ? DType::f32 : DType::c64;
      const hlo::Value x = main.add_parameter({dtype, {n}});
      const hlo::Value spectrum =
          hlo::Builder(main).op(hlo::Opcode::fft, {x}, hlo::FftAttrs{type, {n}})->result();
      main.set_results({hlo::Builder(main)
                            .op(hlo::Opcode::fft, {spectrum},
                                hlo::FftAttrs{real ? FftType::irfft : FftType::ifft, {n}})
                            ->result(),
                        spectrum});
      Tensor impulse = Tensor::full(dtype, {n}, 0);
      if (real) {
        impulse.data<float>()[kPlace] = 1;
      } else {
        impulse.data<std::complex<float>>()[kPlace] = 1;
      }
      const std::vector<Tensor> results = testing::run(module, std::vector{impulse});
      EXPECT_EQ(testing::difference(results[0], impulse, {.of_largest = 1e-6}), "");
      Tensor want(DType::c64, results[1].shape());
      for (int64_t k = 0; k < want.num_elements(); ++k) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(k * kPlace % n) / static_cast<double>(n);
        want.data<std::complex<float>>()[static_cast<size_t>(k)] = {
            static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
      }
      EXPECT_EQ(testing::difference(results[1], want, {.of_largest = 1e-6}), "");
    }
  }
}

TEST(Fft, NoLines) {
  EXPECT_EQ(check_fft(FftType::fft, DType::c64, {0, 8}, {8}), "");
  EXPECT_EQ(check_fft(FftType::rfft, DType::c64, {0, 8}, {8}), "");
}

TEST(Fft, ManyLinesOnThreads) {
  EXPECT_EQ(check_fft(FftType::fft, DType::c64, {64, 64, 64}, {64}), "");
  EXPECT_EQ(check_fft(FftType::rfft, DType::c64, {3, 257, 128}, {257, 128}), "");
}

}  // namespace
}  // namespace systole::cpu
