#include "systole/graph/lowering/random_state.h"

#include <algorithm>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

// splitmix64 (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014): the
// finaliser and the step.
constexpr uint64_t kStep = 0x9E3779B97F4A7C15U;
constexpr uint64_t kMultiplier1 = 0xBF58476D1CE4E5B9U;
constexpr uint64_t kMultiplier2 = 0x94D049BB133111EBU;

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30U)) * kMultiplier1;
  x = (x ^ (x >> 27U)) * kMultiplier2;
  return x ^ (x >> 31U);
}

hlo::Value u64(hlo::Builder& b, uint64_t value) { return b.constant(Tensor::scalar(value)); }

// The same in HLO.
hlo::Value mix(hlo::Builder& b, hlo::Value x) {
  const auto xor_shift = [&](hlo::Value v, uint64_t bits) {
    const hlo::Value shifted = b.binary(hlo::Opcode::shift_right_logical, v, u64(b, bits));
    return b.binary(hlo::Opcode::xor_, v, shifted);
  };
  x = b.multiply(xor_shift(x, 30), u64(b, kMultiplier1));
  x = b.multiply(xor_shift(x, 27), u64(b, kMultiplier2));
  return xor_shift(x, 31);
}

// A new key from a key and a salt.
hlo::Value salted(hlo::Builder& b, hlo::Value key, hlo::Value salt) {
  const hlo::Value stepped = b.multiply(b.add(salt, u64(b, 1)), u64(b, kStep));
  return mix(b, b.add(key, stepped));
}

hlo::Value element(hlo::Builder& b, hlo::Value vector, int64_t i) {
  return b.slice(vector, {i}, {i + 1});
}

}  // namespace

AttrMap random_attrs(std::optional<int64_t> op_seed) {
  const auto seeds = get_seed(op_seed).value_or(std::pair<int64_t, int64_t>{0, 0});
  return {
      {"seed", seeds.first}, {"seed2", seeds.second}, {"_stream", Graph::current().nodes_made()}};
}

bool is_random(const Node& node) { return node.op().traits.draws_random; }

int64_t random_stream(const Node& node) { return node.attr<int64_t>("_stream"); }

Output add_random(std::string_view op, const ShapeInput& shape, DType dtype,
                  std::optional<int64_t> seed, std::string_view name) {
  const Output sizes = resolve(op, shape);
  AttrMap attrs = random_attrs(seed);
  attrs.emplace("dtype", dtype);
  attrs.emplace("T", sizes.dtype());
  return Graph::current()
      .add_node(op, {sizes}, std::move(attrs), shape.input().where(), name)
      ->output();
}

bool is_literal(const Input& input, double value) {
  return input.weak() && input.host_value().as_double(0) == value;
}

Output random_with_moments(std::string_view op, const ShapeInput& shape,
                           const MomentsSpec& moments) {
  const bool scales = !is_literal(moments.stddev, 1);
  const bool moves = !is_literal(moments.mean, 0);
  if (!scales && !moves) return add_random(op, shape, moments.dtype, moments.seed, moments.name);
  const CompositionScope scope(shape.input(), moments.name, op);
  Output value = add_random(op, shape, moments.dtype, moments.seed, op);
  if (scales) value = multiply(value, moments.stddev, moves ? NameOptions() : scope.result());
  if (moves) value = add(value, moments.mean, scope.result());
  return value;
}

bool is_seeded(const Node& node) {
  return node.attr<int64_t>("seed") != 0 || node.attr<int64_t>("seed2") != 0;
}

hlo::Value philox_state(hlo::Builder& b, hlo::Value parameter, int index, const Node& node,
                        std::span<const hlo::Value> iterations, uint64_t blocks) {
  const auto seed = static_cast<uint64_t>(node.attr<int64_t>("seed"));
  const auto seed2 = static_cast<uint64_t>(node.attr<int64_t>("seed2"));
  const hlo::Value times_run = element(b, parameter, 1 + index);
  const bool in_loop = std::ranges::any_of(iterations, [](const hlo::Value& i) { return bool(i); });
  if (is_seeded(node) && !in_loop) {
    const hlo::Value skipped =
        b.multiply(times_run, b.constant(Tensor::of<uint64_t>({1}, {blocks})));
    const hlo::Value parts[] = {b.constant(Tensor::of<uint64_t>({1}, {seed})), skipped,
                                b.constant(Tensor::of<uint64_t>({1}, {seed2}))};
    return b.concatenate(parts, 0);
  }
  hlo::Value key;
  if (!is_seeded(node)) {
    const auto stream = static_cast<uint64_t>(random_stream(node));
    key = salted(b, b.reshape(element(b, parameter, 0), {}), u64(b, stream));
  } else {
    key = u64(b, mix(mix(seed + kStep) + (seed2 + 1) * kStep));
  }
  for (const hlo::Value& iteration : iterations) {
    if (iteration) key = salted(b, key, b.convert(iteration, DType::u64));
  }
  const hlo::Value zero = b.constant(Tensor::zeros(DType::u64, {1}));
  const hlo::Value parts[] = {b.reshape(key, {1}), zero, times_run};
  return b.concatenate(parts, 0);
}

}  // namespace systole
