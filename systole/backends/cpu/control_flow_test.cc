#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

// while (state[0] < limit) state = body(state), where body leaves counting to us.
hlo::Instruction* times_loop(
    hlo::Builder& b, std::vector<Value> state, double limit,
    const std::function<std::vector<Value>(hlo::Builder&, std::span<const Value>)>& body) {
  std::vector<TensorType> types;
  for (const Value& v : state) types.push_back(v.type());
  const auto parameters = [&](hlo::Computation& region) {
    std::vector<Value> result;
    for (const TensorType& type : types) result.push_back(region.add_parameter(type));
    return result;
  };
  return b.op_with_regions(
      Opcode::while_, std::move(state), hlo::NoAttrs{}, [&](hlo::Instruction& x) {
        hlo::Computation& condition = x.add_region();
        const auto seen = parameters(condition);
        hlo::Builder c(condition);
        condition.set_results(
            {c.compare(seen[0], c.scalar(DType::s32, limit), hlo::ComparisonDirection::lt)});
        hlo::Computation& region = x.add_region();
        const auto now = parameters(region);
        hlo::Builder inner(region);
        std::vector<Value> next = body(inner, now);
        next.insert(next.begin(), inner.add(now[0], inner.scalar(DType::s32, 1)));
        region.set_results(std::move(next));
      });
}

struct LoopProgram {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  hlo::Builder b{main};
};

const TensorType kMatrix{DType::f32, {6, 33}};

std::vector<Tensor> matrices(int count) {
  RandomStream random(81);
  std::vector<Tensor> result;
  for (int i = 0; i < count; ++i) result.push_back(testing::random_tensor(random, kMatrix, -2, 2));
  return result;
}

TEST(ControlFlow, LoopsUpdateTheirState) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  const Value rate = p.main.add_parameter(kMatrix);
  auto* loop = times_loop(p.b, {p.b.scalar(DType::s32, 0), x}, 10, [&](hlo::Builder& b, auto v) {
    return std::vector{b.add(b.multiply(v[1], b.splat_like(rate, 0.5)), rate)};
  });
  p.main.set_results({loop->result(1), loop->result(0), x});
  EXPECT_EQ(testing::check(p.module, matrices(2), {.ulps = 2}), "");
}

TEST(ControlFlow, LoopsExchangeAndRepeatState) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  const Value y = p.main.add_parameter(kMatrix);
  auto* loop =
      times_loop(p.b, {p.b.scalar(DType::s32, 0), x, y, x}, 7, [](hlo::Builder& b, auto v) {
        return std::vector{v[2], b.add(v[1], v[3]), v[2]};
      });
  p.main.set_results({loop->result(1), loop->result(2), loop->result(3)});
  EXPECT_EQ(testing::check(p.module, matrices(2), {.ulps = 2}), "");
}

// A training loop's way to take batches: a slice of a stack by the counter, results written after
// each other.
TEST(ControlFlow, LoopsSliceAndUpdateStacks) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  const Value out = p.main.add_parameter(kMatrix);
  auto* loop = times_loop(p.b, {p.b.scalar(DType::s32, 0), out}, 6, [&](hlo::Builder& b, auto v) {
    const Value starts[] = {v[0], b.scalar(DType::s32, 0)};
    const Value slice = b.dynamic_slice(x, starts, {1, 33});
    return std::vector{b.dynamic_update_slice(v[1], b.multiply(slice, slice), starts)};
  });
  p.main.set_results({loop->result(1)});
  p.module.aliases = {{1, 0}};
  EXPECT_EQ(testing::check(p.module, matrices(2)), "");
}

TEST(ControlFlow, LoopsNest) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  auto* loop = times_loop(p.b, {p.b.scalar(DType::s32, 0), x}, 3, [](hlo::Builder& b, auto v) {
    auto* inner = times_loop(b, {b.scalar(DType::s32, 0), v[1]}, 4, [&](hlo::Builder& c, auto w) {
      return std::vector{c.add(w[1], c.multiply(v[1], c.splat_like(v[1], 0.25)))};
    });
    return std::vector{inner->result(1)};
  });
  p.main.set_results({loop->result(1)});
  EXPECT_EQ(testing::check(p.module, matrices(1), {.ulps = 8}), "");
}

// What an update in place must not do: change a value that is read after it.
TEST(ControlFlow, LoopsReadWhatTheyUpdateInPlace) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  auto* loop = times_loop(p.b, {p.b.scalar(DType::s32, 0), x, x}, 5, [&](hlo::Builder& b, auto v) {
    const Value zero = b.scalar(DType::s32, 0);
    const Value here[] = {v[0], zero};
    const Value below[] = {b.add(v[0], b.scalar(DType::s32, 1)), zero};
    // A row moves down in a stack that is read before and after the move.
    const Value row = b.dynamic_slice(v[1], here, {1, 33});
    const Value moved = b.dynamic_update_slice(v[1], row, below);
    return std::vector{moved, b.add(b.multiply(v[2], b.splat_like(x, 0.5)), v[1])};
  });
  p.main.set_results({loop->result(1), loop->result(2), p.b.add(x, loop->result(1))});
  EXPECT_EQ(testing::check(p.module, matrices(1), {.ulps = 2}), "");
}

TEST(ControlFlow, LoopsCarryWhatIsUsedAround) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  const Value zeros = p.b.splat(kMatrix, 0);
  const Value y = p.b.negate(x);
  auto* first = times_loop(p.b, {p.b.scalar(DType::s32, 0), y, zeros}, 3, [&](auto& b, auto v) {
    return std::vector{b.add(v[1], y), b.subtract(v[2], v[1])};
  });
  // The same start again, and the result of the first.
  auto* second = times_loop(p.b, {p.b.scalar(DType::s32, 0), y, first->result(1), zeros}, 2,
                            [&](auto& b, auto v) {
                              return std::vector{b.multiply(v[1], v[1]), v[3], b.add(v[2], y)};
                            });
  p.main.set_results({second->result(1), second->result(2), second->result(3), first->result(1),
                      first->result(2), y});
  p.module.aliases = {{0, 0}};
  EXPECT_EQ(testing::check(p.module, matrices(1), {.ulps = 4}), "");
}

TEST(ControlFlow, LoopsBranch) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  auto* loop = times_loop(p.b, {p.b.scalar(DType::s32, 0), x, x}, 6, [&](hlo::Builder& b, auto v) {
    const Value odd = b.compare(b.binary(Opcode::and_, v[0], b.scalar(DType::s32, 1)),
                                b.scalar(DType::s32, 0), hlo::ComparisonDirection::ne);
    auto* branch = b.op_with_regions(Opcode::if_, {odd}, hlo::NoAttrs{}, [&](hlo::Instruction& i) {
      hlo::Computation& yes = i.add_region();
      yes.set_results({hlo::Builder(yes).add(v[1], v[2]), v[1]});
      hlo::Computation& no = i.add_region();
      no.set_results({v[2], hlo::Builder(no).subtract(v[2], v[1])});
    });
    return std::vector{branch->result(0), branch->result(1)};
  });
  p.main.set_results({loop->result(1), loop->result(2)});
  EXPECT_EQ(testing::check(p.module, matrices(1), {.ulps = 8}), "");
}

TEST(ControlFlow, LoopsMayNotRun) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  auto* loop = times_loop(p.b, {p.b.scalar(DType::s32, 0), x}, 0,
                          [](hlo::Builder& b, auto v) { return std::vector{b.negate(v[1])}; });
  p.main.set_results({loop->result(1)});
  EXPECT_EQ(testing::check(p.module, matrices(1)), "");
}

TEST(ControlFlow, TakesBranches) {
  for (const bool pred : {false, true}) {
    LoopProgram p;
    const Value condition = p.main.add_parameter({DType::pred, {}});
    const Value x = p.main.add_parameter(kMatrix);
    auto* branch =
        p.b.op_with_regions(Opcode::if_, {condition}, hlo::NoAttrs{}, [&](hlo::Instruction& i) {
          hlo::Computation& yes = i.add_region();
          yes.set_results({hlo::Builder(yes).negate(x), x});
          hlo::Computation& no = i.add_region();
          no.set_results({x, hlo::Builder(no).multiply(x, x)});
        });
    p.main.set_results({branch->result(0), branch->result(1), x});
    EXPECT_EQ(testing::check(p.module, std::vector{Tensor(pred), matrices(1)[0]}), "");
  }
}

TEST(ControlFlow, TakesTheLastBranchForANumberBeyond) {
  for (const int32_t number : {-1, 0, 1, 2, 3}) {
    LoopProgram p;
    const Value index = p.main.add_parameter({DType::s32, {}});
    const Value x = p.main.add_parameter(kMatrix);
    auto* branch =
        p.b.op_with_regions(Opcode::case_, {index}, hlo::NoAttrs{}, [&](hlo::Instruction& i) {
          for (int k = 0; k < 3; ++k) {
            hlo::Computation& region = i.add_region();
            hlo::Builder b(region);
            region.set_results({b.add(x, b.splat_like(x, k))});
          }
        });
    p.main.set_results({branch->result()});
    EXPECT_EQ(testing::check(p.module, std::vector{Tensor(number), matrices(1)[0]}), "");
  }
}

TEST(ControlFlow, PassesBarriersAndCalls) {
  LoopProgram p;
  const Value x = p.main.add_parameter(kMatrix);
  hlo::Computation& twice = p.module.add_function("twice");
  const Value y = twice.add_parameter(kMatrix);
  twice.set_results({hlo::Builder(twice).add(y, y)});
  auto* call = p.b.op(Opcode::call, {x}, hlo::CallAttrs{"twice"});
  auto* barrier = p.b.op(Opcode::optimization_barrier, {call->result(), x});
  p.main.set_results({p.b.subtract(barrier->result(0), barrier->result(1)), barrier->result(1)});
  EXPECT_EQ(testing::check(p.module, matrices(1)), "");
}

// Rows of stacks that are computed in place: of some arrays, joined ones, ones that the next step
// reads too, and at places that are moved into the stack.
TEST(ControlFlow, LoopsWriteRowsWhereTheyBelong) {
  for (const DType dtype : {DType::bf16, DType::f32, DType::s32}) {
    for (const int64_t columns : {33, 4096}) {
      LoopProgram p;
      const Shape row{4, columns};
      const TensorType stack{dtype, {5, 4, columns}};
      const TensorType joined{dtype, {5, 4, 2 * columns}};
      const Value x = p.main.add_parameter({dtype, row});
      const Value y = p.main.add_parameter({dtype, row});
      const std::vector<Value> state = {p.b.scalar(DType::s32, 0), x, p.b.splat(stack, 3),
                                        p.b.splat(stack, 4), p.b.splat(joined, 5)};
      auto* loop = times_loop(p.b, state, 8, [&](hlo::Builder& b, auto v) {
        const Value zero = b.scalar(DType::s32, 0);
        const Value back = b.subtract(b.scalar(DType::s32, 6), v[0]);
        const auto put = [&](const Value& into, const Value& part, const Value& at) {
          Dims dims(part.shape().begin(), part.shape().end());
          dims.insert(dims.begin(), 1);
          return b.dynamic_update_slice(into, b.reshape(part, Shape(dims)),
                                        std::vector{at, zero, zero});
        };
        const Value next = b.subtract(y, b.multiply(v[1], b.splat_like(v[1], 0.5)));
        const Value product = b.multiply(next, y);
        return std::vector{next, put(v[2], product, v[0]), put(v[3], next, back),
                           put(v[4], b.concatenate(std::vector{product, b.negate(next)}, 1), back)};
      });
      std::vector<Value> results;
      for (int i = 1; i < 5; ++i) results.push_back(loop->result(i));
      p.main.set_results(results);
      RandomStream random(82);
      const std::vector<Tensor> arguments = {testing::random_tensor(random, {dtype, row}, -2, 2),
                                             testing::random_tensor(random, {dtype, row}, -2, 2)};
      EXPECT_EQ(testing::check(p.module, arguments, {.ulps = 8}), "")
          << testing::words(dtype, columns);
    }
  }
}

}  // namespace
}  // namespace systole::cpu
