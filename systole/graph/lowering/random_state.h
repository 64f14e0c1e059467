// The states from which random ops draw: who shares a stream, and how a state is made from seeds
// and counts.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "systole/graph/api/shape_input.h"
#include "systole/graph/core/graph.h"
#include "systole/hlo/ir/builder.h"

namespace systole {

// The attributes of a random node: TensorFlow's "seed" and "seed2" (both 0: none given) and
// "_stream", which tells nodes apart.
AttrMap random_attrs(std::optional<int64_t> op_seed);
bool is_random(const Node& node);
// The same for a node and its copies in gradient functions, which must draw the same numbers.
int64_t random_stream(const Node& node);

// Adds a random node of `shape` and `dtype` alone.
Output add_random(std::string_view op, const ShapeInput& shape, DType dtype,
                  std::optional<int64_t> seed, std::string_view name);
// The same of a distribution with mean 0 and variance 1, then stretched and moved.
struct MomentsSpec {
  const Input& mean;
  const Input& stddev;
  DType dtype;
  std::optional<int64_t> seed;
  const std::string& name;
};
Output random_with_moments(std::string_view op, const ShapeInput& shape,
                           const MomentsSpec& moments);

// True for the literal `value`.
bool is_literal(const Input& input, double value);

// True for a node with a seed of its own or of its graph.
bool is_seeded(const Node& node);

// u64[3], the Philox state (key, counter) of a random node. `parameter` is the program's random
// state u64[1 + n], in which the node is number `index`. With seeds the state is TensorFlow's (the
// key is the first, the high half of the counter the second, and each run starts `blocks` of 128
// bits after the one before it), but for nodes in loops. Otherwise the key is a hash of the seeds,
// or of the session's seed and the node's stream where none were given, and of the `iterations` of
// the loops around it; the counter is (0, times run).
hlo::Value philox_state(hlo::Builder& b, hlo::Value parameter, int index, const Node& node,
                        std::span<const hlo::Value> iterations, uint64_t blocks);

}  // namespace systole
