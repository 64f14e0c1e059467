#include "systole/keras/files/weight_conversions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::testing::HasSubstr;

Tensor counted(const Shape& shape, float first = 0) {
  Tensor t(DType::f32, shape);
  for (float& x : t.data<float>()) x = first++;
  return t;
}

float at(const Tensor& t, std::vector<int64_t> index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    offset = offset * t.dim(static_cast<int>(axis)) + index[axis];
  }
  return t.data<float>()[offset];
}

TEST(WeightConversionsTest, Keras1LstmJoinsGatesInOurOrder) {
  constexpr int kUnits = 2;
  std::vector<Tensor> arrays;  // W, U, b of i, c, f, o: every element tells its array
  for (int gate = 0; gate < 4; ++gate) {
    arrays.push_back(Tensor::full(DType::f32, {3, kUnits}, 10 * gate + 1));
    arrays.push_back(Tensor::full(DType::f32, {kUnits, kUnits}, 10 * gate + 2));
    arrays.push_back(Tensor::full(DType::f32, {kUnits}, 10 * gate + 3));
  }
  const std::vector<Tensor> got = convert_weights({.class_name = "LSTM"}, {.keras1 = true}, arrays);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].shape(), (Shape{3, 8}));
  const std::vector<int> gates = {0, 2, 1, 3};  // i, f, c, o
  for (int64_t column = 0; column < 8; ++column) {
    const auto gate = static_cast<float>(gates[column / kUnits]);
    EXPECT_EQ(at(got[0], {2, column}), 10 * gate + 1);
    EXPECT_EQ(at(got[1], {1, column}), 10 * gate + 2);
    EXPECT_EQ(at(got[2], {column}), 10 * gate + 3);
  }
}

TEST(WeightConversionsTest, Keras1GruJoinsGates) {
  std::vector<Tensor> arrays;
  for (int i = 0; i < 9; ++i) {
    arrays.push_back(Tensor::full(DType::f32, i % 3 == 2 ? Shape{1} : Shape{1, 1}, i));
  }
  const std::vector<Tensor> got = convert_weights({.class_name = "GRU"}, {.keras1 = true}, arrays);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(got[0].identical(Tensor({1, 3}, {0.0F, 3.0F, 6.0F})));
  EXPECT_TRUE(got[1].identical(Tensor({1, 3}, {1.0F, 4.0F, 7.0F})));
  EXPECT_TRUE(got[2].identical(Tensor({3}, {2.0F, 5.0F, 8.0F})));
}

TEST(WeightConversionsTest, Keras1Kernels) {
  const Tensor conv = counted({4, 3, 2, 5});  // out, in, rows, columns
  const Tensor got = convert_weights(
      {.class_name = "Conv2D", .data_format = "channels_first", .shapes = {{2, 5, 3, 4}}},
      {.keras1 = true}, {conv})[0];
  ASSERT_EQ(got.shape(), (Shape{2, 5, 3, 4}));
  EXPECT_EQ(at(got, {1, 3, 2, 0}), at(conv, {0, 2, 1, 3}));
  const Tensor conv1d = counted({3, 1, 2, 4});
  EXPECT_TRUE(convert_weights({.class_name = "Conv1D", .shapes = {{3, 2, 4}}}, {.keras1 = true},
                              {conv1d})[0]
                  .identical(conv1d.reshape({3, 2, 4})));
  const Tensor older = counted({4, 2, 3, 1});  // Keras 1.1: out, in, length, 1
  const Tensor turned = convert_weights({.class_name = "Conv1D", .shapes = {{3, 2, 4}}},
                                        {.keras1 = true}, {older})[0];
  ASSERT_EQ(turned.shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(at(turned, {2, 1, 3}), at(older, {3, 1, 2, 0}));
  const Tensor back = counted({3, 2, 5, 4});
  const Tensor swapped = convert_weights(
      {.class_name = "Conv2DTranspose", .data_format = "channels_last", .shapes = {{3, 2, 4, 5}}},
      {.keras1 = true}, {back})[0];
  EXPECT_EQ(at(swapped, {2, 1, 3, 4}), at(back, {2, 1, 4, 3}));
}

TEST(WeightConversionsTest, TheanoKernelsAreRotated) {
  const Tensor kernel = counted({2, 3, 2, 2});
  const ConversionTarget target{.class_name = "Conv2D", .shapes = {{2, 3, 2, 2}}};
  const Tensor got = convert_weights(target, {.backend = "theano"}, {kernel})[0];
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_EQ(at(got, {r, c, 1, 0}), at(kernel, {1 - r, 2 - c, 1, 0}));
    }
  }
  EXPECT_TRUE(convert_weights(target, {.backend = "tensorflow"}, {kernel})[0].identical(kernel));
  EXPECT_TRUE(
      convert_weights({.class_name = "Dense"}, {.backend = "theano"}, {kernel})[0].identical(
          kernel));
}

// By Keras's own formula: k.T.reshape(k.shape, order='F') of each gate's block.
TEST(WeightConversionsTest, CudnnLstmBecomesLstm) {
  constexpr int64_t kIn = 3;
  constexpr int64_t kUnits = 2;
  const Tensor kernel = counted({kIn, 4 * kUnits});
  const Tensor recurrent = counted({kUnits, 4 * kUnits}, 100);
  const Tensor bias = counted({8 * kUnits}, 1000);
  const ConversionTarget target{.class_name = "LSTM"};
  const std::vector<Tensor> got = convert_weights(target, {}, {kernel, recurrent, bias});
  for (int64_t gate = 0; gate < 4; ++gate) {
    std::vector<float> block;  // of the gate in the order of C
    for (int64_t r = 0; r < kIn; ++r) {
      for (int64_t u = 0; u < kUnits; ++u) block.push_back(at(kernel, {r, gate * kUnits + u}));
    }
    size_t n = 0;  // k.T in the order of F is k in the order of C; filled in the order of F
    for (int64_t u = 0; u < kUnits; ++u) {
      for (int64_t r = 0; r < kIn; ++r) {
        EXPECT_EQ(at(got[0], {r, gate * kUnits + u}), block[n++]);
      }
    }
    for (int64_t r = 0; r < kUnits; ++r) {
      for (int64_t u = 0; u < kUnits; ++u) {
        EXPECT_EQ(at(got[1], {r, gate * kUnits + u}), at(recurrent, {u, gate * kUnits + r}));
      }
    }
  }
  for (int64_t i = 0; i < 4 * kUnits; ++i) {
    EXPECT_EQ(at(got[2], {i}), at(bias, {i}) + at(bias, {4 * kUnits + i}));
  }
  const std::vector<Tensor> again = convert_weights({.class_name = "CuDNNLSTM"}, {}, got);
  EXPECT_TRUE(again[0].identical(kernel));
  EXPECT_TRUE(again[1].identical(recurrent));
  ASSERT_EQ(again[2].shape(), (Shape{8 * kUnits}));
  EXPECT_EQ(at(again[2], {1}), 0.5F * at(got[2], {1}));
  EXPECT_EQ(at(again[2], {4 * kUnits + 1}), 0.5F * at(got[2], {1}));
}

TEST(WeightConversionsTest, GruWithAndWithoutResetAfter) {
  const std::vector<Tensor> cudnn = {counted({3, 6}), counted({2, 6}), counted({12})};
  const ConversionTarget after{.class_name = "GRU", .shapes = {{3, 6}, {2, 6}, {2, 6}}};
  const ConversionTarget before{.class_name = "GRU", .shapes = {{3, 6}, {2, 6}, {6}}};
  const std::vector<Tensor> got = convert_weights(after, {}, cudnn);
  EXPECT_TRUE(got[2].identical(cudnn[2].reshape({2, 6})));
  EXPECT_EQ(error_of([&] { convert_weights(before, {}, cudnn); }),
            "INVALID_ARGUMENT: CuDNNGRU is not compatible with GRU(reset_after=False)");
  const std::vector<Tensor> again = convert_weights({.class_name = "CuDNNGRU"}, {}, got);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(again[i].identical(cudnn[i])) << i;
  const std::vector<Tensor> plain = {cudnn[0], cudnn[1], counted({6})};
  EXPECT_TRUE(convert_weights(before, {}, plain)[0].identical(plain[0]));
  EXPECT_THAT(error_of([&] { convert_weights(after, {}, plain); }),
              HasSubstr("GRU(reset_after=False) is not compatible with GRU(reset_after=True)"));
  EXPECT_THAT(error_of([&] {
                convert_weights(after, {}, {cudnn[0], cudnn[1], counted({7})});
              }),
              HasSubstr("Invalid bias shape"));
}

TEST(WeightConversionsTest, ArraysThatDoNotFitComeBack) {
  for (const char* name : {"LSTM", "GRU", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D"}) {
    for (const bool keras1 : {false, true}) {
      const std::vector<Tensor> odd = {counted({2}), Tensor(1.0F)};
      EXPECT_EQ(convert_weights({.class_name = name, .shapes = {{1, 2}}},
                                {.keras1 = keras1, .backend = "theano"}, odd)
                    .size(),
                2U);
      EXPECT_TRUE(convert_weights({.class_name = name}, {.keras1 = keras1}, {}).empty());
    }
  }
}

}  // namespace
}  // namespace systole::keras
