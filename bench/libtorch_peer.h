// The bodies of the peer, from the files that write them.
#pragma once

#include <map>
#include <string>

#include "bench/figures.h"

namespace bench {

// The MNIST network's training step, by figure name.
std::map<std::string, Body> libtorch_cnn_bodies();
// The DataLoader over MNIST.
std::map<std::string, Body> libtorch_data_bodies();

}  // namespace bench
