// Arrays large enough for what is done only to these: rows kept in a cache through several steps,
// reductions in parts, blocks, stores past the caches.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;
using hlo::testing::OpUnderTest;

double for_sums(DType dtype) {
  return dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 1e-5 : 2e-2;
}

// Programs over arrays of one shape and their rows: what a row is made of is that row of others.
class RowProgram {
 public:
  RowProgram(uint64_t seed, DType dtype, const Shape& shape, Dims reduced)
      : random_(seed, 7), b_(module_.add_function("main")), shape_(shape), reduced_(reduced) {
    hlo::Computation& main = b_.computation();
    for (int i = 0; i < 2; ++i) large_.push_back(main.add_parameter({dtype, shape}));
    vector_ = main.add_parameter({dtype, Shape{shape[shape.rank() - 1]}});
    for (int i = 0; i < shape.rank(); ++i) {
      if (std::ranges::find(reduced, i) == reduced.end()) kept_.push_back(i);
    }
  }

  const hlo::Module& write(int steps) {
    for (int i = 0; i < steps; ++i) step();
    std::vector<Value> results = {large_.back(), pick(large_)};
    if (!rows_.empty()) results.push_back(rows_.back());
    // Over all rows, too.
    results.push_back(scaled(b_.reduce(large_.back(), Opcode::add, {0})));
    b_.computation().set_results(results);
    return module_;
  }

  std::vector<Tensor> arguments() {
    std::vector<Tensor> result;
    for (int i = 0; i < b_.computation().num_parameters(); ++i)
      result.push_back(
          testing::random_tensor(random_, b_.computation().parameter(i).type(), -1, 1));
    return result;
  }

 private:
  int64_t below(int64_t n) {
    return static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(n)));
  }
  Value pick(const std::vector<Value>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }
  Value scaled(Value x) { return b_.multiply(x, b_.splat_like(x, 1.0 / 64)); }
  Value spread(Value row) { return b_.broadcast_in_dim(row, shape_, kept_); }

  void step() {
    const Value x = below(2) == 0 ? large_.back() : pick(large_);
    switch (below(rows_.empty() ? 4 : 7)) {
      case 0:
        rows_.push_back(scaled(b_.reduce(x, Opcode::add, reduced_)));
        break;
      case 1:
        rows_.push_back(b_.reduce(x, Opcode::maximum, reduced_));
        break;
      case 2:
        large_.push_back(b_.unary(Opcode::tanh, b_.add(x, pick(large_))));
        break;
      case 3:
        large_.push_back(b_.multiply(x, b_.broadcast_in_dim(vector_, shape_, {shape_.rank() - 1})));
        break;
      case 4:
        rows_.push_back(b_.unary(Opcode::logistic, b_.add(pick(rows_), rows_.back())));
        break;
      default:
        large_.push_back(b_.multiply(b_.subtract(x, spread(rows_.back())), b_.splat_like(x, 0.5)));
        break;
    }
  }

  RandomStream random_;
  hlo::Module module_;
  hlo::Builder b_;
  Shape shape_;
  Dims reduced_;
  Dims kept_;
  std::vector<Value> large_;
  std::vector<Value> rows_;
  Value vector_;
};

TEST(LargeArrays, RowsStayInACacheThroughRandomPrograms) {
  const std::pair<Shape, Dims> shapes[] = {
      {{500, 301}, {1}}, {{6, 33, 700}, {2}}, {{90, 7, 5, 64}, {1, 2}}, {{3, 1, 50000}, {2}}};
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const auto& [shape, reduced] = shapes[seed % 4];
    const DType dtype = seed % 3 == 0 ? DType::f64 : DType::f32;
    RowProgram program(seed, dtype, shape, reduced);
    const hlo::Module& module = program.write(14);
    EXPECT_EQ(testing::check(module, program.arguments(), {.of_largest = for_sums(dtype)}), "")
        << testing::words(seed, dtype, shape);
  }
}

// (The reference sums up a row element by element, which is the less accurate.)
TEST(LargeArrays, SoftmaxOfEveryFloat) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{513, 600}, Shape{40, 20001}}) {
      hlo::Module module;
      hlo::Builder b(module.add_function("main"));
      const Value x = b.computation().add_parameter({dtype, shape});
      const Value greatest = b.reduce(x, Opcode::maximum, {1});
      const Value e =
          b.unary(Opcode::exponential, b.subtract(x, b.broadcast_in_dim(greatest, shape, {0})));
      const Value sum = b.reduce(e, Opcode::add, {1});
      b.computation().set_results({b.divide(e, b.broadcast_in_dim(sum, shape, {0}))});
      const testing::Tolerance tolerance{
          .ulps = 4, .of_largest = dtype == DType::f32 ? 1e-4 : for_sums(dtype)};
      RandomStream random(5);
      const std::vector<Tensor> arguments = {testing::random_tensor(random, {dtype, shape}, -6, 6)};
      EXPECT_EQ(testing::check(module, arguments, tolerance), "") << testing::words(dtype, shape);
    }
  }
}

// Whole numbers, whose sums are exact in any order; 1 and -1 for products.
Tensor whole_numbers(RandomStream& random, DType dtype, const Shape& shape, Opcode reducer) {
  Tensor x = testing::random_tensor(random, {DType::s32, shape}, -2, 3);
  if (reducer == Opcode::multiply) {
    for (int32_t& element : x.data<int32_t>()) element = element % 2 == 0 ? 1 : -1;
  }
  return x.cast(dtype);
}

// The reductions start from a value that is no identity.
TEST(LargeArrays, ReductionsInParts) {
  RandomStream random(51);
  const std::pair<Shape, Dims> cases[] = {
      {{600011}, {0}},    {{1200, 601}, {0, 1}}, {{70001, 9}, {0}},       {{40001, 33}, {0}},
      {{3, 300007}, {1}}, {{2, 30011, 20}, {1}}, {{40, 199, 101}, {0, 2}}};
  for (const DType dtype : {DType::pred, DType::s32, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& [shape, axes] : cases) {
      for (const Opcode reducer :
           {Opcode::add, Opcode::minimum, dtype == DType::s32 ? Opcode::xor_ : Opcode::multiply}) {
        const OpUnderTest op{.opcode = Opcode::reduce,
                             .operands = {whole_numbers(random, dtype, shape, reducer),
                                          Tensor::full(dtype, {}, reducer == Opcode::add ? 5 : -1)},
                             .attrs = hlo::DimensionsAttrs{axes},
                             .fill_regions = [&](hlo::Instruction& r) {
                               hlo::fill_reducer(r.add_region(), reducer, dtype);
                             }};
        EXPECT_EQ(testing::check(op), "") << testing::words(dtype, shape, reducer);
      }
    }
  }
}

TEST(LargeArrays, SumsOfManyElementsAreAccurate) {
  const int64_t count = 20'000'003;
  hlo::Module module;
  hlo::Builder b(module.add_function("main"));
  const Value x = b.computation().add_parameter({DType::f32, Shape{count}});
  b.computation().set_results({b.reduce(x, Opcode::add, {0})});
  const Tensor sum = testing::run(module, std::vector{Tensor::full(DType::f32, {count}, 0.1)})[0];
  EXPECT_NEAR(sum.item<float>() / (static_cast<double>(0.1F) * static_cast<double>(count)), 1,
              4e-6);  // each vector lane sums some 100,000 elements; fewer on wide vectors
}

TEST(LargeArrays, TransposesOfEverySize) {
  RandomStream random(52);
  const std::pair<Shape, Dims> cases[] = {{{131, 257}, {1, 0}},
                                          {{1030, 40}, {1, 0}},
                                          {{3, 65, 2, 130}, {3, 0, 2, 1}},
                                          {{3, 65, 2, 130}, {0, 3, 2, 1}},
                                          {{17, 33, 70}, {1, 2, 0}},
                                          {{17, 33, 70}, {2, 1, 0}},
                                          {{17, 33, 70}, {1, 0, 2}},
                                          {{5, 6, 7, 129}, {2, 0, 1, 3}},
                                          {{6001, 3}, {1, 0}},
                                          {{3, 6001}, {1, 0}},
                                          {{5, 300, 7, 2}, {0, 2, 1, 3}},
                                          {{5, 300, 7, 12}, {2, 0, 1, 3}},
                                          {{40, 512, 2}, {1, 0, 2}}};
  for (const DType dtype :
       {DType::pred, DType::s4, DType::bf16, DType::f32, DType::f64, DType::c128}) {
    for (const auto& [shape, permutation] : cases) {
      const OpUnderTest op{.opcode = Opcode::transpose,
                           .operands = {testing::random_tensor(random, {dtype, shape}, -8, 8)},
                           .attrs = hlo::TransposeAttrs{permutation}};
      EXPECT_EQ(testing::check(op), "") << testing::words(dtype, shape);
    }
  }
}

// Rows that are short and long, alike and not, of one element and of lines.
TEST(LargeArrays, ConcatenatesRowsOfEverySize) {
  RandomStream random(60);
  const std::vector<std::vector<Shape>> cases = {{{700, 8}, {700, 8}},
                                                 {{700, 8}, {700, 3}, {700, 0}, {700, 19}},
                                                 {{9001, 1}, {9001, 1}, {9001, 1}},
                                                 {{9001, 1}, {9001, 1}},
                                                 {{40, 700}, {40, 512}},
                                                 {{3, 70001}, {3, 11}},
                                                 {{1, 20000}, {1, 30001}}};
  for (const DType dtype :
       {DType::pred, DType::s4, DType::bf16, DType::f32, DType::f64, DType::c128}) {
    for (const std::vector<Shape>& shapes : cases) {
      OpUnderTest op{.opcode = Opcode::concatenate, .attrs = hlo::ConcatenateAttrs{1}};
      for (const Shape& shape : shapes)
        op.operands.push_back(testing::random_tensor(random, {dtype, shape}, -8, 8));
      EXPECT_EQ(testing::check(op), "") << testing::words(dtype, shapes[0]);
    }
  }
}

// Borders of every axis, of parts of the operand, and rows that are all border.
TEST(LargeArrays, PadsEveryAxis) {
  RandomStream random(61);
  struct Case {
    Shape shape;
    Dims low, high;
  };
  const Case cases[] = {{{300, 60}, {0, 3}, {0, 1}},
                        {{300, 60}, {5, 0}, {2, 0}},
                        {{9, 20, 21, 8}, {0, 1, 2, 0}, {0, 1, 3, 0}},
                        {{9, 20, 21, 8}, {1, 0, 0, 1}, {0, 0, 2, 0}},
                        {{9, 20, 21, 8}, {1, -3, 2, 1}, {-2, 4, -5, 3}},
                        {{3, 5000}, {0, 7}, {1, 0}},
                        {{40000}, {3}, {5}}};
  for (const DType dtype : {DType::pred, DType::bf16, DType::f32, DType::c128}) {
    for (const Case& c : cases) {
      const OpUnderTest op{.opcode = Opcode::pad,
                           .operands = {testing::random_tensor(random, {dtype, c.shape}, -8, 8),
                                        testing::random_tensor(random, {dtype, {}}, 1, 8)},
                           .attrs = hlo::PadAttrs{c.low, c.high, Dims(c.low.size(), 0)}};
      EXPECT_EQ(testing::check(op), "") << testing::words(dtype, c.shape);
    }
  }
}

TEST(LargeArrays, RandomBitsWhereTheyAreUsed) {
  for (const DType dtype : {DType::u8, DType::u32, DType::s64}) {
    for (const int64_t words : {2, 3}) {
      const Shape shape{6, 171, 1024};
      hlo::Module module;
      hlo::Builder b(module.add_function("main"));
      const Value x = b.computation().add_parameter({dtype, shape});
      const Value state = b.computation().add_parameter({DType::u64, Shape{words}});
      hlo::Instruction* rng =
          b.op(Opcode::rng_bit_generator, {state},
               hlo::RngBitGeneratorAttrs{hlo::RngAlgorithm::philox}, {state.type(), x.type()});
      const Value bits = b.binary(Opcode::xor_, x, rng->result(1));
      const Value sums = b.reduce(bits, Opcode::add, {0, 1});
      std::vector<Value> results = {bits, sums};
      if (words == 3) results.push_back(rng->result(0));  // it need not be wanted
      b.computation().set_results(results);
      RandomStream random(55);
      // The counter overflows on the way.
      const std::vector<uint64_t> start = {77, ~uint64_t{0} - 1000, 5};
      const std::vector<Tensor> arguments = {
          testing::random_tensor(random, {dtype, shape}, 0, 100),
          Tensor::of<uint64_t>({words}, std::span(start).first(static_cast<size_t>(words)))};
      EXPECT_EQ(testing::check(module, arguments), "") << testing::words(dtype, words);
    }
  }
}

// Where the greatest element is, of rows that are long enough to be taken in segments.
TEST(LargeArrays, ReducesByProgramsInOrder) {
  RandomStream random(56);
  for (const int64_t columns : {1024, 3001}) {
    hlo::Module module;
    hlo::Builder b(module.add_function("main"));
    const Shape shape{50, columns};
    const Value x = b.computation().add_parameter({DType::s32, shape});
    const Value i = b.iota({DType::s32, shape}, 1);
    hlo::Instruction* first_greatest = b.op_with_regions(
        Opcode::reduce, {x, i, b.scalar(DType::s32, -100), b.scalar(DType::s32, -1)},
        hlo::DimensionsAttrs{{1}}, [](hlo::Instruction& r) {
          hlo::Computation& region = r.add_region();
          std::vector<Value> p;
          for (int k = 0; k < 4; ++k) p.push_back(region.add_parameter({DType::s32, {}}));
          hlo::Builder inner(region);
          // Takes the left one of equals, which is the first only if the order is kept.
          const Value keep = inner.compare(p[0], p[2], hlo::ComparisonDirection::ge);
          region.set_results({inner.select(keep, p[0], p[2]), inner.select(keep, p[1], p[3])});
        });
    b.computation().set_results({first_greatest->result(0), first_greatest->result(1)});
    EXPECT_EQ(testing::check(
                  module, std::vector{testing::random_tensor(random, {DType::s32, shape}, -9, 9)}),
              "");
  }
}

// Results that few caches keep, of parts that end inside of cache lines where nothing else is said.
class Streamed : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 1303;
  static constexpr int64_t kColumns = 1001;
  Tensor matrix(DType dtype) {
    RandomStream random(53);
    return testing::random_tensor(random, {dtype, {kRows, kColumns}}, -8, 8);
  }
};

TEST_F(Streamed, SeveralResultsOfOneLoop) {
  hlo::Module module;
  hlo::Builder b(module.add_function("main"));
  const Shape shape{2 * kRows, kColumns};
  const Value x = b.computation().add_parameter({DType::f64, shape});
  const Value twice = b.add(x, x);
  const Value narrow = b.convert(b.multiply(twice, x), DType::f32);
  b.computation().set_results({twice, narrow, b.compare(x, twice, hlo::ComparisonDirection::lt)});
  RandomStream random(54);
  EXPECT_EQ(testing::check(module,
                           std::vector{testing::random_tensor(random, {DType::f64, shape}, -8, 8)}),
            "");
}

TEST_F(Streamed, Copies) {
  const Tensor x = matrix(DType::c128);
  EXPECT_EQ(
      testing::check(
          {.opcode = Opcode::concatenate, .operands = {x, x}, .attrs = hlo::ConcatenateAttrs{1}}),
      "");
  EXPECT_EQ(
      testing::check(
          {.opcode = Opcode::transpose, .operands = {x}, .attrs = hlo::TransposeAttrs{{1, 0}}}),
      "");
  EXPECT_EQ(testing::check({.opcode = Opcode::pad,
                            .operands = {x, Tensor::full(DType::c128, {}, 3)},
                            .attrs = hlo::PadAttrs{{3, 1}, {0, 2}, {0, 0}}}),
            "");
  EXPECT_EQ(
      testing::check(
          {.opcode = Opcode::reverse, .operands = {x}, .attrs = hlo::DimensionsAttrs{{0, 1}}}),
      "");
}

// Lines of the result that rows share, and whole ones.
TEST_F(Streamed, ShortRows) {
  RandomStream random(62);
  const auto numbers = [&](const Shape& shape) {
    return testing::random_tensor(random, {DType::f32, shape}, -8, 8);
  };
  for (const int64_t columns : {1, 3, 16}) {
    const Shape shape{6000000 / columns, columns};
    EXPECT_EQ(testing::check({.opcode = Opcode::concatenate,
                              .operands = {numbers(shape), numbers(shape)},
                              .attrs = hlo::ConcatenateAttrs{1}}),
              "")
        << columns;
    EXPECT_EQ(testing::check({.opcode = Opcode::pad,
                              .operands = {numbers(shape), Tensor::full(DType::f32, {}, 3)},
                              .attrs = hlo::PadAttrs{{1, 2}, {0, 1}, {0, 0}}}),
              "")
        << columns;
  }
}

// Whole lines of the result are written at a time.
TEST_F(Streamed, TransposesByLines) {
  RandomStream random(57);
  const std::pair<DType, Shape> cases[] = {
      {DType::bf16, {4160, 2503}}, {DType::f32, {32, 67, 2503}}, {DType::f64, {1056, 2503}}};
  for (const auto& [dtype, shape] : cases) {
    const Dims order = shape.rank() == 2 ? Dims{1, 0} : Dims{1, 2, 0};
    const OpUnderTest op{.opcode = Opcode::transpose,
                         .operands = {testing::random_tensor(random, {dtype, shape}, -8, 8)},
                         .attrs = hlo::TransposeAttrs{order}};
    EXPECT_EQ(testing::check(op), "") << testing::words(dtype, shape);
  }
}

// Rows of the result that share lines are written together.
TEST_F(Streamed, TransposesWhereRowsShareLines) {
  RandomStream random(59);
  const std::tuple<DType, Shape, Dims> cases[] = {{DType::f32, {1031, 5003}, {1, 0}},
                                                  {DType::bf16, {107, 2003, 49}, {0, 2, 1}},
                                                  {DType::f32, {3, 1700001}, {1, 0}},
                                                  {DType::f32, {1700001, 3}, {1, 0}},
                                                  {DType::f32, {11, 611, 7, 111}, {0, 2, 1, 3}},
                                                  {DType::f32, {11, 6101, 7, 12}, {2, 1, 0, 3}}};
  for (const auto& [dtype, shape, order] : cases) {
    const OpUnderTest op{.opcode = Opcode::transpose,
                         .operands = {testing::random_tensor(random, {dtype, shape}, -8, 8)},
                         .attrs = hlo::TransposeAttrs{order}};
    EXPECT_EQ(testing::check(op), "") << testing::words(dtype, shape);
  }
}

// Rows that fill lines are stored where they belong, others are copied there.
TEST_F(Streamed, RowsOfSeveralSteps) {
  for (const int64_t columns : {1024, 1001}) {
    RandomStream random(58);
    hlo::Module module;
    hlo::Builder b(module.add_function("main"));
    const Shape shape{5100, columns};
    const Value x = b.computation().add_parameter({DType::f32, shape});
    const Value y = b.computation().add_parameter({DType::f32, Shape{columns}});
    const Value shifted = b.add(x, b.broadcast_in_dim(y, shape, {1}));
    const Value sum = b.reduce(x, Opcode::add, {1});
    const Value mean = b.multiply(sum, b.splat_like(sum, 1.0 / 1024));
    const Value centered = b.subtract(shifted, b.broadcast_in_dim(mean, shape, {0}));
    b.computation().set_results({centered});
    const std::vector<Tensor> arguments = {
        testing::random_tensor(random, {DType::f32, shape}, -8, 8),
        testing::random_tensor(random, {DType::f32, {columns}}, -8, 8)};
    EXPECT_EQ(testing::check(module, arguments, {.of_largest = 1e-6}), "") << columns;
  }
}

}  // namespace
}  // namespace systole::cpu
