#include <gtest/gtest.h>

#include <limits>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::Opcode;
using hlo::Value;

constexpr DType kSortedDTypes[] = {DType::pred, DType::s4,   DType::s8,  DType::u8,  DType::s16,
                                   DType::u16,  DType::s32,  DType::u32, DType::s64, DType::u64,
                                   DType::f16,  DType::bf16, DType::f32, DType::f64};

// What the comparator of keys and payloads says of the keys.
using Comparator = std::function<Value(hlo::Builder&, Value left, Value right)>;

hlo::testing::OpUnderTest sort_of(std::vector<Tensor> operands, int64_t axis,
                                  const Comparator& before) {
  std::vector<DType> dtypes;
  for (const Tensor& operand : operands) dtypes.push_back(operand.dtype());
  return {.opcode = Opcode::sort,
          .operands = std::move(operands),
          .attrs = hlo::SortAttrs{axis, true},
          .fill_regions = [=](hlo::Instruction& x) {
            hlo::Computation& region = x.add_region();
            std::vector<Value> parameters;
            for (const DType dtype : dtypes) {
              parameters.push_back(region.add_parameter({dtype, {}}));
              parameters.push_back(region.add_parameter({dtype, {}}));
            }
            hlo::Builder b(region);
            region.set_results({before(b, parameters[0], parameters[1])});
          }};
}

// Where each element was.
Tensor positions(const Shape& shape) {
  Tensor result(DType::s32, shape);
  for (int32_t i = 0; i < result.num_elements(); ++i) result.data<int32_t>()[i] = i;
  return result;
}

Comparator plain(ComparisonDirection direction) {
  return
      [=](hlo::Builder& b, Value left, Value right) { return b.compare(left, right, direction); };
}

Comparator total(ComparisonDirection direction) {
  return [=](hlo::Builder& b, Value left, Value right) {
    return b
        .op(Opcode::compare, {left, right},
            hlo::CompareAttrs{direction, hlo::ComparisonType::totalorder})
        ->result();
  };
}

// Few distinct values, so that there are equal ones; with zeros and infinities of both signs, and
// NaNs, among floats.
Tensor keys(RandomStream& random, DType dtype, const Shape& shape, bool nans) {
  Tensor result = testing::random_tensor(random, {dtype, shape}, -20, 20, true);
  if (nans || !is_floating(dtype)) return result;
  Tensor wide = result.cast(DType::f64);
  for (double& x : wide.data<double>()) x = std::isnan(x) ? -0.0 : x;
  return wide.cast(dtype);
}

TEST(Sort, OrdersEveryDType) {
  RandomStream random(33);
  for (const DType dtype : kSortedDTypes) {
    for (const Shape& shape : {Shape{3, 41, 2}, Shape{1, 1000, 1}}) {
      for (const auto direction : {ComparisonDirection::lt, ComparisonDirection::gt}) {
        EXPECT_EQ(testing::check(sort_of({keys(random, dtype, shape, false), positions(shape)}, 1,
                                         plain(direction))),
                  "")
            << testing::words(dtype, shape);
      }
    }
  }
}

TEST(Sort, OrdersFloatsTotally) {
  RandomStream random(34);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto direction : {ComparisonDirection::lt, ComparisonDirection::gt}) {
      EXPECT_EQ(testing::check(sort_of({keys(random, dtype, {2, 300}, true), positions({2, 300})},
                                       1, total(direction))),
                "")
          << testing::words(dtype);
    }
  }
}

// As top_k compares.
Value greater_or_nan(hlo::Builder& b, Value left, Value right) {
  const Value nan = b.binary(Opcode::and_, b.compare(left, left, ComparisonDirection::ne),
                             b.compare(right, right, ComparisonDirection::eq));
  return b.binary(Opcode::or_, b.compare(left, right, ComparisonDirection::gt), nan);
}

TEST(Sort, PutsNaNsAboveNumbersWhereTheComparatorDoes) {
  RandomStream random(35);
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    EXPECT_EQ(testing::check(
                  sort_of({keys(random, dtype, {300}, true), positions({300})}, 0, greater_or_nan)),
              "")
        << testing::words(dtype);
  }
}

// As JAX compares: zeros alike, NaNs alike.
TEST(Sort, ComputesKeys) {
  const auto canonical = [](hlo::Builder& b, Value x) {
    const Value zero = b.scalar(x.dtype(), 0);
    const Value nan = b.scalar(x.dtype(), std::numeric_limits<double>::quiet_NaN());
    const Value number = b.select(b.compare(x, zero, ComparisonDirection::eq), zero, x);
    return b.select(b.compare(x, x, ComparisonDirection::ne), nan, number);
  };
  RandomStream random(36);
  for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
    const auto before = [&](hlo::Builder& b, Value left, Value right) {
      return total(ComparisonDirection::lt)(b, canonical(b, left), canonical(b, right));
    };
    EXPECT_EQ(testing::check(
                  sort_of({keys(random, dtype, {3, 200}, true), positions({3, 200})}, 1, before)),
              "")
        << testing::words(dtype);
  }
}

// By the second operand where the first are equal; with <=, which is no order but must not break
// anything, equal elements in any order.
TEST(Sort, RunsAnyComparator) {
  RandomStream random(37);
  for (const int64_t length : {1, 2, 3, 64, 97}) {
    const Shape shape{2, length, 3};
    hlo::Module module;
    hlo::Computation& main = module.add_function("main");
    std::vector<Value> operands;
    std::vector<Tensor> arguments = {testing::random_tensor(random, {DType::s32, shape}, 0, 4),
                                     testing::random_tensor(random, {DType::f32, shape}, 0, 9),
                                     positions(shape)};
    for (const Tensor& x : arguments) operands.push_back(main.add_parameter(x.type()));
    hlo::Builder b(main);
    auto* sort = b.op_with_regions(
        Opcode::sort, operands, hlo::SortAttrs{1, true}, [&](hlo::Instruction& x) {
          hlo::Computation& region = x.add_region();
          std::vector<Value> v;
          for (const Tensor& argument : arguments) {
            v.push_back(region.add_parameter({argument.dtype(), {}}));
            v.push_back(region.add_parameter({argument.dtype(), {}}));
          }
          hlo::Builder c(region);
          region.set_results({c.select(c.compare(v[0], v[1], ComparisonDirection::eq),
                                       c.compare(v[2], v[3], ComparisonDirection::gt),
                                       c.compare(v[0], v[1], ComparisonDirection::lt))});
        });
    main.set_results({sort->result(0), sort->result(1), sort->result(2)});
    EXPECT_EQ(testing::check(module, arguments), "") << length;
  }
}

// The first of many: a selection.
TEST(Sort, SelectsWhatIsRead) {
  RandomStream random(38);
  for (const DType dtype : {DType::s32, DType::bf16, DType::f32, DType::f64}) {
    for (const int64_t k : {0, 1, 5, 60, 400}) {
      const Shape shape{3, 700};
      hlo::Module module;
      hlo::Computation& main = module.add_function("main");
      const Value x = main.add_parameter({dtype, shape});
      hlo::Builder b(main);
      const auto before =
          is_floating(dtype) ? Comparator(greater_or_nan) : plain(ComparisonDirection::gt);
      auto* sort = b.op_with_regions(
          Opcode::sort, {x, b.iota({DType::s32, shape}, 1)}, hlo::SortAttrs{1, true},
          sort_of({Tensor(dtype, {}), Tensor(DType::s32, {})}, 0, before).fill_regions);
      const Value values = b.slice(sort->result(0), {0, 0}, {3, k});
      const Value places = b.slice(sort->result(1), {0, 0}, {3, k});
      main.set_results({b.negate(values), values, places});
      EXPECT_EQ(testing::check(module, std::vector{keys(random, dtype, shape, true)}), "")
          << testing::words(dtype, k);
    }
  }
}

TEST(Sort, GivesTheSameForAnyNumberOfThreads) {
  RandomStream random(39);
  const Shape shape{64, 300};
  const auto op = sort_of({keys(random, DType::f32, shape, false), positions(shape)}, 1,
                          plain(ComparisonDirection::lt));
  hlo::Module module;
  hlo::testing::build_op(module.add_function("main"), op);
  const auto want = testing::run(module, op.operands, {.num_threads = 1});
  for (const int threads : {2, 3, 5}) {
    const auto got = testing::run(module, op.operands, {.num_threads = threads});
    for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(got[k].identical(want[k])) << threads;
  }
}

}  // namespace
}  // namespace systole::cpu
