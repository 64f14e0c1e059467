// Data sets that are fed: sources and functions that take the values of tensors of a graph when an
// iterator is initialised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/data/feed/step_feed.h"
#include "systole/data/sources.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/records/tfrecord.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/session.h"

namespace systole::data {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// Three files of two records or lines each: "a0" "a1", "b0" "b1", "c0" "c1".
MemoryFileSystem& letter_files() {
  static auto* const fs = [] {
    auto* made = new MemoryFileSystem();
    for (const char* name : {"a", "b", "c"}) {
      RecordWriter records(*made, fmt::format("{}.records", name));
      records.write(fmt::format("{}0", name));
      records.write(fmt::format("{}1", name));
      records.close();
      const auto lines = made->create(fmt::format("{}.txt", name));
      lines->append(fmt::format("{0}0\n{0}1\n", name));
      lines->close();
    }
    return made;
  }();
  return *fs;
}

Tensor texts(const std::vector<std::string>& values) {
  return Tensor::of<std::string>({static_cast<int64_t>(values.size())}, values);
}

Tensor numbers(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

// The elements that a session gives until the end, or at most `limit`.
std::vector<std::string> rest_of(Session& session, const Nest<Output>& next, int64_t limit = 100) {
  std::vector<std::string> result;
  const std::vector<Output> leaves = next.flatten();
  const std::vector<Fetch> fetches(leaves.begin(), leaves.end());
  while (static_cast<int64_t>(result.size()) < limit) {
    try {
      result.push_back(to_text(pack_like(next, session.run(fetches))));
    } catch (const Error& error) {
      if (error.code() != Code::out_of_range) result.emplace_back(error.what());
      break;
    }
  }
  return result;
}

std::string joined_rest(Session& session, const Nest<Output>& next) {
  std::string text;
  for (const std::string& element : rest_of(session, next))
    text.append(text.empty() ? "" : " ").append(element);
  return text;
}

class ParametersTest : public ::testing::Test {
 private:
  Graph graph_;
  const GraphScope scope_{graph_};
};

// TensorFlow's guide: one iterator, initialised for the files of training and of validation.
TEST_F(ParametersTest, TheGuide) {
  const Output filenames = placeholder(DType::string, {kUnknown}, "filenames");
  const Dataset dataset = TFRecordDataset(filenames, {.file_system = &letter_files()})
                              .map([](Output x) {
                                return string_join({x, constant("!")});
                              })
                              .repeat(2)
                              .batch(2);
  EXPECT_EQ(dataset.element_spec().to_string(), "string[?]");
  EXPECT_EQ(dataset.parameters(), std::vector{filenames});
  const InitializableIterator iterator = dataset.make_initializable_iterator();
  const Nest<Output> next = iterator.get_next();
  Session session;
  for (int round = 0; round < 2; ++round) {
    session.run(iterator.initializer(), {{filenames, {"a.records", "c.records"}}});
    EXPECT_EQ(joined_rest(session, next), "[a0! a1!] [c0! c1!] [a0! a1!] [c0! c1!]");
    session.run(iterator.initializer(), {{filenames, texts({"b.records"})}});
    EXPECT_EQ(joined_rest(session, next), "[b0! b1!] [b0! b1!]");
  }
  EXPECT_THAT(error_of([&] { session.run(iterator.initializer()); }),
              HasSubstr("INVALID_ARGUMENT: run: placeholder 'filenames' is needed by"));
  session.run(iterator.initializer(), {{filenames, texts({"none"})}});
  EXPECT_THAT(joined_rest(session, next), HasSubstr("NOT_FOUND"));
}

// A data set of the graph, and what it is fed.
struct FedPipeline {
  std::string name;
  std::function<Dataset(FeedDict& feeds)> make;
  std::string elements;
  std::string description;
};

void PrintTo(const FedPipeline& pipeline, std::ostream* os) { *os << pipeline.name; }

Output fed(FeedDict& feeds, const std::string& name, const Tensor& value, const Shape& shape) {
  const Output output = placeholder(value.dtype(), shape, name);
  feeds.emplace_back(output, value);
  return output;
}

Dataset fed_range(FeedDict& feeds, int64_t n) {
  return Dataset::range(fed(feeds, "n", Tensor(n), {}));
}

std::vector<FedPipeline> fed_sources() {
  return {
      {"range", [](FeedDict& feeds) { return fed_range(feeds, 3); }, "0 1 2", "range(0, n:0, 1)"},
      {"range_of_three",
       [](FeedDict& feeds) {
         return Dataset::range(fed(feeds, "start", Tensor(int32_t{7}), {}), 1,
                               fed(feeds, "step", Tensor(int64_t{-2}), {}));
       },
       "7 5 3", "range(Cast:0, 1, step:0)"},
      {"from_tensors",
       [](FeedDict& feeds) {
         return Dataset::from_tensors(
             Nest<Output>::tuple({fed(feeds, "x", numbers({1, 2}), {kUnknown}), constant("a")}));
       },
       "([1 2], a)", "from_tensors(x:0, string[])"},
      {"from_tensor_slices",
       [](FeedDict& feeds) {
         return Dataset::from_tensor_slices(
             {fed(feeds, "features", Tensor::of<float>({2, 2}, {1, 2, 3, 4}), {kUnknown, 2}),
              fed(feeds, "labels", Tensor::of<int32_t>({2}, {7, 8}), {kUnknown})});
       },
       "([1 2], 7) ([3 4], 8)", "from_tensor_slices(features:0, labels:0)"},
  };
}

std::vector<FedPipeline> fed_files() {
  return {
      {"lines_of_one_file",
       [](FeedDict& feeds) {
         return TextLineDataset(fed(feeds, "file", Tensor("b.txt"), {}),
                                {.file_system = &letter_files()});
       },
       "b0 b1", "from_tensors(file:0).TextLineDataset()"},
      {"fixed_length",
       [](FeedDict& feeds) {
         return FixedLengthRecordDataset(fed(feeds, "files", texts({"c.txt", "a.txt"}), {kUnknown}),
                                         3, {.file_system = &letter_files()});
       },
       "c0\n c1\n a0\n a1\n", "from_tensor_slices(files:0).FixedLengthRecordDataset()"},
      {"list_files",
       [](FeedDict& feeds) {
         return Dataset::list_files(
             fed(feeds, "patterns", texts({"[bc].txt", "a.rec*"}), {kUnknown}),
             {.shuffle = false, .file_system = &letter_files()});
       },
       "a.records b.txt c.txt", "list_files(patterns:0)"},
      {"list_files_shuffled",
       [](FeedDict& feeds) {
         return Dataset::list_files(fed(feeds, "pattern", Tensor("*.txt"), {}),
                                    {.seed = 3, .file_system = &letter_files()})
             .repeat(2);
       },
       "*", "list_files(pattern:0).repeat(2)"},
      {"csv",
       [](FeedDict& feeds) {
         return CsvDataset(fed(feeds, "files", texts({"a.txt", "b.txt"}), {kUnknown}), {Tensor("")},
                           {.file_system = &letter_files()});
       },
       "(a0,) (a1,) (b0,) (b1,)", "from_tensor_slices(files:0).CsvDataset()"},
      {"records_by_threads",
       [](FeedDict& feeds) {
         return TFRecordDataset(fed(feeds, "files", texts({"a.records", "b.records"}), {kUnknown}),
                                {.num_parallel_reads = 2, .file_system = &letter_files()});
       },
       "a0 b0 a1 b1",
       "from_tensor_slices(files:0).interleave(argument().TFRecordDataset(), cycle_length=2, "
       "block_length=1, num_parallel_calls=2)"},
  };
}

std::vector<FedPipeline> behind_fed_sources() {
  return {
      {"shuffled_and_batched",
       [](FeedDict& feeds) {
         return Dataset::from_tensor_slices(fed(feeds, "x", numbers({1, 2, 3, 4, 5}), {kUnknown}))
             .shuffle(2, {.seed = 3})
             .repeat(2)
             .batch(2);
       },
       "*", "from_tensor_slices(x:0).shuffle(2).repeat(2).batch(2)"},
      {"in_a_function",
       [](FeedDict& feeds) {
         const Output x = fed(feeds, "x", numbers({1, 2}), {kUnknown});
         return Dataset::range(2).flat_map([=](const Dataset& i) {
           return Dataset::zip({Dataset::from_tensor_slices(x), i.repeat()});
         });
       },
       "(1, 0) (2, 0) (1, 1) (2, 1)",
       "range(0, 2, 1).flat_map([from_tensor_slices(x:0), argument().repeat()].zip())"},
  };
}

std::vector<FedPipeline> fed_transformations() {
  return {
      {"take_and_skip",
       [](FeedDict& feeds) {
         return Dataset::range(9)
             .skip(fed(feeds, "first", Tensor(int32_t{2}), {}))
             .take(fed(feeds, "count", Tensor(int64_t{3}), {}));
       },
       "2 3 4", "range(0, 9, 1).skip(Cast:0).take(count:0)"},
      {"shard_and_prefetch",
       [](FeedDict& feeds) {
         return Dataset::range(8)
             .shard(fed(feeds, "workers", Tensor(int32_t{3}), {}), 1)
             .prefetch(fed(feeds, "depth", Tensor(int64_t{2}), {}));
       },
       "1 4 7", "range(0, 8, 1).shard(Cast:0, 1).prefetch(depth:0)"},
      {"repeat_of_a_cache",
       [](FeedDict& feeds) {
         return Dataset::range(2).cache().repeat(fed(feeds, "epochs", Tensor(int64_t{3}), {}));
       },
       "0 1 0 1 0 1", "range(0, 2, 1).cache().repeat(epochs:0)"},
      {"a_cache_of_batches_repeated",
       [](FeedDict& feeds) {
         return Dataset::range(3)
             .batch(fed(feeds, "size", Tensor(int64_t{2}), {}))
             .cache()
             .repeat(2)
             .prefetch(1);
       },
       "[0 1] [2] [0 1] [2]", "range(0, 3, 1).batch(size:0).cache().repeat(2).prefetch(1)"},
      {"shuffle",
       [](FeedDict& feeds) {
         return Dataset::range(7)
             .shuffle(fed(feeds, "buffer", Tensor(int64_t{4}), {}), {.seed = 5})
             .repeat(2);
       },
       "*", "range(0, 7, 1).shuffle(buffer:0).repeat(2)"},
      {"batch_of_a_map",
       [](FeedDict& feeds) {
         return Dataset::range(5)
             .map([](Output x) { return x * int64_t{10}; })
             .batch(fed(feeds, "size", Tensor(int64_t{2}), {}), true);
       },
       "[0 10] [20 30]", "range(0, 5, 1).map().batch(size:0)"},
      {"padded_batch",
       [](FeedDict& feeds) {
         return Dataset::range(3)
             .map([](Output x) { return fill({x}, x); })
             .padded_batch(fed(feeds, "size", Tensor(int64_t{2}), {}));
       },
       "[[0] [1]] [[2 2]]", "*"},
      {"in_a_function",
       [](FeedDict& feeds) {
         const Output count = fed(feeds, "count", Tensor(int64_t{2}), {});
         return Dataset::range(3).flat_map([=](const Dataset& x) { return x.repeat(count); });
       },
       "0 0 1 1 2 2", "range(0, 3, 1).flat_map(argument().repeat(count:0))"},
  };
}

std::vector<FedPipeline> fed_functions() {
  const auto scaled = [](FeedDict& feeds, int64_t calls) {
    const Output scale = fed(feeds, "scale", Tensor(2.0F), {}) * 0.5F + 1.0F;
    return Dataset::range(5).map([=](Output x) { return cast(x, DType::f32) * scale; },
                                 {.num_parallel_calls = calls});
  };
  return {
      {"map", [=](FeedDict& feeds) { return scaled(feeds, 0); }, "0 2 4 6 8",
       "range(0, 5, 1).map()"},
      {"map_by_threads", [=](FeedDict& feeds) { return scaled(feeds, 2); }, "0 2 4 6 8",
       "range(0, 5, 1).map(num_parallel_calls=2)"},
      {"map_of_batches", [=](FeedDict& feeds) { return scaled(feeds, 0).batch(2); },
       "[0 2] [4 6] [8]", "range(0, 5, 1).batch(2).map_batches()"},
      {"filter",
       [](FeedDict& feeds) {
         const Output least = fed(feeds, "least", Tensor(int64_t{3}), {});
         return fed_range(feeds, 6).filter([=](Output x) { return x > least; });
       },
       "4 5", "range(0, n:0, 1).filter()"},
      {"table",
       [](FeedDict& feeds) {
         const Output table = fed(feeds, "table", texts({"x", "y", "z"}), {kUnknown});
         return Dataset::range(4).map([=](Output x) { return gather(table, x % int64_t{3}); });
       },
       "x y z x", "range(0, 4, 1).map()"},
      {"buckets",
       [](FeedDict& feeds) {
         const Output more = fed(feeds, "more", Tensor(int64_t{2}), {});
         return Dataset::range(4).bucket_by_sequence_length(
             [=](Output x) { return x + more; },
             {.bucket_boundaries = {4}, .bucket_batch_sizes = {2, 2}});
       },
       "[0 1] [2 3]", "range(0, 4, 1).bucket_by_sequence_length()"},
      {"in_a_function",
       [](FeedDict& feeds) {
         const Output more = fed(feeds, "more", Tensor(int64_t{2}), {});
         return Dataset::range(2).interleave(
             [=](const Dataset& x) { return x.repeat(2).map([=](Output y) { return y + more; }); });
       },
       "2 3 2 3", "*"},
  };
}

class FedPipelineTest : public ::testing::TestWithParam<FedPipeline> {};

// In a session, with a state that is saved at every position and restored in another session, which
// is fed nothing.
TEST_P(FedPipelineTest, RestoresAtEveryPosition) {
  Graph graph;
  const GraphScope scope(graph);
  FeedDict feeds;
  const Dataset dataset = GetParam().make(feeds);
  if (GetParam().description != "*") {
    EXPECT_EQ(dataset.to_string(), GetParam().description);
  }
  const InitializableIterator iterator = dataset.make_initializable_iterator({.entropy = 1});
  const Nest<Output> next = iterator.get_next();
  const Operation initializer = iterator.initializer();
  const Saveable saveable = make_saveable_from_iterator(iterator);
  Session session;
  session.run({initializer}, feeds);
  const std::vector<std::string> all = rest_of(session, next);
  if (GetParam().elements != "*") {
    session.run({initializer}, feeds);
    EXPECT_EQ(joined_rest(session, next), GetParam().elements);
  }
  for (size_t position = 0; position <= all.size() + 1; ++position) {
    session.run({initializer}, feeds);
    std::vector<std::string> got = rest_of(session, next, static_cast<int64_t>(position));
    const Tensor state = session.run(saveable.state);
    Session other;
    other.run(saveable.restore, {{saveable.saved, state}});
    for (const std::string& element : rest_of(other, next)) got.push_back(element);
    EXPECT_EQ(got, all) << "at " << position;
  }
}

std::string fed_case_name(const ::testing::TestParamInfo<FedPipeline>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Sources, FedPipelineTest, ::testing::ValuesIn(fed_sources()),
                         fed_case_name);
INSTANTIATE_TEST_SUITE_P(Files, FedPipelineTest, ::testing::ValuesIn(fed_files()), fed_case_name);
INSTANTIATE_TEST_SUITE_P(Behind, FedPipelineTest, ::testing::ValuesIn(behind_fed_sources()),
                         fed_case_name);
INSTANTIATE_TEST_SUITE_P(Transformations, FedPipelineTest,
                         ::testing::ValuesIn(fed_transformations()), fed_case_name);
INSTANTIATE_TEST_SUITE_P(Functions, FedPipelineTest, ::testing::ValuesIn(fed_functions()),
                         fed_case_name);

TEST_F(ParametersTest, OnlyAnInitializerTakesThem) {
  const Output n = placeholder(DType::s64, {}, "n");
  const Dataset dataset = Dataset::range(n).batch(1, true);
  const auto expect_refused = [](const std::string& who, const std::string& error) {
    EXPECT_THAT(error, HasSubstr("INVALID_ARGUMENT: " + who +
                                 ": data set, got one that takes the value of 'n:0' (node 'n' at "
                                 "parameters_test.cc:"));
    EXPECT_THAT(error, HasSubstr("expected none: make_initializable_iterator() does that"));
  };
  expect_refused("make_one_shot_iterator", error_of([&] { dataset.make_one_shot_iterator(); }));
  expect_refused("Iterator", error_of([&] { dataset.make_iterator(); }));
  expect_refused("Iterator", error_of([&] {
                   for (const Element& element : dataset) static_cast<void>(element);
                 }));
  expect_refused("Iterator", error_of([&] {
                   StepFeed feed({.datasets = {dataset}, .name = "input"}, {});
                   feed.next(1);
                 }));
  // The source of an iterator of the graph is the same data set.
  const Nest<Output> next = dataset.make_initializable_iterator().get_next();
  expect_refused("Iterator", error_of([&] { dataset_of(next).make_iterator(); }));
  EXPECT_EQ(Iterator(dataset, {}, {Tensor(int64_t{1})}).next()->leaf().num_elements(), 1);
  EXPECT_EQ(error_of([&] {
              Iterator fed(dataset, {}, {Tensor(int64_t{1})});
              Iterator(Dataset::range(1).batch(1, true)).restore_state(fed.save_state());
            }),
            "FAILED_PRECONDITION: iterator state: of another pipeline: parameters: number of "
            "components, got 1, expected 0");
  EXPECT_EQ(error_of([&] { Iterator(dataset, {}, {Tensor(1.0F)}); }),
            "INVALID_ARGUMENT: Iterator: parameters: component 0, got f32[], expected s64[]");
}

TEST_F(ParametersTest, BatchesOfAFedSize) {
  const Output size = placeholder(DType::s64, {}, "size");
  const Dataset numbers = Dataset::range(4);
  EXPECT_EQ(numbers.batch(size, true).element_spec().to_string(), "s64[?]");
  EXPECT_EQ(numbers.batch(constant(int64_t{2}), true).element_spec().to_string(), "s64[2]");
  const InitializableIterator iterator = numbers.batch(size).make_initializable_iterator();
  const Nest<Output> next = iterator.get_next();
  Session session;
  for (const int n : {3, 1}) {
    session.run(iterator.initializer(), {{size, n}});
    EXPECT_EQ(joined_rest(session, next), n == 3 ? "[0 1 2] [3]" : "[0] [1] [2] [3]");
  }
  EXPECT_THAT(
      error_of([&] {
        session.run(iterator.initializer(), {{size, 0}});
      }),
      HasSubstr("INVALID_ARGUMENT: MakeIterator: batch: batch_size, got 0, expected at least 1"));
  EXPECT_THAT(error_of([&] { numbers.batch(placeholder(DType::f32, {}, "f")); }),
              HasSubstr("batch: batch_size, got f32[], expected s32[] or s64[]"));
  // A function of C++ is called while the iterator runs: nobody knows what it takes.
  const Dataset unseen =
      numbers.flat_map([=](const Element&) { return Dataset::range(2).take(size); });
  EXPECT_THAT(error_of([&] { unseen.make_iterator().next(); }),
              HasSubstr("FAILED_PRECONDITION: Dataset: tensor 'size:0', got no value for it"));
}

// What follows from constants is no parameter.
TEST_F(ParametersTest, ConstantsAreTakenAtOnce) {
  const Dataset names = Dataset::from_tensor_slices(constant(texts({"a", "b"})));
  const Dataset dataset =
      Dataset::zip({names, Dataset::range(constant(int64_t{1}) + constant(int64_t{1}))});
  EXPECT_TRUE(dataset.parameters().empty());
  EXPECT_EQ(joined(dataset), "(a, 0) (b, 1)");
}

// The graph of a checkpoint has the initializer with what it is fed.
TEST_F(ParametersTest, AreInTheGraphsMessage) {
  const Output n = placeholder(DType::s64, {}, "max_value");
  const InitializableIterator iterator = Dataset::range(0, n).make_initializable_iterator();
  const Operation initializer = iterator.initializer();
  const auto message = to_graph_def(Graph::current(), {});
  std::vector<std::string> inputs;
  for (const auto& node : message->node()) {
    if (node.name() == initializer.name()) inputs = {node.input().begin(), node.input().end()};
  }
  EXPECT_THAT(inputs, ::testing::Contains("max_value"));
}

TEST_F(ParametersTest, FunctionsOfCppAreNotSearched) {
  const Output n = placeholder(DType::s64, {}, "n");
  const Dataset dataset =
      Dataset::range(1).flat_map([=](const Element&) { return Dataset::range(n); });
  const InitializableIterator iterator = dataset.make_initializable_iterator();
  const Nest<Output> next = iterator.get_next();
  Session session;
  session.run(iterator.initializer());
  EXPECT_THAT(joined_rest(session, next),
              HasSubstr("FAILED_PRECONDITION: IteratorGetNext: Dataset: tensor 'n:0', got no value "
                        "for it"));
}

// As in TensorFlow, whatever a session can compute: it does so when the initializer is run.
TEST_F(ParametersTest, VariablesAndRandomNumbers) {
  const Variable count(int64_t{2}, {.name = "count"});
  const Output noise = random_uniform({});
  const Dataset dataset = Dataset::range(count.value()).map([=](Output x) {
    return cast(x, DType::f32) * 0.0F + noise;
  });
  const InitializableIterator iterator = dataset.make_initializable_iterator();
  const Nest<Output> next = iterator.get_next();
  const Operation more = count.assign_add(int64_t{1});
  Session session;
  session.run(count.initializer());
  session.run(iterator.initializer());
  const auto first = rest_of(session, next);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0], first[1]);
  session.run(more);
  session.run(iterator.initializer());
  const auto second = rest_of(session, next);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_NE(first[0], second[0]);
}

TEST_F(ParametersTest, NumbersOutOfRange) {
  const Output n = placeholder(DType::s64, {}, "n");
  const Output pattern = placeholder(DType::string, {}, "pattern");
  const Dataset range = Dataset::range(4);
  const struct {
    Dataset dataset;
    FeedDict feeds;
    std::string error;
  } rows[] = {
      {range.shard(n, 0), {{n, 0}}, "shard: num_shards, got 0, expected at least 1"},
      {range.shard(2, n), {{n, 2}}, "shard: index, got 2, expected 0 to 1"},
      {range.prefetch(n), {{n, -2}}, "prefetch: buffer_size, got -2, expected 0 or more"},
      {range.shuffle(n).repeat(2), {{n, 0}}, "shuffle: buffer_size, got 0, expected at least 1"},
      {Dataset::list_files(pattern, {.file_system = &letter_files()}),
       {{pattern, "none*"}},
       "NOT_FOUND: MakeIterator: list_files: pattern 'none*', got no file"},
  };
  for (const auto& [dataset, feeds, error] : rows) {
    const InitializableIterator iterator = dataset.make_initializable_iterator();
    Session session;
    EXPECT_THAT(error_of([&, &fed = feeds] { session.run({iterator.initializer()}, fed); }),
                HasSubstr(error));
  }
  EXPECT_EQ(error_of([&] { Dataset::list_files(n); }),
            "INVALID_ARGUMENT: list_files: patterns, got s64[], expected string[] or string[?]");
}

TEST_F(ParametersTest, BadValues) {
  const Output x = placeholder(DType::f32, {kUnknown}, "x");
  const Output y = placeholder(DType::s64, {kUnknown}, "y");
  const Output step = placeholder(DType::s64, {}, "step");
  const InitializableIterator pairs =
      Dataset::from_tensor_slices({x, y}).make_initializable_iterator();
  const InitializableIterator steps = Dataset::range(0, 5, step).make_initializable_iterator();
  const Nest<Output> pair = pairs.get_next();
  const Nest<Output> number = steps.get_next();
  Session session;
  session.run(pairs.initializer(), {{x, {1.0}}, {y, {3}}});
  EXPECT_THAT(error_of([&] {
                session.run(pairs.initializer(), {{x, {1.0, 2.0}}, {y, {3}}});
              }),
              HasSubstr("from_tensor_slices: first dimension, got s64[1], expected 2 rows"));
  EXPECT_EQ(joined_rest(session, pair), "(1, 3)");  // the iterator that was there
  EXPECT_THAT(error_of([&] {
                session.run(steps.initializer(), {{step, 0}});
              }),
              HasSubstr("range: step, got 0"));
  EXPECT_THAT(joined_rest(session, number), HasSubstr("has not been initialized"));
  EXPECT_EQ(error_of([&] { (void)Dataset::range(x); }),
            "INVALID_ARGUMENT: range: stop, got f32[?], expected s32[] or s64[]");
  EXPECT_THAT(error_of([&] { (void)TFRecordDataset(x); }), HasSubstr("file names, got a data set"));
  EXPECT_THAT(error_of([&] { (void)Dataset::from_tensor_slices(step); }),
              HasSubstr("from_tensor_slices: tensor, got s64[], expected a first dimension"));
}

}  // namespace
}  // namespace systole::data
