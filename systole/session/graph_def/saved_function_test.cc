// Functions on the host that were saved and loaded again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/py_func.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/api/string_ops.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/records/example.h"
#include "systole/io/wire/message.h"
#include "systole/session/host/host_function.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::StartsWith;
using Outputs = Nest<Output>;

struct Saved {
  std::string name;
  Nest<TensorType> spec;
  std::function<Outputs(const Outputs&)> fn;
  std::vector<Tensor> arguments;
};

void PrintTo(const Saved& saved, std::ostream* os) { *os << saved.name; }

const TensorType kText{DType::string, {}};

Outputs parse_features(const Outputs& record) {
  const auto x =
      parse_single_example(record, {{"image", FixedLenFeature{{}, DType::string}},
                                    {"weight", FixedLenFeature{{}, DType::f32, Tensor(1.5F)}},
                                    {"words", VarLenFeature{DType::string}},
                                    {"steps", FixedLenSequenceFeature{{}, DType::s64, true}}});
  const Output image = set_shape(decode_raw(x["image"], DType::u8), {4});
  return Outputs::dict({{"image", cast(image, DType::f32) * (1. / 255) - 0.5},
                        {"rest", Outputs::tuple({x["weight"], x["words"], x["steps"]})}});
}

Outputs parse_dense_features(const Outputs& records) {
  return parse_example(records, {{"image", FixedLenFeature{{}, DType::string}}});
}

std::string example() {
  return ExampleBuilder()
      .bytes("image", {"abcd"})
      .bytes("words", {"x", "yz"})
      .int64("steps", {5, 6})
      .serialize();
}

std::vector<Saved> saved_texts() {
  return {
      {"parse_single_example", kText, parse_features, {Tensor(example())}},
      {"parse_example",
       TensorType{DType::string, {kUnknown}},
       parse_dense_features,
       {Tensor::of<std::string>({1}, {example()})}},
      {"csv",
       kText,
       [](const Outputs& x) -> Outputs {
         const auto fields = decode_csv(x, {Tensor(7), Tensor("")}, {.na_value = "NA"});
         return Outputs::tuple({fields[0], fields[1]});
       },
       {Tensor("NA,x")}},
      {"texts",
       kText,
       [](const Outputs& x) -> Outputs {
         const Output words = string_split_scalar(regex_replace(x, "[0-9]+", "n"));
         return Outputs::tuple({words, substr(string_upper(words), 0, 1),
                                string_to_hash_bucket_fast(words, 100),
                                regex_full_match(words, "n.*")});
       },
       {Tensor("12 ab 7c")}},
      {"table",
       kText,
       [](const Outputs& x) -> Outputs {
         const LookupTable table = index_table_from_tensor(Tensor::of<std::string>({2}, {"a", "b"}),
                                                           {.num_oov_buckets = 3});
         return Outputs::tuple({table.lookup(x), table.lookup(string_join({x, x}))});
       },
       {Tensor("b")}},
  };
}

std::vector<Saved> saved_numbers() {
  return {
      {"image",
       TensorType{DType::u8, {2, 3, 3}},
       [](const Outputs& x) -> Outputs {
         const Output png = image::decode_png(image::encode_png(x), {.channels = 3});
         const Output jpeg = image::decode_image(image::encode_jpeg(x), {.channels = 1});
         return Outputs::tuple({image::resize_bilinear(png, {3, 3}, {.align_corners = true}),
                                image::resize_nearest_neighbor(jpeg, {4, 5})});
       },
       {Tensor::full(DType::u8, {2, 3, 3}, 100)}},
      {"random",
       Nest<TensorType>::tuple({TensorType{DType::f32, {}}, TensorType{DType::f32, {2}}}),
       [](const Outputs& x) -> Outputs {
         return Outputs::tuple({x[0] + random_uniform({}), x[1] + random_uniform({2}, {.seed = 3}),
                                random_normal({})});
       },
       {Tensor(1.0F), Tensor::zeros(DType::f32, {2})}},
      {"argument_itself",
       Nest<TensorType>::dict({{"a b", TensorType{DType::f64, {kUnknown, 2}}}}),
       [](const Outputs& x) -> Outputs { return x; },
       {Tensor::zeros(DType::f64, {3, 2})}},
  };
}

class SavedFunction : public ::testing::TestWithParam<Saved> {};

TEST_P(SavedFunction, GivesTheSameWhenLoaded) {
  const HostFunction function =
      HostFunction::trace(GetParam().spec, GetParam().fn, {.entropy = 17});
  const std::string bytes = function.save();
  Graph graph;  // of a process that has done other things
  const GraphScope scope(graph);
  constant(1.0F);
  const HostFunction loaded = HostFunction::load(bytes);
  EXPECT_EQ(loaded.argument_spec().to_string(), function.argument_spec().to_string());
  EXPECT_EQ(loaded.result_spec().to_string(), function.result_spec().to_string());
  EXPECT_EQ(loaded.vectorized().has_value(), function.vectorized().has_value());
  for (const uint64_t draw : {0U, 5U}) {
    const auto wanted = function.run(GetParam().arguments, {.number = draw});
    const auto got = loaded.run(GetParam().arguments, {.number = draw});
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].to_string(), wanted[i].to_string()) << i;
    }
  }
  // Lookups with buckets are several ops from then on, whatever is saved next.
  const std::string again = loaded.save();
  EXPECT_EQ(HostFunction::load(again).save().size(), again.size());
  EXPECT_EQ(function.save(), bytes);
}

// The error of loading it, which is one of those that load() promises and tells of what; "" where
// it is another function.
std::string error_of_loading(const std::string& bytes) {
  using enum Code;
  try {
    HostFunction::load(bytes);
    return "";
  } catch (const Error& error) {
    EXPECT_THAT(error.code(), ::testing::AnyOf(data_loss, invalid_argument, not_found,
                                               unimplemented, resource_exhausted))
        << error.what();
    EXPECT_THAT(error.message(), StartsWith("saved function: "));
    return error.what();
  }
}

TEST_P(SavedFunction, OtherBytesAreErrors) {
  const std::string bytes = HostFunction::trace(GetParam().spec, GetParam().fn).save();
  size_t flips = 0;
  size_t errors = 0;
  for (size_t i = 0; i < bytes.size(); i += 3, ++flips) {
    if (i + 8 < bytes.size()) {  // the last few are versions, which may be left out
      EXPECT_THAT(error_of_loading(bytes.substr(0, i)), StartsWith("DATA_LOSS: ")) << i;
    }
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x11);
    errors += error_of_loading(flipped).empty() ? 0 : 1;
  }
  EXPECT_GT(errors, flips / 2);
}

std::string saved_name(const ::testing::TestParamInfo<Saved>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Texts, SavedFunction, ::testing::ValuesIn(saved_texts()), saved_name);
INSTANTIATE_TEST_SUITE_P(Numbers, SavedFunction, ::testing::ValuesIn(saved_numbers()), saved_name);

// Of a map that was put behind batch: its parser gives numbers where the file has text.
TEST(SavedFunctionOfBatches, ParsesAsItDid) {
  const HostFunction function = HostFunction::trace(kText, [](const Outputs& record) -> Outputs {
    const auto x = parse_single_example(record, {{"image", FixedLenFeature{{}, DType::string}}});
    return cast(reshape(decode_raw(x["image"], DType::u8), {4}), DType::f32);
  });
  const auto batches = function.vectorized();
  ASSERT_TRUE(batches.has_value());
  ASSERT_EQ(batches->to_string().find("DecodeRaw("), std::string::npos);
  const std::vector<Tensor> records{Tensor::of<std::string>({2}, {example(), example()})};
  const HostFunction loaded = HostFunction::load(batches->save());
  EXPECT_TRUE(loaded(records)[0].identical((*batches)(records)[0]));
}

TEST(SavedFunctionErrors, NameTypesThatNoValueHas) {
  const std::string bytes =
      HostFunction::trace(kText, [](const Outputs& x) -> Outputs { return x; }).save();
  for (const auto& [type, name] : {std::pair{tensorflow::DT_RESOURCE, "DT_RESOURCE"},
                                   std::pair{tensorflow::DT_VARIANT, "DT_VARIANT"}}) {
    tensorflow::GraphDef message;
    parse_message("function", bytes, message);
    for (auto& node : *message.mutable_node()) {
      if (node.op() != "_Arguments") continue;
      node.mutable_attr()->at("types").mutable_list()->set_type(0, type);
    }
    EXPECT_EQ(
        error_of([&] { HostFunction::load(serialize_message(message)); }),
        fmt::format("DATA_LOSS: saved function: got values of {}, expected numbers or strings",
                    name));
  }
}

// A few bytes ask for no gigabytes.
TEST(SavedFunctionErrors, AreGivenBeforeMemoryIsTaken) {
  const std::string bytes =
      HostFunction::trace(TensorType{DType::f32, {kUnknown}}, [](const Outputs& x) -> Outputs {
        return identity(x.leaf(), {.name = "sum"});
      }).save();
  const auto error_with = [&](const std::function<void(tensorflow::NodeDef&)>& change,
                              const std::vector<tensorflow::NodeDef>& more) {
    tensorflow::GraphDef message;
    parse_message("function", bytes, message);
    for (auto& node : *message.mutable_node()) {
      if (node.name() == "sum") change(node);
    }
    for (const auto& node : more) *message.add_node() = node;
    return error_of([&] { HostFunction::load(serialize_message(message)); });
  };
  const std::string told = "constants and outputs, got more than 134217728 elements";
  std::vector<tensorflow::NodeDef> constants;
  const auto sum = [&](tensorflow::NodeDef& node) {
    node.set_op("AddN");
    node.clear_input();
    for (const auto& constant : constants) node.add_input(constant.name());
  };
  for (int i = 0; i < 3; ++i) {
    tensorflow::NodeDef& constant = constants.emplace_back();
    constant.set_name(fmt::format("c{}", i));
    constant.set_op("Const");
    auto& attrs = *constant.mutable_attr();
    attrs["dtype"].set_type(tensorflow::DT_FLOAT);
    auto& tensor = *attrs["value"].mutable_tensor();
    tensor.set_dtype(tensorflow::DT_FLOAT);
    tensor.mutable_tensor_shape()->add_dim()->set_size(int64_t{1} << 26);
  }
  EXPECT_THAT(error_with(sum, constants), ::testing::HasSubstr(told));
  const auto unpack = [](tensorflow::NodeDef& node) {
    node.set_op("Unpack");
    (*node.mutable_attr())["num"].set_i(int64_t{1} << 30);
  };
  EXPECT_THAT(error_with(unpack, {}), ::testing::HasSubstr(told));
}

TEST(SavedFunctionErrors, NameWhatCannotBeSaved) {
  const TensorType number{DType::f32, {}};
  const HostFunction local = HostFunction::trace(number, [&](const Outputs& x) -> Outputs {
    return py_func([](std::span<const Tensor> inputs) { return inputs[0]; }, {x}, number);
  });
  EXPECT_THAT(error_of([&] { local.save(); }),
              StartsWith("UNIMPLEMENTED: HostFunction: op PyFunc of node 'PyFunc'"));
  EXPECT_THAT(error_of([] { HostFunction::load("junk"); }),
              StartsWith("DATA_LOSS: saved function"));
  EXPECT_THAT(error_of([] { HostFunction::load(""); }),
              StartsWith("DATA_LOSS: saved function: got no node '_Arguments', expected one"));
}

}  // namespace
}  // namespace systole
