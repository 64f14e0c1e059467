// What tf.Print writes.
#pragma once

#include <span>
#include <string>

#include "systole/graph/graph.h"

namespace systole {

// The message of a Print node and the first values of what it prints: "loss: [0.5][1 2 3...]".
std::string print_text(const Node& node, std::span<const Tensor> printed);

}  // namespace systole
