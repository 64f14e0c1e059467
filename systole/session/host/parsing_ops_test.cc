// tf.Example through the ops that parse it.
#include "systole/graph/api/parsing_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/records/example.h"
#include "systole/session/host/host_function.h"

namespace systole {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
  const auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

HostFunction parser_of(bool batched, const FeatureSpecs& features) {
  const TensorType type{DType::string, batched ? Shape{kUnknown} : Shape{}};
  return HostFunction::trace(type, [&](const Nest<Output>& x) {
    return batched ? parse_example(x, features) : parse_single_example(x, features);
  });
}

Tensor records(const std::vector<std::string>& values) {
  return Tensor::of<std::string>({static_cast<int64_t>(values.size())}, values);
}

std::string parse_error(const FeatureSpecs& features, const std::vector<std::string>& values) {
  try {
    parser_of(true, features)(std::vector{records(values)});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const std::string kFirst = ExampleBuilder()
                               .int64("label", 7)
                               .float32("point", {1.5F, 2.5F})
                               .bytes("image", "ab")
                               .int64("tags", {4, 5})
                               .float32("steps", {1, 2, 3, 4})
                               .serialize();
const std::string kSecond =
    ExampleBuilder().int64("label", 8).float32("point", {3, 4}).bytes("image", "cdef").serialize();
const FeatureSpecs kFeatures{
    {"label", FixedLenFeature{{}, DType::s64}},
    {"point", FixedLenFeature{{2}, DType::f32}},
    {"image", FixedLenFeature{{}, DType::string}},
    {"weight", FixedLenFeature{{}, DType::f32, Tensor(0.5F)}},
    {"tags", VarLenFeature{DType::s64}},
    {"steps", FixedLenSequenceFeature{{2}, DType::f32, true}},
};

// Flattened: image, label, point, steps, tags.lengths, tags.values, weight.
TEST(ParseExample, OfABatch) {
  const HostFunction f = parser_of(true, kFeatures);
  EXPECT_EQ(f.result_spec().to_string(),
            "{image: string[?], label: s64[?], point: f32[?,2], steps: f32[?,?,2], tags: "
            "{lengths: s64[?], values: s64[?,?]}, weight: f32[?]}");
  const auto got = f(std::vector{records({kFirst, kSecond})});
  EXPECT_THAT(elements_of<std::string>(got[0]), ElementsAre("ab", "cdef"));
  EXPECT_THAT(elements_of<int64_t>(got[1]), ElementsAre(7, 8));
  EXPECT_THAT(elements_of<float>(got[2]), ElementsAre(1.5F, 2.5F, 3, 4));
  EXPECT_EQ(got[3].shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(elements_of<float>(got[3]), ElementsAre(1, 2, 3, 4, 0, 0, 0, 0));
  EXPECT_THAT(elements_of<int64_t>(got[4]), ElementsAre(2, 0));
  EXPECT_EQ(got[5].shape(), (Shape{2, 2}));
  EXPECT_THAT(elements_of<int64_t>(got[5]), ElementsAre(4, 5, 0, 0));
  EXPECT_THAT(elements_of<float>(got[6]), ElementsAre(0.5F, 0.5F));
}

TEST(ParseExample, OfOneRecord) {
  const auto got = parser_of(false, kFeatures)(std::vector{Tensor::scalar<std::string>(kFirst)});
  EXPECT_EQ(got[0].item<std::string>(), "ab");
  EXPECT_EQ(got[1].type(), (TensorType{DType::s64, {}}));
  EXPECT_EQ(got[3].shape(), (Shape{2, 2}));
  EXPECT_EQ(got[4].item<int64_t>(), 2);
  EXPECT_THAT(elements_of<int64_t>(got[5]), ElementsAre(4, 5));
}

// The parser of seed programs: one record at a time there, a batch at a time here.
TEST(ParseExample, IsVectorised) {
  const FeatureSpecs features{{"image", FixedLenFeature{{}, DType::string}},
                              {"label", FixedLenFeature{{}, DType::s64}}};
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {}}, [&](const Nest<Output>& record) {
        const Nest<Output> parsed = parse_single_example(record, features);
        const Output pixels = reshape(decode_raw(parsed["image"], DType::u8), {2});
        const Output image = cast(pixels, DType::f32) * (1.0 / 255) - 0.5;
        return Nest<Output>::tuple({image, cast(parsed["label"], DType::s32)});
      });
  ASSERT_TRUE(f.vectorized());
  const auto batch = f.vectorized();
  EXPECT_THAT(batch->to_string(), HasSubstr("ParseExample(arg"));
  EXPECT_EQ(batch->result_spec().to_string(), "(f32[?,2], s32[?])");
  const std::string other = ExampleBuilder().int64("label", 1).bytes("image", "xy").serialize();
  const auto got = (*batch)(std::vector{records({kFirst, other})});
  EXPECT_EQ(got[0].shape(), (Shape{2, 2}));
  for (int64_t r = 0; r < 2; ++r) {
    const auto one = f(std::vector{Tensor::scalar<std::string>(r == 0 ? kFirst : other)});
    EXPECT_TRUE(one[0].identical(got[0].slice(r, r + 1).reshape({2})));
    EXPECT_TRUE(one[1].identical(got[1].slice(r, r + 1).reshape({})));
  }
  EXPECT_FALSE(parser_of(false, kFeatures).vectorized());
  // The parser decodes the pixels itself.
  EXPECT_THAT(batch->to_string(), ::testing::Not(HasSubstr("DecodeRaw(")));
  EXPECT_EQ((*batch)(std::vector{records({})})[0].shape(), (Shape{0, 2}));
  const std::string longer = ExampleBuilder().int64("label", 1).bytes("image", "xyz").serialize();
  try {
    (*batch)(std::vector{records({kFirst, longer})});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("record 1: feature 'image', got 3 bytes, expected 2 as in record 0"));
  }
}

TEST(ParseExample, BadRecords) {
  const auto with = [](const std::string& key, const FeatureSpec& spec) {
    return FeatureSpecs{{key, spec}};
  };
  EXPECT_THAT(parse_error(with("tags", FixedLenFeature{{2}, DType::s64}), {kFirst, kSecond}),
              AllOf(HasSubstr("NOT_FOUND: ParseExample: record 1: "), HasSubstr("'tags'"),
                    HasSubstr("'label'")));
  EXPECT_THAT(
      parse_error(with("label", FixedLenFeature{{}, DType::f32}), {kFirst}),
      AllOf(HasSubstr("record 0: "), HasSubstr("'label'"), HasSubstr("int64"), HasSubstr("float")));
  EXPECT_THAT(parse_error(with("point", FixedLenFeature{{3}, DType::f32}), {kFirst}),
              AllOf(HasSubstr("'point'"), HasSubstr("got 2, expected 3")));
  EXPECT_THAT(parse_error(with("label", VarLenFeature{DType::f32}), {kFirst}),
              AllOf(HasSubstr("'label'"), HasSubstr("int64"), HasSubstr("float")));
  EXPECT_THAT(parse_error(with("point", FixedLenSequenceFeature{{3}, DType::f32}), {kFirst}),
              HasSubstr("feature 'point', got 2 values, expected a multiple of 3"));
  EXPECT_THAT(parse_error(with("no", FixedLenSequenceFeature{{}, DType::f32}), {kFirst}),
              HasSubstr("'no'"));
  EXPECT_THAT(parse_error(kFeatures, {"not an example"}),
              AllOf(HasSubstr("record 0: "), HasSubstr("parsing_ops_test.cc")));
}

TEST(ParseExample, BadSpecs) {
  const auto error = [](const FeatureSpecs& features) { return parse_error(features, {kFirst}); };
  EXPECT_THAT(error({}), HasSubstr("ParseExample: features, got none"));
  EXPECT_THAT(error({{"x", FixedLenFeature{{}, DType::s32}}}),
              HasSubstr("feature 'x', got dtype s32, expected s64, f32 or string"));
  EXPECT_THAT(error({{"x", FixedLenFeature{{kUnknown}, DType::s64}}}),
              HasSubstr("feature 'x', got shape [?], expected known sizes"));
  EXPECT_THAT(error({{"x", FixedLenFeature{{2}, DType::f32, Tensor::of<float>({3}, {1, 2, 3})}}}),
              HasSubstr("default_value of feature 'x', got f32[3], expected f32 of shape [2]"));
}

// What no feature spec can say, a graph that was read from a file may.
TEST(ParseExample, NodesThatCannotBe) {
  const auto error = [](const std::string& shape, const Tensor& fallback) {
    return systole::testing::error_of([&] {
      const HostFunction f = HostFunction::trace(
          TensorType{DType::string, {kUnknown}}, [&](const Nest<Output>& x) -> Nest<Output> {
            const AttrMap attrs{{"sparse_keys", std::vector<std::string>{}},
                                {"sparse_types", std::vector<std::string>{}},
                                {"dense_keys", std::vector<std::string>{"y"}},
                                {"Tdense", std::vector<std::string>{"float32"}},
                                {"dense_shapes", std::vector<std::string>{shape}}};
            return Graph::current()
                .add_node("ParseExample", {x.leaf(), constant(fallback)}, attrs)
                ->output();
          });
      f(std::vector{records({kFirst})});
    });
  };
  EXPECT_THAT(error("[?,0]", Tensor(0.0F)),
              HasSubstr("feature 'y', got items of shape [0], expected known sizes above 0"));
  EXPECT_THAT(error("[3,?]", Tensor(0.0F)),
              HasSubstr("feature 'y', got shape [3,?], expected known sizes"));
  EXPECT_THAT(error("[1000]", Tensor::zeros(DType::f32, {2})),
              HasSubstr("default_value of feature 'y', got f32[2], expected f32 of shape [1000]"));
}

TEST(ParseExample, DefaultsOfFullShape) {
  const FeatureSpecs features{
      {"x", FixedLenFeature{{2}, DType::f32, Tensor::of<float>({2}, {1, 2})}}};
  const auto got = parser_of(true, features)(std::vector{records({kFirst, kSecond})});
  EXPECT_THAT(elements_of<float>(got[0]), ElementsAre(1, 2, 1, 2));
}

}  // namespace
}  // namespace systole
