// softmax(q . k) . v and its gradient, whose products run row by row with the softmax, against the
// reference semantics.
#include <gtest/gtest.h>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/passes/pipeline.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

enum class Mask { none, causal, given };

struct Attention {
  int64_t batch = 2, heads = 4, queries = 128, keys = 136, size = 32;
  Mask mask = Mask::none;
  DType dtype = DType::f32;
  bool trains = false;

  Shape query_shape() const { return {batch, queries, heads, size}; }
  Shape key_shape() const { return {batch, keys, heads, size}; }
  Shape score_shape() const { return {batch, heads, queries, keys}; }
};

Value masked(Builder& b, const Attention& a, Value scores) {
  if (a.mask == Mask::none) return scores;
  Value allowed;
  if (a.mask == Mask::causal) {
    const TensorType type{DType::s32, {a.queries, a.keys}};
    const Value below = b.compare(b.iota(type, 0), b.iota(type, 1), hlo::ComparisonDirection::ge);
    allowed = b.broadcast_in_dim(below, a.score_shape(), {2, 3});
  } else {
    const Value mask = b.computation().add_parameter({DType::pred, {a.batch, a.keys}});
    allowed = b.broadcast_in_dim(mask, a.score_shape(), {0, 3});
  }
  return b.select(allowed, scores, b.splat_like(scores, -std::numeric_limits<double>::infinity()));
}

Value weights_of(Builder& b, Value scores) {
  const Dims kept = {0, 1, 2};
  const Value greatest = b.reduce(scores, Opcode::maximum, {3});
  const Value e = b.unary(Opcode::exponential,
                          b.subtract(scores, b.broadcast_in_dim(greatest, scores.shape(), kept)));
  return b.divide(e, b.broadcast_in_dim(b.reduce(e, Opcode::add, {3}), scores.shape(), kept));
}

// The gradients of q, k and v, as JAX writes them.
std::vector<Value> gradients(Builder& b, const std::vector<Value>& qkv, Value weights,
                             Value of_result) {
  const Value by_weight = b.dot_general(b.transpose(of_result, {0, 2, 3, 1}), qkv[2],
                                        {.lhs_batching_dimensions = {0, 1},
                                         .rhs_batching_dimensions = {0, 2},
                                         .lhs_contracting_dimensions = {2},
                                         .rhs_contracting_dimensions = {3}});
  const Value product = b.multiply(weights, by_weight);
  const Value sums =
      b.broadcast_in_dim(b.reduce(product, Opcode::add, {3}), product.shape(), {0, 1, 2});
  const Value by_score = b.multiply(weights, b.subtract(by_weight, sums));
  const auto over = [&](Value x, int64_t axis, Value y) {
    return b.transpose(b.dot_general(x, y,
                                     {.lhs_batching_dimensions = {0, 1},
                                      .rhs_batching_dimensions = {0, 2},
                                      .lhs_contracting_dimensions = {axis},
                                      .rhs_contracting_dimensions = {1}}),
                       {0, 2, 1, 3});
  };
  return {over(by_score, 3, qkv[1]), over(by_score, 2, qkv[0]), over(weights, 2, of_result)};
}

// main(q, k, v, the result's gradient if it trains, the mask if it is given)
std::unique_ptr<hlo::Module> attention(const Attention& a) {
  auto module = std::make_unique<hlo::Module>();
  Builder b(module->add_function("main"));
  std::vector<Value> qkv;
  for (const Shape& shape : {a.query_shape(), a.key_shape(), a.key_shape()})
    qkv.push_back(b.computation().add_parameter({a.dtype, shape}));
  Value of_result;
  if (a.trains) of_result = b.computation().add_parameter({a.dtype, a.query_shape()});
  const Value product = b.dot_general(qkv[0], qkv[1],
                                      {.lhs_batching_dimensions = {0, 2},
                                       .rhs_batching_dimensions = {0, 2},
                                       .lhs_contracting_dimensions = {3},
                                       .rhs_contracting_dimensions = {3}},
                                      DType::f32);
  const Value scaled = b.multiply(product, b.splat_like(product, 0.25));
  const Value weights = b.convert(weights_of(b, masked(b, a, scaled)), a.dtype);
  const Value mixed = b.dot_general(qkv[2], weights,
                                    {.lhs_batching_dimensions = {0, 2},
                                     .rhs_batching_dimensions = {0, 1},
                                     .lhs_contracting_dimensions = {1},
                                     .rhs_contracting_dimensions = {3}});
  std::vector<Value> results = {b.transpose(mixed, {0, 3, 1, 2})};
  if (a.trains) {
    for (const Value& gradient : gradients(b, qkv, weights, of_result)) results.push_back(gradient);
  }
  b.computation().set_results(results);
  return module;
}

std::vector<Tensor> attention_arguments(const hlo::Module& module) {
  RandomStream random(71);
  std::vector<Tensor> arguments;
  for (int i = 0; i < module.entry().num_parameters(); ++i) {
    const TensorType type = module.entry().parameter(i).type();
    const double low = type.dtype == DType::pred ? 0 : -2;
    arguments.push_back(testing::random_tensor(random, type, low, 2));
  }
  return arguments;
}

std::string check(const Attention& a) {
  const auto module = attention(a);
  const double of_largest = a.dtype == DType::f32 ? 1e-5 : 0.02;
  return testing::check(*module, attention_arguments(*module),
                        {.ulps = 2, .of_largest = of_largest});
}

// How many products are steps of their own after all passes, and how many parts of others.
struct Products {
  int alone = 0, inside = 0;
  friend bool operator==(const Products&, const Products&) = default;
};
Products products_of(const Attention& a) {
  const auto module = attention(a);
  run_passes(*module, {}, has_native_code);
  hlo::verify(*module);
  Products count;
  for (const hlo::Instruction* x : module->entry().instructions()) {
    count.alone += x->is(Opcode::dot_general);
    if (!is_row_fusion(*x)) continue;
    for (const hlo::Instruction* y : x->region().instructions())
      count.inside += y->is(Opcode::dot_general);
  }
  return count;
}

TEST(Attention, IsOneStep) {
  EXPECT_EQ(products_of({}), (Products{.alone = 0, .inside = 2}));
  EXPECT_EQ(check({}), "");
}

TEST(Attention, WithMasks) {
  for (const Mask mask : {Mask::causal, Mask::given}) {
    const Attention a{.mask = mask};
    EXPECT_EQ(products_of(a), (Products{.alone = 0, .inside = 2}));
    EXPECT_EQ(check(a), "");
  }
}

TEST(Attention, OfRowsWithoutAnyKey) {
  const auto module = attention({.mask = Mask::given});
  std::vector<Tensor> arguments = attention_arguments(*module);
  arguments.back() = Tensor::full(DType::pred, arguments.back().shape(), 0);
  EXPECT_EQ(testing::check(*module, arguments), "");
}

TEST(Attention, OfAnySize) {
  for (const Attention& a :
       {Attention{.batch = 1, .heads = 3, .queries = 201, .keys = 333, .size = 33},
        Attention{.queries = 1, .keys = 3000}, Attention{.queries = 300, .keys = 1},
        Attention{.batch = 3, .queries = 131, .keys = 131, .size = 7}, Attention{.batch = 0},
        Attention{.batch = 1, .heads = 1, .queries = 512}})
    EXPECT_EQ(check(a), "") << a.queries << " " << a.keys << " " << a.size;
}

// Without its batch axis, the transpose of the result is one of a reshape.
TEST(Attention, OfOneExample) {
  const Attention a{.batch = 1, .queries = 200, .keys = 200};
  EXPECT_EQ(products_of(a), (Products{.alone = 0, .inside = 2}));
  EXPECT_EQ(check(a), "");
}

TEST(Attention, OfBf16) {
  const Attention a{.mask = Mask::causal, .dtype = DType::bf16};
  EXPECT_EQ(products_of(a), (Products{.alone = 0, .inside = 2}));
  EXPECT_EQ(check(a), "");
}

// The gradients of k and v add rows up: their products stay apart.
TEST(Attention, WithItsGradient) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Attention a{.mask = Mask::causal, .dtype = dtype, .trains = true};
    EXPECT_EQ(products_of(a), (Products{.alone = 2, .inside = 4}));
    EXPECT_EQ(check(a), "");
  }
}

}  // namespace
}  // namespace systole::cpu
