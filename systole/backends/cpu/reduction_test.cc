#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;

constexpr DType kReducedDTypes[] = {DType::s8,   DType::u32, DType::s64, DType::f16,
                                    DType::bf16, DType::f32, DType::f64};

// Sums whose terms cancel, in another order.
double reduction_tolerance(DType dtype) {
  return dtype == DType::f32 ? 1e-6 : dtype == DType::f64 ? 1e-14 : 0;
}

TEST(Reduction, AlongAnyAxes) {
  RandomStream random(41);
  const std::pair<Shape, std::vector<Dims>> cases[] = {
      {{3, 5, 37}, {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}, {}}},
      {{70, 3}, {{0}, {1}}},
      {{2, 1500}, {{0}, {1}}},
      {{300, 20}, {{0}, {1}}},
  };
  for (const DType dtype : kReducedDTypes) {
    for (const auto& [shape, all_axes] : cases) {
      for (const Dims& axes : all_axes) {
        for (const Opcode reducer : {Opcode::add, Opcode::maximum}) {
          const std::vector<Tensor> operands = {
              testing::random_tensor(random, {dtype, shape}, -2, 2), Tensor::full(dtype, {}, 1)};
          const hlo::testing::OpUnderTest op{.opcode = Opcode::reduce,
                                             .operands = operands,
                                             .attrs = hlo::DimensionsAttrs{axes},
                                             .fill_regions = [&](hlo::Instruction& x) {
                                               hlo::fill_reducer(x.add_region(), reducer, dtype);
                                             }};
          EXPECT_EQ(testing::check(op, {.ulps = 1, .of_largest = reduction_tolerance(dtype)}), "")
              << testing::words(dtype, shape, reducer);
        }
      }
    }
  }
}

TEST(Reduction, OfPredicates) {
  RandomStream random(42);
  for (const Opcode reducer : {Opcode::and_, Opcode::or_}) {
    const std::vector<Tensor> operands = {
        testing::random_tensor(random, {DType::pred, {7, 33}}, 0, 2),
        Tensor(reducer == Opcode::and_)};
    EXPECT_EQ(testing::check({.opcode = Opcode::reduce,
                              .operands = operands,
                              .attrs = hlo::DimensionsAttrs{{1}},
                              .fill_regions =
                                  [&](hlo::Instruction& x) {
                                    hlo::fill_reducer(x.add_region(), reducer, DType::pred);
                                  }}),
              "");
  }
}

void fill_arg_max(hlo::Instruction& x) {
  hlo::Computation& region = x.add_region();
  const hlo::Value best = region.add_parameter({DType::f32, {}});
  const hlo::Value best_at = region.add_parameter({DType::s32, {}});
  const hlo::Value next = region.add_parameter({DType::f32, {}});
  const hlo::Value next_at = region.add_parameter({DType::s32, {}});
  hlo::Builder inner(region);
  const hlo::Value keep = inner.compare(best, next, hlo::ComparisonDirection::ge);
  region.set_results({inner.select(keep, best, next), inner.select(keep, best_at, next_at)});
}

// Where the greatest element is: two results at once, by a region of several instructions.
TEST(Reduction, OfSeveralOperandsByAProgram) {
  RandomStream random(43);
  const Shape shape{6, 45};
  for (const int64_t axis : {0, 1}) {
    hlo::Module module;
    hlo::Computation& main = module.add_function("main");
    hlo::Builder b(main);
    const hlo::Value x = main.add_parameter({DType::f32, shape});
    const hlo::Value i = b.iota({DType::s32, shape}, axis);
    const hlo::Value lowest = b.scalar(DType::f32, -std::numeric_limits<double>::infinity());
    hlo::Instruction* arg_max =
        b.op_with_regions(Opcode::reduce, {x, i, lowest, b.scalar(DType::s32, 0)},
                          hlo::DimensionsAttrs{{axis}}, fill_arg_max);
    main.set_results({arg_max->result(0), arg_max->result(1)});
    EXPECT_EQ(testing::check(
                  module, std::vector{testing::random_tensor(random, {DType::f32, shape}, -9, 9)}),
              "");
  }
}

hlo::WindowAttrs window(Dims sizes, Dims strides, std::vector<std::pair<int64_t, int64_t>> padding,
                        Dims base = {}, Dims dilation = {}) {
  if (base.empty()) base.assign(sizes.size(), 1);
  if (dilation.empty()) dilation.assign(sizes.size(), 1);
  return {std::move(sizes), std::move(strides), std::move(base), std::move(dilation),
          std::move(padding)};
}

TEST(Reduction, OfWindows) {
  RandomStream random(44);
  const hlo::WindowAttrs windows[] = {
      window({1, 2, 2, 1}, {1, 2, 2, 1}, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}),
      window({1, 3, 3, 1}, {1, 2, 1, 1}, {{0, 0}, {1, 1}, {0, 2}, {0, 0}}),
      window({2, 3, 2, 5}, {1, 1, 2, 2}, {{1, 0}, {-1, 3}, {0, 0}, {2, 1}}, {1, 2, 1, 3},
             {1, 1, 2, 1}),
  };
  for (const DType dtype : {DType::s32, DType::bf16, DType::f32}) {
    for (const auto& attrs : windows) {
      for (const Opcode reducer : {Opcode::add, Opcode::maximum}) {
        const std::vector<Tensor> operands = {
            testing::random_tensor(random, {dtype, {2, 6, 7, 19}}, -2, 2),
            Tensor::full(dtype, {}, -1)};
        EXPECT_EQ(testing::check({.opcode = Opcode::reduce_window,
                                  .operands = operands,
                                  .attrs = attrs,
                                  .fill_regions =
                                      [&](hlo::Instruction& x) {
                                        hlo::fill_reducer(x.add_region(), reducer, dtype);
                                      }},
                                 {.ulps = 2, .of_largest = reduction_tolerance(dtype)}),
                  "")
            << testing::words(dtype, reducer);
      }
    }
  }
}

hlo::WindowAttrs running(const Shape& shape, int axis, bool reverse) {
  const auto rank = static_cast<size_t>(shape.rank());
  hlo::WindowAttrs attrs = window(Dims(rank, 1), Dims(rank, 1), {rank, {0, 0}});
  const int64_t length = shape[axis];
  attrs.window_dimensions[static_cast<size_t>(axis)] = length;
  attrs.padding[static_cast<size_t>(axis)] = {reverse ? 0 : length - 1, reverse ? length - 1 : 0};
  return attrs;
}

// Along every axis: of neighbours side by side, of tiles that are full and not, of segments.
TEST(Reduction, OfRunningWindows) {
  RandomStream random(46);
  const Shape shapes[] = {{3, 70, 2}, {2, 40, 17}, {5, 300}, {1100}, {2}, {1, 7}};
  const std::pair<Opcode, DType> reducers[] = {
      {Opcode::add, DType::bf16}, {Opcode::maximum, DType::f32}, {Opcode::multiply, DType::s32}};
  for (const auto& [reducer, dtype] : reducers) {
    for (const Shape& shape : shapes) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        for (const bool reverse : {false, true}) {
          hlo::Module module;
          hlo::Computation& main = module.add_function("main");
          const hlo::Value x = main.add_parameter({dtype, shape});
          hlo::Builder b(main);
          const hlo::Value initial = b.scalar(dtype, reducer == Opcode::multiply ? 1 : 0);
          hlo::Instruction* sums = b.op_with_regions(
              Opcode::reduce_window, {x, initial}, running(shape, axis, reverse),
              [&](hlo::Instruction& r) { hlo::fill_reducer(r.add_region(), reducer, dtype); });
          main.set_results({sums->result(0)});
          const Tensor values = testing::random_tensor(random, {dtype, shape}, -2, 2);
          EXPECT_EQ(testing::check(module, std::vector{values}, {.ulps = 1, .of_largest = 1e-6}),
                    "")
              << testing::words(dtype, shape, axis, reverse, reducer);
        }
      }
    }
  }
}

// Which of two is greater, and where: two results, and an order that counts.
TEST(Reduction, OfRunningWindowsByAProgram) {
  RandomStream random(47);
  for (const Shape& shape : {Shape{1100}, Shape{9, 20, 3}, Shape{30, 20}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      for (const bool reverse : {false, true}) {
        hlo::Module module;
        hlo::Computation& main = module.add_function("main");
        hlo::Builder b(main);
        const hlo::Value x = main.add_parameter({DType::f32, shape});
        const hlo::Value i = b.iota({DType::s32, shape}, axis);
        const hlo::Value lowest = b.scalar(DType::f32, -std::numeric_limits<double>::infinity());
        hlo::Instruction* best =
            b.op_with_regions(Opcode::reduce_window, {x, i, lowest, b.scalar(DType::s32, -1)},
                              running(shape, axis, reverse), fill_arg_max);
        main.set_results({best->result(0), best->result(1)});
        const Tensor values = testing::random_tensor(random, {DType::s32, shape}, -9, 9);
        EXPECT_EQ(testing::check(module, std::vector{values.cast(DType::f32)}), "")
            << testing::words(shape, axis, reverse);
      }
    }
  }
}

// Windows that are no running sums, though nearly: of a sum that does not start with 0, shorter or
// longer, dilated, with strides, along two axes.
TEST(Reduction, OfWindowsThatNearlyRun) {
  RandomStream random(48);
  const hlo::WindowAttrs windows[] = {
      window({40}, {1}, {{39, 0}}),      window({39}, {1}, {{38, 0}}),
      window({41}, {1}, {{40, 0}}),      window({40}, {1}, {{38, 1}}),
      window({40}, {1}, {{39, -1}}),     window({40}, {2}, {{39, 0}}),
      window({79}, {1}, {{78, 0}}, {2}), window({40}, {1}, {{78, 0}}, {}, {2}),
  };
  for (const auto& attrs : windows) {
    for (const double initial : {0, 3}) {
      const std::vector<Tensor> operands = {
          testing::random_tensor(random, {DType::s32, {40}}, -9, 9),
          Tensor::full(DType::s32, {}, initial)};
      EXPECT_EQ(testing::check({.opcode = Opcode::reduce_window,
                                .operands = operands,
                                .attrs = attrs,
                                .fill_regions =
                                    [&](hlo::Instruction& x) {
                                      hlo::fill_reducer(x.add_region(), Opcode::add, DType::s32);
                                    }}),
                "")
          << testing::words(attrs.window_dimensions[0], attrs.padding[0].first);
    }
  }
  const std::vector<Tensor> operands = {testing::random_tensor(random, {DType::s32, {7, 9}}, -9, 9),
                                        Tensor::full(DType::s32, {}, 0)};
  EXPECT_EQ(testing::check({.opcode = Opcode::reduce_window,
                            .operands = operands,
                            .attrs = window({7, 9}, {1, 1}, {{6, 0}, {0, 8}}),
                            .fill_regions =
                                [&](hlo::Instruction& x) {
                                  hlo::fill_reducer(x.add_region(), Opcode::add, DType::s32);
                                }}),
            "");
}

TEST(Reduction, SelectsAndScatters) {
  RandomStream random(45);
  const hlo::WindowAttrs windows[] = {
      window({1, 2, 2, 1}, {1, 2, 2, 1}, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}),
      window({1, 3, 2, 1}, {1, 2, 1, 1}, {{0, 0}, {1, 1}, {1, 0}, {0, 0}}),
      window({1, 3, 3, 1}, {1, 2, 2, 1}, {{0, 0}, {0, 1}, {0, 1}, {0, 0}}),
      window({1, 2, 3, 1}, {1, 3, 3, 1}, {{0, 0}, {1, 1}, {2, 2}, {0, 0}}),  // holes, padding
      window({1, 3, 3, 1}, {1, 2, 2, 1}, {{0, 0}, {-1, 0}, {0, -1}, {0, 0}}),
      window({2, 3, 3, 2}, {1, 1, 2, 1}, {{0, 1}, {1, 1}, {1, 1}, {1, 0}}),  // along all axes
  };
  const Shape sources[] = {{2, 3, 4, 19}, {2, 3, 8, 19}, {2, 3, 4, 19},
                           {2, 3, 4, 19}, {2, 2, 3, 19}, {2, 6, 4, 19}};
  for (const DType dtype : {DType::s32, DType::bf16, DType::f32}) {
    for (size_t i = 0; i < std::size(windows); ++i) {
      hlo::WindowAttrs attrs = windows[i];
      attrs.base_dilations.clear();
      attrs.window_dilations.clear();
      const std::vector<Tensor> operands = {
          testing::random_tensor(random, {dtype, {2, 6, 8, 19}}, -9, 9),
          testing::random_tensor(random, {dtype, sources[i]}, -3, 3), Tensor::full(dtype, {}, 0)};
      const auto fill = [&](hlo::Instruction& x) {
        hlo::Computation& select = x.add_region();
        const hlo::Value a = select.add_parameter({dtype, {}});
        const hlo::Value b = select.add_parameter({dtype, {}});
        select.set_results({hlo::Builder(select).compare(a, b, hlo::ComparisonDirection::ge)});
        hlo::fill_reducer(x.add_region(), Opcode::add, dtype);
      };
      EXPECT_EQ(testing::check({.opcode = Opcode::select_and_scatter,
                                .operands = operands,
                                .attrs = attrs,
                                .fill_regions = fill},
                               {.ulps = 2}),
                "")
          << testing::words(dtype, i);
    }
  }
}

}  // namespace
}  // namespace systole::cpu
