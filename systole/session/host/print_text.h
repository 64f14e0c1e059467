// The text that tf.Print writes.
#pragma once

#include <span>
#include <string>

#include "systole/graph/core/graph.h"

namespace systole {

// The inputs that a Print node prints. (Constant texts are attributes.)
std::span<const Output> printed_data(const Node& node);

// Returns the message of a Print node and the first elements of its data: "loss: [0.5][1 2 3...]".
// `printed` holds the values of printed_data().
std::string print_text(const Node& node, std::span<const Tensor> printed);

}  // namespace systole
