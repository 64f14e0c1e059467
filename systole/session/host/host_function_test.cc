// Graphs as functions on the host: kernels, compiled parts, what the types of a call decide.
#include "systole/session/host/host_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/core/variable.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using NestOutput = Nest<Output>;

Tensor strings(std::initializer_list<std::string> values) {
  return Tensor::of<std::string>({static_cast<int64_t>(values.size())}, values);
}

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

// An axis whose size turns out to be 1 is none of those that were squeezed.
TEST(HostFunction, SqueezesWhatTheGraphSays) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {}}, [](const NestOutput& x) {
        return squeeze(decode_raw(expand_dims(x.leaf(), 0), DType::u8), {.axis = 0});
      });
  EXPECT_EQ(f(std::vector{Tensor("a")})[0].shape(), (Shape{1}));
  EXPECT_EQ(f(std::vector{Tensor("abc")})[0].shape(), (Shape{3}));
  const HostFunction none = HostFunction::trace(
      TensorType{DType::string, {}},
      [](const NestOutput& x) { return squeeze(decode_raw(x.leaf(), DType::u8)); });
  EXPECT_EQ(none(std::vector{Tensor("a")})[0].shape(), (Shape{1}));
}

TEST(HostFunction, RunsNumericOps) {
  const HostFunction f = HostFunction::trace(TensorType{DType::f32, {kUnknown}},
                                             [](const NestOutput& x) { return 2 * x.leaf() + 1; });
  EXPECT_THAT(elements<float>(f(std::vector{Tensor::of<float>({2}, {1, 2})})[0]),
              ElementsAre(3, 5));
  EXPECT_THAT(elements<float>(f(std::vector{Tensor::of<float>({3}, {0, 1, 2})})[0]),
              ElementsAre(1, 3, 5));
}

// host, device, host, device: each reads the one before.
TEST(HostFunction, HostAndDevicePartsTakeTurns) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {kUnknown}}, [](const NestOutput& x) {
        const Output lengths = string_length(x);
        const Output text = as_string(lengths * 10);
        return NestOutput::tuple({text, string_length(text) + lengths});
      });
  const auto results = f(std::vector{strings({"", "abc", "0123456789"})});
  EXPECT_THAT(elements<std::string>(results[0]), ElementsAre("0", "30", "100"));
  EXPECT_THAT(elements<int32_t>(results[1]), ElementsAre(1, 5, 13));
}

TEST(HostFunction, StringsMoveAsNumbersDo) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {kUnknown, 2}}, [](const NestOutput& x) {
        const Output first =
            strided_slice(x, {0, 0}, {0, 1}, {.end_mask = 1, .shrink_axis_mask = 2});
        return NestOutput::tuple({first, reshape(x, {-1}), equal(x, constant(Tensor("b"))),
                                  concat({first, constant(Tensor("end"), {.shape = Shape{1}})}, 0),
                                  shape(x)});
      });
  const Tensor input = Tensor::of<std::string>({2, 2}, {"a", "b", "c", "b"});
  const auto results = f(std::vector{input});
  EXPECT_THAT(elements<std::string>(results[0]), ElementsAre("a", "c"));
  EXPECT_THAT(elements<std::string>(results[1]), ElementsAre("a", "b", "c", "b"));
  EXPECT_THAT(elements<bool>(results[2]), ElementsAre(false, true, false, true));
  EXPECT_THAT(elements<std::string>(results[3]), ElementsAre("a", "c", "end"));
  EXPECT_THAT(elements<int32_t>(results[4]), ElementsAre(2, 2));
}

// By one program for all numbers: one for each would take this test many seconds.
TEST(HostFunction, StringsAreGatheredByNumbers) {
  std::vector<std::string> texts(300);
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = std::to_string(i);
  const Tensor words = Tensor::of<std::string>({300}, texts);
  const HostFunction f = HostFunction::trace(
      TensorType{DType::s64, {}}, [&](const NestOutput& x) { return gather(constant(words), x); });
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(f(std::vector{Tensor(i)})[0].item<std::string>(), std::to_string(i));
  }
  const HostFunction pairs = HostFunction::trace(
      TensorType{DType::s32, {2}}, [&](const NestOutput& x) { return gather(constant(words), x); });
  EXPECT_THAT(elements<std::string>(pairs(std::vector{Tensor::of<int32_t>({2}, {2, 0})})[0]),
              ElementsAre("2", "0"));
  EXPECT_THAT(elements<std::string>(pairs(std::vector{Tensor::of<int32_t>({2}, {1, 1})})[0]),
              ElementsAre("1", "1"));
}

// A shape that the host computes is known when the part after it is compiled.
TEST(HostFunction, SizesMayComeFromTheHost) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {}}, [](const NestOutput& x) {
        return reshape(range(Tensor(0), Tensor(6)), stack({string_length(x), -1}));
      });
  EXPECT_EQ(f(std::vector{Tensor("ab")})[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(f(std::vector{Tensor("abc")})[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(error_of([&] { f(std::vector{Tensor("abcd")}); }), HasSubstr("Reshape"));
}

TEST(HostFunction, RandomNumbersFollowTheDraw) {
  set_random_seed(5);
  const HostFunction f = HostFunction::trace(TensorType{DType::f32, {}}, [](const NestOutput& x) {
    return x.leaf() + random_uniform({4});
  });
  Graph::current().set_seed(std::nullopt);
  const std::vector<Tensor> x{Tensor(0.0F)};
  EXPECT_TRUE(f.is_random());
  EXPECT_TRUE(f.run(x, {3})[0].identical(f.run(x, {3})[0]));
  EXPECT_FALSE(f.run(x, {3})[0].identical(f.run(x, {4})[0]));
  EXPECT_TRUE(f(x)[0].identical(f.run(x, {0})[0]));
  EXPECT_TRUE(f(x)[0].identical(f.run(x, {1})[0]));
}

TEST(HostFunction, ResultsMayBeArgumentsAndConstants) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {}}, [](const NestOutput& x) {
        return NestOutput::dict(
            {{"same", x.leaf()}, {"text", constant(Tensor("t"))}, {"one", constant(1)}});
      });
  EXPECT_EQ(f.result_spec().to_string(), "{one: s32[], same: string[], text: string[]}");
  const auto results = f(std::vector{Tensor("x")});
  EXPECT_EQ(results[0].item<int32_t>(), 1);
  EXPECT_EQ(results[1].item<std::string>(), "x");
  EXPECT_EQ(results[2].item<std::string>(), "t");
}

TEST(HostFunction, ThreadsShareWhatIsCompiled) {
  const HostFunction f =
      HostFunction::trace(TensorType{DType::string, {kUnknown}},
                          [](const NestOutput& x) { return string_length(x) * 2; });
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const int64_t size = (t + i) % 3 + 1;
        Tensor x(DType::string, {size});
        x.data<std::string>()[0] = "abcd";
        const auto y = f(std::vector{x});
        good += y[0].dim(0) == size && y[0].data<int32_t>()[0] == 8;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST(HostFunction, IsPrinted) {
  const HostFunction f = HostFunction::trace(
      TensorType{DType::string, {}}, [](const NestOutput& x) { return string_length(x) + 1; });
  EXPECT_EQ(f.to_string(),
            "(arg: string[]) -> (s32[]) {\n"
            "  StringLength = StringLength(arg) {unit = \"BYTE\"} : s32[]\n"
            "  Const = Const() {dtype = s32, value = s32[] 1} : s32[]\n"
            "  add = Add(StringLength, Const) : s32[]\n"
            "  return add\n"
            "}\n");
}

TEST(HostFunction, BadArgumentsAndFunctions) {
  const HostFunction f = HostFunction::trace(TensorType{DType::f32, {2}},
                                             [](const NestOutput& x) { return x.leaf() + 1; });
  EXPECT_EQ(error_of([&] { f({}); }),
            "INVALID_ARGUMENT: HostFunction: number of arguments, got 0, expected 1");
  EXPECT_EQ(error_of([&] { f(std::vector{Tensor(1.0F)}); }),
            "INVALID_ARGUMENT: HostFunction: argument 0, got f32[], expected f32[2]");
  Graph elsewhere;
  Output outside;
  {
    const GraphScope scope(elsewhere);
    outside = constant(1.0F);
  }
  const auto trace = [](const std::function<Output(const Output&)>& fn) {
    return error_of([&] {
      HostFunction::trace(TensorType{DType::f32, {}},
                          [&](const NestOutput& x) { return fn(x.leaf()); });
    });
  };
  EXPECT_THAT(trace([&](const Output&) { return outside; }), HasSubstr("of another graph"));
  EXPECT_THAT(trace([&](const Output&) { return Output(); }), HasSubstr("got an empty handle"));
  EXPECT_THAT(trace([&](const Output& x) { return x + Variable(1.0F); }),
              HasSubstr("UNIMPLEMENTED: HostFunction: variable"));
  EXPECT_THAT(error_of([&] {
                const HostFunction g =
                    HostFunction::trace(TensorType{DType::s32, {}},
                                        [](const NestOutput& x) { return floordiv(1, x.leaf()); });
                g(std::vector{Tensor(0)});
              }),
              HasSubstr("Integer division by zero"));
}

}  // namespace
}  // namespace systole
