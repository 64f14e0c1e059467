#include "systole/backends/cpu/analysis/buffer_assignment.h"

#include <gtest/gtest.h>

#include "systole/backends/cpu/analysis/element_access.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

const TensorType kLongRow{DType::f32, {100}};
constexpr int64_t kRowBytes = 448;  // with alignment

struct Program {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  hlo::Builder b{main};

  BufferAssignment assign(bool reuse = true) {
    return BufferAssignment(module, {.reuse = reuse,
                                     .in_place = can_update_in_place,
                                     .scratch_bytes = [](const auto&) { return int64_t{0}; }});
  }
};

TEST(BufferAssignment, ComputesAChainInTheResult) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  const Value y = p.b.negate(x);
  const Value z = p.b.unary(Opcode::tanh, y);
  p.main.set_results({z});
  const BufferAssignment buffers = p.assign();
  EXPECT_EQ(buffers.slice(z).memory, Memory::result);
  EXPECT_EQ(buffers.slice(y), buffers.slice(z));
  EXPECT_EQ(buffers.slice(x).memory, Memory::argument);
  EXPECT_EQ(buffers.temp_bytes(), 0);
  EXPECT_TRUE(buffers.final_moves().empty());
}

TEST(BufferAssignment, GivesEachItsOwnMemoryWithoutReuse) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  const Value y = p.b.negate(x);
  const Value z = p.b.unary(Opcode::tanh, y);
  p.main.set_results({z});
  const BufferAssignment buffers = p.assign(false);
  EXPECT_FALSE(buffers.slice(y).overlaps(buffers.slice(z)));
  EXPECT_EQ(buffers.temp_bytes(), 2 * kRowBytes);
  EXPECT_EQ(buffers.final_moves().size(), 1);
}

TEST(BufferAssignment, ReusesMemoryOfTheDead) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  Value y = x;
  // No step of these can write over its operand.
  for (int i = 0; i < 6; ++i) y = p.b.reverse(y, {0});
  p.main.set_results({y});
  EXPECT_LE(p.assign().temp_bytes(), 2 * kRowBytes);
}

TEST(BufferAssignment, SharesBytesBetweenReshapes) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  const Value y = p.b.reshape(x, {10, 10});
  const Value z = p.b.negate(y);
  p.main.set_results({z, x});
  const BufferAssignment buffers = p.assign();
  EXPECT_EQ(buffers.slice(y), buffers.slice(x));
  ASSERT_EQ(buffers.final_moves().size(), 1);
  EXPECT_EQ(buffers.final_moves()[0].to.index, 1);
}

TEST(BufferAssignment, UpdatesAnAliasedArgumentInPlace) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  const Value y = p.b.multiply(x, p.b.splat_like(x, 0.5));
  const Value z = p.b.add(y, x);
  p.main.set_results({z});
  p.module.aliases = {{0, 0}};
  const BufferAssignment buffers = p.assign();
  EXPECT_EQ(buffers.slice(z), buffers.slice(x));
  EXPECT_FALSE(buffers.slice(y).overlaps(buffers.slice(x)));
  EXPECT_TRUE(buffers.final_moves().empty());
}

TEST(BufferAssignment, CopiesWhereAnAliasIsReadLater) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  const Value z = p.b.reverse(x, {0});
  p.main.set_results({z});
  p.module.aliases = {{0, 0}};
  const BufferAssignment buffers = p.assign();
  EXPECT_EQ(buffers.slice(z).memory, Memory::temp);
  ASSERT_EQ(buffers.final_moves().size(), 1);
  EXPECT_EQ(buffers.final_moves()[0].to.memory, Memory::argument);
}

// while (state[0] < 9) state = body(state), where body leaves counting to us.
hlo::Instruction* counted_loop(
    hlo::Builder& b, std::vector<Value> state,
    const std::function<std::vector<Value>(hlo::Builder&, const std::vector<Value>&)>& body) {
  return b.op_with_regions(Opcode::while_, state, hlo::NoAttrs{}, [&](hlo::Instruction& x) {
    for (int r = 0; r < 2; ++r) {
      hlo::Computation& region = x.add_region();
      std::vector<Value> now;
      for (const Value& v : state) now.push_back(region.add_parameter(v.type()));
      hlo::Builder inner(region);
      if (r == 0) {
        region.set_results(
            {inner.compare(now[0], inner.scalar(DType::s32, 9), hlo::ComparisonDirection::lt)});
        continue;
      }
      std::vector<Value> next = body(inner, now);
      next.insert(next.begin(), inner.add(now[0], inner.scalar(DType::s32, 1)));
      region.set_results(std::move(next));
    }
  });
}

TEST(BufferAssignment, LoopsCopyNothingThatTheyUpdateInPlace) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  const Value row = p.main.add_parameter({DType::f32, {1}});
  hlo::Instruction* inner = nullptr;
  auto* outer = counted_loop(
      p.b, {p.b.scalar(DType::s32, 0), p.b.negate(x), p.b.unary(Opcode::tanh, x)},
      [&](hlo::Builder& b, const auto& v) {
        const Value starts[] = {v[0]};
        const Value stack = b.dynamic_update_slice(v[2], row, starts);
        inner = counted_loop(b, {b.scalar(DType::s32, 0), v[1]}, [](auto& c, const auto& w) {
          return std::vector{c.multiply(w[1], w[1])};
        });
        return std::vector{inner->result(1), stack};
      });
  p.main.set_results({outer->result(1), outer->result(2)});
  const BufferAssignment buffers = p.assign();
  const auto rows = [](const std::vector<Move>& moves) {
    return std::ranges::count_if(moves, [](const Move& m) { return m.from.bytes == 400; });
  };
  EXPECT_EQ(rows(buffers.moves_before(*outer)), 0);
  EXPECT_EQ(rows(buffers.moves_after(outer->region(1))), 0);
  EXPECT_EQ(rows(buffers.moves_before(*inner)), 0);
  EXPECT_EQ(rows(buffers.moves_after(inner->region(1))), 0);
  EXPECT_TRUE(buffers.final_moves().empty());
}

TEST(BufferAssignment, LoopsCopyAnArgumentOnce) {
  Program p;
  const Value x = p.main.add_parameter(kLongRow);
  auto* loop = counted_loop(p.b, {p.b.scalar(DType::s32, 0), x},
                            [](auto& b, const auto& v) { return std::vector{b.negate(v[1])}; });
  p.main.set_results({loop->result(1)});
  const BufferAssignment buffers = p.assign();
  EXPECT_EQ(buffers.moves_before(*loop).size(), 2) << "the counter's start and the argument";
  EXPECT_TRUE(buffers.moves_after(loop->region(1)).empty());
  EXPECT_TRUE(buffers.final_moves().empty());
}

TEST(OrderMoves, BreaksCycles) {
  const Slice a{Memory::argument, 0, 0, 8};
  const Slice b{Memory::argument, 1, 0, 8};
  const Slice aside{Memory::temp, 0, 0, 8};
  const auto moves = order_moves({{a, b}, {b, a}}, [&](int64_t) { return aside; });
  ASSERT_EQ(moves.size(), 3);
  EXPECT_EQ(moves[0].from, a);
  EXPECT_EQ(moves[0].to, aside);
  EXPECT_EQ(moves[1].from, b);
  EXPECT_EQ(moves[1].to, a);
  EXPECT_EQ(moves[2].from, aside);
  EXPECT_EQ(moves[2].to, b);
}

TEST(OrderMoves, ReadsBeforeItWrites) {
  const Slice a{Memory::argument, 0, 0, 8};
  const Slice b{Memory::argument, 1, 0, 8};
  const Slice c{Memory::result, 0, 0, 8};
  const auto moves = order_moves({{a, b}, {b, c}, {c, c}}, [&](int64_t) { return Slice{}; });
  ASSERT_EQ(moves.size(), 2);
  EXPECT_EQ(moves[0].to, c);
}

}  // namespace
}  // namespace systole::cpu
