#include "systole/base/nest.h"

#include <gtest/gtest.h>

#include "systole/base/tensor.h"
#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

using systole::testing::error_of;

using Ints = Nest<int>;
using Types = Nest<TensorType>;

Ints sample() {
  return Ints::tuple({Ints::dict({{"z", 3}, {"a", Ints::tuple({1, 2})}}), 4, Ints()});
}

TEST(NestTest, FlattensDictsByName) {
  EXPECT_EQ(sample().flatten(), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(sample().num_leaves(), 4U);
  EXPECT_EQ(sample().size(), 3U);
  EXPECT_EQ(sample().to_string(), "({a: (1, 2), z: 3}, 4, ())");
}

TEST(NestTest, ElementsByNameAndPosition) {
  const Ints nest = sample();
  EXPECT_EQ(nest[0]["a"][1].leaf(), 2);
  const int z = nest[0]["z"];
  EXPECT_EQ(z, 3);
  EXPECT_TRUE(nest[2].empty());
  EXPECT_FALSE(nest.empty());
  EXPECT_EQ(nest[0].find("b"), nullptr);
}

TEST(NestTest, MapAndPackKeepTheStructure) {
  const Nest<double> halves = sample().map([](int i) { return i / 2.0; });
  EXPECT_EQ(halves.flatten(), (std::vector<double>{0.5, 1, 1.5, 2}));
  EXPECT_EQ(halves.structure(), sample().structure());
  EXPECT_EQ(pack_like(halves, std::vector<int>{1, 2, 3, 4}), sample());
  EXPECT_NE(sample().structure(), sample()[0].structure());
  EXPECT_EQ(sample().structure().to_string(), "({a: (*, *), z: *}, *, ())");
}

TEST(NestTest, TypesPrint) {
  const Types types =
      Types::tuple({Types::dict({{"x", TensorType{DType::f32, {2}}}}), TensorType{DType::s32, {}}});
  EXPECT_EQ(types.to_string(), "({x: f32[2]}, s32[])");
  EXPECT_EQ(Types::tuple({TensorType{DType::s32, {}}}).to_string(), "(s32[],)");
}

TEST(NestTest, Errors) {
  const Ints nest = sample();
  EXPECT_EQ(error_of([&] { nest[7]; }),
            "OUT_OF_RANGE: Nest: element, got 7, expected one of the 3 of ({a: (1, 2), z: 3}, 4, "
            "())");
  EXPECT_EQ(error_of([&] { nest[0]["aa"]; }),
            "NOT_FOUND: Nest: element, got 'aa', expected one of {a, z}, did you mean 'a'?");
  const Nest<std::string> texts{{"x", std::string("a")}};
  const int line = __LINE__ + 1;
  EXPECT_EQ(error_of([&] { texts["y"]; }),
            fmt::format("NOT_FOUND: Nest: element, got 'y', expected one of {{x}}, at "
                        "nest_test.cc:{}",
                        line));
  EXPECT_EQ(error_of([&] { nest["a"]; }),
            "INVALID_ARGUMENT: Nest: element 'a' by name, got ({a: (1, 2), z: 3}, 4, ()), expected "
            "a dict");
  EXPECT_EQ(error_of([&] { static_cast<void>(nest[0].leaf()); }),
            "INVALID_ARGUMENT: Nest: structure, got {a: (1, 2), z: 3}, expected a single value");
  EXPECT_EQ(error_of([&] {
              Ints::dict({{"a", 1}, {"a", 2}});
            }),
            "INVALID_ARGUMENT: Nest.dict: name, got 'a' twice, expected each once");
  EXPECT_EQ(error_of([&] { pack_like(nest, std::vector<int>{1}); }),
            "INVALID_ARGUMENT: pack_like: number of values, got 1, expected 4 for ({a: (1, 2), z: "
            "3}, 4, ())");
}

}  // namespace
}  // namespace systole
