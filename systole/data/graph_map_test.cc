// Map functions written with ops, and iterators inside graphs.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/data/dataset.h"
#include "systole/data/sources.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/api/string_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/session/session.h"

namespace systole::data {
namespace {

using systole::testing::error_of;

Dataset floats(int64_t n) {
  return Dataset::range(n).map([](Output x) { return cast(x, DType::f32); });
}

// Examples with two bytes and a label each.
Dataset examples(MemoryFileSystem& fs, int n) {
  RecordWriter writer(fs, "r");
  for (int i = 0; i < n; ++i) {
    ExampleBuilder example;
    example.bytes("image_raw", {std::string{static_cast<char>(i), static_cast<char>(2 * i)}});
    example.int64("label", {i});
    writer.write(example.serialize());
  }
  writer.close();
  return TFRecordDataset("r", {.file_system = &fs});
}

// The parser of the Estimator guide.
Nest<Output> parser(const Nest<Output>& serialized) {
  const Nest<Output> features =
      parse_single_example(serialized, {{"image_raw", FixedLenFeature{{}, DType::string}},
                                        {"label", FixedLenFeature{{}, DType::s64}}});
  Output image = decode_raw(features["image_raw"], DType::u8);
  image = set_shape(image, {2});
  image = cast(image, DType::f32) * 0.5 - 1.0;
  return Nest<Output>::tuple({image, cast(features["label"], DType::s32)});
}

TEST(GraphMapTest, ElementsAndSpec) {
  EXPECT_EQ(joined(floats(3)), "0 1 2");
  EXPECT_EQ(floats(3).element_spec().to_string(), "f32[]");
  const Dataset pairs =
      Dataset::zip(Nest<Dataset>::tuple({floats(100), floats(100)})).map([](Output a, Output b) {
        return a + 2.0F * b;
      });
  EXPECT_EQ(joined(pairs.skip(97)), "291 294 297");
  const Dataset even =
      Dataset::range(6).filter([](Output x) { return equal(x % int64_t{2}, int64_t{0}); });
  EXPECT_EQ(joined(even), "0 2 4");
}

TEST(GraphMapTest, BatchesAreMappedAtOnce) {
  const Dataset dataset = floats(7).shuffle(3, {.seed = 4}).repeat(2).batch(4);
  EXPECT_EQ(dataset.to_string(), "range(0, 7, 1).shuffle(3).repeat(2).batch(4).map_batches()");
  EXPECT_EQ(dataset.element_spec().to_string(), "f32[?]");
  const Dataset one_by_one =
      floats(7).shuffle(3, {.seed = 4}).repeat(2).set_shape(Shape{}).batch(4);
  EXPECT_EQ(joined(dataset), joined(one_by_one));
}

// Elements of several lengths, of which functions make elements of one shape.
TEST(GraphMapTest, WhatAFunctionMakesOfSeveralLengthsIsBatched) {
  const Dataset texts = Dataset::from_tensor_slices(std::vector<std::string>{"a", "bc", "def"});
  const auto first = [](const Output& x) { return x[0]; };
  const auto decoded = [](const Output& x) { return decode_raw(x, DType::u8); };
  const Dataset lists = texts.map(decoded);
  EXPECT_EQ(joined(lists.map(first).batch(3)), "[97 98 100]");
  EXPECT_EQ(joined(lists.map([](Output x) { return reduce_max(x * uint8_t{2}); }).batch(2)),
            "[194 198] [204]");
  EXPECT_EQ(joined(texts.map([&](Output x) { return first(decoded(x)); }).batch(3)), "[97 98 100]");
  const Dataset pairs = Dataset::zip({lists, Dataset::range(3)});
  EXPECT_EQ(joined(pairs.map([](Output, Output y) { return y * int64_t{2}; }).batch(3)), "[0 2 4]");
  // Where lengths must be equal in any case, the function runs for whole batches.
  const auto scaled = [](Output x) { return cast(x, DType::f32) * 0.5; };
  EXPECT_EQ(lists.map(scaled).batch(3).functions().back().stage, "map_batches");
  const auto reshaped = [](Output x) { return reduce_sum(reshape(cast(x, DType::f32), {1})); };
  EXPECT_EQ(lists.take(1).map(reshaped).batch(3).functions().back().stage, "map_batches");
}

TEST(GraphMapTest, FunctionsOfDataSetsAreTracedOnce) {
  int calls = 0;
  const auto fn = [&](const Dataset& x) {
    ++calls;
    return x.repeat(2).map([](Output y) { return y * int64_t{3}; });
  };
  const Dataset dataset = Dataset::range(3).interleave(fn, {.cycle_length = 2});
  EXPECT_EQ(joined(dataset), "0 3 0 3 6 6");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(dataset.to_string(),
            "range(0, 3, 1).interleave(argument().repeat(2).map(), cycle_length=2, "
            "block_length=1)");
  Dataset kept;
  (void)Dataset::range(1).flat_map([&](const Dataset& x) { return kept = x; });
  EXPECT_EQ(error_of([&] { kept.make_iterator().next(); }),
            "FAILED_PRECONDITION: Dataset: argument of a function, got an iterator outside of that "
            "function, expected its use inside");
  const std::string message = error_of(
      [] { (void)Dataset::range(1).flat_map([](const Dataset& x) { return x.batch(0); }); });
  EXPECT_NE(message.find("batch: batch_size, got 0"), std::string::npos) << message;
  EXPECT_NE(message.find("flat_map: function of data sets"), std::string::npos) << message;
}

TEST(GraphMapTest, TheParserOfTheGuide) {
  MemoryFileSystem fs;
  const Dataset records = examples(fs, 5);
  const std::string expected = "([[-1 -1] [-0.5 0]], [0 1]) ([[0 1] [0.5 2]], [2 3])";
  for (const int64_t calls : {0, 2}) {
    const Dataset mapped = records.map(parser, {.num_parallel_calls = calls});
    EXPECT_EQ(mapped.element_spec().to_string(), "(f32[2], s32[])");
    EXPECT_EQ(joined(mapped.cache().repeat().batch(2, true).take(2)), expected);
    EXPECT_EQ(joined(mapped.batch(2, true)), expected);
    EXPECT_EQ(mapped.batch(2, true).element_spec().to_string(), "(f32[2,2], s32[2])");
  }
}

TEST(GraphMapTest, ErrorsNameTheElement) {
  MemoryFileSystem fs;
  RecordWriter writer(fs, "r");
  ExampleBuilder good;
  good.bytes("image_raw", {"ab"});
  good.int64("label", {1});
  for (const std::string& record :
       {good.serialize(), std::string("no example"), good.serialize()}) {
    writer.write(record);
  }
  writer.close();
  const Dataset mapped = TFRecordDataset("r", {.file_system = &fs}).map(parser);
  const auto got = elements(mapped);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_NE(got[1].find("map: element 1"), std::string::npos) << got[1];
  EXPECT_EQ(elements(mapped.ignore_errors()).size(), 2U);
}

TEST(GraphMapTest, ErrorsNameTheRecordOfABatch) {
  MemoryFileSystem fs;
  RecordWriter writer(fs, "r");
  for (int i = 0; i < 6; ++i) {
    ExampleBuilder example;
    example.bytes("image_raw", {"ab"});
    if (i != 3) example.int64("label", {i});
    writer.write(example.serialize());
  }
  writer.close();
  for (const int64_t calls : {0, 1}) {
    const auto got = elements(TFRecordDataset("r", {.file_system = &fs})
                                  .map(parser, {.num_parallel_calls = calls})
                                  .batch(2));
    ASSERT_EQ(got.size(), 3U);
    for (const char* part : {"NOT_FOUND: ParseExample: ", "example: feature 'label'",
                             "graph_map_test.cc:", "map: element 3"}) {
      EXPECT_NE(got[1].find(part), std::string::npos) << got[1];
    }
    EXPECT_EQ(got[2], "([[47.5 48] [47.5 48]], [4 5])");
  }
}

// Also when elements of a chunk were put aside, as they take long.
TEST(GraphMapTest, ErrorsOfThreadsNameTheElement) {
  const Dataset dataset = Dataset::range(3000)
                              .map_cpp(
                                  [](const Element& x) {
                                    if (x.leaf().item<int64_t>() % 1000 == 700)
                                      throw std::runtime_error("input");
                                    return x;
                                  },
                                  TensorType{DType::s64, {}})
                              .map_cpp(
                                  [](const Element& x) -> Element {
                                    const int64_t i = x.leaf().item<int64_t>();
                                    if (i > 2500)
                                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    if (i % 3 == 0)
                                      throw std::runtime_error(fmt::format("at {},", i));
                                    return x;
                                  },
                                  TensorType{DType::s64, {}}, {.num_parallel_calls = 3});
  int64_t index = 0;
  Iterator iterator(dataset);
  for (const std::string& element : rest(iterator, 4000)) {
    if (element.find("input") != std::string::npos) continue;
    if (element.starts_with("UNKNOWN")) {
      EXPECT_TRUE(element.ends_with(fmt::format("map_cpp: element {}", index))) << element;
    }
    ++index;
  }
  EXPECT_EQ(index, 2997);
}

// A batch is lost as a whole; the error names the element.
TEST(GraphMapTest, ErrorsOfBatchesNameTheElement) {
  const std::vector<std::string> texts = {"0", "1", "2", "3", "4", "x", "6", "7", "8"};
  for (const int64_t calls : {0, 2}) {
    const Dataset dataset =
        Dataset::from_tensor_slices(texts)
            .map([](Output x) { return string_to_number(x); }, {.num_parallel_calls = calls})
            .batch(4);
    const auto got = elements(dataset);
    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(got[0], "[0 1 2 3]");
    EXPECT_NE(got[1].find("map: element 5"), std::string::npos) << got[1];
    EXPECT_EQ(got[2], "[8]");
  }
}

TEST(GraphMapTest, DeclaredShapesAreChecked) {
  const auto declared = [](const Shape& shape) {
    return Dataset::from_tensors(Tensor(Tensor::of<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})))
        .map_cpp([](const Element& x) { return x; }, TensorType{DType::u8, {kUnknown, kUnknown}})
        .map([=](Output x) { return set_shape(x, shape); });
  };
  EXPECT_EQ(declared({2, 3}).element_spec().to_string(), "u8[2,3]");
  EXPECT_EQ(joined(declared({2, 3})), "[[1 2 3] [4 5 6]]");
  EXPECT_EQ(joined(declared({kUnknown, 3})), "[[1 2 3] [4 5 6]]");
  const std::string error = joined(declared({3, 2}));
  EXPECT_NE(error.find("INVALID_ARGUMENT: EnsureShape: shape, got [2,3], expected [3,2] as "
                       "declared by set_shape"),
            std::string::npos)
      << error;
  // On texts, on what get_next() gives, and batched.
  const Dataset texts = Dataset::from_tensor_slices(std::vector{"ab", "cd", "efg"});
  const Dataset decoded =
      texts.map([](Output x) { return set_shape(decode_raw(x, DType::u8), {2}); });
  const auto batches = elements(decoded.batch(2));
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0], "[[97 98] [99 100]]");
  EXPECT_NE(batches[1].find("got [1,3], expected [?,2]"), std::string::npos) << batches[1];
  EXPECT_EQ(joined(texts.batch(3).map([](Output x) { return set_shape(x, {3}); })), "[ab cd efg]");
}

TEST(GraphMapTest, RandomOpsDrawAnewInEachEpoch) {
  const auto noise = [] {
    return floats(4).map([](Output x) { return x + random_uniform({}, {.seed = 5}); });
  };
  const auto all = elements(noise().repeat(2));
  ASSERT_EQ(all.size(), 8U);
  EXPECT_NE(all[0], all[4]);
  EXPECT_EQ(all, elements(noise().repeat(2)));
  Iterator saved(noise().repeat(2));
  rest(saved, 3);
  Iterator restored(noise().repeat(2));
  restored.restore_state(saved.save_state());
  EXPECT_EQ(rest(restored, 1)[0], all[3]);
}

// A function of a pipeline can be printed, and shipped to another host.
TEST(GraphMapTest, FunctionsOfAPipeline) {
  const Dataset inner =
      floats(8).map([](Output x) { return x * 2.0F; }).filter([](Output x) { return x > 3.0F; });
  const Dataset dataset = inner.map_cpp([](const Element& x) { return x; }, inner.element_spec())
                              .interleave([](const Dataset& x) {
                                return x.map([](Output y) { return y + 1.0F; }).repeat(2);
                              })
                              .map([](Output x) { return -x; }, {.num_parallel_calls = 2});
  const std::vector<StageFunction> functions = dataset.functions();
  std::string stages;
  for (const StageFunction& function : functions) stages += function.stage + " ";
  EXPECT_EQ(stages, "map map filter map map ");  // floats() has the first
  EXPECT_NE(functions[1].function.to_string().find("Mul"), std::string::npos);
  const HostFunction filter = functions[2].function;
  const HostFunction doubling = functions[1].function;
  const Dataset there = floats(8).map(doubling).filter_cpp(
      [filter](const Element& x) { return filter(x.flatten()).front().item<bool>(); });
  EXPECT_EQ(joined(there), joined(inner));
  EXPECT_NE(floats(8).map(doubling).batch(2).to_string().find("map_batches"), std::string::npos);
  EXPECT_EQ(error_of([&] { Dataset::range(2).map(doubling); }),
            "INVALID_ARGUMENT: map: function of f32[], got elements s64[], expected those");
}

// Random numbers without seeds differ in each run, and continue with a saved iterator.
TEST(GraphMapTest, RandomOpsWithoutSeedsFollowTheIterator) {
  const Dataset noise = floats(4).map([](Output x) { return x + random_uniform({}); });
  const Dataset seeded =
      floats(4).map([](Output x) { return x + random_uniform({}, {.seed = 5}); });
  EXPECT_NE(elements(noise), elements(noise));
  EXPECT_EQ(elements(noise, {.entropy = 1}), elements(noise, {.entropy = 1}));
  EXPECT_NE(elements(noise, {.entropy = 1}), elements(noise, {.entropy = 2}));
  EXPECT_EQ(elements(seeded, {.entropy = 1}), elements(seeded, {.entropy = 2}));
  const Dataset further = floats(4).skip(0).map([](Output x) { return x + random_uniform({}); });
  EXPECT_NE(elements(further, {.entropy = 1}), elements(noise, {.entropy = 2}));
  for (const Element& pair : Dataset::zip({noise, noise})) {
    EXPECT_FALSE(pair[0].leaf().identical(pair[1].leaf()));
  }
  Iterator iterator(noise);
  rest(iterator, 1);
  Iterator restored(noise);
  restored.restore_state(iterator.save_state());
  EXPECT_EQ(rest(restored), rest(iterator));
}

// What the batch parses is not lost to who ships the rest.
TEST(GraphMapTest, FunctionsOfABatchThatParses) {
  MemoryFileSystem fs;
  const Dataset records = examples(fs, 2);
  const Dataset batches = records.map(parser).batch(2);
  const std::vector<StageFunction> functions = batches.functions();
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].stage, "parse_batch");
  EXPECT_EQ(functions[1].stage, "map_batches");
  const HostFunction parse = functions[0].function;
  const HostFunction rest = functions[1].function;
  Iterator texts(records.batch(2));
  Iterator iterator(batches);
  const std::vector<Tensor> wanted = iterator.next()->flatten();
  const std::vector<Tensor> got = rest(parse(texts.next()->flatten()));
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].identical(wanted[i])) << i;
}

TEST(GraphIteratorTest, OneShotInASession) {
  Graph graph;
  const GraphScope scope(graph);
  const Nest<Output> next = floats(3).make_one_shot_iterator().get_next();
  const Output doubled = next.leaf() * 2.0F;
  Session session;
  EXPECT_EQ(session.run(doubled).item<float>(), 0);
  EXPECT_EQ(session.run(doubled).item<float>(), 2);
  Session other;
  EXPECT_EQ(other.run(doubled).item<float>(), 0);
  EXPECT_EQ(session.run(doubled).item<float>(), 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(error_of([&] {
                  session.run(doubled);
                }).starts_with("OUT_OF_RANGE: IteratorGetNext: End of sequence"));
  }
}

TEST(GraphIteratorTest, OnlyTheEndIsOutOfRange) {
  Graph graph;
  const GraphScope scope(graph);
  const Dataset failing = Dataset::range(2).map_cpp(
      [](const Element& x) {
        if (x.leaf().item<int64_t>() == 0) throw make_error(Code::out_of_range, "the user's");
        return x;
      },
      TensorType{DType::s64, {}});
  const Nest<Output> next = failing.make_one_shot_iterator().get_next();
  Session session;
  const std::string error = error_of([&] { session.run(next); });
  EXPECT_TRUE(error.starts_with(
      "INVALID_ARGUMENT: IteratorGetNext: OUT_OF_RANGE: the user's, map_cpp: element 0"))
      << error;
  EXPECT_EQ(session.run(next).item<int64_t>(), 1);
  EXPECT_TRUE(error_of([&] { session.run(next); }).starts_with("OUT_OF_RANGE"));
}

TEST(GraphIteratorTest, InitializableInASession) {
  Graph graph;
  const GraphScope scope(graph);
  const InitializableIterator iterator = floats(2).make_initializable_iterator();
  const Nest<Output> next = iterator.get_next();
  const Operation initializer = iterator.initializer();
  Session session;
  EXPECT_TRUE(error_of([&] { session.run(next); }).starts_with("FAILED_PRECONDITION"));
  for (int i = 0; i < 2; ++i) {
    session.run(initializer);
    EXPECT_EQ(session.run(next).item<float>(), 0);
    EXPECT_EQ(session.run(next).item<float>(), 1);
  }
}

TEST(GraphIteratorTest, TheDatasetBehindGetNext) {
  Graph graph;
  const GraphScope scope(graph);
  const Dataset pairs = Dataset::range(4).enumerate(10).batch(2);
  const Nest<Output> next = pairs.make_one_shot_iterator().get_next();
  const Output labels = set_shape(next[0], {2});
  const Dataset chosen = dataset_of(
      Nest<Output>::tuple({Nest<Output>::dict({{"x", set_shape(next[1], {2})}}), labels}));
  EXPECT_EQ(chosen.element_spec().to_string(), "({x: s64[2]}, s64[2])");
  EXPECT_EQ(joined(chosen), "({x: [0 1]}, [10 11]) ({x: [2 3]}, [12 13])");
  const Dataset computed = dataset_of(next[1].leaf() + next[0].leaf());
  EXPECT_EQ(joined(computed), "[10 12] [14 16]");
  const std::string message = error_of([] { dataset_of(placeholder(DType::f32, {2})); });
  EXPECT_TRUE(message.starts_with("INVALID_ARGUMENT: dataset_of: output, got node 'Placeholder'"))
      << message;
}

}  // namespace
}  // namespace systole::data
