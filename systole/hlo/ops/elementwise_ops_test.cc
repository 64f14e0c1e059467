// The elementwise opcodes that are more than a kernel: their own constraints and values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::OpUnderTest;
using testing::run_op;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor f32(const std::vector<float>& elements) {
  return Tensor::of<float>({static_cast<int64_t>(elements.size())}, elements);
}
Tensor s32(const std::vector<int32_t>& elements) {
  return Tensor::of<int32_t>({static_cast<int64_t>(elements.size())}, elements);
}
Tensor pred(const std::vector<bool>& elements) {
  return Tensor::of<bool>({static_cast<int64_t>(elements.size())}, elements);
}

// -- convert

TEST(ConvertTest, Values) {
  const auto convert = [](const Tensor& x, DType dtype) {
    return run_op({.opcode = Opcode::convert,
                   .operands = {x},
                   .declared = {TensorType{dtype, x.shape()}}})[0];
  };
  EXPECT_TRUE(convert(f32({-1.9F, 1.9F, 0}), DType::s32).identical(s32({-1, 1, 0})));
  EXPECT_TRUE(convert(s32({0, -7}), DType::pred).identical(pred({false, true})));
  EXPECT_TRUE(convert(pred({false, true}), DType::f32).identical(f32({0, 1})));
  EXPECT_TRUE(convert(s32({257}), DType::u8).identical(Tensor::of<uint8_t>({1}, {1})));
  EXPECT_EQ(convert(f32({257}), DType::bf16).as_double(0), 256);
  const Tensor complex = Tensor::of<std::complex<double>>({3}, {{-1, 0}, {0, 1}, {1, 0}});
  EXPECT_TRUE(convert(complex, DType::pred).identical(pred({true, false, true})));
}

TEST(ConvertTest, C1ShapesDiffer) {
  EXPECT_EQ(error_of({.opcode = Opcode::convert,
                      .operands = {f32({1, 2})},
                      .declared = {TensorType{DType::s32, {3}}}}),
            "INVALID_ARGUMENT: convert: result shape, got [3], expected the operand's [2]");
  EXPECT_THAT(error_of({.opcode = Opcode::convert, .operands = {f32({1})}}),
              HasSubstr("convert: declared result types, got 0, expected 1"));
  EXPECT_THAT(error_of({.opcode = Opcode::convert,
                        .operands = {f32({1})},
                        .declared = {TensorType{DType::string, {1}}}}),
              HasSubstr("convert: element types, got f32 to string, expected numeric ones"));
}

// -- is_finite

TEST(IsFiniteTest, Values) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor x = f32({0, 1, -kInf, kNan}).cast(dtype);
    EXPECT_TRUE(run_op({.opcode = Opcode::is_finite, .operands = {x}})[0].identical(
        pred({true, true, false, false})));
  }
}

// -- reduce_precision

TEST(ReducePrecisionTest, Values) {
  struct Row {
    int exponent_bits;
    int mantissa_bits;
    float x;
    float expected;
  };
  const Row rows[] = {
      {5, 10, 65505, 65504},    {5, 10, 65520, kInf}, {5, 10, -65520, -kInf},
      {5, 10, 5e-8F, 0},        {8, 7, 257, 256},     {8, 7, 259, 260},
      {8, 23, 1.1F, 1.1F},      {8, 0, 3, 2},         {8, 0, 6, 8},
      {11, 52, 1e-30F, 1e-30F}, {5, 0, kInf, kInf},   {5, 10, -5e-8F, -0.0F},
  };
  for (const Row& row : rows) {
    const Tensor got =
        run_op({.opcode = Opcode::reduce_precision,
                .operands = {Tensor(row.x)},
                .attrs = ReducePrecisionAttrs{row.exponent_bits, row.mantissa_bits}})[0];
    EXPECT_TRUE(got.identical(Tensor(row.expected)))
        << row.x << " in e" << row.exponent_bits << "m" << row.mantissa_bits << ": "
        << got.to_string();
  }
}

TEST(ReducePrecisionTest, NanNeedsAMantissa) {
  const auto reduce = [](int mantissa_bits) {
    return run_op({.opcode = Opcode::reduce_precision,
                   .operands = {Tensor::scalar(double{kNan})},
                   .attrs = ReducePrecisionAttrs{5, mantissa_bits}})[0];
  };
  EXPECT_TRUE(std::isnan(reduce(1).item<double>()));
  EXPECT_EQ(reduce(0).item<double>(), kInf);
}

TEST(ReducePrecisionTest, EveryFormatKeepsItsOwnValues) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor x = f32({-1.5F, 0, 3, 100, kInf}).cast(dtype);
    const Tensor same = run_op({.opcode = Opcode::reduce_precision,
                                .operands = {x},
                                .attrs = ReducePrecisionAttrs{11, 52}})[0];
    EXPECT_TRUE(same.identical(x));
    const Tensor coarse = run_op({.opcode = Opcode::reduce_precision,
                                  .operands = {x},
                                  .attrs = ReducePrecisionAttrs{4, 1}})[0];
    EXPECT_TRUE(coarse.identical(f32({-1.5F, 0, 3, 96, kInf}).cast(dtype))) << coarse.to_string();
  }
}

TEST(ReducePrecisionTest, Constraints) {
  const auto error = [](const Tensor& x, ReducePrecisionAttrs attrs) {
    return error_of({.opcode = Opcode::reduce_precision, .operands = {x}, .attrs = attrs});
  };
  EXPECT_THAT(error(s32({1}), {5, 10}),
              HasSubstr("element type, got s32, expected floating"));                        // I1
  EXPECT_THAT(error(f32({1}), {0, 10}), HasSubstr("exponent_bits, got 0, expected >= 1"));   // C2
  EXPECT_THAT(error(f32({1}), {5, -1}), HasSubstr("mantissa_bits, got -1, expected >= 0"));  // C3
}

// -- clamp

TEST(ClampTest, Values) {
  const auto clamp = [](const Tensor& min, const Tensor& x, const Tensor& max) {
    return run_op({.opcode = Opcode::clamp, .operands = {min, x, max}})[0];
  };
  EXPECT_TRUE(clamp(s32({1, 5, -5}), s32({2, 3, -1}), s32({3, 7, -3})).identical(s32({2, 5, -3})));
  EXPECT_TRUE(clamp(Tensor(0), s32({2, 3, -1}), Tensor(1)).identical(s32({1, 1, 0})));
  EXPECT_TRUE(clamp(Tensor(0), s32({2, 3, -1}), s32({1, 1, 4})).identical(s32({1, 1, 0})));
  EXPECT_TRUE(clamp(Tensor(0.0F), f32({-1, kNan, 9}), Tensor(6.0F)).as_double(0) == 0);
  EXPECT_TRUE(std::isnan(clamp(Tensor(0.0F), f32({kNan}), Tensor(6.0F)).as_double(0)));
  // min > max: the specification's formula gives max.
  EXPECT_EQ(clamp(Tensor(5), Tensor(1), Tensor(2)).item<int32_t>(), 2);
}

TEST(ClampTest, Constraints) {
  const auto error = [](const Tensor& min, const Tensor& x, const Tensor& max) {
    return error_of({.opcode = Opcode::clamp, .operands = {min, x, max}});
  };
  const Tensor x = f32({1, 2});
  EXPECT_THAT(error(f32({1}), x, x), HasSubstr("clamp: shape of min, got [1], expected"));  // C1
  EXPECT_THAT(error(x, x, f32({1})), HasSubstr("clamp: shape of max, got [1], expected"));  // C2
  EXPECT_THAT(error(x, x, Tensor(1)), HasSubstr("clamp: element type of max, got s32"));    // C3
}

// -- select

TEST(SelectTest, Values) {
  const auto select = [](const Tensor& p, const Tensor& x, const Tensor& y) {
    return run_op({.opcode = Opcode::select, .operands = {p, x, y}})[0];
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::s64, DType::u4, DType::c128}) {
    const Tensor x = s32({1, 2}).cast(dtype);
    const Tensor y = s32({3, 4}).cast(dtype);
    EXPECT_TRUE(select(pred({true, false}), x, y).identical(s32({1, 4}).cast(dtype)));
    EXPECT_TRUE(select(Tensor(true), x, y).identical(x));
    EXPECT_TRUE(select(Tensor(false), x, y).identical(y));
  }
}

TEST(SelectTest, Constraints) {
  const auto error = [](const Tensor& p, const Tensor& x, const Tensor& y) {
    return error_of({.opcode = Opcode::select, .operands = {p, x, y}});
  };
  const Tensor x = f32({1, 2});
  EXPECT_THAT(error(x, x, x), HasSubstr("select: element type of pred, got f32, expected pred"));
  EXPECT_THAT(error(pred({true}), x, x), HasSubstr("select: shape of pred, got [1]"));  // C1
  EXPECT_THAT(error(Tensor(true), x, f32({1})),
              HasSubstr("select: types of on_true and on_false, got f32[2] and f32[1]"));  // C2
}

// -- compare

Tensor compare(const Tensor& x, const Tensor& y, ComparisonDirection direction,
               ComparisonType type = ComparisonType::notype) {
  return run_op(
      {.opcode = Opcode::compare, .operands = {x, y}, .attrs = CompareAttrs{direction, type}})[0];
}

TEST(CompareTest, EveryDirectionAndDtype) {
  struct Row {
    ComparisonDirection direction;
    std::vector<bool> expected;
  };
  const Row rows[] = {
      {ComparisonDirection::eq, {false, true, false}},
      {ComparisonDirection::ne, {true, false, true}},
      {ComparisonDirection::ge, {false, true, true}},
      {ComparisonDirection::gt, {false, false, true}},
      {ComparisonDirection::le, {true, true, false}},
      {ComparisonDirection::lt, {true, false, false}},
  };
  for (int d = static_cast<int>(DType::pred); d <= static_cast<int>(DType::c128); ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::f8e8m0fnu) continue;  // has no zero
    for (const Row& row : rows) {
      EXPECT_TRUE(compare(s32({0, 1, 1}).cast(dtype), s32({1, 1, 0}).cast(dtype), row.direction)
                      .identical(pred(row.expected)))
          << to_string(dtype);
    }
  }
}

TEST(CompareTest, SignDecides) {
  const Tensor minus_one = s32({-1});
  EXPECT_TRUE(compare(minus_one, s32({0}), ComparisonDirection::lt).identical(pred({true})));
  EXPECT_TRUE(
      compare(minus_one.cast(DType::u32), s32({0}).cast(DType::u32), ComparisonDirection::lt)
          .identical(pred({false})));
}

TEST(CompareTest, NanIsUnordered) {
  const Tensor x = f32({kNan, kNan, 0});
  const Tensor y = f32({kNan, 1, -0.0F});
  EXPECT_TRUE(compare(x, y, ComparisonDirection::eq).identical(pred({false, false, true})));
  EXPECT_TRUE(compare(x, y, ComparisonDirection::ne).identical(pred({true, true, false})));
  EXPECT_TRUE(compare(x, y, ComparisonDirection::ge).identical(pred({false, false, true})));
}

TEST(CompareTest, TotalOrder) {
  const std::vector<float> ascending = {-kNan, -kInf, -1, -0.0F, 0, 1, kInf, kNan};
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor x = f32({ascending.begin(), ascending.end() - 1}).cast(dtype);
    const Tensor y = f32({ascending.begin() + 1, ascending.end()}).cast(dtype);
    const auto total = ComparisonType::totalorder;
    EXPECT_TRUE(
        compare(x, y, ComparisonDirection::lt, total).identical(pred(std::vector<bool>(7, true))));
    EXPECT_TRUE(
        compare(x, x, ComparisonDirection::eq, total).identical(pred(std::vector<bool>(7, true))));
    EXPECT_TRUE(
        compare(x, y, ComparisonDirection::ge, total).identical(pred(std::vector<bool>(7, false))));
  }
}

TEST(CompareTest, Constraints) {
  const auto error = [](const Tensor& x, const Tensor& y, ComparisonType type) {
    return error_of({.opcode = Opcode::compare,
                     .operands = {x, y},
                     .attrs = CompareAttrs{ComparisonDirection::eq, type}});
  };
  const Tensor x = f32({1, 2});
  EXPECT_THAT(error(x, s32({1, 2}), ComparisonType::notype),
              HasSubstr("compare: element types, got f32 and s32, expected equal"));  // C1
  EXPECT_THAT(error(x, f32({1}), ComparisonType::notype),
              HasSubstr("compare: operand shapes, got [2] and [1], expected equal"));  // C2
  EXPECT_THAT(error(x, x, ComparisonType::signed_),
              HasSubstr("compare: compare_type for f32, got SIGNED, expected FLOAT"));  // C3
  EXPECT_THAT(error(s32({1}), s32({1}), ComparisonType::float_), HasSubstr("expected SIGNED"));
  EXPECT_THAT(error(pred({true}), pred({true}), ComparisonType::totalorder),
              HasSubstr("expected UNSIGNED"));
}

// The element type decides, whatever the comparison type says.
TEST(CompareTest, SignednessIsTheElementTypes) {
  const auto less = [](const Tensor& x, const Tensor& y, ComparisonType type) {
    return run_op({.opcode = Opcode::compare,
                   .operands = {x, y},
                   .attrs = CompareAttrs{ComparisonDirection::lt, type}})[0]
        .item<bool>();
  };
  EXPECT_TRUE(less(Tensor(int32_t{-1}), Tensor(int32_t{1}), ComparisonType::unsigned_));
  EXPECT_FALSE(less(Tensor::of<uint32_t>({}, {0xffffffff}), Tensor::of<uint32_t>({}, {1}),
                    ComparisonType::signed_));
}

// -- Four bits

// All pairs of two elements of `dtype`, s4 or u4.
std::vector<Tensor> all_pairs(DType dtype) {
  Tensor x(DType::s32, {256});
  Tensor y(DType::s32, {256});
  for (int i = 0; i < 256; ++i) {
    x.data<int32_t>()[i] = i / 16;
    y.data<int32_t>()[i] = i % 16;
  }
  return {x.cast(dtype), y.cast(dtype)};
}

// As in 32 bits, of which the lowest four are left.
TEST(FourBitTest, Arithmetic) {
  for (const auto& [narrow, wide] :
       {std::pair{DType::s4, DType::s32}, std::pair{DType::u4, DType::u32}}) {
    const std::vector<Tensor> x = all_pairs(narrow);
    const std::vector<Tensor> y = {x[0].cast(wide), x[1].cast(wide)};
    for (const Opcode opcode :
         {Opcode::add, Opcode::subtract, Opcode::multiply, Opcode::divide, Opcode::remainder,
          Opcode::maximum, Opcode::minimum, Opcode::and_, Opcode::or_, Opcode::xor_}) {
      const Tensor expected = run_op({.opcode = opcode, .operands = y})[0].cast(narrow);
      EXPECT_TRUE(run_op({.opcode = opcode, .operands = x})[0].identical(expected))
          << to_string(opcode);
    }
    for (const Opcode opcode : {Opcode::not_, Opcode::negate, Opcode::sign, Opcode::abs}) {
      if (narrow == DType::u4 && (opcode == Opcode::sign || opcode == Opcode::abs)) continue;
      const Tensor expected = run_op({.opcode = opcode, .operands = {y[0]}})[0].cast(narrow);
      EXPECT_TRUE(run_op({.opcode = opcode, .operands = {x[0]}})[0].identical(expected))
          << to_string(opcode);
    }
  }
}

TEST(FourBitTest, BitsAndShifts) {
  const auto s4 = [](std::initializer_list<int> elements) {
    const std::vector<int32_t> wide(elements.begin(), elements.end());
    return s32(wide).cast(DType::s4);
  };
  const Tensor x = s4({0, 1, 7, -8, -1});
  const auto run = [&x](Opcode opcode, const Tensor& y) {
    return run_op({.opcode = opcode, .operands = {x, y}})[0];
  };
  EXPECT_TRUE(
      run_op({.opcode = Opcode::popcnt, .operands = {x}})[0].identical(s4({0, 1, 3, 1, 4})));
  EXPECT_TRUE(run_op({.opcode = Opcode::count_leading_zeros, .operands = {x}})[0].identical(
      s4({4, 3, 1, 0, 0})));
  const Tensor amounts = s4({1, 3, 1, 3, 4});
  EXPECT_TRUE(run(Opcode::shift_left, amounts).identical(s4({0, -8, -2, 0, 0})));
  EXPECT_TRUE(run(Opcode::shift_right_logical, amounts).identical(s4({0, 0, 3, 1, 0})));
  EXPECT_TRUE(run(Opcode::shift_right_arithmetic, amounts).identical(s4({0, 0, 3, -1, -1})));
}

// -- Complex numbers, where formulas lose them

Tensor c64(std::complex<float> x) { return Tensor::scalar(x); }

void expect_close(const Tensor& got, std::complex<double> expected) {
  const std::complex<double> value = got.item<std::complex<float>>();
  EXPECT_NEAR(value.real(), expected.real(), std::abs(expected.real()) * 1e-7);
  EXPECT_NEAR(value.imag(), expected.imag(), std::abs(expected.imag()) * 1e-7);
}

TEST(ComplexTest, LogPlusOneNearZeroAndNearTheUnitCircle) {
  const auto run = [](std::complex<float> x) {
    return run_op({.opcode = Opcode::log_plus_one, .operands = {c64(x)}})[0];
  };
  expect_close(run({1e-20F, 0}), {1e-20F, 0});
  expect_close(run({0, 1e-10F}), {0.5e-20, 1e-10F});
  // |1 + z|^2 - 1 = 2x + x^2 + y^2 with x = -2^-13, y = 2^-6: all but x^2 cancels.
  const double x = -std::ldexp(1.0, -13);
  expect_close(run({static_cast<float>(x), std::ldexp(1.0F, -6)}),
               {std::log1p(x * x) / 2, std::atan2(std::ldexp(1.0, -6), 1 + x)});
  expect_close(run({3, 4}), std::log(std::complex<double>(4, 4)));
}

TEST(ComplexTest, PowerOfZeroAndToZero) {
  const auto run = [](std::complex<float> x, std::complex<float> y) {
    return run_op({.opcode = Opcode::power, .operands = {c64(x), c64(y)}})[0];
  };
  expect_close(run({0, 0}, {0, 0}), 1);
  expect_close(run({2, 3}, {0, 0}), 1);
  expect_close(run({0, 0}, {2, 1}), 0);
  expect_close(run({0, 2}, {2, 0}), std::complex<double>(-4, 4.898587e-16));
}

TEST(ComplexTest, ExponentialAtItsLimits) {
  const auto run = [](std::complex<float> x) {
    return run_op({.opcode = Opcode::exponential, .operands = {c64(x)}})[0]
        .item<std::complex<float>>();
  };
  EXPECT_EQ(run({kInf, 0}), std::complex<float>(kInf, 0));
  EXPECT_EQ(run({-kInf, 1}), std::complex<float>(0, 0));
  EXPECT_TRUE(std::isnan(run({-kInf, kInf}).real()));
  EXPECT_TRUE(std::isnan(run({kInf, kInf}).imag()));
}

TEST(ComplexTest, ExponentialMinusOneAtItsLimits) {
  const auto run = [](std::complex<float> x) {
    return run_op({.opcode = Opcode::exponential_minus_one, .operands = {c64(x)}})[0]
        .item<std::complex<float>>();
  };
  EXPECT_EQ(run({kInf, 0}), std::complex<float>(kInf, 0));
  EXPECT_EQ(run({-kInf, 1}), std::complex<float>(-1, 0));
  EXPECT_TRUE(std::isnan(run({-kInf, kInf}).real()));
  EXPECT_EQ(run({1e-20F, 0}), std::complex<float>(1e-20F, 0));
}

}  // namespace
}  // namespace systole::hlo
