// Scaled dot-product attention, made of other ops. Backends that know its form compute it without
// keeping the scores of all pairs.
#pragma once

#include <optional>
#include <string>

#include "systole/graph/api/shape_input.h"
#include "systole/graph/core/graph.h"

namespace systole {

struct AttentionOptions {
  Output bias;          // added to the scaled scores; may be -inf; none when invalid
  Output mask;          // pred: whether a query sees a key; none when invalid
  bool causal = false;  // whether query i sees keys 0 to i alone
  std::optional<double> scale = std::nullopt;  // of the scores; 1 / sqrt(size) when left out
  std::string name = {};
};
// softmax(scale q k^T + bias) v for each head. query: [batch, queries, heads, size]; key: [batch,
// keys, groups, size]; value: [batch, keys, groups, size']; one floating dtype; result: [batch,
// queries, heads, size']. `groups` divides `heads`: head h reads group h / (heads / groups). bias
// and mask broadcast to the scores, [batch, heads, queries, keys]. The softmax is computed in f32
// at least. A query that the masks leave no key takes the mean of all values; one whose scores are
// all -inf by its bias gives NaN, as softmax does. Errors: INVALID_ARGUMENT for other ranks or
// sizes. (jax.nn.dot_product_attention)
Output attention(const Input& query, const Input& key, const Input& value,
                 const AttentionOptions& options = {});

// pred [queries, keys]: whether key j is not after query i, j <= i. Sizes are known when the
// program is compiled.
Output causal_mask(const SizeInput& queries, const SizeInput& keys);

// Returns the size of an axis of x: a number if the graph knows it, else an element of shape(x).
SizeInput size_along(const Output& x, int axis);

}  // namespace systole
