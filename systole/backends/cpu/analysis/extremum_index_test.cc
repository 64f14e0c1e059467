#include "systole/backends/cpu/analysis/extremum_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;
using enum hlo::ComparisonDirection;

struct Search {
  DType dtype = DType::f32;
  DType index = DType::s32;
  Shape shape = {7, 100};
  int64_t axis = 1;
  hlo::ComparisonDirection better = gt;
  bool nan_is_best = true;
  bool first_of_equals = true;
  bool value_too = false;
  double initial_index = 0;
};

// The region (value, index, value, index) as array libraries write it: the right one is taken where
// it is better.
void fill(hlo::Computation& region, const Search& s) {
  Value v[2];
  Value i[2];
  for (int k = 0; k < 2; ++k) {
    v[k] = region.add_parameter({s.dtype, {}});
    i[k] = region.add_parameter({s.index, {}});
  }
  hlo::Builder b(region);
  Value takes = b.compare(v[0], v[1], s.better);
  Value ties = b.compare(v[0], v[1], eq);
  if (is_floating(s.dtype) && s.nan_is_best) {
    const Value left = b.compare(v[0], v[0], ne);
    takes = b.binary(Opcode::or_, takes, left);
    ties = b.binary(Opcode::or_, ties, b.binary(Opcode::and_, left, b.compare(v[1], v[1], ne)));
  }
  const Value of_equals = s.first_of_equals ? b.minimum(i[0], i[1]) : b.maximum(i[0], i[1]);
  region.set_results(
      {b.select(takes, v[0], v[1]), b.select(ties, of_equals, b.select(takes, i[0], i[1]))});
}

// The initial value.
Value worst_of(hlo::Builder& b, const Search& s) {
  return b.identity(s.better == gt ? Opcode::maximum : Opcode::minimum, s.dtype);
}

// All elements are the initial value.
Tensor all_worst(const Search& s) {
  hlo::Module module;
  hlo::Builder b(module.add_function("worst"));
  b.computation().set_results({b.broadcast_in_dim(worst_of(b, s), s.shape, {})});
  return hlo::Evaluator().run(*module.functions()[0], {})[0];
}

std::unique_ptr<hlo::Module> program(const Search& s) {
  auto module = std::make_unique<hlo::Module>();
  hlo::Builder b(module->add_function("main"));
  const Value x = b.computation().add_parameter({s.dtype, s.shape});
  const Value worst = worst_of(b, s);
  hlo::Instruction* reduce = b.op_with_regions(
      Opcode::reduce,
      {x, b.iota({s.index, s.shape}, s.axis), worst, b.scalar(s.index, s.initial_index)},
      hlo::DimensionsAttrs{{s.axis}}, [&](hlo::Instruction& op) { fill(op.add_region(), s); });
  std::vector<Value> results = {reduce->result(1)};
  if (s.value_too) results.push_back(reduce->result(0));
  b.computation().set_results(results);
  hlo::verify(*module);
  return module;
}

bool finds_index(const Search& s) {
  const auto module = program(s);
  const auto all = module->functions()[0]->instructions();
  const auto reduce =
      std::ranges::find_if(all, [](const auto* x) { return x->is(Opcode::reduce); });
  return finds_extremum_index(**reduce);
}

TEST(ExtremumIndex, IsTheLeastIndexOfTheBest) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::s64, DType::u8}) {
    for (const auto better : {gt, lt}) EXPECT_TRUE(finds_index({.dtype = dtype, .better = better}));
  }
}

TEST(ExtremumIndex, AgreesWithTheReference) {
  RandomStream random(17);
  for (const DType dtype : {DType::f32, DType::bf16, DType::s64, DType::u8}) {
    for (const auto better : {gt, lt}) {
      for (const int64_t columns : {63, 64, 130, 256, 300}) {
        const Search s{.dtype = dtype, .shape = {40, columns}, .better = better};
        // Few numbers, so that many are equal; rows with several NaN, with one, with none.
        for (const bool special : {false, true}) {
          const Tensor x = testing::random_tensor(random, {dtype, s.shape}, 0, 9, special);
          EXPECT_EQ(testing::check(*program(s), {{x}}), "") << testing::words(dtype, special);
        }
        EXPECT_EQ(testing::check(*program(s), {{all_worst(s)}}), "")
            << testing::words(dtype, "all equal");
      }
    }
  }
}

// Rows of initial values, one of them with a better element: where all are equal, -1 is the least
// index, and 5 is not.
TEST(ExtremumIndex, TakesTheInitialIndexForOneOfARow) {
  for (const int64_t columns : {100, 256}) {
    for (const double initial : {-1, 5}) {
      const Search s{.shape = {3, columns}, .initial_index = initial};
      Tensor x = all_worst(s);
      x.data<float>()[columns + 90] = 1;
      const auto results = testing::run(*program(s), {{x}});
      EXPECT_EQ(results[0].as_double(0), std::min(initial, 0.0));
      EXPECT_EQ(results[0].as_double(1), 90);
      EXPECT_EQ(testing::check(*program(s), {{x}}), "");
    }
  }
}

TEST(ExtremumIndex, IsFoundAlongEveryAxisWithEveryTypeOfIndex) {
  RandomStream random(18);
  const Search kSearches[] = {
      {.shape = {100, 7}, .axis = 0},
      {.shape = {256}, .axis = 0},
      {.shape = {5, 256, 3}, .better = lt},
      {.index = DType::u32},
      {.index = DType::u64, .shape = {256, 9}, .axis = 0, .better = lt},
      {.index = DType::s64, .shape = {4, 256}, .initial_index = -1},
      {.index = DType::u8, .shape = {4, 130}, .initial_index = 255},
  };
  for (const Search& s : kSearches) {
    ASSERT_TRUE(finds_index(s));
    const Tensor x = testing::random_tensor(random, {s.dtype, s.shape}, 0, 9, true);
    EXPECT_EQ(testing::check(*program(s), {{x}}), "") << testing::words(s.index, s.shape);
    EXPECT_EQ(testing::check(*program(s), {{all_worst(s)}}), "")
        << testing::words(s.index, s.shape, "all equal");
  }
}

TEST(ExtremumIndex, LeavesWhatIsAnythingElse) {
  const std::pair<const char*, Search> kOthers[] = {
      {"the value is wanted", {.value_too = true}},
      {"values of the indices' type", {.dtype = DType::s32}},
      {"a NaN is worse than any number", {.nan_is_best = false}},
      {"the last of equals", {.first_of_equals = false}},
  };
  for (const auto& [what, search] : kOthers) EXPECT_FALSE(finds_index(search)) << what;
}

}  // namespace
}  // namespace systole::cpu
