// What a caller of partition() may choose.
#pragma once

#include <vector>

namespace systole::hlo {

struct PartitionOptions {
  // The replicas of the program, each of which has as many partitions.
  int num_replicas = 1;
  // Whether propagation may choose the sharding of a parameter or result of main that has none.
  // Otherwise it is replicated. Empty: all may.
  std::vector<bool> propagate_to_parameters;
  std::vector<bool> propagate_to_results;
};

}  // namespace systole::hlo
