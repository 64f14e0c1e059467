// Ops that start and stop a TPU system. (tf.contrib.tpu)
#pragma once

#include <string>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole::tpu {

// What initialize_system() returns, read.
struct Topology {
  std::vector<int64_t> mesh_shape;  // {2, 2, 2}: x, y, cores a chip
  int num_hosts = 0;
  int cores_per_host = 0;
  int num_cores() const { return num_hosts * cores_per_host; }

  // Errors: INVALID_ARGUMENT when `value` is no such tensor.
  static Topology parse(const Tensor& value);
};

// Initialises the TPU system of the session's target. Running it gives a string scalar: the
// topology, as the text form of TensorFlow's TopologyProto. On a virtual TPU there is nothing to
// wait for. Errors when run: FAILED_PRECONDITION on a target that is no TPU.
Output initialize_system(Input::Where where = Input::Where::current());

// Shuts the system down; variables of the session are kept (a real TPU loses them).
Operation shutdown_system(Input::Where where = Input::Where::current());

}  // namespace systole::tpu
