// What a caller of partition() may choose.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "systole/hlo/ir/sharding.h"

namespace systole::hlo {

// What a device computes of a custom call, and how the operands and results are split for it.
struct CustomPartition {
  // The program's main takes the parts of the operands and returns those of the results. Collective
  // ops meet the devices by their places in the whole program.
  std::shared_ptr<const Module> program;
  std::vector<Sharding> operands;
  std::vector<Sharding> results;
};

// Tells how a call of kCustomPartitioning (ir/placement.h) is computed on parts. It gets the
// shardings that propagation chose.
using CustomPartitioner =
    std::function<CustomPartition(const Instruction& call, std::span<const Sharding> operands,
                                  std::span<const Sharding> results)>;

struct PartitionOptions {
  // The replicas of the program, each of which has as many partitions.
  int num_replicas = 1;
  // Whether propagation may choose the sharding of a parameter or result of main that has none.
  // Otherwise it is replicated. Empty: all may.
  std::vector<bool> propagate_to_parameters;
  std::vector<bool> propagate_to_results;
  CustomPartitioner custom_partitioner;  // null: such calls are UNIMPLEMENTED
};

}  // namespace systole::hlo
