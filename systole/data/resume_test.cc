// Positions that are harder to come back to: caches, chance, damage, and what is not the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "systole/base/testing/error_of.h"
#include "systole/data/dataset.h"
#include "systole/data/feed/step_feed.h"
#include "systole/data/testing/elements.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole::data {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

const ElementSpec kResumedInt{TensorType{DType::s64, {}}};

// What comes after `position` elements in an iterator that is restored there.
std::vector<std::string> resumed(const Dataset& dataset, int64_t position,
                                 const std::function<void()>& between = {}) {
  Iterator first(dataset, {.entropy = 1});
  std::vector<std::string> all = rest(first, position);
  const std::string state = first.save_state();
  if (between) between();
  Iterator second(dataset, {.entropy = 2});
  second.restore_state(state);
  for (const std::string& element : rest(second)) all.push_back(element);
  return all;
}

// The order of an epoch whose file was not finished is that of all later ones.
TEST(ResumeTest, CacheInAFileOfShuffledElements) {
  for (int64_t position = 0; position <= 10; ++position) {
    MemoryFileSystem files;
    MemoryFileSystem others;
    const auto dataset = [](FileSystem& fs) {
      return Dataset::range(5).shuffle(5).cache("c", &fs).repeat(2);
    };
    const auto all = elements(dataset(files), {.entropy = 1});
    ASSERT_EQ(all.size(), 10U);
    EXPECT_EQ(std::vector(all.begin(), all.begin() + 5), std::vector(all.begin() + 5, all.end()));
    EXPECT_EQ(resumed(dataset(others), position), all) << position;
  }
}

// Epochs that are cut off write no file, and are shuffled anew.
TEST(ResumeTest, CacheInAFileThatIsNotReadToItsEnd) {
  MemoryFileSystem fs;
  const Dataset dataset = Dataset::range(20).shuffle(20).cache("c", &fs).take(5).repeat(2);
  const auto all = elements(dataset, {.entropy = 1});
  EXPECT_NE(std::vector(all.begin(), all.begin() + 5), std::vector(all.begin() + 5, all.end()));
  for (int64_t position = 0; position <= 10; ++position) {
    EXPECT_EQ(resumed(dataset, position), all) << position;
  }
}

// An epoch of which an element failed is not what the file is to be.
TEST(ResumeTest, CacheInAFileBehindAnError) {
  MemoryFileSystem fs;
  std::atomic<bool> fails{true};
  const Dataset dataset = Dataset::range(6)
                              .shuffle(6)
                              .map_cpp(
                                  [&](const Element& x) -> Element {
                                    const bool bad = x.leaf().item<int64_t>() == 3;
                                    if (bad && fails.exchange(false))
                                      throw std::runtime_error("no");
                                    return x;
                                  },
                                  kResumedInt)
                              .cache("c", &fs)
                              .ignore_errors()
                              .repeat(3);
  const auto all = elements(dataset);
  ASSERT_EQ(all.size(), 17U);
  EXPECT_EQ(std::vector(all.begin() + 5, all.begin() + 11),
            std::vector(all.begin() + 11, all.end()));
}

// Behind stages that give elements as they come the rows are in the state, also when the stage that
// read them has ended.
TEST(ResumeTest, CacheOfAnyOrderWhoseStageHasEnded) {
  const auto slow_first = [](const Element& x) {
    if (x.leaf().item<int64_t>() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x;
  };
  const Dataset dataset = Dataset::range(6)
                              .map_cpp(slow_first, kResumedInt, {.num_parallel_calls = 3})
                              .options({.deterministic = false})
                              .cache()
                              .concatenate(Dataset::range(90, 92))
                              .repeat(2);
  for (const int64_t position : {3, 6, 7, 8, 10, 15}) {
    const auto all = resumed(dataset, position);
    ASSERT_EQ(all.size(), 16U);
    if (position < 6) continue;  // what was not read yet comes as it comes
    EXPECT_EQ(std::vector(all.begin(), all.begin() + 8), std::vector(all.begin() + 8, all.end()))
        << position;
  }
}

// Two stages of one cache, with draws of their own, keep what they have read.
TEST(ResumeTest, OneCacheInTwoBranches) {
  const Dataset cached = Dataset::range(7).shuffle(3).cache().repeat(3);
  for (const Dataset& dataset :
       {Dataset::zip({cached, cached}), Dataset::sample_from_datasets({cached, cached}, {}, 3)}) {
    const auto all = elements(dataset, {.entropy = 1});
    for (size_t position = 0; position <= all.size(); ++position) {
      EXPECT_EQ(resumed(dataset, static_cast<int64_t>(position)), all) << position;
    }
  }
}

TEST(ResumeTest, CacheOfTwoBranchesOfACache) {
  const Dataset inner = Dataset::range(4).shuffle(4).cache();
  for (const Dataset& both :
       {Dataset::zip({inner, inner}), Dataset::sample_from_datasets({inner, inner}, {}, 3)}) {
    const Dataset dataset = both.cache().repeat(2);
    const auto all = elements(dataset, {.entropy = 1});
    for (size_t position = 0; position <= all.size(); ++position) {
      EXPECT_EQ(resumed(dataset, static_cast<int64_t>(position)), all) << position;
    }
  }
}

// A data set that a function made has its own cache, for all its epochs.
TEST(ResumeTest, CachesInFunctionsAreRead) {
  std::atomic<int> calls{0};
  const auto counted = [&](const Element& x) {
    ++calls;
    return x;
  };
  const Dataset dataset = Dataset::range(2).flat_map([&](const Element&) {
    return Dataset::range(5).shuffle(5).map_cpp(counted, kResumedInt).cache().repeat(3);
  });
  const auto all = elements(dataset, {.entropy = 1});
  EXPECT_EQ(calls, 10);
  ASSERT_EQ(all.size(), 30U);
  for (const size_t begin : {size_t{0}, size_t{15}}) {
    const auto epoch = [&](size_t i) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin + 5 * i);
      return std::vector(from, from + 5);
    };
    EXPECT_EQ(epoch(0), epoch(1));
    EXPECT_EQ(epoch(0), epoch(2));
  }
  for (int64_t position = 0; position <= 30; ++position) {
    EXPECT_EQ(resumed(dataset, position), all) << position;
  }
}

// Only an endless repeat takes an epoch without elements for the end.
TEST(ResumeTest, RepeatOfWhatIsEmptyByChance) {
  const auto even = [](const Element& x) { return x.leaf().item<int64_t>() % 2 == 0; };
  const Dataset one = Dataset::range(10).shuffle(10, {.seed = 7}).take(1);
  const Dataset dataset = one.filter_cpp(even).repeat(10);
  const auto all = elements(dataset);
  EXPECT_EQ(all, elements(one.repeat(10).filter_cpp(even)));
  EXPECT_GT(all.size(), 0U);
  EXPECT_LT(all.size(), 10U);
  for (int64_t position = 0; position <= static_cast<int64_t>(all.size()); ++position) {
    EXPECT_EQ(resumed(dataset, position), all) << position;
  }
  EXPECT_EQ(joined(Dataset::range(0).repeat()), "");
}

TEST(ResumeTest, RowsThatAreNotThereAnyMore) {
  const auto dataset = [](int64_t rows) {
    return Dataset::from_tensor_slices(Element(Tensor::zeros(DType::f32, {rows, 2})))
        .shuffle(100, {.seed = 1})
        .repeat()
        .batch(2);
  };
  Iterator saved(dataset(1000));
  rest(saved, 3);
  Iterator restored(dataset(8));
  restored.restore_state(saved.save_state());
  EXPECT_THAT(
      rest(restored, 1),
      ::testing::ElementsAre(HasSubstr("FAILED_PRECONDITION: from_tensor_slices: row, got")));
}

TEST(ResumeTest, NoByteOfAStateIsLost) {
  const Dataset dataset = Dataset::range(20).shuffle(5, {.seed = 1}).batch(2).prefetch(2);
  Iterator saved(dataset);
  rest(saved, 2);
  const std::string state = saved.save_state();
  for (size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x11);
    EXPECT_THAT(error_of([&] { Iterator(dataset).restore_state(damaged); }),
                HasSubstr("DATA_LOSS: iterator state"))
        << i;
    EXPECT_THAT(error_of([&] { Iterator(dataset).restore_state(state.substr(0, i)); }),
                HasSubstr("DATA_LOSS: iterator state"))
        << i;
  }
}

// The states of a stage with threads and of one without are not taken for one another.
TEST(ResumeTest, AnotherFormOfAStage) {
  const auto mapped = [](int64_t calls) {
    return Dataset::range(9).map_cpp([](const Element& x) { return x; }, kResumedInt,
                                     {.num_parallel_calls = calls});
  };
  Iterator with(mapped(2));
  Iterator without(mapped(0));
  EXPECT_THAT(error_of([&] { Iterator(mapped(0)).restore_state(with.save_state()); }),
              HasSubstr("FAILED_PRECONDITION: iterator state: stage, got 'map_cpp in threads', "
                        "expected 'map_cpp'"));
  EXPECT_THAT(error_of([&] { Iterator(mapped(2)).restore_state(without.save_state()); }),
              HasSubstr("FAILED_PRECONDITION"));
  Iterator more(mapped(3));
  rest(with, 4);
  more.restore_state(with.save_state());
  EXPECT_EQ(rest(more, 1), std::vector<std::string>{"4"});
}

TEST(ResumeTest, NothingIsSavedOfWhatIsCancelled) {
  Iterator iterator(Dataset::range(20).batch(4).prefetch(2));
  rest(iterator, 1);
  iterator.cancel();
  EXPECT_THAT(error_of([&] { iterator.save_state(); }), HasSubstr("CANCELLED"));
}

TEST(ResumeTest, StatesOfFeedsEndWhereTheyEnd) {
  const StepSource source{.datasets = {Dataset::range(8).batch(2, true)}, .name = "input"};
  StepFeed feed(source, {});
  feed.next(1);
  const std::string state = feed.save_state();
  EXPECT_THAT(error_of([&] { StepFeed(source, {}).restore_state(state + "x"); }),
              HasSubstr("DATA_LOSS: iterator state: bytes after its end"));
  StepFeed(source, {}).restore_state(state);
}

}  // namespace
}  // namespace systole::data
