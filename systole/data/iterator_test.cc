// What holds for every iterator: states that are damaged or of others, closing, memory, bad
// arguments.
#include "systole/data/iterator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/data/dataset.h"
#include "systole/data/sources.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole::data {
namespace {

using systole::testing::error_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ElementSpec kScalarInt{TensorType{DType::s64, {}}};

Element same(const Element& x) { return x; }

Dataset busy_pipeline() {
  return Dataset::range(1000)
      .map_cpp(same, kScalarInt, {.num_parallel_calls = 2})
      .shuffle(4, {.seed = 1})
      .batch(2)
      .prefetch(1);
}

TEST(IteratorTest, DamagedStatesAreErrors) {
  Iterator iterator(busy_pipeline());
  rest(iterator, 3);
  StateWriter writer;  // which has no checksum of its own
  iterator.save(writer);
  const std::string& state = writer.data();
  const auto restored = [](const std::string& bytes) {
    return error_of([&] {
      StateReader reader(bytes);
      Iterator(busy_pipeline()).restore(reader);
    });
  };
  for (size_t cut = 0; cut < state.size(); ++cut) {
    EXPECT_NE(restored(state.substr(0, cut)), "no error") << cut;
  }
  for (size_t i = 0; i < state.size(); ++i) {
    std::string flipped = state;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x81);
    restored(flipped);  // an error or another value, never a crash
  }
}

TEST(IteratorTest, StatesOfOtherPipelinesAreErrors) {
  Iterator iterator(Dataset::range(3).take(2));
  EXPECT_EQ(
      error_of([&] { Iterator(Dataset::range(3)).restore_state(iterator.save_state()); }),
      "FAILED_PRECONDITION: iterator state: stage, got 'take', expected 'range': it was saved "
      "by another pipeline");
}

// Later epochs have the order that the first one had, also where the stage that read the cache has
// ended, or is gone, when the position is saved.
TEST(IteratorTest, RestoredCachesKeepTheirOrder) {
  const Dataset cached = Dataset::range(6).shuffle(6).cache();
  const Dataset other = Dataset::range(100, 103);
  const auto same = [](const Element& x) { return x; };
  for (const Dataset& epoch :
       {cached.prefetch(20), cached.shuffle(20), cached.concatenate(other), cached.batch(4),
        other.concatenate(cached), Dataset::sample_from_datasets({cached, other}),
        cached.map_cpp(same, cached.element_spec(), {.num_parallel_calls = 2})}) {
    const Dataset dataset = epoch.repeat(3);
    SCOPED_TRACE(dataset.to_string());
    const std::vector<std::string> all = elements(dataset, {.entropy = 7});
    for (size_t at = 0; at < all.size(); ++at) {
      Iterator iterator(dataset, {.entropy = 7});
      for (size_t i = 0; i < at; ++i) iterator.next();
      Iterator restored = Iterator::restored(dataset, {}, iterator.save_state());
      EXPECT_EQ(rest(restored),
                std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(at), all.end()));
    }
  }
}

TEST(IteratorTest, CachesAreReadAgainNotSaved) {
  int64_t there = 1000;
  const Dataset dataset =
      Dataset::from_generator(
          [&] {
            return [i = int64_t{0}, &there]() mutable -> std::optional<Element> {
              if (i == there) return std::nullopt;
              return Tensor(i++);
            };
          },
          kScalarInt)
          .cache()
          .repeat();
  for (const int64_t position : {400, 1001, 2400}) {
    Iterator iterator(dataset);
    rest(iterator, position);
    const std::string state = iterator.save_state();
    EXPECT_LT(state.size(), 200U);
    Iterator restored(dataset);
    restored.restore_state(state);
    EXPECT_EQ(restored.save_state(), state);
    EXPECT_EQ(rest(restored, 1), rest(iterator, 1));
    EXPECT_EQ(restored.save_state(), iterator.save_state());
  }
  Iterator iterator(dataset);
  rest(iterator, 1500);
  const std::string state = iterator.save_state();
  for (const int64_t now : {999, 1001}) {
    there = now;
    Iterator restored(dataset);
    restored.restore_state(state);
    EXPECT_EQ(
        error_of([&] { restored.next(); }),
        fmt::format("FAILED_PRECONDITION: cache: elements of its input, got {}, expected 1000 "
                    "as when the position was saved; what the input reads has changed",
                    now < 1000 ? "999" : "more than 1000"));
    EXPECT_EQ(rest(restored, 1), std::vector<std::string>{"0"});  // the next epoch
  }
}

// Whoever changes a seed, or what a graph draws seeds by, continues in the order that was begun.
TEST(IteratorTest, PositionsHaveTheSeed) {
  const auto shuffled = [](int64_t seed) { return Dataset::range(30).shuffle(30, {.seed = seed}); };
  const auto sampled = [](int64_t seed) {
    return Dataset::sample_from_datasets({Dataset::range(15), Dataset::range(15, 30)}, {}, seed);
  };
  for (const std::function<Dataset(int64_t)>& make :
       {std::function(shuffled), std::function(sampled)}) {
    Iterator iterator(make(1));
    rest(iterator, 3);
    Iterator restored(make(2));
    restored.restore_state(iterator.save_state());
    EXPECT_EQ(rest(restored), rest(iterator));
  }
}

TEST(IteratorTest, ElementsKeepTheirNumbers) {
  const auto last_fails = [](const Element& x) {
    if (x.leaf().item<int64_t>() == 999) throw std::runtime_error("no");
    return x;
  };
  const Dataset dataset =
      Dataset::range(1000).map_cpp(last_fails, kScalarInt, {.num_parallel_calls = 2});
  Iterator iterator(dataset);
  rest(iterator, 100);
  Iterator restored(dataset);
  restored.restore_state(iterator.save_state());
  EXPECT_EQ(rest(restored).back(), "UNKNOWN: no, map_cpp: element 999");
}

TEST(IteratorTest, GeneratorsThatHaveEndedAreNotMadeAgain) {
  int made = 0;
  const Dataset dataset = Dataset::from_generator(
      [&made] {
        ++made;
        return [i = int64_t{0}]() mutable -> std::optional<Element> {
          if (i == 2) return std::nullopt;
          return Tensor(i++);
        };
      },
      kScalarInt);
  Iterator iterator(dataset);
  EXPECT_THAT(rest(iterator), ElementsAre("0", "1"));
  Iterator restored(dataset);
  restored.restore_state(iterator.save_state());
  EXPECT_TRUE(rest(restored).empty());
  EXPECT_EQ(made, 1);
}

Element but_odd(const Element& x) {
  if (x.leaf().item<int64_t>() % 2 == 1) throw std::runtime_error("odd");
  return x;
}

// What is read again may come in another order, also by whoever has not read it yet.
TEST(IteratorTest, CachesOfWhatComesInAnyOrderAreSaved) {
  std::atomic<bool> slow{true};
  const auto late = [&slow](const Element& x) {
    if (slow && x.leaf().item<int64_t>() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return x;
  };
  const auto as_they_come = [&late](const Element&) {
    return Dataset::range(3).map_cpp(late, kScalarInt,
                                     {.num_parallel_calls = 2, .deterministic = false});
  };
  const Dataset dataset = Dataset::range(1).flat_map(as_they_come).cache().repeat(2);
  for (const int64_t position : {1, 2, 4}) {
    slow = true;
    Iterator iterator(dataset);
    rest(iterator, position);
    slow = false;
    Iterator restored(dataset);
    restored.restore_state(iterator.save_state());
    Iterator again(dataset);
    again.restore_state(restored.save_state());
    const std::vector<std::string> left = rest(iterator);
    EXPECT_EQ(rest(restored), left) << position;
    EXPECT_EQ(rest(again), left) << position;
  }
}

TEST(IteratorTest, CachesHaveNoHoles) {
  const auto odd = HasSubstr("odd");
  EXPECT_THAT(elements(Dataset::range(3).map_cpp(but_odd, kScalarInt).cache().repeat(2)),
              ElementsAre("0", odd, "2", "0", odd, "2"));
}

TEST(IteratorTest, FilesOfCachesHaveNoHoles) {
  MemoryFileSystem fs;
  Iterator iterator(Dataset::range(4).map_cpp(but_odd, kScalarInt).cache("c", &fs));
  EXPECT_THAT(rest(iterator, 3), ElementsAre("0", HasSubstr("odd"), "2"));
  EXPECT_TRUE(fs.contents().empty());
  rest(iterator);
  EXPECT_TRUE(fs.contents().empty());
}

TEST(IteratorTest, FilesOfCachesThatAreNoneEndOnce) {
  MemoryFileSystem fs{{"c", "junk"}};
  const Dataset dataset = Dataset::range(3).cache("c", &fs);
  Iterator iterator(dataset);
  EXPECT_THAT(rest(iterator, 1), ElementsAre(HasSubstr("DATA_LOSS")));
  Iterator restored(dataset);
  restored.restore_state(iterator.save_state());
  EXPECT_TRUE(rest(iterator).empty());
  EXPECT_TRUE(rest(restored).empty());
}

// Whatever fails: to finish the file, to look for it in the next epoch, to read it.
TEST(IteratorTest, SavesARepeatWhoseNextEpochCannotBeMade) {
  const auto error_of_operation = [](int64_t operation) {
    MemoryFileSystem fs;
    const Dataset dataset = Dataset::range(2).cache("c", &fs).repeat(2);
    Iterator iterator(dataset);
    rest(iterator, 2);
    fs.inject({.path_contains = "c", .at_operation = operation, .stays = true});
    std::string error = error_of([&] { iterator.next(); });
    const std::string state = iterator.save_state();
    fs.clear_fault();
    if (error == "no error") return error;
    const std::vector<std::string> left = rest(iterator);
    Iterator restored(dataset);
    restored.restore_state(state);
    EXPECT_EQ(rest(restored), left) << error;
    return error;
  };
  int64_t operations = 0;
  while (error_of_operation(operations) != "no error") ++operations;
  EXPECT_GT(operations, 3);
}

TEST(IteratorTest, WhatWasDroppedIsCountedOn) {
  const Dataset dataset = Dataset::range(4).map_cpp(but_odd, kScalarInt).ignore_errors();
  Iterator iterator(dataset);
  EXPECT_THAT(rest(iterator, 2), ElementsAre("0", "2"));
  Iterator restored(dataset);
  restored.restore_state(iterator.save_state());
  const LogCapture log;
  EXPECT_TRUE(rest(restored).empty());
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr("ignore_errors: dropped 2 elements, the first for UNKNOWN: odd, "
                                 "map_cpp: element 1")));
}

// The state of `iterator` once it has read ahead as far as the number that is none.
std::string state_with_error(Iterator& iterator) {
  std::string state;
  for (int i = 0; i < 1000 && state.find("got 'x'") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i > 0 ? 5 : 0));
    state = iterator.save_state();
  }
  return state;
}

TEST(IteratorTest, ErrorsReadAheadAreKeptOrLeftOut) {
  const std::vector<std::string> texts = {"0", "1", "x", "3", "4"};
  const Dataset numbers = Dataset::from_tensor_slices(Tensor::of<std::string>({5}, texts));
  const auto number = [](const Output& text) {
    return string_to_number(text, {.out_type = DType::s64});
  };
  const Dataset one_by_one = numbers.map(number, {.num_parallel_calls = 1});
  const std::vector<Dataset> pipelines = {
      numbers.map(number).skip(0), one_by_one, one_by_one.prefetch(4),
      Dataset::range(1).interleave([=](const Element&) { return numbers.map(number); },
                                   {.cycle_length = 1, .num_parallel_calls = 1})};
  for (const Dataset& dataset : pipelines) {
    Iterator iterator(dataset);
    EXPECT_EQ(rest(iterator, 2), (std::vector<std::string>{"0", "1"}));
    const std::string state = state_with_error(iterator);
    Iterator kept(dataset);
    kept.restore_state(state);
    EXPECT_THAT(error_of([&] { kept.next(); }), HasSubstr("got 'x'")) << dataset.to_string();
    EXPECT_EQ(rest(kept), (std::vector<std::string>{"3", "4"}));

    Iterator without(dataset, {.keeps_errors = false});
    const LogCapture log;
    without.restore_state(state);
    EXPECT_THAT(log.messages(),
                Contains(HasSubstr("the element that failed before the checkpoint is left out")));
    EXPECT_EQ(rest(without), (std::vector<std::string>{"3", "4"})) << dataset.to_string();
  }
}

TEST(IteratorTest, ClosingJoinsAtOnce) {
  const auto slow = [](const Element& x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return x;
  };
  const Dataset endless = Dataset::range(1'000'000'000);
  const std::vector<Dataset> pipelines = {
      endless.map_cpp(slow, kScalarInt, {.num_parallel_calls = 3}).prefetch(2).batch(3).prefetch(),
      endless.filter_cpp([](const Element&) { return false; }).prefetch(1),
      endless.skip(-1).prefetch(1),
      endless
          .interleave([=](const Element& x) { return Dataset::from_tensors(x).repeat(); },
                      {.cycle_length = 4, .num_parallel_calls = 2})
          .shuffle(1000000)
          .prefetch(1)};
  for (const Dataset& dataset : pipelines) {
    auto iterator = std::make_unique<Iterator>(dataset);
    std::thread consumer([&] { error_of([&] { rest(*iterator, 1 << 30); }); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    // These return: the pipelines have more elements than a machine reads in a year.
    iterator->cancel();
    consumer.join();
    iterator.reset();
  }
}

// Elements that a thread has taken and will not map any more are not given as if they were.
TEST(IteratorTest, ClosingGivesNothingUnmapped) {
  std::unique_ptr<Iterator> iterator;
  std::atomic<int64_t> mapped{0};
  std::atomic<bool> waits{false};
  std::atomic<bool> closed{false};
  // Has the threads of the map beside it wait, takes all that they have made, and closes.
  const auto closes = [&](const Element& x) {
    const auto i = x.leaf().item<int64_t>();
    while (i > 0 && mapped == i && !waits) std::this_thread::yield();
    if (i > 0 && mapped == i) {
      iterator->cancel();
      closed = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return x;
  };
  const auto wait = [&](const Element& x) {
    if (x.leaf().item<int64_t>() == 50) {
      waits = true;
      while (!closed) std::this_thread::yield();
    }
    return x;
  };
  const auto negative = [&](const Element& x) {
    ++mapped;
    return Element(Tensor(-x.leaf().item<int64_t>()));
  };
  const Dataset numbers = Dataset::range(1000);
  iterator = std::make_unique<Iterator>(
      Dataset::zip({numbers.map_cpp(closes, kScalarInt),
                    numbers.map_cpp(wait, kScalarInt)
                        .map_cpp(negative, kScalarInt, {.num_parallel_calls = 1})}));
  const std::string error = error_of([&] {
    for (int64_t i = 0; const auto element = iterator->next(); ++i) {
      ASSERT_EQ((*element)[1].leaf().item<int64_t>(), -i);
    }
  });
  EXPECT_THAT(error, HasSubstr("CANCELLED"));
  EXPECT_THAT(error_of([&] { iterator->save_state(); }), HasSubstr("CANCELLED"));
}

// Saving waits for threads that make stages, which wait while others are told to close.
TEST(IteratorTest, ClosesWhileItIsSaved) {
  const auto slow = [](const Element& x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x;
  };
  const Dataset dataset =
      Dataset::range(1'000'000)
          .interleave(
              [=](const Element& x) {
                return Dataset::from_tensors(x).map_cpp(slow, kScalarInt).prefetch(1).repeat();
              },
              {.cycle_length = 2, .num_parallel_calls = 2})
          .prefetch(1);
  for (int64_t taken = 1; taken < 4; ++taken) {
    Iterator iterator(dataset);
    rest(iterator, taken);
    std::thread saving([&] { error_of([&] { iterator.save_state(); }); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    iterator.cancel();
    saving.join();
  }
}

// Elements alive at once, counted by what a generator gives away.
class Alive {
 public:
  Dataset dataset(int64_t n) {
    return Dataset::from_generator(
        [this, n] {
          return [this, n, i = int64_t{0}]() mutable -> std::optional<Element> {
            if (i == n) return std::nullopt;
            Tensor tensor = Tensor::full(DType::s64, {1}, static_cast<double>(i++));
            given_.push_back(tensor);
            count();
            return tensor;
          };
        },
        TensorType{DType::s64, {1}});
  }
  int64_t most() const { return most_; }

 private:
  void count() {
    std::erase_if(given_, [](const Tensor& tensor) { return tensor.unique(); });
    most_ = std::max(most_, static_cast<int64_t>(given_.size()));
  }
  std::vector<Tensor> given_;
  int64_t most_ = 0;
};

TEST(IteratorTest, BuffersHoldNoMoreThanTheySay) {
  Alive shuffled;
  EXPECT_EQ(elements(shuffled.dataset(500).shuffle(16)).size(), 500U);
  EXPECT_LE(shuffled.most(), 16 + 1);
  Alive plain;
  EXPECT_EQ(elements(plain.dataset(500).batch(4)).size(), 125U);
  EXPECT_LE(plain.most(), 2);
}

TEST(IteratorTest, PrefetchMakesNoMoreThanItSays) {
  std::atomic<int64_t> made{0};
  Iterator iterator(Dataset::range(100)
                        .map_cpp(
                            [&](const Element& x) {
                              ++made;
                              return x;
                            },
                            kScalarInt)
                        .prefetch(3));
  for (int64_t taken = 1; taken < 20; ++taken) {
    rest(iterator, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_LE(made - taken, 3 + 1);
  }
}

TEST(IteratorTest, Stats) {
  Iterator iterator(Dataset::range(100).batch(10).prefetch(2));
  rest(iterator);
  const std::vector<StageStats> stats = iterator.stats();
  ASSERT_EQ(stats.size(), 3U);
  EXPECT_EQ(stats[0].name, "prefetch");
  EXPECT_TRUE(stats[0].threaded);
  EXPECT_EQ(stats[1].elements, 10);
  EXPECT_EQ(stats[2].name, "range");
  EXPECT_EQ(stats[2].elements, 100);
}

// What runs inside of a function is there once, for all that it made; a C++ function's is not
// known.
TEST(IteratorTest, StatsOfWhatAFunctionMade) {
  const Dataset three = Dataset::range(3);
  const auto twice = [](const Dataset& x) { return x.repeat(2).prefetch(1); };
  for (const int64_t calls : {0, 2}) {
    Iterator iterator(three.interleave(twice, {.cycle_length = 2, .num_parallel_calls = calls}));
    rest(iterator);
    const std::vector<StageStats> stats = iterator.stats();
    ASSERT_EQ(stats.size(), 5U);
    const std::array<std::pair<std::string, int64_t>, 5> expected = {
        {{"interleave", 6}, {"range", 3}, {"prefetch", 6}, {"repeat", 6}, {"argument", 6}}};
    for (size_t i = 0; i < stats.size(); ++i) {
      EXPECT_EQ(stats[i].name, expected[i].first);
      EXPECT_EQ(stats[i].elements, expected[i].second) << stats[i].name;
      EXPECT_GE(stats[i].busy_seconds, 0);
    }
  }
  Iterator called(three.flat_map([](const Element& x) { return Dataset::from_tensors(x); }));
  rest(called);
  EXPECT_EQ(called.stats().size(), 2U);
}

struct BadCall {
  const char* name;
  std::function<void()> call;
  std::string message;
};

TEST(DatasetTest, BadArguments) {
  const Dataset range = Dataset::range(4);
  const Tensor two = Tensor::of<float>({2}, {1, 2});
  const std::vector<BadCall> calls = {
      {"batch", [&] { range.batch(0); },
       "INVALID_ARGUMENT: batch: batch_size, got 0, expected at least 1"},
      {"shuffle", [&] { range.shuffle(0); },
       "INVALID_ARGUMENT: shuffle: buffer_size, got 0, expected at least 1"},
      {"shard", [&] { range.shard(2, 2); },
       "INVALID_ARGUMENT: shard: index, got 2, expected 0 to 1"},
      {"prefetch", [&] { range.prefetch(-2); },
       "INVALID_ARGUMENT: prefetch: buffer_size, got -2, expected 0 or more, or AUTOTUNE"},
      {"unbatch", [&] { range.unbatch(); },
       "INVALID_ARGUMENT: unbatch: component, got s64[], expected a first dimension"},
      {"concatenate", [&] { range.concatenate(Dataset::from_tensors(two)); },
       "INVALID_ARGUMENT: concatenate: element type, got f32[2], expected s64[] as of the first"},
      {"interleave_cycle",
       [&] {
         range.interleave([](const Dataset& x) { return x; }, {.cycle_length = int64_t{1} << 40});
       },
       "INVALID_ARGUMENT: interleave: cycle_length, got 1099511627776, expected at most 1048576, "
       "as "
       "all are open"},
      {"window_span", [&] { range.window(int64_t{1} << 62, {.stride = 4}); },
       "INVALID_ARGUMENT: window: size * stride, got 4611686018427387904 * 4, expected less than "
       "2^63"},
      {"set_shape", [&] { range.batch(2, true).set_shape(Shape{3}); },
       "INVALID_ARGUMENT: set_shape: component 0, got [3], expected one that fits s64[2]"},
      {"empty", [] { Dataset().repeat(); },
       "FAILED_PRECONDITION: Dataset: got a default-constructed one, expected a data set"},
  };
  for (const BadCall& bad : calls) EXPECT_EQ(error_of(bad.call), bad.message) << bad.name;
}

TEST(DatasetTest, BadArgumentsOfSources) {
  const Dataset range = Dataset::range(4);
  const Tensor two = Tensor::of<float>({2}, {1, 2});
  const Tensor three = Tensor::of<float>({3}, {1, 2, 3});
  const std::vector<BadCall> calls = {
      {"slices",
       [&] {
         Dataset::from_tensor_slices(Element::tuple({two, three}));
       },
       "INVALID_ARGUMENT: from_tensor_slices: first dimension, got f32[3], expected 2 rows as of "
       "f32[2]"},
      {"slices_of_a_scalar", [&] { Dataset::from_tensor_slices(Tensor(1)); },
       "INVALID_ARGUMENT: from_tensor_slices: tensor, got s32[], expected a first dimension, whose "
       "rows are the elements (from_tensors takes any shape)"},
      {"no_tensor", [&] { Dataset::from_tensors(Tensor()); },
       "INVALID_ARGUMENT: from_tensors: tensor, got none, expected one"},
      {"empty_generator",
       [] {
         Dataset::from_generator(nullptr, TensorType{DType::s64, {}});
       },
       "INVALID_ARGUMENT: from_generator: function, got an empty one, expected one to call"},
      {"no_patterns", [] { Dataset::list_files(std::vector<std::string>{}); },
       "INVALID_ARGUMENT: list_files: patterns, got none, expected at least one"},
      {"reads", [] { TFRecordDataset("f", {.num_parallel_reads = -2}); },
       "INVALID_ARGUMENT: TFRecordDataset: num_parallel_reads, got -2, expected 0 or more, or "
       "AUTOTUNE"},
      {"csv_columns",
       [] {
         CsvDataset("f", {Tensor(1), Tensor(1)}, {.select_cols = {2, 0}});
       },
       "INVALID_ARGUMENT: CsvDataset: select_cols, got [2, 0], expected ascending ones"},
      {"range", [&] { Dataset::range(0, 1, 0); },
       "INVALID_ARGUMENT: range: step, got 0, expected another number"},
      {"weights",
       [&] {
         Dataset::sample_from_datasets({range}, {1, 2});
       },
       "INVALID_ARGUMENT: sample_from_datasets: weights, got 2, expected 1, one a data set"},
      {"no_weight",
       [&] {
         Dataset::sample_from_datasets({range, range}, {0, 0});
       },
       "INVALID_ARGUMENT: sample_from_datasets: weights, got only 0, expected one above it"},
      {"zip", [] { Dataset::zip(Nest<Dataset>()); },
       "INVALID_ARGUMENT: zip: data sets, got none, expected at least one"},
  };
  for (const BadCall& bad : calls) EXPECT_EQ(error_of(bad.call), bad.message) << bad.name;
}

TEST(DatasetTest, BadFunctions) {
  const Dataset range = Dataset::range(4);
  const std::vector<BadCall> calls = {
      {"too_many_arguments", [&] { range.map([](Output x, Output) { return x; }); },
       "INVALID_ARGUMENT: Dataset: function of 2 arguments, got elements s64[], expected tuples of "
       "2; a function of one argument, const Nest<Output>&, takes any"},
      {"too_few_arguments",
       [&] { range.enumerate().enumerate().filter([](Output, Output, Output x) { return x; }); },
       "INVALID_ARGUMENT: Dataset: function of 3 arguments, got elements (s64[], (s64[], s64[])), "
       "expected tuples of 3; a function of one argument, const Nest<Output>&, takes any"},
      {"windows_of_one",
       [&] { range.window(2).flat_map([](const Dataset& x, const Dataset&) { return x; }); },
       "INVALID_ARGUMENT: components of a window, got 1, expected a tuple of two; a function of "
       "one "
       "argument, const Nest<Dataset>&, takes any, window.flat_map: function of data sets"},
      {"empty_map",
       [&] {
         range.map_cpp(nullptr, TensorType{DType::s64, {}});
       },
       "INVALID_ARGUMENT: map_cpp: function, got an empty one, expected one to call"},
      {"empty_filter", [&] { range.filter_cpp(nullptr); },
       "INVALID_ARGUMENT: filter_cpp: function, got an empty one, expected one to call"},
      {"boundaries",
       [&] {
         range.bucket_by_sequence_length([](const Element&) { return 1; },
                                         {.bucket_boundaries = {6, 3}, .bucket_batch_sizes = {1}});
       },
       "INVALID_ARGUMENT: bucket_by_sequence_length: bucket_boundaries, got [6, 3], expected "
       "ascending ones"},
  };
  for (const BadCall& bad : calls) EXPECT_EQ(error_of(bad.call), bad.message) << bad.name;
}

TEST(DatasetTest, ShortFormsOfTensorFlow) {
  const Dataset range = Dataset::range(2);
  EXPECT_EQ(joined(Dataset::zip({range, range.skip(1)})), "(0, 1)");
  EXPECT_EQ(joined(Dataset::zip({range, Nest<Dataset>::dict({{"x", range}})})),
            "(0, {x: 0}) (1, {x: 1})");
  EXPECT_EQ(joined(Dataset::from_tensors(7)), "7");
  EXPECT_EQ(joined(Dataset::from_tensors("text")), "text");
  EXPECT_EQ(joined(Dataset::from_tensor_slices(std::vector{"a", "b"})), "a b");
  EXPECT_EQ(Dataset::from_tensor_slices(std::vector{1.5F}).element_spec().to_string(), "f32[]");
  EXPECT_EQ(joined(Dataset::from_tensor_slices(std::vector{true, false})), "1 0");
  EXPECT_EQ(joined(Dataset::from_tensor_slices({"a", "b"})), "a b");
  EXPECT_EQ(Dataset::from_tensor_slices({1, 2}).element_spec().to_string(), "s32[]");
  EXPECT_EQ(joined(Dataset::from_tensor_slices({0.5, 1.5})), "0.5 1.5");
  MemoryFileSystem fs({{"a", ""}, {"b", ""}});
  EXPECT_EQ(joined(Dataset::list_files({"b", "a"}, {.shuffle = false, .file_system = &fs})), "a b");
  EXPECT_EQ(joined(range.prefetch(0)), "0 1");
  EXPECT_EQ(range.prefetch(0).to_string(), range.to_string());
}

TEST(DatasetTest, RaggedBatchesNameBothShapes) {
  const Dataset ragged = Dataset::range(3).map_cpp(
      [](const Element& x) { return Tensor::zeros(DType::f32, {x.leaf().item<int64_t>()}); },
      TensorType{DType::f32, {kUnknown}});
  EXPECT_EQ(joined(ragged.skip(1).batch(2)),
            "INVALID_ARGUMENT: batch: component 0 of element 1 of the batch, got f32[2], expected "
            "f32[1] as in element 0; elements of different shapes take padded_batch");
  EXPECT_EQ(joined(ragged.map_cpp(same, TensorType{DType::f32, {1}}).take(1)),
            "INVALID_ARGUMENT: map_cpp: element 0: component 0, got f32[0], expected f32[1] [0]");
}

// A batch has memory for as many as there may be only once there are many.
TEST(DatasetTest, BatchesLargerThanTheirInput) {
  const int64_t huge = int64_t{1} << 60;
  EXPECT_EQ(joined(Dataset::range(3).batch(huge)), "[0 1 2]");
  EXPECT_EQ(joined(Dataset::range(3).batch(huge, true)), "");
  const Dataset texts = Dataset::range(3).map_cpp(
      [](const Element&) { return Element(Tensor("text")); }, TensorType{DType::string, {}});
  EXPECT_EQ(joined(texts.batch(huge)), "[text text text]");
  // More than the first memory holds, twice.
  constexpr int64_t kRows = 90;
  const Dataset rows = Dataset::range(kRows).map_cpp(
      [](const Element& x) {
        return Element(Tensor::full(DType::u8, {2 << 20}, x.leaf().as_double(0)));
      },
      TensorType{DType::u8, {2 << 20}});
  Iterator iterator(rows.batch(huge));
  const Tensor all = iterator.next()->leaf();
  ASSERT_EQ(all.dim(0), kRows);
  for (int64_t i = 0; i < kRows; ++i) {
    EXPECT_EQ(all.slice(i, i + 1).as_double((2 << 20) - 1), static_cast<double>(i));
  }
}

TEST(DatasetTest, SamplesOfEpochsDiffer) {
  const Dataset numbers = Dataset::range(20);
  const auto all =
      elements(Dataset::sample_from_datasets({numbers, numbers.skip(10)}, {}, 1).repeat(2));
  EXPECT_NE(std::vector(all.begin(), all.begin() + 30), std::vector(all.begin() + 30, all.end()));
}

TEST(DatasetTest, ShufflesWithoutSeedsDiffer) {
  const Dataset shuffled = Dataset::range(20).shuffle(20);
  const auto same = [](const Element& x) { return to_text(x[0]) == to_text(x[1]); };
  EXPECT_LT(elements(Dataset::zip({shuffled, shuffled}).filter_cpp(same)).size(), 20U);
  const IteratorOptions options{.entropy = 1};
  EXPECT_EQ(elements(shuffled, options), elements(Dataset::range(20).shuffle(20), options));
  EXPECT_NE(elements(shuffled, options), elements(Dataset::range(20).skip(0).shuffle(20), options));
}

// Two of one graph with a seed are seeded by their place in it.
TEST(DatasetTest, ShufflesOfASeededGraphDiffer) {
  const auto two = [] {
    Graph graph;
    const GraphScope scope(graph);
    set_random_seed(1);
    const Dataset first = Dataset::range(20).shuffle(20);
    return std::pair(elements(first), elements(Dataset::range(20).shuffle(20)));
  };
  const auto [first, second] = two();
  EXPECT_NE(first, second);
  EXPECT_EQ(two(), std::pair(first, second));
}

TEST(DatasetTest, IgnoredErrorsAreToldOfAtOnce) {
  const LogCapture log;
  Iterator iterator(Dataset::range(1000)
                        .map_cpp(
                            [](const Element& x) -> Element {
                              if (x.leaf().item<int64_t>() < 12) throw std::runtime_error("no");
                              return x;
                            },
                            TensorType{DType::s64, {}})
                        .repeat()
                        .ignore_errors());
  rest(iterator, 1);
  ASSERT_EQ(log.messages().size(), 2U);
  EXPECT_THAT(log.messages()[0], HasSubstr("ignore_errors: dropped 1 element, the first for "));
  EXPECT_THAT(log.messages()[1], HasSubstr("ignore_errors: dropped 10 elements, the first for "));
}

// Elements that take long come after many that take no time.
TEST(DatasetTest, ThreadsOfAMapDoNotRunFarAhead) {
  constexpr int64_t kFast = 3000;
  std::atomic<int64_t> made{0};
  const Dataset dataset = Dataset::range(kFast + 200)
                              .map_cpp(
                                  [&](const Element& x) {
                                    if (x.leaf().item<int64_t>() >= kFast) {
                                      ++made;
                                      std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                    }
                                    return x;
                                  },
                                  TensorType{DType::s64, {}}, {.num_parallel_calls = 2});
  Iterator iterator(dataset);
  rest(iterator, kFast);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LE(made, 16);
  const std::string state = iterator.save_state();
  Iterator restored(dataset);
  restored.restore_state(state);
  for (Iterator* each : {&iterator, &restored}) {
    const auto left = rest(*each);
    ASSERT_EQ(left.size(), 200U);
    for (int64_t i = 0; i < 200; ++i) {
      EXPECT_EQ(left[i], std::to_string(kFast + i));
    }
  }
}

// What AUTOTUNE has learnt of small elements holds for large ones no more.
TEST(DatasetTest, TunedBuffersHoldWhatTheyMay) {
  constexpr int64_t kSmall = 3000;
  constexpr int64_t kLarge = int64_t{1} << 20;
  std::atomic<int64_t> made{0};
  const Dataset dataset = Dataset::range(kSmall + 200)
                              .map_cpp(
                                  [&](const Element& x) {
                                    const int64_t i = x.leaf().item<int64_t>();
                                    if (i < kSmall) {
                                      // Unevenly, so that the buffer is deepened.
                                      if (i % 100 == 0)
                                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                      return Element(Tensor::zeros(DType::u8, {1}));
                                    }
                                    ++made;
                                    return Element(Tensor::zeros(DType::u8, {kLarge}));
                                  },
                                  TensorType{DType::u8, {kUnknown}});
  Iterator iterator(dataset.prefetch(), {.autotune_bytes = 16 << 20});
  for (int64_t i = 0; i < kSmall; ++i) {
    if (i % 500 == 499) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    iterator.next();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(made, 17);
}

TEST(DatasetTest, ShuffleReshuffles) {
  const auto epochs = [](ShuffleOptions options) {
    const auto all = elements(Dataset::range(20).shuffle(20, options).repeat(2));
    return std::pair(std::vector(all.begin(), all.begin() + 20),
                     std::vector(all.begin() + 20, all.end()));
  };
  const auto [a, b] = epochs({.seed = 1});
  EXPECT_NE(a, b);
  const auto [c, d] = epochs({.seed = 1, .reshuffle_each_iteration = false});
  EXPECT_EQ(c, d);
  const auto [e, f] = epochs({.seed = 1});
  EXPECT_EQ(a, e);
  EXPECT_EQ(b, f);
}

}  // namespace
}  // namespace systole::data
