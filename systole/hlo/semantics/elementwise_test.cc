#include "systole/hlo/semantics/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::run_op;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

const std::vector<DType> kFloating = {DType::f16, DType::bf16, DType::f32, DType::f64};
const std::vector<DType> kSigned = {DType::s4, DType::s8, DType::s16, DType::s32, DType::s64};
const std::vector<DType> kUnsigned = {DType::u4, DType::u8, DType::u16, DType::u32, DType::u64};
const std::vector<DType> kIntegers = {DType::s4, DType::s8, DType::s16, DType::s32, DType::s64,
                                      DType::u4, DType::u8, DType::u16, DType::u32, DType::u64};
const std::vector<DType> kPred = {DType::pred};

template <class T>
Tensor vector_of(DType dtype, const std::vector<T>& elements) {
  return Tensor::of<T>({static_cast<int64_t>(elements.size())}, elements).cast(dtype);
}

// Operands and result as rows of numbers that every one of `dtypes` holds exactly.
template <class T>
struct Case {
  Opcode opcode;
  std::vector<DType> dtypes;
  std::vector<std::vector<T>> operands;
  std::vector<T> expected;
};

template <class T>
Tensor run_case(const Case<T>& c, DType dtype) {
  std::vector<Tensor> operands;
  for (const auto& row : c.operands) operands.push_back(vector_of(dtype, row));
  return run_op({.opcode = c.opcode, .operands = operands})[0];
}

const Case<double> kFloatingCases[] = {
    {Opcode::abs, kFloating, {{-2.5, 0, -0.0, -kInf, kNan}}, {2.5, 0, 0, kInf, kNan}},
    {Opcode::cbrt, kFloating, {{-8, 0, 1}}, {-2, 0, 1}},
    {Opcode::ceil, kFloating, {{-1.5, 1.25, -0.25}}, {-1, 2, -0.0}},
    {Opcode::cosine, kFloating, {{0, kInf}}, {1, kNan}},
    {Opcode::exponential, kFloating, {{0, -kInf, kInf}}, {1, 0, kInf}},
    {Opcode::exponential_minus_one, kFloating, {{0, -kInf}}, {0, -1}},
    {Opcode::floor, kFloating, {{-1.5, 1.75}}, {-2, 1}},
    {Opcode::log, kFloating, {{1, 0, -1}}, {0, -kInf, kNan}},
    {Opcode::log_plus_one, kFloating, {{0, -1}}, {0, -kInf}},
    {Opcode::logistic, kFloating, {{0, kInf, -kInf}}, {0.5, 1, 0}},
    {Opcode::negate, kFloating, {{0, -3, kInf}}, {-0.0, 3, -kInf}},
    {Opcode::round_nearest_afz, kFloating, {{-2.5, 0.5, 1.25, 2.5}}, {-3, 1, 1, 3}},
    {Opcode::round_nearest_even, kFloating, {{-2.5, 0.5, 1.75, 2.5}}, {-2, 0, 2, 2}},
    {Opcode::rsqrt, kFloating, {{4, 0.25, 0}}, {0.5, 2, kInf}},
    {Opcode::sign, kFloating, {{-2, -0.0, 0, 7, kNan}}, {-1, -0.0, 0, 1, kNan}},
    {Opcode::sine, kFloating, {{0, -0.0, kInf}}, {0, -0.0, kNan}},
    {Opcode::sqrt, kFloating, {{4, 0.25, -1}}, {2, 0.5, kNan}},
    {Opcode::tan, kFloating, {{0, kInf}}, {0, kNan}},
    {Opcode::tanh, kFloating, {{0, kInf, -kInf}}, {0, 1, -1}},
    {Opcode::add, kFloating, {{1.5, kInf, kInf}, {2, 1, -kInf}}, {3.5, kInf, kNan}},
    {Opcode::atan2, kFloating, {{0, -0.0, 0}, {1, 1, 0}}, {0, -0.0, 0}},
    {Opcode::divide, kFloating, {{3, 1, -1, 0}, {2, 0, 0, 0}}, {1.5, kInf, -kInf, kNan}},
    {Opcode::maximum, kFloating, {{1, -0.0, kNan, 2}, {2, 0, 1, kNan}}, {2, 0, kNan, kNan}},
    {Opcode::maximum, kFloating, {{0, -0.0}, {-0.0, -0.0}}, {0, -0.0}},
    {Opcode::minimum, kFloating, {{1, -0.0, kNan, 2}, {2, 0, 1, kNan}}, {1, -0.0, kNan, kNan}},
    {Opcode::multiply, kFloating, {{1.5, 0}, {2, kInf}}, {3, kNan}},
    {Opcode::power,
     kFloating,
     {{2, -0.0, 0, -4, 3}, {10, 2, 0, 0.5, -kInf}},
     {1024, 0, 1, kNan, 0}},
    {Opcode::remainder, kFloating, {{17, -17, 17, 5}, {3, 3, -3, 0}}, {2, -2, 2, kNan}},
    {Opcode::subtract, kFloating, {{1.5}, {2}}, {-0.5}},
};

TEST(ElementwiseValueTest, Floating) {
  for (const auto& c : kFloatingCases) {
    for (const DType dtype : c.dtypes) {
      SCOPED_TRACE(fmt::format("{} {}", c.opcode, dtype));
      const Tensor result = run_case(c, dtype);
      ASSERT_EQ(result.type(), (TensorType{dtype, {static_cast<int64_t>(c.expected.size())}}));
      for (size_t i = 0; i < c.expected.size(); ++i) {
        const double got = result.as_double(static_cast<int64_t>(i));
        if (std::isnan(c.expected[i])) {
          EXPECT_TRUE(std::isnan(got)) << "element " << i << ", got " << got;
        } else {
          EXPECT_EQ(got, c.expected[i]) << "element " << i;
          EXPECT_EQ(std::signbit(got), std::signbit(c.expected[i])) << "element " << i;
        }
      }
    }
  }
}

const Case<int64_t> kIntegerCases[] = {
    {Opcode::abs, kSigned, {{-3, 0, 5}}, {3, 0, 5}},
    {Opcode::abs, {DType::s8}, {{-128}}, {-128}},
    {Opcode::abs, {DType::s64}, {{kMin64}}, {kMin64}},
    {Opcode::count_leading_zeros, {DType::s4, DType::u4}, {{0, 1, -1}}, {4, 3, 0}},
    {Opcode::count_leading_zeros, {DType::s8, DType::u8}, {{0, 1, -1, 64}}, {8, 7, 0, 1}},
    {Opcode::count_leading_zeros, {DType::s64, DType::u64}, {{0, 1, -1}}, {64, 63, 0}},
    {Opcode::negate, kSigned, {{-3, 0, 5}}, {3, 0, -5}},
    {Opcode::negate, {DType::u8}, {{1, 255}}, {255, 1}},
    {Opcode::not_, kSigned, {{-1, 0, 5}}, {0, -1, -6}},
    {Opcode::not_, {DType::u8}, {{0, 5}}, {255, 250}},
    {Opcode::not_, kPred, {{0, 1}}, {1, 0}},
    {Opcode::popcnt, {DType::s4}, {{0, -1, 5}}, {0, 4, 2}},
    {Opcode::popcnt, {DType::s16, DType::u16}, {{0, -1, 5}}, {0, 16, 2}},
    {Opcode::sign, kSigned, {{-3, 0, 5}}, {-1, 0, 1}},
    {Opcode::add, kIntegers, {{1, 3}, {2, 4}}, {3, 7}},
    {Opcode::add, {DType::s8}, {{127, -128}, {1, -1}}, {-128, 127}},
    {Opcode::add, {DType::u8}, {{255}, {2}}, {1}},
    {Opcode::add, {DType::s64}, {{kMax64}, {1}}, {kMin64}},
    {Opcode::add, kPred, {{0, 0, 1, 1}, {0, 1, 0, 1}}, {0, 1, 1, 1}},
    {Opcode::and_, kIntegers, {{6, 7}, {3, 0}}, {2, 0}},
    {Opcode::and_, kPred, {{0, 0, 1, 1}, {0, 1, 0, 1}}, {0, 0, 0, 1}},
    {Opcode::divide, kSigned, {{7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}}, {2, -2, -2, 2, -1}},
    {Opcode::divide, {DType::s8}, {{-128}, {-1}}, {-128}},
    {Opcode::divide, {DType::s64}, {{kMin64}, {-1}}, {kMin64}},
    {Opcode::divide, kUnsigned, {{7, 6}, {3, 2}}, {2, 3}},
    {Opcode::divide, {DType::u8}, {{200, 5}, {3, 0}}, {66, 255}},
    {Opcode::divide, {DType::u64}, {{-1, 5}, {2, 0}}, {kMax64, -1}},
    {Opcode::maximum, kSigned, {{-3, 5}, {2, 4}}, {2, 5}},
    {Opcode::maximum, {DType::u64}, {{-1, 5}, {2, 4}}, {-1, 5}},
    {Opcode::maximum, kPred, {{0, 0, 1}, {0, 1, 1}}, {0, 1, 1}},
    {Opcode::minimum, kSigned, {{-3, 5}, {2, 4}}, {-3, 4}},
    {Opcode::minimum, {DType::u64}, {{-1, 5}, {2, 4}}, {2, 4}},
    {Opcode::minimum, kPred, {{0, 0, 1}, {0, 1, 1}}, {0, 0, 1}},
    {Opcode::multiply, kSigned, {{-2, 3}, {3, 2}}, {-6, 6}},
    {Opcode::multiply, {DType::s8}, {{100}, {3}}, {44}},
    {Opcode::multiply, {DType::s64}, {{kMax64}, {2}}, {-2}},
    {Opcode::multiply, kPred, {{0, 0, 1, 1}, {0, 1, 0, 1}}, {0, 0, 0, 1}},
    {Opcode::or_, kIntegers, {{6, 1}, {3, 0}}, {7, 1}},
    {Opcode::or_, kPred, {{0, 0, 1, 1}, {0, 1, 0, 1}}, {0, 1, 1, 1}},
    {Opcode::power,
     {DType::s64},
     {{-1, -1, -3, 1, -3, 0}, {1, 0, -3, -3, 3, 2}},
     {-1, 1, 0, 1, -27, 0}},
    {Opcode::power, {DType::u8}, {{3, 2, 0}, {6, 8, 0}}, {217, 0, 1}},
    {Opcode::remainder, kSigned, {{7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}}, {1, -1, 1, -1, 5}},
    {Opcode::remainder, {DType::s64}, {{kMin64}, {-1}}, {0}},
    {Opcode::remainder, kUnsigned, {{7, 5}, {3, 0}}, {1, 5}},
    {Opcode::shift_left, {DType::s8}, {{1, 64, 1, 1}, {3, 1, 8, -1}}, {8, -128, 0, 0}},
    {Opcode::shift_left, {DType::u64}, {{1, 1, 1}, {63, 64, -1}}, {kMin64, 0, 0}},
    {Opcode::shift_right_arithmetic,
     {DType::s8},
     {{-128, 64, -1, 1}, {3, 1, 8, -1}},
     {-16, 32, -1, 0}},
    {Opcode::shift_right_arithmetic, {DType::u8}, {{128, 64}, {1, 1}}, {192, 32}},
    {Opcode::shift_right_arithmetic, {DType::s64}, {{kMin64, 1}, {63, 64}}, {-1, 0}},
    {Opcode::shift_right_logical, {DType::s8}, {{-128, -1, -1}, {3, 8, 7}}, {16, 0, 1}},
    {Opcode::shift_right_logical, {DType::s64}, {{-1, -1}, {63, 64}}, {1, 0}},
    {Opcode::subtract, kSigned, {{1, -3}, {2, -4}}, {-1, 1}},
    {Opcode::subtract, {DType::u8}, {{1}, {2}}, {255}},
    {Opcode::xor_, kIntegers, {{6, 1}, {3, 0}}, {5, 1}},
    {Opcode::xor_, kPred, {{0, 0, 1, 1}, {0, 1, 0, 1}}, {0, 1, 1, 0}},
};

TEST(ElementwiseValueTest, Integers) {
  for (const auto& c : kIntegerCases) {
    for (const DType dtype : c.dtypes) {
      SCOPED_TRACE(fmt::format("{} {}", c.opcode, dtype));
      const Tensor result = run_case(c, dtype);
      EXPECT_TRUE(result.identical(vector_of(dtype, c.expected))) << result.to_string();
    }
  }
}

struct FunctionCase {
  Opcode opcode;
  double (*function)(double);
};

// The value is the function of the exact operand, rounded once to the element type.
TEST(ElementwiseValueTest, TranscendentalsAreRoundedOnce) {
  const FunctionCase cases[] = {
      {Opcode::cbrt, std::cbrt},
      {Opcode::cosine, std::cos},
      {Opcode::exponential, std::exp},
      {Opcode::exponential_minus_one, std::expm1},
      {Opcode::log, std::log},
      {Opcode::log_plus_one, std::log1p},
      {Opcode::logistic, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Opcode::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {Opcode::sine, std::sin},
      {Opcode::sqrt, std::sqrt},
      {Opcode::tan, std::tan},
      {Opcode::tanh, std::tanh},
  };
  for (const auto& c : cases) {
    for (const DType dtype : kFloating) {
      SCOPED_TRACE(fmt::format("{} {}", c.opcode, dtype));
      const Tensor x = vector_of<double>(dtype, {0.1, 0.7, 1.3, 2.9, 9.7});
      std::vector<double> expected;
      for (int64_t i = 0; i < x.num_elements(); ++i) expected.push_back(c.function(x.as_double(i)));
      const Tensor result = run_op({.opcode = c.opcode, .operands = {x}})[0];
      EXPECT_TRUE(result.identical(vector_of(dtype, expected))) << result.to_string();
    }
  }
}

TEST(ElementwiseValueTest, Complex) {
  using C = std::complex<double>;
  struct ComplexCase {
    Opcode opcode;
    std::vector<C> operands;
    C expected;
  };
  const ComplexCase cases[] = {
      {Opcode::add, {{1, 2}, {3, -1}}, {4, 1}},
      {Opcode::subtract, {{1, 2}, {3, -1}}, {-2, 3}},
      {Opcode::multiply, {{1, 2}, {3, -1}}, {5, 5}},
      {Opcode::divide, {{5, 5}, {3, -1}}, {1, 2}},
      {Opcode::negate, {{1, -2}}, {-1, 2}},
      {Opcode::sign, {{3, 4}}, {0.6, 0.8}},
      {Opcode::sqrt, {{-4, 0}}, {0, 2}},
      {Opcode::rsqrt, {{4, 0}}, {0.5, 0}},
      {Opcode::cbrt, {{0, 8}}, {std::sqrt(3.0), 1}},
      {Opcode::exponential, {{0, std::numbers::pi}}, {-1, 0}},
      {Opcode::exponential_minus_one, {{0, std::numbers::pi}}, {-2, 0}},
      {Opcode::log, {{-1, 0}}, {0, std::numbers::pi}},
      {Opcode::log_plus_one, {{-2, 0}}, {0, std::numbers::pi}},
      {Opcode::logistic, {{0, 0}}, {0.5, 0}},
      {Opcode::cosine, {{0, 1}}, {std::cosh(1.0), 0}},
      {Opcode::sine, {{0, 1}}, {0, std::sinh(1.0)}},
      {Opcode::tan, {{0, 1}}, {0, std::tanh(1.0)}},
      {Opcode::tanh, {{0, 1}}, {0, std::tan(1.0)}},
      {Opcode::power, {{0, 1}, {2, 0}}, {-1, 0}},
      {Opcode::atan2, {{1, 0}, {1, 0}}, {std::numbers::pi / 4, 0}},
      {Opcode::maximum, {{1, 2}, {1, 3}}, {1, 3}},
      {Opcode::minimum, {{1, 2}, {1, 3}}, {1, 2}},
  };
  for (const auto& c : cases) {
    for (const DType dtype : {DType::c64, DType::c128}) {
      SCOPED_TRACE(fmt::format("{} {}", c.opcode, dtype));
      std::vector<Tensor> operands;
      for (const C& operand : c.operands) operands.push_back(Tensor::scalar(operand).cast(dtype));
      const Tensor result = run_op({.opcode = c.opcode, .operands = operands})[0];
      const C got = result.cast(DType::c128).item<C>();
      EXPECT_NEAR(std::abs(got - c.expected), 0, dtype == DType::c64 ? 1e-6 : 1e-14) << got;
    }
  }
  const Tensor modulus = run_op({.opcode = Opcode::abs, .operands = {Tensor::scalar(C(3, 4))}})[0];
  EXPECT_EQ(modulus.item<double>(), 5);
}

TEST(ElementwiseValueTest, HalfPrecisionRoundsAfterEveryOp) {
  const Tensor x = Tensor::scalar(bfloat16(256));
  const Tensor one = Tensor::scalar(bfloat16(1));
  const Tensor sum = run_op({.opcode = Opcode::add, .operands = {x, one}})[0];
  EXPECT_EQ(static_cast<float>(sum.item<bfloat16>()),
            256);  // 257 needs 9 bits; the tie goes to even
}

TEST(ElementwiseValueTest, EmptyAndScalar) {
  EXPECT_EQ(run_op({.opcode = Opcode::negate, .operands = {Tensor(DType::f32, {0, 3})}})[0].shape(),
            Shape({0, 3}));
  EXPECT_EQ(run_op({.opcode = Opcode::negate, .operands = {Tensor(2.0F)}})[0].item<float>(), -2);
}

const Tensor kF32 = Tensor::zeros(DType::f32, {2});
const Tensor kS32 = Tensor::zeros(DType::s32, {2});
const Tensor kU32 = Tensor::zeros(DType::u32, {2});
const Tensor kBool = Tensor::zeros(DType::pred, {2});

TEST(ElementwiseInferTest, C1TypesMustBeEqual) {
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!traits(opcode).has(kElementwise) || traits(opcode).max_operands != 2) continue;
    if (opcode == Opcode::compare) continue;  // has a test of its own
    SCOPED_TRACE(fmt::format("{}", opcode));
    const Tensor other = Tensor::zeros(DType::f32, {3});
    EXPECT_EQ(error_of({.opcode = opcode, .operands = {kF32, other}}),
              fmt::format("INVALID_ARGUMENT: {}: operand types, got f32[2] and f32[3], expected "
                          "equal",
                          opcode));
    EXPECT_THAT(error_of({.opcode = opcode, .operands = {kF32, kS32}}),
                HasSubstr("got f32[2] and s32[2], expected equal"));
  }
}

TEST(ElementwiseInferTest, I1ElementTypes) {
  struct ErrorCase {
    Opcode opcode;
    Tensor operand;
    const char* expected;
  };
  const ErrorCase cases[] = {
      {Opcode::abs, kU32,
       "abs: element type, got u32, expected signed integer or floating-point or complex"},
      {Opcode::ceil, kS32, "ceil: element type, got s32, expected floating-point"},
      {Opcode::cosine, kBool, "cosine: element type, got pred, expected floating-point or complex"},
      {Opcode::is_finite, kS32, "is_finite: element type, got s32, expected floating-point"},
      {Opcode::negate, kBool,
       "negate: element type, got pred, expected integer or floating-point or complex"},
      {Opcode::not_, kF32, "not: element type, got f32, expected pred or integer"},
      {Opcode::popcnt, kF32, "popcnt: element type, got f32, expected integer"},
      {Opcode::sign, kU32, "sign: element type, got u32, expected signed integer"},
      {Opcode::and_, kF32, "and: element type, got f32, expected pred or integer"},
      {Opcode::divide, kBool, "divide: element type, got pred, expected integer"},
      {Opcode::shift_left, kF32, "shift_left: element type, got f32, expected integer"},
      {Opcode::subtract, kBool, "subtract: element type, got pred"},
  };
  for (const auto& c : cases) {
    std::vector<Tensor> operands(static_cast<size_t>(traits(c.opcode).min_operands), c.operand);
    EXPECT_THAT(error_of({.opcode = c.opcode, .operands = operands}), HasSubstr(c.expected));
  }
}

}  // namespace
}  // namespace systole::hlo
