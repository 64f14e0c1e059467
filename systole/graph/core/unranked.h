// Placeholders of unknown rank, as `tf.placeholder(tf.float32)` makes one.
#pragma once

#include <string_view>

#include "systole/graph/core/graph.h"

namespace systole {

// Marks the nodes that depend on such a placeholder. Their shapes are those of a scalar's, until a
// RankedCopy (graph/functions/ranked_copy.h) makes others.
inline constexpr std::string_view kUnranked = "_unranked";

// Whether the rank that the graph has for the node's results may change.
inline bool is_unranked(const Node& node) { return node.attrs().contains(kUnranked); }
inline bool is_unranked(const Output& output) { return is_unranked(*output.node()); }

}  // namespace systole
