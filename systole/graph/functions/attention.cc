#include "systole/graph/functions/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"

namespace systole {
namespace {

constexpr std::string_view kOp = "attention";
constexpr int kRank = 4;
enum : int { kBatch, kLength, kHeads, kSize };

// The score of what a query must not see: far below any other, and far enough from the least number
// that its distance from another score is finite.
constexpr float kMasked = -0.7F * std::numeric_limits<float>::max();

struct Operands {
  Output query;
  Output key;
  Output value;

  int64_t heads() const { return query.shape()[kHeads]; }
  int64_t groups() const { return key.shape()[kHeads]; }
};

bool differ(int64_t a, int64_t b) { return a != b && a != kUnknown && b != kUnknown; }

void check_attention(const Operands& o) {
  for (const auto& [name, x] : {std::pair{"query", o.query}, {"key", o.key}, {"value", o.value}}) {
    if (x.shape().rank() != kRank) {
      throw invalid_argument("{}, got {}, expected [batch, length, heads, size]", name, x.type());
    }
    if (x.shape()[kHeads] == kUnknown || x.shape()[kSize] == kUnknown) {
      throw invalid_argument("{}, got {}, expected known numbers of heads and sizes", name,
                             x.type());
    }
    if (x.dtype() == o.query.dtype()) continue;
    throw invalid_argument("query and {}, got {} and {}, expected one dtype", name, o.query.type(),
                           x.type());
  }
  const Shape& q = o.query.shape();
  const Shape& k = o.key.shape();
  const Shape& v = o.value.shape();
  if (differ(q[kBatch], k[kBatch]) || q[kSize] != k[kSize]) {
    throw invalid_argument("query and key, got {} and {}, expected equal batches and sizes",
                           o.query.type(), o.key.type());
  }
  if (differ(k[kBatch], v[kBatch]) || differ(k[kLength], v[kLength]) || k[kHeads] != v[kHeads]) {
    throw invalid_argument(
        "key and value, got {} and {}, expected equal batches, lengths and heads", o.key.type(),
        o.value.type());
  }
  if (k[kHeads] == 0 || q[kHeads] % k[kHeads] != 0) {
    throw invalid_argument("heads, got {} of query and {} of key, expected a multiple", q[kHeads],
                           k[kHeads]);
  }
}

// [batch, heads, queries, keys]
Output scores_of(const Operands& o) {
  if (o.heads() == o.groups()) return einsum("bqhd,bkhd->bhqk", {o.query, o.key});
  const Output grouped =
      reshape(o.query, {size_along(o.query, kBatch), size_along(o.query, kLength), o.groups(),
                        o.heads() / o.groups(), o.query.shape()[kSize]});
  return reshape(einsum("bqgrd,bkgd->bgrqk", {grouped, o.key}),
                 {size_along(o.query, kBatch), o.heads(), size_along(o.query, kLength),
                  size_along(o.key, kLength)});
}

// [batch, queries, heads, size']
Output mixed(const Operands& o, const Output& weights, const NameOptions& options) {
  if (o.heads() == o.groups()) return einsum("bhqk,bkhd->bqhd", {weights, o.value}, options);
  const Output grouped =
      reshape(weights, {size_along(o.query, kBatch), o.groups(), o.heads() / o.groups(),
                        size_along(o.query, kLength), size_along(o.key, kLength)});
  return reshape(einsum("bgrqk,bkgd->bqgrd", {grouped, o.value}),
                 {size_along(o.query, kBatch), size_along(o.query, kLength), o.heads(),
                  o.value.shape()[kSize]},
                 options);
}

}  // namespace

SizeInput size_along(const Output& x, int axis) {
  if (const int64_t size = x.shape()[axis]; size != kUnknown) return size;
  return gather(shape(x), axis);
}

Output causal_mask(const SizeInput& queries, const SizeInput& keys) {
  return greater_equal(expand_dims(range(queries.input()), 1), range(keys.input()));
}

Output attention(const Input& query, const Input& key, const Input& value,
                 const AttentionOptions& options) {
  const CompositionScope scope(query, options.name, kOp);
  const Operands o{resolve_as(kOp, query, DTypeClass::floating), resolve(kOp, key),
                   resolve(kOp, value)};
  with_op(kOp, query.where(), [&] { check_attention(o); });
  const DType dtype = o.query.dtype();
  const DType wide = accumulation_dtype(dtype);
  const auto size = static_cast<double>(std::max<int64_t>(o.query.shape()[kSize], 1));
  Output scores = cast(scores_of(o), wide) * options.scale.value_or(1 / std::sqrt(size));
  if (options.bias.valid()) scores = scores + cast(options.bias, wide);
  Output seen = options.mask;
  if (options.causal) {
    const Output before = causal_mask(size_along(o.query, kLength), size_along(o.key, kLength));
    seen = seen.valid() ? logical_and(seen, before) : before;
  }
  if (seen.valid()) scores = where_v2(seen, scores, kMasked);
  return mixed(o, cast(softmax(scores), dtype), scope.result());
}

}  // namespace systole
