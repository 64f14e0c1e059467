// softmax(q . k) . v and its gradient, which are one kernel each or run row by row, against the
// reference semantics.
#include <gtest/gtest.h>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/passes/pipeline.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/backends/cpu/testing/programs.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

// A mask hides keys, or pairs of a query and a key: `given` ones are parameters.
enum class Mask { none, causal, given_keys, given_pairs };

// How the gradient of a softmax is written: of its weights, or as JAX writes it, of the
// exponentials and their sums.
enum class Spelling { weights, exponentials };

struct Attention {
  int64_t batch = 2, heads = 4, queries = 128, keys = 136, size = 32;
  Mask mask = Mask::none;
  double masked_score = -std::numeric_limits<double>::infinity();
  bool bias = false;
  DType dtype = DType::f32;
  bool trains = false;
  bool returns_weights = false;
  Spelling spelling = Spelling::weights;

  Shape query_shape() const { return {batch, queries, heads, size}; }
  Shape key_shape() const { return {batch, keys, heads, size}; }
  Shape score_shape() const { return {batch, heads, queries, keys}; }
};

Value mask_of(Builder& b, const Attention& a) {
  if (a.mask == Mask::causal) {
    const TensorType type{DType::s32, {a.queries, a.keys}};
    const Value below = b.compare(b.iota(type, 0), b.iota(type, 1), hlo::ComparisonDirection::ge);
    return b.broadcast_in_dim(below, a.score_shape(), {2, 3});
  }
  const bool pairs = a.mask == Mask::given_pairs;
  const Shape shape = pairs ? Shape{a.queries, a.keys} : Shape{a.batch, a.keys};
  const Value mask = b.computation().add_parameter({DType::pred, shape});
  return b.broadcast_in_dim(mask, a.score_shape(), pairs ? Dims{2, 3} : Dims{0, 3});
}

struct Forward {
  std::vector<Value> qkv;
  Value mask;  // there is one
  Value exponentials, sums, weights;
};

Value along_rows(Builder& b, Value rows, Value like) {
  return b.broadcast_in_dim(rows, like.shape(), {0, 1, 2});
}

Value masked(Builder& b, const Attention& a, Value scores, Forward& f) {
  if (a.bias) {
    const Value bias = b.computation().add_parameter({DType::f32, {a.heads, a.queries, a.keys}});
    scores = b.add(scores, b.broadcast_in_dim(bias, a.score_shape(), {1, 2, 3}));
  }
  if (a.mask == Mask::none) return scores;
  f.mask = mask_of(b, a);
  return b.select(f.mask, scores, b.splat_like(scores, a.masked_score));
}

void add_weights(Builder& b, const Attention& a, Value scores, Forward& f) {
  const Value greatest = b.reduce(scores, Opcode::maximum, {3});
  f.exponentials =
      b.unary(Opcode::exponential, b.subtract(scores, along_rows(b, greatest, scores)));
  f.sums = b.reduce(f.exponentials, Opcode::add, {3});
  f.weights = b.convert(b.divide(f.exponentials, along_rows(b, f.sums, scores)), a.dtype);
}

Value softmax_gradient(Builder& b, const Forward& f, Value by_weight, Spelling spelling) {
  if (spelling == Spelling::weights) {
    const Value product = b.multiply(f.weights, by_weight);
    const Value sums = along_rows(b, b.reduce(product, Opcode::add, {3}), product);
    return b.multiply(f.weights, b.subtract(by_weight, sums));
  }
  const Value inverse = b.divide(b.splat_like(f.sums, 1), b.multiply(f.sums, f.sums));
  const Value product =
      b.multiply(b.multiply(by_weight, along_rows(b, inverse, by_weight)), f.exponentials);
  const Value of_sums = b.unary(Opcode::negate, b.reduce(product, Opcode::add, {3}));
  const Value quotient = b.divide(by_weight, along_rows(b, f.sums, by_weight));
  return b.multiply(b.add(quotient, along_rows(b, of_sums, by_weight)), f.exponentials);
}

// The gradients of q, k and v.
std::vector<Value> gradients(Builder& b, const Attention& a, const Forward& f, Value of_result) {
  const Value by_weight = b.dot_general(b.transpose(of_result, {0, 2, 3, 1}), f.qkv[2],
                                        {.lhs_batching_dimensions = {0, 1},
                                         .rhs_batching_dimensions = {0, 2},
                                         .lhs_contracting_dimensions = {2},
                                         .rhs_contracting_dimensions = {3}});
  Value by_score = softmax_gradient(b, f, by_weight, a.spelling);
  if (a.mask != Mask::none) by_score = b.select(f.mask, by_score, b.splat_like(by_score, 0));
  by_score = b.multiply(by_score, b.splat_like(by_score, 0.25));
  const auto over = [&](Value x, int64_t axis, Value y) {
    return b.transpose(b.dot_general(x, y,
                                     {.lhs_batching_dimensions = {0, 1},
                                      .rhs_batching_dimensions = {0, 2},
                                      .lhs_contracting_dimensions = {axis},
                                      .rhs_contracting_dimensions = {1}}),
                       {0, 2, 1, 3});
  };
  return {over(by_score, 3, f.qkv[1]), over(by_score, 2, f.qkv[0]), over(f.weights, 2, of_result)};
}

// main(q, k, v, the result's gradient if it trains, the bias, the mask if it is given)
std::unique_ptr<hlo::Module> attention(const Attention& a) {
  auto module = std::make_unique<hlo::Module>();
  Builder b(module->add_function("main"));
  Forward f;
  for (const Shape& shape : {a.query_shape(), a.key_shape(), a.key_shape()})
    f.qkv.push_back(b.computation().add_parameter({a.dtype, shape}));
  Value of_result;
  if (a.trains) of_result = b.computation().add_parameter({a.dtype, a.query_shape()});
  const Value product = b.dot_general(f.qkv[0], f.qkv[1],
                                      {.lhs_batching_dimensions = {0, 2},
                                       .rhs_batching_dimensions = {0, 2},
                                       .lhs_contracting_dimensions = {3},
                                       .rhs_contracting_dimensions = {3}},
                                      DType::f32);
  const Value scaled = b.multiply(product, b.splat_like(product, 0.25));
  add_weights(b, a, masked(b, a, scaled, f), f);
  const Value mixed = b.dot_general(f.qkv[2], f.weights,
                                    {.lhs_batching_dimensions = {0, 2},
                                     .rhs_batching_dimensions = {0, 1},
                                     .lhs_contracting_dimensions = {1},
                                     .rhs_contracting_dimensions = {3}});
  std::vector<Value> results = {b.transpose(mixed, {0, 3, 1, 2})};
  if (a.trains) {
    for (const Value& gradient : gradients(b, a, f, of_result)) results.push_back(gradient);
  }
  if (a.returns_weights) results.push_back(f.weights);
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
    if (!is_row_fusion(*x) && !is_attention_fusion(*x)) continue;
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
  for (const Mask mask : {Mask::causal, Mask::given_keys, Mask::given_pairs}) {
    const Attention a{.mask = mask};
    EXPECT_EQ(products_of(a), (Products{.alone = 0, .inside = 2}));
    EXPECT_EQ(check(a), "");
  }
}

// weights_of(q . k) . v
template <class F>
std::unique_ptr<hlo::Module> product_by_weights(const Attention& a, const F& weights_of) {
  auto module = std::make_unique<hlo::Module>();
  Builder b(module->add_function("main"));
  const Value q = b.computation().add_parameter({DType::f32, {a.heads, a.queries, a.size}});
  const Value k = b.computation().add_parameter({DType::f32, {a.heads, a.keys, a.size}});
  const Value v = b.computation().add_parameter({DType::f32, {a.heads, a.keys, a.size}});
  const Value scores = b.dot_general(q, k,
                                     {.lhs_batching_dimensions = {0},
                                      .rhs_batching_dimensions = {0},
                                      .lhs_contracting_dimensions = {2},
                                      .rhs_contracting_dimensions = {2}});
  const Value weights = weights_of(b, scores);
  b.computation().set_results({b.dot_general(weights, v,
                                             {.lhs_batching_dimensions = {0},
                                              .rhs_batching_dimensions = {0},
                                              .lhs_contracting_dimensions = {2},
                                              .rhs_contracting_dimensions = {1}})});
  return module;
}

// exp(x - maximum) / sum, which are reduced along the last axis and broadcast to `axes`.
Value softmax_along(Builder& b, Value x, const Dims& axes) {
  const auto rows = [&](Value y, Opcode opcode) {
    const Value reduced = b.reduce(y, opcode, {x.shape().rank() - 1});
    return b.broadcast_in_dim(reduced, x.shape(), axes);
  };
  const Value e = b.unary(Opcode::exponential, b.subtract(x, rows(x, Opcode::maximum)));
  return b.divide(e, rows(e, Opcode::add));
}

TEST(Attention, NormalisesOtherRowsAsTheProgramSays) {
  const Attention a{.queries = 64, .keys = 64, .size = 8};
  // Each half of the keys.
  const auto halves = product_by_weights(a, [&](Builder& b, Value scores) {
    const Value parts = b.reshape(scores, {a.heads, a.queries, 2, a.keys / 2});
    return b.reshape(softmax_along(b, parts, {0, 1, 2}), scores.shape());
  });
  EXPECT_EQ(testing::check(*halves, attention_arguments(*halves), {.of_largest = 1e-4}), "");
  // Column i with the maximum and the sum of row i.
  const auto columns = product_by_weights(a, [&](Builder& b, Value scores) {
    return softmax_along(b, scores, {0, 2});
  });
  EXPECT_EQ(testing::check(*columns, attention_arguments(*columns), {.of_largest = 1e-4}), "");
}

TEST(Attention, OfRowsWithoutAnyKey) {
  const auto module = attention({.mask = Mask::given_keys});
  std::vector<Tensor> arguments = attention_arguments(*module);
  arguments.back() = Tensor::full(DType::pred, arguments.back().shape(), 0);
  EXPECT_EQ(testing::check(*module, arguments), "");
}

// A mask of pairs: each query sees `width` keys from its own position on, less `before`.
Tensor window_mask(const Attention& a, int64_t before, int64_t width) {
  Tensor mask = Tensor::full(DType::pred, {a.queries, a.keys}, 0);
  for (int64_t i = 0; i < a.queries; ++i) {
    for (int64_t j = std::max<int64_t>(i - before, 0); j < std::min(i - before + width, a.keys);
         ++j)
      mask.data<bool>()[i * a.keys + j] = true;
  }
  return mask;
}

// Keys are skipped where their weights are 0, and only there: scores that hide little, and queries
// that see nothing, weigh them all.
TEST(Attention, SkipsNoKeyThatHasWeight) {
  for (const double score : {-1e30, -1e4, -3.0, 5.0}) {
    const Attention causal{
        .queries = 150, .keys = 200, .mask = Mask::causal, .masked_score = score};
    EXPECT_EQ(check(causal), "") << score;
    const Attention a{
        .queries = 150, .keys = 170, .mask = Mask::given_pairs, .masked_score = score};
    const auto module = attention(a);
    std::vector<Tensor> arguments = attention_arguments(*module);
    for (const int64_t before : {0, 40, -60}) {
      arguments.back() = window_mask(a, before, 50);
      EXPECT_EQ(testing::check(*module, arguments, {.of_largest = 1e-5}), "") << before;
    }
  }
}

TEST(Attention, WithBias) {
  for (const Mask mask : {Mask::none, Mask::causal, Mask::given_keys}) {
    const Attention a{.queries = 77, .keys = 99, .mask = mask, .bias = true};
    EXPECT_EQ(products_of(a), (Products{.alone = 0, .inside = 2}));
    EXPECT_EQ(check(a), "");
  }
}

// No softmax of a model sees such scores.
// Then they are an array, which rows of the products and the softmax write.
TEST(Attention, WhoseWeightsAreRead) {
  for (const bool trains : {false, true}) {
    const Attention a{.mask = Mask::causal, .trains = trains, .returns_weights = true};
    EXPECT_EQ(check(a), "");
  }
}

TEST(Attention, OfSpecialNumbers) {
  const auto module = attention({.queries = 40, .keys = 50});
  std::vector<Tensor> arguments = attention_arguments(*module);
  for (const float number : {1e20F, -1e20F, std::numeric_limits<float>::infinity(), NAN}) {
    arguments[0].data<float>()[5] = number;
    EXPECT_EQ(testing::check(*module, arguments, {.of_largest = 1e-5}), "") << number;
  }
}

TEST(Attention, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    const auto module =
        attention({.batch = 1, .heads = 2, .queries = 700, .keys = 600, .mask = mask});
    const std::vector<Tensor> arguments = attention_arguments(*module);
    const Tensor alone = testing::run(*module, arguments, {.num_threads = 1})[0];
    for (const int threads : {2, 3, 5}) {
      const Tensor together = testing::run(*module, arguments, {.num_threads = threads})[0];
      EXPECT_TRUE(std::ranges::equal(together.data<float>(), alone.data<float>())) << threads;
    }
  }
}

TEST(Attention, OfAnySize) {
  for (const Attention& a :
       {Attention{.batch = 1, .heads = 3, .queries = 201, .keys = 333, .size = 33},
        Attention{.queries = 1, .keys = 3000}, Attention{.queries = 300, .keys = 1},
        Attention{.batch = 3, .queries = 131, .keys = 131, .size = 7}, Attention{.batch = 0},
        Attention{.batch = 1, .heads = 1, .queries = 512}})
    EXPECT_EQ(check(a), "") << a.queries << " " << a.keys << " " << a.size;
}

TEST(Attention, OfRandomSizes) {
  for (uint64_t seed = 0; seed < testing::number_of_programs(12); ++seed) {
    RandomStream random(seed, 72);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random.next_below(static_cast<uint64_t>(n)));
    };
    constexpr int64_t kSizes[] = {1, 3, 8, 9, 16, 33, 64};
    const Attention a{.batch = 1 + below(3),
                      .heads = 1 + below(4),
                      .queries = 1 + below(70),
                      .keys = 1 + below(70),
                      .size = kSizes[below(std::ssize(kSizes))],
                      .mask = static_cast<Mask>(below(3)),
                      .dtype = below(3) == 0 ? DType::bf16 : DType::f32,
                      .trains = below(2) == 0};
    EXPECT_EQ(check(a), "") << seed;
  }
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

// In bf16 the gradients of k and v, which add rows up, stay apart.
TEST(Attention, OfBf16WithItsGradient) {
  const Attention a{.mask = Mask::causal, .dtype = DType::bf16, .trains = true};
  EXPECT_EQ(products_of(a), (Products{.alone = 2, .inside = 4}));
  EXPECT_EQ(check(a), "");
}

// The kernel of the gradients computes the scores again.
TEST(Attention, WithItsGradient) {
  const Products products =
      host_has_avx512() ? Products{.alone = 0, .inside = 7} : Products{.alone = 2, .inside = 4};
  for (const Spelling spelling : {Spelling::weights, Spelling::exponentials}) {
    for (const Mask mask : {Mask::none, Mask::causal, Mask::given_keys, Mask::given_pairs}) {
      const Attention a{.mask = mask, .trains = true, .spelling = spelling};
      EXPECT_EQ(products_of(a), products);
      EXPECT_EQ(check(a), "") << static_cast<int>(mask);
    }
  }
}

TEST(Attention, OfAnySizeWithItsGradient) {
  for (const Attention& a :
       {Attention{.batch = 1, .heads = 3, .queries = 201, .keys = 333, .size = 33, .trains = true},
        Attention{.queries = 1, .keys = 300, .trains = true},
        Attention{.queries = 300, .keys = 1, .trains = true},
        Attention{.batch = 3, .queries = 131, .keys = 131, .size = 7, .trains = true},
        Attention{.batch = 0, .trains = true},
        Attention{.batch = 1, .queries = 90, .keys = 90, .mask = Mask::causal, .trains = true}})
    EXPECT_EQ(check(a), "") << a.queries << " " << a.keys << " " << a.size;
}

TEST(Attention, GradientHasTheSameBitsOnAnyNumberOfThreads) {
  const auto module = attention({.mask = Mask::causal, .trains = true});
  const std::vector<Tensor> arguments = attention_arguments(*module);
  const std::vector<Tensor> alone = testing::run(*module, arguments, {.num_threads = 1});
  const std::vector<Tensor> together = testing::run(*module, arguments, {.num_threads = 3});
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(together[i].data<float>(), alone[i].data<float>())) << i;
}

}  // namespace
}  // namespace systole::cpu
