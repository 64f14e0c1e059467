#include "systole/keras/preprocessing/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "systole/base/testing/error_of.h"
#include "systole/keras/preprocessing/utils.h"

namespace systole::keras::preprocessing::sequence {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// One element at a time, as the definition says.
std::vector<int32_t> padded(const std::vector<int32_t>& sequence, int64_t maxlen, bool pad_before,
                            bool cut_before, int32_t value) {
  std::vector<int32_t> kept = sequence;
  while (static_cast<int64_t>(kept.size()) > maxlen) {
    kept.erase(cut_before ? kept.begin() : kept.end() - 1);
  }
  while (static_cast<int64_t>(kept.size()) < maxlen) {
    kept.insert(pad_before ? kept.begin() : kept.end(), value);
  }
  return kept;
}

TEST(PadSequencesTest, EveryCombinationOfOptions) {
  const Sequences sequences = {{1}, {2, 3}, {4, 5, 6}, {}, {7, 8, 9, 10, 11}};
  for (const std::string padding : {"pre", "post"}) {
    for (const std::string truncating : {"pre", "post"}) {
      for (const std::optional<int64_t> maxlen : {std::optional<int64_t>(), {0}, {2}, {3}, {7}}) {
        for (const int32_t value : {0, -3}) {
          for (const DType dtype : {DType::s32, DType::s64, DType::f32, DType::u8}) {
            std::vector<int32_t> expected;
            const int64_t length = maxlen.value_or(5);
            for (const auto& sequence : sequences) {
              const auto row =
                  padded(sequence, length, padding == "pre", truncating == "pre", value);
              expected.insert(expected.end(), row.begin(), row.end());
            }
            const Tensor got = pad_sequences(sequences, {.maxlen = maxlen,
                                                         .dtype = dtype,
                                                         .padding = padding,
                                                         .truncating = truncating,
                                                         .value = static_cast<double>(value)});
            if (dtype == DType::u8 && value < 0) continue;
            EXPECT_TRUE(got.identical(Tensor::of<int32_t>({5, length}, expected).cast(dtype)))
                << padding << truncating << length << got;
          }
        }
      }
    }
  }
}

TEST(PadSequencesTest, Defaults) {
  EXPECT_EQ(pad_sequences(Sequences{{1, 2, 3}, {4}}, 2).to_string(), "s32[2,2] {{2, 3}, {0, 4}}");
  EXPECT_EQ(pad_sequences(Sequences{}).shape(), (Shape{0, 0}));
  EXPECT_EQ(pad_sequences(std::vector<std::vector<double>>{{0.5}, {1, 2}}, {.dtype = DType::f32})
                .to_string(),
            "f32[2,2] {{0, 0.5}, {1, 2}}");
  EXPECT_EQ(pad_sequences(std::vector<std::vector<int64_t>>{{1LL << 40}}, {.dtype = DType::s64})
                .to_string(),
            "s64[1,1] {{1099511627776}}");
}

TEST(PadSequencesTest, SequencesOfArrays) {
  const Tensor first = Tensor::of<float>({1, 2}, {1, 2});
  const Tensor second = Tensor::of<float>({3, 2}, {3, 4, 5, 6, 7, 8});
  EXPECT_EQ(pad_sequences({first, second}, {.maxlen = 2, .dtype = DType::f32}).to_string(),
            "f32[2,2,2] {{{0, 0}, {1, 2}}, {{5, 6}, {7, 8}}}");
  EXPECT_EQ(pad_sequences({first, second}, {.padding = "post", .value = 9}).to_string(),
            "s32[2,3,2] {{{1, 2}, {9, 9}, {9, 9}}, {{3, 4}, {5, 6}, {7, 8}}}");
  EXPECT_THAT(error_of([&] {
                pad_sequences({first, Tensor::of<float>({1, 3}, {1, 2, 3})});
              }),
              HasSubstr("Shape of sample [3] of sequence at position 1 is different"));
}

TEST(PadSequencesTest, WrongOptions) {
  EXPECT_THAT(error_of([] { pad_sequences(Sequences{{1}}, {.padding = "before"}); }),
              HasSubstr("Padding type \"before\" not understood"));
  EXPECT_THAT(error_of([] { pad_sequences(Sequences{{1}}, {.truncating = ""}); }),
              HasSubstr("Truncating type \"\" not understood"));
  EXPECT_THAT(error_of([] { pad_sequences(Sequences{{1}}, -1); }), HasSubstr("maxlen, got -1"));
}

Tensor steps(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count) * 2);
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::of<float>({count, 2}, values);
}

// The samples of all batches against the definition of the class.
TEST(TimeseriesGeneratorTest, EveryOption) {
  const int64_t count = 23;
  const Tensor data = steps(count);
  std::vector<int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 100);
  const Tensor targets = Tensor::of<int32_t>({count}, ids);
  for (const int64_t rate : {1, 2, 3}) {
    for (const int64_t stride : {1, 3}) {
      for (const std::optional<int64_t> end : {std::optional<int64_t>(), {18}}) {
        for (const bool reverse : {false, true}) {
          TimeseriesGenerator generator(data, targets, 5,
                                        {.sampling_rate = rate,
                                         .stride = stride,
                                         .start_index = 2,
                                         .end_index = end,
                                         .reverse = reverse,
                                         .batch_size = 4});
          std::vector<int64_t> rows;
          for (int64_t r = 7; r <= end.value_or(count - 1); r += stride) rows.push_back(r);
          size_t next = 0;
          for (int64_t b = 0; b < generator.size(); ++b) {
            const Arrays batch = generator.get(b);
            for (int64_t i = 0; i < batch.y[0].dim(0); ++i, ++next) {
              ASSERT_LT(next, rows.size());
              EXPECT_EQ(batch.y[0].data<int32_t>()[i], 100 + rows[next]);
              std::vector<float> expected;
              for (int64_t t = rows[next] - 5; t < rows[next]; t += rate) {
                const float pair[2] = {static_cast<float>(2 * t), static_cast<float>(2 * t + 1)};
                expected.insert(reverse ? expected.begin() : expected.end(), pair, pair + 2);
              }
              const Tensor sample = batch.x[0].slice(i, i + 1);
              EXPECT_TRUE(std::ranges::equal(sample.data<float>(), expected));
            }
          }
          EXPECT_EQ(next, rows.size());
        }
      }
    }
  }
}

TEST(TimeseriesGeneratorTest, ShuffleDependsOnSeedEpochAndBatch) {
  const auto make = [](int64_t seed) {
    return TimeseriesGenerator(steps(50), steps(50), 3,
                               {.shuffle = true, .batch_size = 8, .seed = seed});
  };
  TimeseriesGenerator a = make(1);
  TimeseriesGenerator b = make(1);
  (void)b.get(3);
  EXPECT_TRUE(a.get(0).x[0].identical(b.get(0).x[0]));
  EXPECT_FALSE(a.get(0).x[0].identical(a.get(1).x[0]));
  EXPECT_FALSE(a.get(0).x[0].identical(make(2).get(0).x[0]));
  b.on_epoch_end();
  EXPECT_FALSE(a.get(0).x[0].identical(b.get(0).x[0]));
}

TEST(TimeseriesGeneratorTest, WrongArguments) {
  EXPECT_THAT(error_of([] { TimeseriesGenerator(steps(5), steps(4), 2); }),
              HasSubstr("Data and targets have to be of same length"));
  EXPECT_THAT(error_of([] { TimeseriesGenerator(steps(5), steps(5), 5); }),
              HasSubstr("`start_index+length=5 > end_index=4` is disallowed"));
  EXPECT_THAT(error_of([] { TimeseriesGenerator(steps(5), steps(5), 0); }),
              HasSubstr("length, got 0"));
  EXPECT_THAT(error_of([] { TimeseriesGenerator(steps(5), steps(5), 1, {.end_index = 5}); }),
              HasSubstr("expected them in [0, 4]"));
  EXPECT_THAT(error_of([] { TimeseriesGenerator(steps(5), steps(5), 1).get(1); }),
              HasSubstr("OUT_OF_RANGE"));
}

TEST(KerasUtilsTest, ToCategorical) {
  EXPECT_EQ(utils::to_categorical(std::vector<int32_t>{2, 0}).to_string(),
            "f32[2,3] {{0, 0, 1}, {1, 0, 0}}");
  EXPECT_EQ(utils::to_categorical(Tensor::of<uint8_t>({2, 1}, {1, 0}), 4).to_string(),
            "f32[2,4] {{0, 1, 0, 0}, {1, 0, 0, 0}}");
  EXPECT_EQ(utils::to_categorical(Tensor::of<float>({1, 2}, {1, 0})).to_string(),
            "f32[1,2,2] {{{0, 1}, {1, 0}}}");
  EXPECT_EQ(utils::to_categorical(std::vector<int64_t>{}).shape(), (Shape{0, 0}));
  EXPECT_THAT(error_of([] { utils::to_categorical(std::vector<int32_t>{3}, 3); }),
              HasSubstr("class, got 3, expected 0 to 2"));
  EXPECT_THAT(error_of([] {
                utils::to_categorical(std::vector<int32_t>{-1, 2});
              }),
              HasSubstr("class, got -1, expected a number from 0"));
  EXPECT_THAT(error_of([] { utils::to_categorical(std::vector<int32_t>{-1}); }),
              HasSubstr("class, got -1, expected a number from 0"));
}

TEST(KerasUtilsTest, Normalize) {
  const Tensor x = Tensor::of<float>({2, 2}, {3, 4, 0, 0});
  EXPECT_EQ(utils::normalize(x).to_string(), "f32[2,2] {{0.6, 0.8}, {0, 0}}");
  EXPECT_EQ(utils::normalize(x, 0, 1).to_string(), "f32[2,2] {{1, 1}, {0, 0}}");
  EXPECT_THAT(error_of([&] { utils::normalize(x, 2); }), HasSubstr("normalize"));
}

}  // namespace
}  // namespace systole::keras::preprocessing::sequence
