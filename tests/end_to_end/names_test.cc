// TensorFlow's modules as namespaces (systole/names.h): lines of TensorFlow programs.
#include "systole/names.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

#include "systole/base/testing/temp_folder.h"

namespace systole::testing {
namespace {

Dataset sequences() {
  return Dataset::range(1, 7).map([](Output x) { return fill({x}, x); });
}

TEST(Names, ContribData) {
  namespace data = contrib::data;
  const Dataset numbers = data::sample_from_datasets({Dataset::range(5), Dataset::range(0)});
  EXPECT_EQ(numbers.apply(data::batch_and_drop_remainder(2)).element_spec().to_string(), "s64[2]");
  EXPECT_EQ(numbers.apply(data::enumerate_dataset(7)).begin().operator*()[0].leaf().item<int64_t>(),
            7);
  const auto counted = [](const Dataset& dataset) {
    int64_t count = 0;
    for (const Element& element : dataset) count += element.empty() ? 0 : 1;
    return count;
  };
  EXPECT_EQ(counted(numbers.apply(data::shuffle_and_repeat(3, 4))), 20);
  EXPECT_EQ(counted(numbers.apply(data::map_and_batch([](Output x) { return x + x; }, 2))), 3);
  EXPECT_EQ(counted(numbers.batch(2).apply(data::unbatch()).apply(data::ignore_errors())), 5);
  EXPECT_EQ(counted(sequences().apply(data::padded_batch_and_drop_remainder(4))), 1);
  EXPECT_EQ(counted(sequences().apply(data::bucket_by_sequence_length(
                [](Output x) { return size(x); },
                {.bucket_boundaries = {3}, .bucket_batch_sizes = {2, 4}}))),
            2);
  EXPECT_EQ(counted(numbers.apply(data::parallel_interleave(
                [](const Dataset& x) { return x.repeat(3); }, {.cycle_length = 2}))),
            15);
  static_assert(std::is_same_v<data::CsvDataset, systole::data::CsvDataset>);
}

TEST(Names, FilesAndTpus) {
  const TempFolder folder;
  python_io::TFRecordWriter writer(folder / "a.tfrecord");
  writer.write("text");
  writer.close();
  EXPECT_EQ(systole::data::TFRecordDataset(folder / "a.tfrecord").element_spec().leaf().dtype,
            string);
  EXPECT_EQ((io::FixedLenFeature{.shape = {2}, .dtype = float32}).dtype, DType::f32);
  const name_scope scope("outer");
  const variable_scope variables("inner");
  const std::unique_ptr<systole::train::Optimizer> optimizer =
      std::make_unique<systole::train::GradientDescentOptimizer>(0.1);
  EXPECT_TRUE(optimizer->slot_names().empty());
  static_assert(std::is_same_v<contrib::tpu::CrossShardOptimizer, systole::CrossShardOptimizer>);
  static_assert(std::is_same_v<tpu::TPUEstimator, TPUEstimator>);
  static_assert(std::is_same_v<systole::train::Scaffold, Scaffold>);
  EXPECT_EQ(contrib::cluster_resolver::TPUClusterResolver("").master(), "");
}

}  // namespace
}  // namespace systole::testing
