// What tf.Print writes.
#pragma once

#include <span>
#include <string>

#include "systole/graph/api/graph.h"

namespace systole {

// The inputs that a Print node prints; texts that are known are no inputs.
std::span<const Output> printed_data(const Node& node);

// The message of a Print node and the first values of what it prints: "loss: [0.5][1 2 3...]".
// `printed` are the values of printed_data().
std::string print_text(const Node& node, std::span<const Tensor> printed);

}  // namespace systole
