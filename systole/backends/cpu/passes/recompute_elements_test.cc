#include "systole/backends/cpu/passes/recompute_elements.h"

#include <gtest/gtest.h>

#include <functional>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::ComparisonDirection;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kDepth = 4;

// What a step of the forward part and of the gradient may use: x is a product and g a later one.
struct Parts {
  Builder& b;
  Value x, g;
  Value thin;  // of kDepth columns
  TensorType type;

  Value row(Value x_of_rows) const { return b.broadcast_in_dim(x_of_rows, type.shape, {1}); }
  Value zero() const { return b.splat(type, 0); }
  Value product(Value y, Value z) const {
    return b.dot_general(y, z,
                         {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}});
  }
};
// Makes an array after the first product, and the results after the second one.
using Early = std::function<Value(const Parts&)>;
using Late = std::function<std::vector<Value>(const Parts&, Value early)>;

std::unique_ptr<hlo::Module> two_products(int64_t side, const Early& early, const Late& late) {
  auto module = std::make_unique<hlo::Module>();
  Builder b(module->add_function("main"));
  const Value left = b.computation().add_parameter({DType::f32, {side, kDepth}});
  const Value first = b.computation().add_parameter({DType::f32, {kDepth, side}});
  const Value second = b.computation().add_parameter({DType::f32, {kDepth, side}});
  Parts parts{b, {}, {}, left, {DType::f32, {side, side}}};
  parts.x = parts.product(left, first);
  const Value y = early(parts);
  const Value sum = b.reduce(y, Opcode::add, {0, 1});
  parts.g = parts.product(left, second);
  std::vector<Value> results = late(parts, y);
  results.push_back(sum);
  b.computation().set_results(std::move(results));
  return module;
}

constexpr int64_t kLongSide = 600;
constexpr int64_t kShortSide = 8;

int count(const hlo::Module& module, Opcode opcode) {
  int found = 0;
  for (const hlo::Instruction* x : module.entry().instructions()) found += x->is(opcode) ? 1 : 0;
  return found;
}

// Runs the pass, and expects the same bits of the program. Returns whether it changed.
bool recomputes(hlo::Module& module) {
  RandomStream random(11);
  std::vector<Tensor> arguments;
  for (int i = 0; i < module.entry().num_parameters(); ++i) {
    arguments.push_back(testing::random_tensor(random, module.entry().parameter(i).type(), -2, 2));
  }
  const auto before = module.clone();
  const bool changed = RecomputeElements().run(module);
  hlo::DeadCodeElimination().run(module);
  hlo::verify(module);
  const auto want = hlo::Evaluator().run(before->entry(), arguments);
  const auto got = hlo::Evaluator().run(module.entry(), arguments);
  for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(got[k].identical(want[k])) << k;
  EXPECT_FALSE(RecomputeElements().run(module)) << hlo::print(module);
  return changed;
}

TEST(RecomputeElements, OfANormalisationWhoseInputStays) {
  Value difference;
  const auto module = two_products(
      kLongSide,
      [&](const Parts& p) {
        difference = p.b.subtract(p.x, p.row(p.b.reduce(p.x, Opcode::add, {0})));
        return p.b.unary(Opcode::tanh, difference);
      },
      [&](const Parts& p, Value) {
        return std::vector{p.b.reduce(p.b.multiply(p.g, difference), Opcode::add, {0}),
                           p.b.multiply(p.g, p.x)};
      });
  EXPECT_TRUE(recomputes(*module));
  EXPECT_EQ(count(*module, Opcode::subtract), 2);
  EXPECT_EQ(count(*module, Opcode::reduce), 3) << "the means are small";
}

TEST(RecomputeElements, SharesACopyUpToTheNextProduct) {
  Value difference;
  const auto module = two_products(
      kLongSide,
      [&](const Parts& p) {
        difference = p.b.negate(p.x);
        return p.b.unary(Opcode::tanh, difference);
      },
      [&](const Parts& p, Value) {
        const Value first = p.b.multiply(p.g, difference);
        const Value second = p.b.add(p.g, difference);
        const Value third = p.product(p.product(first, p.thin), p.b.transpose(p.thin, {1, 0}));
        return std::vector{second, p.b.add(third, difference), p.b.multiply(third, p.x)};
      });
  EXPECT_TRUE(recomputes(*module));
  EXPECT_EQ(count(*module, Opcode::negate), 3);
}

// The gradient of a ReLU asks for the sign of what the ReLU took.
TEST(RecomputeElements, TakesTheReluForWhatItTook) {
  Value sum;
  Value positive;
  const auto module = two_products(
      kLongSide,
      [&](const Parts& p) {
        sum = p.b.add(p.x, p.row(p.b.reduce(p.x, Opcode::maximum, {0})));
        const Value zero = p.zero();
        positive = p.b.compare(sum, zero, ComparisonDirection::gt);
        return p.b.maximum(sum, zero);
      },
      [&](const Parts& p, Value relu) {
        const Value gradient = p.b.select(positive, p.g, p.zero());
        return std::vector{gradient, p.product(relu, p.thin)};
      });
  EXPECT_TRUE(recomputes(*module));
  ASSERT_EQ(count(*module, Opcode::compare), 1);
  for (const hlo::Instruction* x : module->entry().instructions()) {
    if (!x->is(Opcode::compare)) continue;
    EXPECT_TRUE(x->operand(0).def->is(Opcode::maximum));
  }
}

TEST(RecomputeElements, OfHalfAsManyBytes) {
  Value widened;
  const Early early = [&](const Parts& p) {
    const Value narrow = p.product(p.b.convert(p.thin, DType::bf16),
                                   p.b.transpose(p.b.convert(p.thin, DType::bf16), {1, 0}));
    widened = p.b.convert(narrow, DType::f32);
    return p.b.unary(Opcode::tanh, widened);
  };
  const auto module = two_products(kLongSide, early, [&](const Parts& p, Value) {
    return std::vector{p.b.multiply(p.g, widened)};
  });
  EXPECT_TRUE(recomputes(*module));
  EXPECT_EQ(count(*module, Opcode::convert), 4);
}

TEST(RecomputeElements, NotWhatWouldKeepAnotherArray) {
  Value negated;
  const Early early = [&](const Parts& p) {
    negated = p.b.negate(p.x);
    return p.b.unary(Opcode::tanh, negated);
  };
  const auto module = two_products(kLongSide, early, [&](const Parts& p, Value) {
    return std::vector{p.b.multiply(p.g, negated)};
  });
  EXPECT_FALSE(recomputes(*module));
}

TEST(RecomputeElements, NotWhatIsDearOrSmallOrStays) {
  Value made;
  const Late reads_both = [&](const Parts& p, Value) {
    return std::vector{p.b.multiply(p.g, made), p.b.multiply(p.g, p.x)};
  };
  const Early exponential = [&](const Parts& p) {
    return made = p.b.unary(Opcode::exponential, p.x);
  };
  EXPECT_FALSE(recomputes(*two_products(kLongSide, exponential, reads_both)));
  const Early negation = [&](const Parts& p) {
    made = p.b.negate(p.x);
    return p.b.unary(Opcode::tanh, made);
  };
  EXPECT_FALSE(recomputes(*two_products(kShortSide, negation, reads_both)));
  EXPECT_TRUE(recomputes(*two_products(kLongSide, negation, reads_both)));
  EXPECT_FALSE(recomputes(*two_products(kLongSide, negation, [&](const Parts& p, Value) {
    return std::vector{p.b.multiply(p.g, made), p.b.multiply(p.g, p.x), p.product(made, p.thin)};
  })));
}

// A copy that read two arrays where one was read could take longer.
TEST(RecomputeElements, NotWhatReadsTwoLargeArrays) {
  Value made;
  const Early early = [&](const Parts& p) {
    const Value other = p.b.unary(Opcode::tanh, p.x);
    made = p.b.add(p.x, other);
    return p.b.multiply(other, made);
  };
  EXPECT_FALSE(recomputes(*two_products(kLongSide, early, [&](const Parts& p, Value) {
    const Value other = made.def->operand(1);
    return std::vector{p.b.multiply(p.g, made), p.b.multiply(p.g, p.x), p.b.multiply(p.g, other)};
  })));
}

}  // namespace
}  // namespace systole::cpu
