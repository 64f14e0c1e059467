// Programs of single ops, for tests that split them over devices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace systole::hlo::testing {

struct PartitionedOp {
  std::string name;
  std::vector<std::string> parameters;  // "4x8xf32"
  std::vector<std::string> results;
  std::string body;  // results are %r or %r#0, %r#1
};

std::span<const PartitionedOp> partitioned_ops();
// Returns the op's program, with random shardings of its parameters and results on a mesh of 2, 4
// or 8 devices.
std::string text_of(const PartitionedOp& op, int num_devices, uint64_t seed);

}  // namespace systole::hlo::testing
