// Every elementwise opcode on every dtype it is defined for.
#include <gtest/gtest.h>

#include <complex>
#include <limits>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;

constexpr DType kFloats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr DType kIntegers[] = {DType::s4, DType::s8, DType::s16, DType::s32, DType::s64,
                               DType::u4, DType::u8, DType::u16, DType::u32, DType::u64};

struct OpRow {
  Opcode opcode;
  int operands;
  bool floats, signed_integers, unsigned_integers, pred;
  double low, high;
  double ulps;
};

// Ranges reach where the function is interesting.
// The C library's cbrt, which the reference takes, is itself up to 1 unit off.
constexpr OpRow kRows[] = {
    {Opcode::abs, 1, true, true, false, false, -100, 100, 0},
    {Opcode::cbrt, 1, true, false, false, false, -100, 100, 2},
    {Opcode::ceil, 1, true, false, false, false, -10, 10, 0},
    {Opcode::cosine, 1, true, false, false, false, -30, 30, 1},
    {Opcode::count_leading_zeros, 1, false, true, true, false, -100, 100, 0},
    {Opcode::exponential, 1, true, false, false, false, -20, 20, 1},
    {Opcode::exponential_minus_one, 1, true, false, false, false, -5, 5, 1},
    {Opcode::floor, 1, true, false, false, false, -10, 10, 0},
    {Opcode::is_finite, 1, true, false, false, false, -10, 10, 0},
    {Opcode::log, 1, true, false, false, false, -1, 100, 1},
    {Opcode::log_plus_one, 1, true, false, false, false, -1.5, 5, 1},
    {Opcode::logistic, 1, true, false, false, false, -30, 30, 2},
    {Opcode::negate, 1, true, true, true, false, -100, 100, 0},
    {Opcode::not_, 1, false, true, true, true, -100, 100, 0},
    {Opcode::popcnt, 1, false, true, true, false, -100, 100, 0},
    {Opcode::round_nearest_afz, 1, true, false, false, false, -10, 10, 0},
    {Opcode::round_nearest_even, 1, true, false, false, false, -10, 10, 0},
    {Opcode::rsqrt, 1, true, false, false, false, -1, 100, 1},
    {Opcode::sign, 1, true, true, false, false, -3, 3, 0},
    {Opcode::sine, 1, true, false, false, false, -30, 30, 1},
    {Opcode::sqrt, 1, true, false, false, false, -1, 100, 1},
    {Opcode::tan, 1, true, false, false, false, -30, 30, 1},
    {Opcode::tanh, 1, true, false, false, false, -12, 12, 2},
    {Opcode::add, 2, true, true, true, true, -100, 100, 0},
    {Opcode::and_, 2, false, true, true, true, -100, 100, 0},
    {Opcode::atan2, 2, true, false, false, false, -10, 10, 1},
    {Opcode::divide, 2, true, true, true, false, -5, 5, 0},
    {Opcode::maximum, 2, true, true, true, true, -100, 100, 0},
    {Opcode::minimum, 2, true, true, true, true, -100, 100, 0},
    {Opcode::multiply, 2, true, true, true, true, -100, 100, 0},
    {Opcode::or_, 2, false, true, true, true, -100, 100, 0},
    {Opcode::power, 2, true, true, true, false, -4, 6, 1},
    {Opcode::remainder, 2, true, true, true, false, -10, 10, 0},
    {Opcode::shift_left, 2, false, true, true, false, -3, 12, 0},
    {Opcode::shift_right_arithmetic, 2, false, true, true, false, -3, 12, 0},
    {Opcode::shift_right_logical, 2, false, true, true, false, -3, 12, 0},
    {Opcode::subtract, 2, true, true, true, false, -100, 100, 0},
    {Opcode::xor_, 2, false, true, true, true, -100, 100, 0},
};

std::vector<DType> dtypes_of(const OpRow& row) {
  std::vector<DType> result;
  for (const DType dtype : kFloats) {
    if (row.floats) result.push_back(dtype);
  }
  for (const DType dtype : kIntegers) {
    if (dtype_info(dtype).is_signed ? row.signed_integers : row.unsigned_integers)
      result.push_back(dtype);
  }
  if (row.pred) result.push_back(DType::pred);
  return result;
}

class Elementwise : public ::testing::TestWithParam<OpRow> {};

TEST_P(Elementwise, AgreesWithTheReference) {
  const OpRow& row = GetParam();
  RandomStream random(17, static_cast<uint64_t>(row.opcode));
  for (const DType dtype : dtypes_of(row)) {
    // A length with a remainder for every vector width.
    const TensorType type{dtype, {3, 37}};
    std::vector<Tensor> operands;
    for (int i = 0; i < row.operands; ++i) {
      operands.push_back(testing::random_tensor(random, type, row.low, row.high, true));
    }
    EXPECT_EQ(testing::check({.opcode = row.opcode, .operands = operands}, {.ulps = row.ulps}), "")
        << testing::words(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Elementwise, ::testing::ValuesIn(kRows), [](const auto& info) {
  return std::string(to_string(info.param.opcode));
});

TEST(ElementwiseMore, ConvertsBetweenAllDtypes) {
  RandomStream random(18);
  std::vector<DType> all(std::begin(kFloats), std::end(kFloats));
  all.insert(all.end(), std::begin(kIntegers), std::end(kIntegers));
  all.push_back(DType::pred);
  for (const DType from : all) {
    hlo::Module module;
    hlo::Computation& main = module.add_function("main");
    hlo::Builder b(main);
    const hlo::Value x = main.add_parameter({from, {67}});
    std::vector<hlo::Value> results;
    for (const DType to : all) {
      // pred and integers of a value, not of a special one, which C++ leaves open in places.
      if (from != to) results.push_back(b.convert(x, to));
    }
    main.set_results(results);
    EXPECT_EQ(testing::check(module, std::vector{testing::random_tensor(random, {from, {67}}, -300,
                                                                        300, true)}),
              "")
        << testing::words(from);
  }
}

TEST(ElementwiseMore, Compares) {
  using hlo::ComparisonDirection;
  using hlo::ComparisonType;
  RandomStream random(19);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::s4, DType::s32,
                            DType::u8, DType::u64, DType::pred}) {
    const std::vector<Tensor> operands = {
        testing::random_tensor(random, {dtype, {67}}, -3, 3, true),
        testing::random_tensor(random, {dtype, {67}}, -3, 3, true)};
    for (int d = 0; d < 6; ++d) {
      for (const ComparisonType type : {ComparisonType::notype, ComparisonType::totalorder}) {
        if (type == ComparisonType::totalorder && !is_floating(dtype)) continue;
        const hlo::CompareAttrs attrs{static_cast<ComparisonDirection>(d), type};
        EXPECT_EQ(testing::check({.opcode = Opcode::compare, .operands = operands, .attrs = attrs}),
                  "")
            << testing::words(dtype, d);
      }
    }
  }
}

TEST(ElementwiseMore, SelectsAndClamps) {
  RandomStream random(20);
  for (const DType dtype : {DType::bf16, DType::f32, DType::s32, DType::u8}) {
    const TensorType type{dtype, {5, 13}};
    const auto tensor = [&](const TensorType& t) {
      return testing::random_tensor(random, t, -5, 5, true);
    };
    for (const Shape& shape : {type.shape, Shape()}) {
      EXPECT_EQ(
          testing::check({.opcode = Opcode::select,
                          .operands = {tensor({DType::pred, shape}), tensor(type), tensor(type)}}),
          "");
      EXPECT_EQ(testing::check(
                    {.opcode = Opcode::clamp,
                     .operands = {tensor({dtype, shape}), tensor(type), tensor({dtype, shape})}}),
                "");
    }
  }
}

TEST(ElementwiseMore, ReducesPrecision) {
  RandomStream random(21);
  for (const DType dtype : kFloats) {
    for (const hlo::ReducePrecisionAttrs attrs :
         {hlo::ReducePrecisionAttrs{5, 10}, {8, 7}, {4, 3}, {3, 0}, {11, 52}}) {
      const Tensor x = testing::random_tensor(random, {dtype, {67}}, -600, 600, true);
      EXPECT_EQ(
          testing::check({.opcode = Opcode::reduce_precision, .operands = {x}, .attrs = attrs}), "")
          << testing::words(dtype);
    }
  }
}

TEST(ElementwiseMore, ReinterpretsBits) {
  RandomStream random(22);
  struct Row {
    TensorType from, to;
  };
  const Row rows[] = {
      {{DType::f32, {5}}, {DType::u32, {5}}},   {{DType::bf16, {5}}, {DType::s16, {5}}},
      {{DType::f16, {5}}, {DType::u16, {5}}},   {{DType::f64, {3}}, {DType::s64, {3}}},
      {{DType::f32, {5}}, {DType::u8, {5, 4}}}, {{DType::u8, {5, 4}}, {DType::f32, {5}}},
      {{DType::u8, {5}}, {DType::u4, {5, 2}}},  {{DType::s4, {5, 2}}, {DType::s8, {5}}}};
  for (const Row& row : rows) {
    const Tensor x = testing::random_tensor(random, row.from, -100, 100);
    EXPECT_EQ(
        testing::check({.opcode = Opcode::bitcast_convert, .operands = {x}, .declared = {row.to}}),
        "");
  }
}

TEST(ElementwiseMore, TakesAbsoluteValuesOfComplexNumbers) {
  RandomStream random(23);
  for (const DType dtype : {DType::c64, DType::c128}) {
    for (const double range : {1.0, 1e30}) {
      const Tensor x = testing::random_tensor(random, {dtype, {4099}}, -range, range, true);
      EXPECT_EQ(testing::check({.opcode = Opcode::abs, .operands = {x}}, {.ulps = 2}), "");
    }
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  using C = std::complex<float>;
  const Tensor special =
      Tensor::of<C>({9}, {C(0, -0.0F), C(3, -4), C(kInfinity, kNan), C(kNan, -kInfinity),
                          C(kNan, 1), C(0, kNan), C(2e38F, 2e38F), C(-kInfinity, 5), C(0, 7)});
  EXPECT_EQ(testing::check({.opcode = Opcode::abs, .operands = {special}}, {.ulps = 2}), "");
}

}  // namespace
}  // namespace systole::cpu
