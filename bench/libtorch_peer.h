// The bodies of libtorch, one declaration for each file.
#pragma once

#include <map>
#include <string>

#include "bench/figures.h"

namespace bench {

// Returns the MNIST network's training step for a row.
std::map<std::string, Body> libtorch_cnn_bodies();
// Iterates libtorch's DataLoader over MNIST.
std::map<std::string, Body> libtorch_data_bodies();

}  // namespace bench
