// The data sets of ../shared/data, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "systole/io/testing/golden.h"
#include "systole/keras/datasets/imdb.h"
#include "systole/keras/datasets/mnist.h"

namespace systole::keras::datasets {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Le;

std::vector<int32_t> first_words(const std::vector<int32_t>& review, size_t count) {
  return {review.begin(), review.begin() + static_cast<int64_t>(std::min(count, review.size()))};
}

// The numbers are those of Keras's imdb.npz.
TEST(WholeDataSetsTest, ImdbIsKerasImdb) {
  if (!testing::have_data_sets()) GTEST_SKIP() << testing::kNoDataSets;
  const std::string data_dir = testing::data_set_path("");
  const auto [train, test] = imdb::load_data({.data_dir = data_dir});
  ASSERT_EQ(train.x.size(), 25000U);
  ASSERT_EQ(test.x.size(), 25000U);
  EXPECT_THAT(
      first_words(train.x[0], 50),
      ElementsAreArray({1,     14, 22,  16,  43,   530,  973, 1622, 1385, 65,  458, 4468,  66,
                        3941,  4,  173, 36,  256,  5,    25,  100,  43,   838, 112, 50,    670,
                        22665, 9,  35,  480, 284,  5,    150, 4,    172,  112, 167, 21631, 336,
                        385,   39, 4,   172, 4536, 1111, 17,  546,  38,   13,  447}));
  EXPECT_THAT(first_words(train.x[1], 16), ElementsAre(1, 194, 1153, 194, 8255, 78, 228, 5, 6, 1463,
                                                       4369, 5012, 134, 26, 4, 715));
  EXPECT_THAT(first_words(test.x[0], 14),
              ElementsAre(1, 591, 202, 14, 31, 6, 717, 10, 10, 18142, 10698, 5, 4, 360));
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 6; ++i) lengths.push_back(train.x[i].size());
  EXPECT_THAT(lengths, ElementsAre(218, 189, 141, 550, 147, 43));
  lengths.clear();
  for (size_t i = 0; i < 8; ++i) lengths.push_back(test.x[i].size());
  EXPECT_THAT(lengths, ElementsAre(68, 260, 603, 181, 108, 132, 761, 180));
  EXPECT_THAT(train.y.data<int64_t>().first(5), ElementsAre(1, 0, 0, 1, 0));
  EXPECT_THAT(test.y.data<int64_t>().first(5), ElementsAre(0, 1, 1, 0, 1));
  int32_t largest = 0;
  for (const auto& review : train.x) largest = std::max(largest, *std::ranges::max_element(review));
  EXPECT_EQ(largest, 88586);
  for (const DataPart& part : {DataPart{{}, train.y}, DataPart{{}, test.y}}) {
    const auto labels = part.y.data<int64_t>();
    EXPECT_EQ(std::accumulate(labels.begin(), labels.end(), int64_t{0}), 12500);
  }

  const WordIndex index = imdb::get_word_index({.data_dir = data_dir});
  EXPECT_EQ(index.size(), 88584U);
  EXPECT_EQ(index.at("the"), 1);
  EXPECT_EQ(index.at("fawn"), 34701);
  EXPECT_EQ(index.at("tsukino"), 52006);
  EXPECT_EQ(index.at("woods"), 1408);
  EXPECT_EQ(imdb::decode_review(first_words(train.x[0], 10), index),
            "? this film was just brilliant casting location scenery story");
}

TEST(WholeDataSetsTest, ImdbWithFewWords) {
  if (!testing::have_data_sets()) GTEST_SKIP() << testing::kNoDataSets;
  const auto [train, test] =
      imdb::load_data({.num_words = 10000, .data_dir = testing::data_set_path("")});
  EXPECT_THAT(
      first_words(train.x[0], 30),
      ElementsAreArray({1,   14, 22,  16, 43, 530, 973, 1622, 1385, 65, 458, 4468, 66, 3941, 4,
                        173, 36, 256, 5,  25, 100, 43,  838,  112,  50, 670, 2,    9,  35,   480}));
  EXPECT_THAT(first_words(test.x[0], 12),
              ElementsAre(1, 591, 202, 14, 31, 6, 717, 10, 10, 2, 2, 5));
  for (const auto& review : test.x) EXPECT_THAT(review, Each(Le(9999)));
}

TEST(WholeDataSetsTest, Mnist) {
  if (!testing::have_data_sets()) GTEST_SKIP() << testing::kNoDataSets;
  const auto [train, test] = mnist::load_data({.data_dir = testing::data_set_path("")});
  EXPECT_EQ(train.x.type(), (TensorType{DType::u8, {60000, 28, 28}}));
  EXPECT_EQ(train.y.type(), (TensorType{DType::u8, {60000}}));
  EXPECT_EQ(test.x.type(), (TensorType{DType::u8, {10000, 28, 28}}));
  EXPECT_THAT(train.y.data<uint8_t>().first(5), ElementsAre(5, 0, 4, 1, 9));
  EXPECT_THAT(test.y.data<uint8_t>().first(5), ElementsAre(7, 2, 1, 0, 4));
}

TEST(WholeDataSetsTest, FashionMnist) {
  if (!testing::have_data_sets()) GTEST_SKIP() << testing::kNoDataSets;
  const auto [train, test] = fashion_mnist::load_data({.data_dir = testing::data_set_path("")});
  EXPECT_EQ(train.x.type(), (TensorType{DType::u8, {60000, 28, 28}}));
  EXPECT_THAT(train.y.data<uint8_t>().first(5), ElementsAre(9, 0, 0, 3, 0));
  EXPECT_THAT(test.y.data<uint8_t>().first(5), ElementsAre(9, 2, 1, 1, 6));
}

}  // namespace
}  // namespace systole::keras::datasets
