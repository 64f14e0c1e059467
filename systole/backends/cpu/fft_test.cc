#include <gtest/gtest.h>

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
