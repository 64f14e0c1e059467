#include "systole/hlo/semantics/lifted_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "systole/base/random.h"
#include "systole/hlo/testing/run_op.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

// A module whose function main is a region of scalars.
std::unique_ptr<Module> region_of(const std::string& parameters, const std::string& body,
                                  const std::string& results) {
  return parse("func.func public @main(" + parameters + ") -> (" + results + ") {\n" + body +
               "\n}\n");
}

Tensor random_vector(uint64_t seed, int64_t size, uint64_t bound) {
  RandomStream random(seed);
  Tensor x(DType::s32, {size});
  for (int32_t& element : x.data<int32_t>()) {
    element = static_cast<int32_t>(random.next_below(bound));
  }
  return x;
}

// (a, b) -> a * a + 3 b and a < b
const char* const kTwoResults =
    "  %three = \"stablehlo.constant\"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>\n"
    "  %s = \"stablehlo.multiply\"(%a, %a) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
    "  %t = \"stablehlo.multiply\"(%b, %three) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
    "  %u = \"stablehlo.add\"(%s, %t) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
    "  %v = \"stablehlo.compare\"(%a, %b) {comparison_direction = "
    "#stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "  \"func.return\"(%u, %v) : (tensor<i32>, tensor<i1>) -> ()";

TEST(LiftedRegionTest, EveryElement) {
  const auto module =
      region_of("%a: tensor<i32>, %b: tensor<i32>", kTwoResults, "tensor<i32>, tensor<i1>");
  const Evaluator evaluator;
  const LiftedRegion region(module->entry(), evaluator);
  for (const int64_t size : {0, 1, 3, 4, 100, 7}) {
    const std::vector<Tensor> inputs = {random_vector(1, size, 50), random_vector(2, size, 50)};
    const std::vector<Tensor> results = region.apply(inputs);
    for (size_t i = 0; i < static_cast<size_t>(size); ++i) {
      const int32_t a = inputs[0].data<int32_t>()[i];
      const int32_t b = inputs[1].data<int32_t>()[i];
      EXPECT_EQ(results[0].data<int32_t>()[i], a * a + 3 * b);
      EXPECT_EQ(results[1].data<bool>()[i], a < b);
    }
  }
}

TEST(LiftedRegionTest, KeepsTheShape) {
  const auto module =
      region_of("%a: tensor<i32>, %b: tensor<i32>", kTwoResults, "tensor<i32>, tensor<i1>");
  const Evaluator evaluator;
  const std::vector<Tensor> inputs(2, Tensor::zeros(DType::s32, {2, 3, 4}));
  const std::vector<Tensor> results = LiftedRegion(module->entry(), evaluator).apply(inputs);
  EXPECT_EQ(results[1].type(), (TensorType{DType::pred, {2, 3, 4}}));
}

TEST(LiftedRegionTest, SeesTheValuesAround) {
  const auto module = parse(
      "func.func public @main(%x: tensor<6xi32>, %n: tensor<i32>) -> tensor<6xi32> {\n"
      "  %y = \"stablehlo.map\"(%x) ({^bb0(%a: tensor<i32>): %b = \"stablehlo.add\"(%a, %n) : "
      "(tensor<i32>, tensor<i32>) -> tensor<i32> \"stablehlo.return\"(%b) : (tensor<i32>) -> ()}) "
      "{dimensions = array<i64: 0>} : (tensor<6xi32>) -> tensor<6xi32>\n"
      "  \"func.return\"(%y) : (tensor<6xi32>) -> ()\n}\n");
  const std::vector<Tensor> arguments = {Tensor::of<int32_t>({6}, {1, 2, 3, 4, 5, 6}), Tensor(10)};
  EXPECT_TRUE(Evaluator().run(module->entry(), arguments)[0].identical(
      Tensor::of<int32_t>({6}, {11, 12, 13, 14, 15, 16})));
}

TEST(LiftedRegionTest, FoldsInOrder) {
  // (a, b) -> 10 a + b
  const auto module = region_of(
      "%a: tensor<i32>, %b: tensor<i32>",
      "  %ten = \"stablehlo.constant\"() {value = dense<10> : tensor<i32>} : () -> tensor<i32>\n"
      "  %s = \"stablehlo.multiply\"(%a, %ten) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
      "  %t = \"stablehlo.add\"(%s, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
      "  \"func.return\"(%t) : (tensor<i32>) -> ()",
      "tensor<i32>");
  const Evaluator evaluator;
  std::vector<Tensor> results = {Tensor::of<int32_t>({3}, {1, 2, 3})};
  const std::vector<Tensor> updates = {Tensor::of<int32_t>({6}, {4, 5, 6, 7, 8, 9})};
  fold_into(results, std::vector<int64_t>{2, 0, 2, 2, 0, 2}, updates,
            LiftedRegion(module->entry(), evaluator));
  EXPECT_TRUE(results[0].identical(Tensor::of<int32_t>({3}, {158, 2, 34679})));
}

// -- What sort makes of it.

// Sorts (keys, values, places) by key, then by value downwards.
const char* const kLexicographic = R"(
func.func public @main(%k: tensor<SHAPExi32>, %v: tensor<SHAPExi32>, %p: tensor<SHAPExi32>)
    -> (tensor<SHAPExi32>, tensor<SHAPExi32>, tensor<SHAPExi32>) {
  %r:3 = "stablehlo.sort"(%k, %v, %p) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
    %same = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %less = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %more = "stablehlo.compare"(%c, %d) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %x = "stablehlo.select"(%same, %more, %less) : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%x) : (tensor<i1>) -> ()
  }) {dimension = AXIS : i64, is_stable = true} : (tensor<SHAPExi32>, tensor<SHAPExi32>, tensor<SHAPExi32>) -> (tensor<SHAPExi32>, tensor<SHAPExi32>, tensor<SHAPExi32>)
  "func.return"(%r#0, %r#1, %r#2) : (tensor<SHAPExi32>, tensor<SHAPExi32>, tensor<SHAPExi32>) -> ()
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(RegionSortTest, StableByTwoKeys) {
  for (const int64_t size : {1, 2, 3, 5, 64, 100, 1000}) {
    const auto module =
        parse(replaced(replaced(kLexicographic, "SHAPE", std::to_string(size)), "AXIS", "0"));
    const auto n = static_cast<size_t>(size);
    Tensor places(DType::s32, {size});
    std::iota(places.data<int32_t>().begin(), places.data<int32_t>().end(), 0);
    const std::vector<Tensor> arguments = {random_vector(3, size, 8), random_vector(4, size, 4),
                                           places};
    const Tensor sorted = Evaluator().run(module->entry(), arguments)[2];
    std::vector<int32_t> expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, [&](int32_t a, int32_t b) {
      const auto key = [&](int32_t i) { return arguments[0].data<int32_t>()[i]; };
      const auto value = [&](int32_t i) { return arguments[1].data<int32_t>()[i]; };
      return key(a) == key(b) ? value(a) > value(b) : key(a) < key(b);
    });
    EXPECT_TRUE(sorted.identical(Tensor::of<int32_t>({size}, expected))) << size;
  }
}

TEST(RegionSortTest, EachSliceOfAnAxis) {
  const auto module = parse(replaced(replaced(kLexicographic, "SHAPE", "3x2"), "AXIS", "0"));
  const std::vector<Tensor> arguments = {Tensor::of<int32_t>({3, 2}, {2, 1, 1, 1, 2, 0}),
                                         Tensor::of<int32_t>({3, 2}, {5, 1, 7, 2, 6, 3}),
                                         Tensor::of<int32_t>({3, 2}, {0, 1, 2, 3, 4, 5})};
  EXPECT_TRUE(Evaluator().run(module->entry(), arguments)[2].identical(
      Tensor::of<int32_t>({3, 2}, {2, 5, 4, 3, 0, 1})));
}

TEST(RegionSortTest, ARegionThatOrdersNothing) {
  // a != b: each is before the other.
  const auto module = parse(
      "func.func public @main(%x: tensor<9xi32>) -> tensor<9xi32> {\n  %y = "
      "\"stablehlo.sort\"(%x) ({^bb0(%a: tensor<i32>, %b: tensor<i32>): %c = "
      "\"stablehlo.compare\"(%b, %a) {comparison_direction = #stablehlo<comparison_direction NE>} "
      ": "
      "(tensor<i32>, tensor<i32>) -> tensor<i1> \"stablehlo.return\"(%c) : (tensor<i1>) -> ()}) : "
      "(tensor<9xi32>) -> tensor<9xi32>\n  \"func.return\"(%y) : (tensor<9xi32>) -> ()\n}\n");
  const std::vector<Tensor> arguments = {Tensor::of<int32_t>({9}, {3, 1, 2, 9, 8, 7, 4, 5, 6})};
  const Tensor sorted = Evaluator().run(module->entry(), arguments)[0];
  EXPECT_THAT(std::vector<int32_t>(sorted.data<int32_t>().begin(), sorted.data<int32_t>().end()),
              ::testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace systole::hlo
