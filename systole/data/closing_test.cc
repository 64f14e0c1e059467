// An iterator that is closed in mid-flight joins its threads, whatever runs in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/data/dataset.h"
#include "systole/data/sources.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"
#include "systole/io/tables/npy.h"

namespace systole::data {
namespace {

using std::chrono::milliseconds;
using systole::testing::error_of;

constexpr std::chrono::seconds kHangs{10};

// One file of each kind, with 50 rows.
MemoryFileSystem& closing_files() {
  static MemoryFileSystem fs;
  static const bool written = [] {
    std::string lines;
    RecordWriter writer(fs, "records");
    for (int i = 0; i < 50; ++i) {
      writer.write(std::to_string(i));
      lines += std::to_string(100 + i) + "\n";
    }
    writer.close();
    write_file_atomically(fs, "lines", lines);
    write_file_atomically(fs, "empty", "");
    write_idx(fs, "idx", Tensor::zeros(DType::u8, {50, 2}));
    write_npy(fs, "npy", Tensor::zeros(DType::f32, {50, 2}));
    return true;
  }();
  static_cast<void>(written);
  return fs;
}

Dataset endless() { return Dataset::range(int64_t{1} << 60); }

Dataset slow_map(int64_t calls) {
  return endless().map_cpp(
      [](const Element& x) {
        std::this_thread::sleep_for(milliseconds(5));
        return x;
      },
      TensorType{DType::s64, {}}, {.num_parallel_calls = calls});
}

Dataset nothing(const Element&) { return Dataset::range(0); }

Dataset rows_without_end(const Element& x) { return Dataset::from_tensors(x).repeat(); }

struct Running {
  std::string name;
  std::function<Dataset()> make;
};

std::vector<Running> sources() {
  FileSystem* const fs = &closing_files();
  return {
      {"from_tensors", [=] { return Dataset::from_tensors(Tensor(1.0F)); }},
      {"from_tensor_slices",
       [=] { return Dataset::from_tensor_slices(Element(Tensor::zeros(DType::u8, {9}))); }},
      {"range", [=] { return endless(); }},
      {"from_generator",
       [=] {
         return Dataset::from_generator(
             [] { return [] { return std::optional<Element>(Tensor(int64_t{1})); }; },
             TensorType{DType::s64, {}});
       }},
      {"list_files", [=] { return Dataset::list_files("*", {.file_system = fs}); }},
      {"TFRecordDataset", [=] { return TFRecordDataset("records", {.file_system = fs}); }},
      {"TFRecordDataset in parallel",
       [=] {
         return TFRecordDataset({"records", "records"},
                                {.num_parallel_reads = 2, .file_system = fs});
       }},
      {"TextLineDataset", [=] { return TextLineDataset("lines", {.file_system = fs}); }},
      {"FixedLengthRecordDataset",
       [=] { return FixedLengthRecordDataset("lines", 4, {.file_system = fs}); }},
      {"CsvDataset",
       [=] { return CsvDataset("lines", {Tensor(int32_t{0})}, {.file_system = fs}); }},
      {"IdxDataset", [=] { return IdxDataset("idx", fs); }},
      {"NpyDataset", [=] { return NpyDataset("npy", fs); }},
  };
}

std::vector<Running> stages() {
  return {
      {"map", [=] { return slow_map(0); }},
      {"parallel map", [=] { return slow_map(3); }},
      {"parallel map, any order",
       [=] { return slow_map(3).options({.deterministic = false, .autotune_threads = 2}); }},
      {"map_batches",
       [=] {
         return endless()
             .map([](Output x) { return x * int64_t{2}; }, {.num_parallel_calls = 2})
             .batch(8);
       }},
      {"flat_map", [=] { return endless().flat_map(rows_without_end); }},
      {"interleave", [=] { return endless().interleave(rows_without_end, {.cycle_length = 3}); }},
      {"parallel interleave",
       [=] {
         return endless().interleave(rows_without_end,
                                     {.cycle_length = 4, .num_parallel_calls = 2});
       }},
      {"interleave of what waits",
       [=] {
         return endless().interleave([](const Element&) { return slow_map(2); },
                                     {.cycle_length = 2, .num_parallel_calls = 2});
       }},
      {"shuffle", [=] { return slow_map(2).shuffle(1'000'000); }},
      {"batch", [=] { return slow_map(2).batch(1'000'000); }},
      {"padded_batch", [=] { return slow_map(2).batch(2).padded_batch(1'000'000); }},
      {"window",
       [=] {
         return slow_map(2).window(1'000'000).flat_map(
             [](const Nest<Dataset>& w) { return w.leaf(); });
       }},
      {"bucket_by_sequence_length",
       [=] {
         return slow_map(2).batch(2).bucket_by_sequence_length(
             [](const Element& x) { return x.leaf().dim(0); },
             {.bucket_boundaries = {9}, .bucket_batch_sizes = {1'000'000, 1'000'000}});
       }},
      {"cache", [=] { return slow_map(2).cache(); }},
      {"prefetch", [=] { return slow_map(0).prefetch(4).prefetch(); }},
      {"zip",
       [=] {
         return Dataset::zip(Nest<Dataset>::tuple({slow_map(2), endless()}));
       }},
      {"concatenate", [=] { return endless().skip(-1).concatenate(endless()); }},
      {"sample_from_datasets",
       [=] {
         return Dataset::sample_from_datasets({slow_map(2), endless().skip(-1)});
       }},
      {"ignore_errors",
       [=] {
         return endless()
             .map_cpp([](const Element&) -> Element { throw std::runtime_error("no"); },
                      TensorType{DType::s64, {}}, {.num_parallel_calls = 2})
             .ignore_errors();
       }},
      {"unbatch", [=] { return slow_map(2).batch(3).unbatch(); }},
  };
}

// Stages that ask for many elements before they give one, of an input without threads, which does
// not end the waiting by itself.
std::vector<Running> gathering_stages() {
  return {
      {"batch of a serial map", [=] { return slow_map(0).batch(1'000'000); }},
      {"parser after a serial map",
       [=] {
         const auto record = [](const Element&) {
           std::this_thread::sleep_for(milliseconds(5));
           return Element(Tensor(ExampleBuilder().int64("x", {1}).serialize()));
         };
         return endless()
             .map_cpp(record, TensorType{DType::string, {}})
             .map([](Output x) {
               return parse_single_example(x, {{"x", FixedLenFeature{{}, DType::s64}}})["x"];
             })
             .batch(1'000'000);
       }},
      {"padded_batch of a serial map", [=] { return slow_map(0).padded_batch(1'000'000); }},
      {"window of a serial map",
       [=] {
         return slow_map(0).window(1'000'000).flat_map(
             [](const Nest<Dataset>& w) { return w.leaf(); });
       }},
      {"bucket_by_sequence_length of a serial map",
       [=] {
         return slow_map(0).bucket_by_sequence_length(
             [](const Element&) { return int64_t{1}; },
             {.bucket_boundaries = {9}, .bucket_batch_sizes = {1'000'000, 1'000'000}});
       }},
      {"shuffle of a serial map", [=] { return slow_map(0).shuffle(1'000'000); }},
      {"shard of a serial map", [=] { return slow_map(0).shard(1'000'000, 999'999); }},
      {"map by ops of a serial map",
       [=] { return slow_map(0).map([](Output x) { return x + int64_t{1}; }).prefetch(1); }},
      {"flat_map to nothing", [=] { return slow_map(0).flat_map(nothing); }},
      {"interleave of nothing", [=] { return slow_map(0).interleave(nothing); }},
      {"ignore_errors of nothing else",
       [=] {
         return slow_map(0)
             .map_cpp([](const Element&) -> Element { throw std::runtime_error("no"); },
                      TensorType{DType::s64, {}})
             .ignore_errors();
       }},
      {"files without records",
       [=] {
         return TFRecordDataset(Dataset::from_tensors(Tensor("empty")).repeat(),
                                {.file_system = &closing_files()});
       }},
      {"unbatch of nothing",
       [=] {
         return endless()
             .map_cpp([](const Element&) { return Element(Tensor(DType::s64, {0})); },
                      TensorType{DType::s64, {0}})
             .unbatch();
       }},
  };
}

// How long it takes to close it under a consumer that never gets an element.
milliseconds time_to_close(const Dataset& dataset) {
  const Dataset running =
      dataset.repeat().filter_cpp([](const Element&) { return false; }).prefetch(1);
  auto iterator = std::make_unique<Iterator>(running);
  std::thread consumer([&] { error_of([&] { rest(*iterator, 1); }); });
  std::this_thread::sleep_for(milliseconds(15));
  const auto begin = std::chrono::steady_clock::now();
  iterator->cancel();
  consumer.join();
  iterator.reset();
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

class ClosingTest : public ::testing::TestWithParam<Running> {};

// The pipelines have more elements than can be read: a stage that does not notice the end hangs.
TEST_P(ClosingTest, JoinsItsThreads) {
  EXPECT_LT(time_to_close(GetParam().make()), kHangs) << GetParam().name;
}

std::string test_name(const ::testing::TestParamInfo<Running>& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sources, ClosingTest, ::testing::ValuesIn(sources()), test_name);
INSTANTIATE_TEST_SUITE_P(Gathering, ClosingTest, ::testing::ValuesIn(gathering_stages()),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Stages, ClosingTest, ::testing::ValuesIn(stages()), test_name);

}  // namespace
}  // namespace systole::data
