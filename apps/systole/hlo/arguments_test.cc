#include "apps/systole/hlo/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/error.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/tables/npy.h"
#include "systole/stablehlo/text/text.h"

namespace systole::app {
namespace {

using systole::testing::TempFolder;
using ::testing::HasSubstr;

class Arguments : public ::testing::Test {
 protected:
  Arguments()
      : module_(hlo::parse("func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<2xf32> {"
                           " return %x : tensor<2xf32> }")) {}

  std::string file(const std::string& name, const Tensor& value) {
    std::string path = folder_ / name;
    write_npy(local_file_system(), path, value);
    return path;
  }

  std::string error_of(const std::vector<std::string>& inputs) {
    try {
      read_arguments(*module_, inputs, std::nullopt);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::unique_ptr<hlo::Module> module_;
  TempFolder folder_;
};

TEST_F(Arguments, ComeFromFiles) {
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  const auto arguments = read_arguments(
      *module_, {"1=" + file("n.npy", Tensor(7)), "0=" + file("x.npy", x)}, std::nullopt);
  ASSERT_EQ(arguments.size(), 2);
  EXPECT_TRUE(arguments[0].identical(x));
  EXPECT_TRUE(arguments[1].identical(Tensor(7)));
}

TEST_F(Arguments, MissingOnesAreRandomOrAnError) {
  const std::string n = "1=" + file("n.npy", Tensor(7));
  EXPECT_EQ(read_arguments(*module_, {n}, 3)[1].item<int32_t>(), 7);
  const auto once = read_arguments(*module_, {}, 3);
  const auto again = read_arguments(*module_, {}, 3);
  const auto other = read_arguments(*module_, {}, 4);
  EXPECT_TRUE(once[0].identical(again[0]));
  EXPECT_FALSE(once[0].identical(other[0]));
  EXPECT_THAT(error_of({n}), AllOf(HasSubstr("expected --input NUMBER=FILE.npy"),
                                   HasSubstr("\n  0  "), HasSubstr("f32[2]")));
  EXPECT_THAT(error_of({n}), Not(HasSubstr("\n  1  ")));
}

TEST_F(Arguments, BadOnesAreNamed) {
  const std::string path = file("x.npy", Tensor::of<double>({2}, {1, 2}));
  EXPECT_THAT(error_of({"0=" + path}), HasSubstr("type, got f64[2], expected f32[2]"));
  EXPECT_THAT(error_of({"2=" + path}), HasSubstr("parameter, got 2, expected 0 to 1"));
  EXPECT_THAT(error_of({"x.npy"}), HasSubstr("got 'x.npy', expected NUMBER=FILE.npy"));
  EXPECT_THAT(error_of({"0=" + folder_.path() + "/none.npy"}), HasSubstr("NOT_FOUND"));
  const std::string x = "0=" + file("y.npy", Tensor::of<float>({2}, {1, 2}));
  EXPECT_THAT(error_of({x, x}), HasSubstr("got 0 a second time"));
}

TEST(LargeArguments, AreRefusedBeforeTheyAreMade) {
  const auto module = hlo::parse(
      "func.func @main(%x: tensor<1000000x1000000x16xf32>) -> tensor<1000000x1000000x8xf32> {"
      " %y = stablehlo.slice %x [0:1000000, 0:1000000, 0:8]"
      " : (tensor<1000000x1000000x16xf32>) -> tensor<1000000x1000000x8xf32>"
      " return %y : tensor<1000000x1000000x8xf32> }");
  const std::string error = testing::error_of([&] { random_arguments(*module, 1); });
  EXPECT_THAT(error, HasSubstr("host: memory of 'module', got 87.3 TiB (arguments 58.2 TiB, "
                               "results 29.1 TiB, temporaries 0 B), expected at most "));
}

// The bytes of these arguments do not fit a number of 64 bits.
TEST(LargeArguments, AreRefusedHoweverManyThereAre) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  for (int i = 0; i < 70'000; ++i) main.add_parameter({DType::s8, {int64_t{1} << 47}});
  main.set_results({});
  EXPECT_THAT(testing::error_of([&] { read_arguments(module, {}, std::nullopt); }),
              HasSubstr("got 8.0 EiB (arguments 8.0 EiB, results 0 B"));
}

TEST(RandomArgument, FillsEveryElementType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_numeric(dtype)) continue;
    const Tensor x = random_argument({dtype, {64}}, 1, 0);
    double least = 8;
    double most = -8;
    for (int64_t k = 0; k < 64; ++k) {
      least = std::min(least, x.as_double(k));
      most = std::max(most, x.as_double(k));
    }
    EXPECT_LT(least, most) << to_string(dtype);
    EXPECT_GE(least, dtype == DType::s2 ? -2 : -1) << to_string(dtype);
    EXPECT_LT(most, 8) << to_string(dtype);
  }
}

TEST(Tokens, NeedNoInputAndAreShownByTheirType) {
  const auto module = hlo::parse("func.func @main(%t: !stablehlo.token) { return }");
  const auto arguments = read_arguments(*module, {}, std::nullopt);
  ASSERT_EQ(arguments.size(), 1);
  EXPECT_EQ(readable(arguments[0]), "token[]");
}

TEST(FourBits, AreStoredInEight) {
  const Tensor x = Tensor::of<int32_t>({3}, {-8, 0, 7}).cast(DType::s4);
  const Tensor stored = widened(x);
  EXPECT_TRUE(stored.identical(Tensor::of<int8_t>({3}, {-8, 0, 7})));
  EXPECT_TRUE(narrowed(stored, x.type(), "x").identical(x));
  EXPECT_EQ(widened(Tensor::of<int32_t>({1}, {15}).cast(DType::u4)).dtype(), DType::u8);
  // Other types are left to whoever asked for them.
  EXPECT_EQ(narrowed(Tensor(1.0F), x.type(), "x").dtype(), DType::f32);
  EXPECT_EQ(testing::error_of([&] {
              narrowed(Tensor::of<int8_t>({3}, {1, 8, 1}), x.type(), "x");
            }),
            "INVALID_ARGUMENT: x: elements, got some that it does not have, expected s4[3]");
}

TEST(Readable, ARowALine) {
  EXPECT_EQ(readable(Tensor(2.5F)), "f32[] 2.5");
  EXPECT_EQ(readable(Tensor::of<int32_t>({3}, {1, 2, 3})), "s32[3] {1, 2, 3}");
  EXPECT_EQ(readable(Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4})), "s32[2,2]\n{{1, 2},\n {3, 4}}");
  EXPECT_EQ(readable(Tensor(DType::f32, {0})), "f32[0] {}");
}

TEST(Readable, LargeOnesAreShownInPart) {
  Tensor x(DType::s32, {1000});
  for (size_t i = 0; i < 1000; ++i) x.data<int32_t>()[i] = static_cast<int32_t>(i);
  EXPECT_EQ(readable(x), "s32[1000] {0, 1, 2, ..., 997, 998, 999}");
}

}  // namespace
}  // namespace systole::app
