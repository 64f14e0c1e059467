// Tables from words to numbers and back.
#include "systole/graph/api/lookup_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/ops/string/fingerprint.h"
#include "systole/session/host/host_function.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Values that TensorFlow's own tests freeze.
TEST(Fingerprint, IsFarmHashs) {
  EXPECT_EQ(fingerprint64("Hello"), 15404698994557526151U);
  EXPECT_EQ(fingerprint64("World"), 18308117990299812472U);
  EXPECT_EQ(fingerprint64(""), 0x9ae16a3b2f90404fU);
}

class LookupTest : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::string path = folder_ / "vocabulary.txt";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static Tensor strings(const std::vector<std::string>& values) {
    return Tensor::of<std::string>({static_cast<int64_t>(values.size())}, values);
  }
  template <class T>
  static std::vector<T> elements(const Tensor& tensor) {
    const auto data = tensor.data<T>();
    return {data.begin(), data.end()};
  }
  const TempFolder folder_;
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(LookupTest, WordsOfAFile) {
  const std::string file = write("emerson\nlake\r\npalmer");
  const Output words = placeholder(DType::string, {kUnknown});
  const Output plain = index_table_from_file(file).lookup(words);
  const Output buckets = index_table_from_file(file, {.num_oov_buckets = 3}).lookup(words);
  const Output first = index_table_from_file(file, {.vocab_size = 1}).lookup(words);
  const Output back =
      index_to_string_table_from_file(file, {.default_value = "none"}).lookup(plain);
  Session session("", {.graph = &graph_});
  {
    const LogCapture log;
    session.run(tables_initializer());
    EXPECT_THAT(log.messages(), Not(Contains(HasSubstr("again because"))));
  }
  const auto got =
      session.run({plain, buckets, first, back}, {{words, strings({"palmer", "Hello", "lake"})}});
  EXPECT_THAT(elements<int64_t>(got[0]), ElementsAre(2, -1, 1));
  EXPECT_THAT(elements<int64_t>(got[1]), ElementsAre(2, 3 + 0, 1));
  EXPECT_THAT(elements<int64_t>(got[2]), ElementsAre(-1, -1, -1));
  EXPECT_THAT(elements<std::string>(got[3]), ElementsAre("palmer", "none", "lake"));
}

TEST_F(LookupTest, WordsOfATensor) {
  const Tensor list = strings({"a", "b"});
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {}}, [&](const Nest<Output>& x) {
        const Output id = index_table_from_tensor(list, {.default_value = 7}).lookup(x);
        return Nest<Output>::tuple({id, index_to_string_table_from_tensor(list).lookup(id),
                                    string_to_hash_bucket_fast(x, 3)});
      });
  auto got = f(std::vector{Tensor("b")});
  EXPECT_EQ(got[0].item<int64_t>(), 1);
  EXPECT_EQ(got[1].item<std::string>(), "b");
  got = f(std::vector{Tensor("TensorFlow")});
  EXPECT_EQ(got[0].item<int64_t>(), 7);
  EXPECT_EQ(got[1].item<std::string>(), "UNK");
  EXPECT_EQ(got[2].item<int64_t>(), 2);  // as TensorFlow's documentation has it
}

// What sparse_cross_hashed of TensorFlow 1.15 gives for the same columns.
TEST_F(LookupTest, CrossedColumns) {
  const HostFunction f = HostFunction::trace(
      Nest<TensorType>::tuple({TensorType{DType::string, {2}}, TensorType{DType::s64, {2}}}),
      [&](const Nest<Output>& x) {
        const Output word = x[0].leaf();
        const Output number = x[1].leaf();
        return Nest<Output>::tuple({crossed_buckets({number, word}, 1000),
                                    crossed_buckets({word, word}, 7, {.hash_key = 12})});
      });
  const auto got = f(std::vector{strings({"red", "green"}), Tensor::of<int64_t>({2}, {3, -1})});
  EXPECT_TRUE(got[0].identical(Tensor::of<int64_t>({2}, {9, 176}))) << got[0].to_string();
  EXPECT_TRUE(got[1].identical(Tensor::of<int64_t>({2}, {6, 6}))) << got[1].to_string();
  const Output x = placeholder(DType::f32, {2});
  EXPECT_THAT(error_of([&] { crossed_buckets({x}, 3); }),
              HasSubstr("columns, got f32[2], expected strings or s64"));
  EXPECT_THAT(error_of([&] { crossed_buckets({constant(Tensor("x"))}, 0); }),
              HasSubstr("num_buckets, got 0, expected at least 1"));
}

TEST_F(LookupTest, BadTables) {
  Session session("", {.graph = &graph_});
  const Output key = constant(Tensor("x"));
  const auto run = [&](const LookupTable& table) {
    return error_of([&] { session.run(table.lookup(key)); });
  };
  EXPECT_THAT(
      run(index_table_from_file("/no/such/file")),
      AllOf(HasSubstr("NOT_FOUND: "), HasSubstr("/no/such/file"), HasSubstr("lookup_ops_test.cc")));
  EXPECT_THAT(run(index_table_from_file(write("a\nb\na\n"))),
              HasSubstr("word of line 3, got 'a', expected another than in line 1"));
  EXPECT_THAT(run(index_table_from_file(write("a\n"), {.vocab_size = 2})),
              HasSubstr("words, got 1, expected vocab_size, 2"));
  EXPECT_THAT(error_of([&] { index_to_string_table_from_tensor(strings({"a"})).lookup(key); }),
              HasSubstr("LookupTableFindV2: keys, got string[], expected s64"));
  EXPECT_THAT(error_of([&] { index_table_from_tensor(Tensor(1)); }),
              HasSubstr("vocabulary_list, got s32[], expected a vector of strings"));
  EXPECT_THAT(error_of([&] { string_to_hash_bucket_fast(key, 0); }),
              HasSubstr("num_buckets, got 0, expected at least 1"));
}

// As a graph that was read may have it: values of one dtype would come as those of another.
TEST_F(LookupTest, TablesAreOfWordsAndNumbers) {
  const Output words = placeholder(DType::string, {2});
  const AttrMap attrs{{"key_dtype", DType::string},          {"value_dtype", DType::f32},
                      {"filename", std::string()},           {"vocabulary", strings({"a", "b"})},
                      {"vocab_size", int64_t{-1}},           {"num_oov_buckets", int64_t{0}},
                      {"default_value", Tensor(int64_t{-1})}};
  EXPECT_THAT(error_of([&] { graph_.add_node("LookupTableFindV2", {words}, attrs); }),
              HasSubstr("table, got one from string to f32, expected string to s64 or back"));
}

}  // namespace
}  // namespace systole
