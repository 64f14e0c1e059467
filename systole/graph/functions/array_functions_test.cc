#include "systole/graph/functions/array_functions.h"

#include <gmock/gmock.h>

#include <limits>

#include "systole/graph/functions/math_functions.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ArrayFunctionsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(ArrayFunctionsTest, Eye) {
  EXPECT_THAT(evaluate(eye(2)).data<float>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(evaluate(eye(1, {.num_columns = 3, .dtype = DType::s32})).data<int32_t>(),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(error_of([] { eye(-1); }),
              HasSubstr("eye: sizes, got -1 and -1, expected 0 or more, at "
                        "array_functions_test.cc"));
}

TEST_F(ArrayFunctionsTest, SequenceMask) {
  const Output lengths = constant(Tensor::of<int32_t>({3}, {0, 2, 5}));
  EXPECT_THAT(evaluate(sequence_mask(lengths, 3)).data<bool>(),
              ElementsAre(false, false, false, true, true, false, true, true, true));
  EXPECT_EQ(sequence_mask(lengths, 3, {.dtype = DType::f32}).type(),
            (TensorType{DType::f32, {3, 3}}));
  EXPECT_THAT(error_of([&] {
                sequence_mask(ones({2, 2}), 3);
              }),
              HasSubstr("sequence_mask: lengths, got f32[2,2], expected integers"));
  EXPECT_THAT(error_of([&] { sequence_mask(lengths, -1); }),
              HasSubstr("sequence_mask: maxlen, got -1, expected 0 or more"));
  const Output narrow = constant(Tensor::of<uint8_t>({1}, {2}));
  EXPECT_EQ(evaluate(count_nonzero(sequence_mask(narrow, 300))).item<int64_t>(), 2);
}

TEST_F(ArrayFunctionsTest, SizesAreKnownWhereTheyCanBe) {
  const Output x = placeholder(DType::f32, {-1, 4, 3}, "x");
  const Output lengths = placeholder(DType::s32, {-1}, "lengths");
  EXPECT_EQ(reverse_sequence(x, lengths).shape(), Shape({-1, 4, 3}));
  EXPECT_EQ(matrix_band_part(x, -1, 0).shape(), Shape({-1, 4, 3}));
  EXPECT_EQ(matrix_diag_part(x).shape(), Shape({-1, 3}));
  EXPECT_EQ(gather_nd(x, placeholder(DType::s32, {-1, 1}, "at")).shape(), Shape({-1, 4, 3}));
  const Output image = placeholder(DType::f32, {-1, 4, 4, 8}, "image");
  EXPECT_EQ(depth_to_space(image, 2).shape(), Shape({-1, 8, 8, 2}));
  EXPECT_EQ(space_to_depth(image, 2).shape(), Shape({-1, 2, 2, 32}));
  EXPECT_EQ(scatter_nd(constant(Tensor::of<int32_t>({1, 1}, {0})), ones({1, 3}), {2, 3}).shape(),
            Shape({2, 3}));
}

TEST_F(ArrayFunctionsTest, UpdatesHaveTheSizesOfTheirSlices) {
  const auto error = [](const Output& indices, const Output& updates, const ShapeInput& shape) {
    return error_of([&] { scatter_nd(indices, updates, shape); });
  };
  const Output two = constant(Tensor::of<int32_t>({2, 1}, {0, 2}));
  EXPECT_THAT(error(two, ones({2, 1}), {4, 3}),
              HasSubstr("ScatterNd: updates, got f32[2,1] for indices s32[2,1], expected f32[2,3], "
                        "at array_functions_test.cc"));
  EXPECT_THAT(error(two, ones({1, 3}), {4, 3}), HasSubstr("expected f32[2,3]"));
  EXPECT_THAT(error(two, ones({2}), {4, 3}), HasSubstr("expected f32[2,3]"));
  const Output updates = placeholder(DType::f32, {-1, -1}, "updates");
  const Output sums = scatter_nd(two, updates, {4, 3});
  EXPECT_THAT(evaluate(sums, {{updates, Tensor::full(DType::f32, {2, 3}, 1)}}).data<float>(),
              ElementsAre(1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0));
  for (const Shape& fed : {Shape{2, 1}, Shape{1, 3}}) {
    EXPECT_THAT(error_of([&] {
                  evaluate(sums, {{updates, Tensor::full(DType::f32, fed, 1)}});
                }),
                HasSubstr("INVALID_ARGUMENT"))
        << fed.to_string();
  }
}

TEST_F(ArrayFunctionsTest, SegmentsHaveAsManyRowsAsIds) {
  const Output data = placeholder(DType::f32, {-1, 2}, "data");
  const Output ids = placeholder(DType::s32, {-1}, "ids");
  const Output sums = unsorted_segment_sum(data, ids, 2);
  const auto of = [&](const Tensor& rows, const Tensor& numbers) {
    return evaluate(sums, {{data, rows}, {ids, numbers}});
  };
  const Tensor rows = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor numbers = Tensor::of<int32_t>({3}, {1, 7, 1});
  EXPECT_THAT(of(rows, numbers).data<float>(), ElementsAre(0, 0, 6, 8));
  EXPECT_THAT(error_of([&] { of(rows.slice(0, 1), numbers); }), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(error_of([&] { of(rows, numbers.slice(0, 1)); }), HasSubstr("INVALID_ARGUMENT"));
}

// 19 * 20 + 19 is not within 8 bits.
TEST_F(ArrayFunctionsTest, NarrowIndicesReachEverySlice) {
  const Output params = reshape(range(400), {20, 20});
  const Output u8 = constant(Tensor::of<uint8_t>({1, 2}, {19, 19}));
  const Output s8 = constant(Tensor::of<int8_t>({2, 2}, {19, 19, -1, 18}));
  EXPECT_THAT(evaluate(gather_nd(params, u8)).data<int32_t>(), ElementsAre(399));
  EXPECT_THAT(evaluate(gather_nd(params, s8)).data<int32_t>(), ElementsAre(399, 18));
  const Output sums = scatter_nd(s8, constant(Tensor::of<float>({2}, {3, 4})), {20, 20});
  EXPECT_EQ(evaluate(reduce_sum(sums)).item<float>(), 3);
  EXPECT_THAT(evaluate(gather_nd(sums, u8)).data<float>(), ElementsAre(3));
}

TEST_F(ArrayFunctionsTest, ABandOfAnyNumberIsAll) {
  const Output x = ones({3, 3});
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(evaluate(reduce_sum(matrix_band_part(x, kMax, int64_t{1} << 32))).item<float>(), 9);
}

// The fed value may differ from the default in shape, too.
TEST_F(ArrayFunctionsTest, APlaceholderHasItsDefaultUnlessItIsFed) {
  const Output x = placeholder_with_default(constant(Tensor::of<float>({2}, {1, 2})), {-1});
  const Output sum = reduce_sum(x);
  EXPECT_EQ(x.shape(), Shape({-1}));
  EXPECT_EQ(evaluate(sum).item<float>(), 3);
  EXPECT_EQ(evaluate(sum, {{x, Tensor::of<float>({3}, {4, 5, 6})}}).item<float>(), 15);
}

}  // namespace
}  // namespace systole
