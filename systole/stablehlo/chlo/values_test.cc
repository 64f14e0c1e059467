// Values of the ops that are known exactly, and of those that no reference in <cmath> covers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "systole/stablehlo/chlo/testing/run_expansion.h"
#include "systole/stablehlo/chlo/testing/ulp.h"

namespace systole::hlo::chlo {
namespace {

using testing::run;
using testing::ulp_error;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFormats[] = {DType::bf16, DType::f16, DType::f32, DType::f64};

Tensor vector_of(DType dtype, const std::vector<double>& elements) {
  return Tensor::of<double>({static_cast<int64_t>(elements.size())}, elements).cast(dtype);
}

// -- Tables: computed with mpmath at 60 digits, printed with 17.

struct UnaryValue {
  std::string op;
  double x;
  double expected;
};

TEST(ChloValueTest, Unary) {
  const UnaryValue rows[] = {
      {"bessel_i1e", 0.5, 0.1564208031848717},
      {"bessel_i1e", 2, 0.21526928924893765},
      {"bessel_i1e", 7.75, 0.1360511000803391},
      {"bessel_i1e", 8.25, 0.13231017396500142},
      {"bessel_i1e", 30, 0.07191633059864755},
      {"bessel_i1e", 1000, 0.012610930256928629},
      {"digamma", 1.4609375, -0.0006724023902428804},
      {"digamma", 1.46142578125, -0.00019971130050399637},
      {"digamma", 1.4616317749023438, -3.5810267580999175e-07},
      {"digamma", 1.4617919921875, 0.00015466840542634942},
      {"digamma", 1.5, 0.03648997397857652},
      {"digamma", -3.75, -1.6923885983113303},
      {"erf_inv", 0.5, 0.4769362762044699},
      {"erf_inv", 0.9999990463256836, 3.465505025803331},
      {"erf_inv", 0.9999999403953552, 3.832506856900711},
      {"erf_inv", -0.25, -0.2253120550121781},
      {"lgamma", 0.5, 0.5723649429247001},
      {"lgamma", 1.0000009536743164, -5.504750066148867e-07},
      {"lgamma", 1.9999990463256836, -4.0319826848018475e-07},
      {"lgamma", 2.5, 0.2846828704729192},
      {"lgamma", -0.5, 1.2655121234846454},
      {"lgamma", -1.5, 0.860047015376481},
      {"lgamma", -3.25, -0.6231534513209986},
      {"lgamma", 100000, 1051287.7089736569},
      {"lgamma", 1e30, 6.807755278982137e+31},
  };
  for (const UnaryValue& row : rows) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = vector_of(dtype, {row.x});
      if (x.as_double(0) != row.x) continue;  // a neighbour, whose value is another
      const double got = run(row.op, {x})[0].as_double(0);
      EXPECT_LE(ulp_error(dtype, got, row.expected), 3) << row.op << "(" << row.x << ")";
    }
  }
}

struct BinaryValue {
  std::string op;
  double x, y;
  double expected;
};

TEST(ChloValueTest, Binary) {
  const BinaryValue rows[] = {
      {"zeta", 2, 1, 1.6449340668482264},          {"zeta", 3, 1, 1.2020569031595942},
      {"zeta", 1.5, 1, 2.612375348685488},         {"zeta", 2, 0.5, 4.934802200544679},
      {"zeta", 4, 10, 0.00038665021738164474},     {"zeta", 1.25, 7.75, 2.437071799982475},
      {"zeta", 12, 2.5, 1.7089167198843548e-05},   {"zeta", 2, -1.5, 9.379246644989124},
      {"zeta", 3, -2.25, -61.94847488703008},      {"zeta", 6, 100, 2.05049995334333e-11},
      {"polygamma", 0, 2.5, 0.7031566406452432},   {"polygamma", 1, 1, 1.6449340668482264},
      {"polygamma", 1, 0.25, 17.19732915450711},   {"polygamma", 2, 3.5, -0.1082040516417274},
      {"polygamma", 3, 10, 0.0023199013042898686}, {"polygamma", 5, 0.5, 7691.113548602436},
      {"polygamma", 1, -1.5, 9.379246644989124},   {"polygamma", 2, -0.25, 122.69736678366236},
  };
  for (const BinaryValue& row : rows) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double got =
          run(row.op, {vector_of(dtype, {row.x}), vector_of(dtype, {row.y})})[0].as_double(0);
      EXPECT_LE(ulp_error(dtype, got, row.expected), 4)
          << row.op << "(" << row.x << ", " << row.y << ") = " << got;
    }
  }
}

// -- Corners, in every format

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST(ChloCornerTest, Unary) {
  const UnaryValue rows[] = {
      {"acos", 1, 0},
      {"acos", 1.5, kNone},
      {"acosh", 1, 0},
      {"acosh", 0.5, kNone},
      {"acosh", -2, kNone},
      {"acosh", kInf, kInf},
      {"asin", -0.0, -0.0},
      {"asin", 1.5, kNone},
      {"asinh", -0.0, -0.0},
      {"asinh", -kInf, -kInf},
      {"atan", -0.0, -0.0},
      {"atanh", 1, kInf},
      {"atanh", -1, -kInf},
      {"atanh", -0.0, -0.0},
      {"atanh", 2, kNone},
      {"cosh", -kInf, kInf},
      {"cosh", 0, 1},
      {"digamma", 0, kNone},
      {"digamma", -2, kNone},
      {"digamma", kInf, kInf},
      {"digamma", -kInf, kNone},
      {"erf", -kInf, -1},
      {"erf", -0.0, -0.0},
      {"erfc", -kInf, 2},
      {"erfc", kInf, 0},
      {"erfc", 0, 1},
      {"erf_inv", 1, kInf},
      {"erf_inv", -1, -kInf},
      {"erf_inv", 1.5, kNone},
      {"erf_inv", -0.0, -0.0},
      {"lgamma", 0, kInf},
      {"lgamma", -0.0, kInf},
      {"lgamma", -3, kInf},
      {"lgamma", 1, 0},
      {"lgamma", 2, 0},
      {"lgamma", kInf, kInf},
      {"lgamma", -kInf, kInf},
      {"sinh", -0.0, -0.0},
      {"sinh", -kInf, -kInf},
      {"square", -kInf, kInf},
      {"bessel_i1e", -0.0, -0.0},
      {"bessel_i1e", -kInf, -0.0},
      {"conj", -2, -2},
  };
  for (const UnaryValue& row : rows) {
    for (const DType dtype : kFormats) {
      const Tensor y = run(row.op, {vector_of(dtype, {row.x, kNone})})[0];
      EXPECT_TRUE(same(y.as_double(0), row.expected))
          << row.op << "(" << row.x << ") = " << y.as_double(0);
      EXPECT_TRUE(std::isnan(y.as_double(1))) << row.op;
    }
  }
}

TEST(ChloCornerTest, Zeta) {
  const BinaryValue rows[] = {
      {"zeta", 1, 2, kInf},        {"zeta", 0.5, 2, kNone},        {"zeta", 2, 0, kInf},
      {"zeta", 2, -3, kInf},       {"zeta", 2.5, -1.5, kNone},     {"zeta", 2, -4.5, kNone},
      {"zeta", 2, kInf, 0},        {"zeta", kInf, 1, 1},           {"zeta", kInf, 2, 0},
      {"zeta", kInf, 0.5, kInf},   {"zeta", kNone, 1, kNone},      {"polygamma", 1.5, 1, kNone},
      {"polygamma", -1, 1, kNone}, {"polygamma", 2, kNone, kNone},
  };
  for (const BinaryValue& row : rows) {
    for (const DType dtype : kFormats) {
      const double got =
          run(row.op, {vector_of(dtype, {row.x}), vector_of(dtype, {row.y})})[0].as_double(0);
      EXPECT_TRUE(same(got, row.expected))
          << row.op << "(" << row.x << ", " << row.y << ") = " << got;
    }
  }
}

TEST(ChloCornerTest, IsInf) {
  for (const DType dtype : kFormats) {
    const Tensor x = vector_of(dtype, {kInf, -kInf, 1, kNone});
    EXPECT_TRUE(run("is_inf", {x})[0].identical(Tensor::of<bool>({4}, {true, true, false, false})));
    EXPECT_TRUE(
        run("is_pos_inf", {x})[0].identical(Tensor::of<bool>({4}, {true, false, false, false})));
    EXPECT_TRUE(
        run("is_neg_inf", {x})[0].identical(Tensor::of<bool>({4}, {false, true, false, false})));
  }
}

// -- next_after

TEST(ChloNextAfterTest, IsTheStandardOne) {
  const std::vector<double> points = {0.0,
                                      -0.0,
                                      1,
                                      -1,
                                      1.5,
                                      -1.5,
                                      0x1p-149,
                                      -0x1p-149,
                                      0x1p-126,
                                      0x1.fffffep127,
                                      -0x1.fffffep127,
                                      kInf,
                                      -kInf,
                                      kNone};
  std::vector<double> x, y;
  for (const double a : points) {
    for (const double b : points) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const Tensor narrow = run("next_after", {vector_of(DType::f32, x), vector_of(DType::f32, y)})[0];
  const Tensor wide = run("next_after", {vector_of(DType::f64, x), vector_of(DType::f64, y)})[0];
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    EXPECT_TRUE(same(narrow.as_double(at),
                     std::nextafter(static_cast<float>(x[i]), static_cast<float>(y[i]))))
        << x[i] << " to " << y[i];
    EXPECT_TRUE(same(wide.as_double(at), std::nextafter(x[i], y[i]))) << x[i] << " to " << y[i];
  }
}

TEST(ChloNextAfterTest, HalfFormats) {
  const auto next = [](DType dtype, double x, double y) {
    return run("next_after", {vector_of(dtype, {x}), vector_of(dtype, {y})})[0].as_double(0);
  };
  EXPECT_EQ(next(DType::bf16, 1, 2), 1.0078125);
  EXPECT_EQ(next(DType::bf16, 0, -1), -0x1p-133);
  EXPECT_EQ(next(DType::f16, 1, 0), 1 - 0x1p-11);
  EXPECT_EQ(next(DType::f16, -65504, -kInf), -kInf);
  EXPECT_EQ(run("broadcast_next_after",
                {vector_of(DType::f16, {1, 2}), Tensor::full(DType::f16, {}, 9)})[0]
                .as_double(1),
            2 + 0x1p-9);
}

// -- Integers

TEST(ChloMulhiTest, Values) {
  const auto mulhi = [](const Tensor& x, const Tensor& y) { return run("mulhi", {x, y})[0]; };
  EXPECT_EQ(mulhi(Tensor::scalar<int8_t>(-128), Tensor::scalar<int8_t>(127)).as_double(0), -64);
  EXPECT_EQ(mulhi(Tensor::scalar<uint8_t>(255), Tensor::scalar<uint8_t>(255)).as_double(0), 254);
  EXPECT_EQ(mulhi(Tensor::scalar<uint32_t>(0xffffffff), Tensor::scalar<uint32_t>(0xffffffff))
                .item<uint32_t>(),
            0xfffffffe);
  const std::vector<int64_t> points = {0,
                                       1,
                                       -1,
                                       0x7fffffffffffffff,
                                       INT64_MIN,
                                       0x123456789abcdef,
                                       -0xfedcba987654321,
                                       0xffffffff,
                                       0x100000000};
  for (const int64_t x : points) {
    for (const int64_t y : points) {
      using Wide = __int128;
      EXPECT_EQ(mulhi(Tensor::scalar(x), Tensor::scalar(y)).item<int64_t>(),
                static_cast<int64_t>((Wide{x} * y) >> 64))
          << x << " * " << y;
      const auto u = static_cast<uint64_t>(x);
      const auto v = static_cast<uint64_t>(y);
      using UnsignedWide = unsigned __int128;
      EXPECT_EQ(mulhi(Tensor::scalar(u), Tensor::scalar(v)).item<uint64_t>(),
                static_cast<uint64_t>((UnsignedWide{u} * v) >> 64))
          << u << " * " << v;
    }
  }
}

TEST(ChloSquareTest, Integers) { EXPECT_EQ(run("square", {Tensor(-7)})[0].item<int32_t>(), 49); }

// -- top_k, constants, select

TEST(ChloTopKTest, RowsByValueThenPosition) {
  const Tensor x = Tensor::of<int32_t>({2, 4}, {3, 9, 3, -1, 5, 5, 7, 5});
  const std::vector<Tensor> got = run("top_k", {x}, {.k = 3});
  EXPECT_TRUE(got[0].identical(Tensor::of<int32_t>({2, 3}, {9, 3, 3, 7, 5, 5})));
  EXPECT_TRUE(got[1].identical(Tensor::of<int32_t>({2, 3}, {1, 0, 2, 2, 0, 1})));
  const std::vector<Tensor> none = run("top_k", {x}, {.k = 0});
  EXPECT_EQ(none[0].shape(), Shape({2, 0}));
}

TEST(ChloTopKTest, NanIsLargest) {
  const std::vector<Tensor> got = run("top_k", {vector_of(DType::f32, {1, kNone, kInf})}, {.k = 2});
  EXPECT_TRUE(std::isnan(got[0].as_double(0)));
  EXPECT_EQ(got[0].as_double(1), kInf);
  EXPECT_TRUE(got[1].identical(Tensor::of<int32_t>({2}, {1, 2})));
}

TEST(ChloTopKTest, Errors) {
  const Tensor x = vector_of(DType::f32, {1, 2});
  EXPECT_EQ(testing::error_of("top_k", {x}, {.k = 3}),
            "INVALID_ARGUMENT: chlo.top_k: k, got 3 for an operand of f32[2], expected at most the "
            "size of its last axis");
  EXPECT_NE(testing::error_of("top_k", {x}, {.k = -1}), "no error");
  EXPECT_NE(testing::error_of("top_k", {Tensor(1.0F)}, {.k = 0}), "no error");
}

TEST(ChloConstantTest, Values) {
  const Tensor x = vector_of(DType::f32, {1, 2});
  EXPECT_TRUE(run("constant", {}, {.value = x})[0].identical(x));
  EXPECT_TRUE(run("constant_like", {x}, {.value = Tensor(7)})[0].identical(
      Tensor::of<int32_t>({2}, {7, 7})));
  EXPECT_NE(testing::error_of("constant", {}), "no error");
  EXPECT_NE(testing::error_of("constant_like", {x}, {.value = x}), "no error");
}

TEST(ChloBroadcastSelectTest, Values) {
  const Tensor predicate = Tensor::of<bool>({2, 1}, {true, false});
  const Tensor x = Tensor::of<int32_t>({3}, {1, 2, 3});
  EXPECT_TRUE(run("broadcast_select", {predicate, x, Tensor(0)})[0].identical(
      Tensor::of<int32_t>({2, 3}, {1, 2, 3, 0, 0, 0})));
  EXPECT_TRUE(run("broadcast_select", {Tensor(false), x, Tensor(0)})[0].identical(
      Tensor::of<int32_t>({3}, {0, 0, 0})));
}

}  // namespace
}  // namespace systole::hlo::chlo
