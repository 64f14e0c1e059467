// What collective opcodes have in common: which processes work together. A program runs on a grid
// of replicas by partitions; a process is one place of it.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "systole/hlo/checks.h"

namespace systole::hlo {

// What replica_groups must be besides unique ids.
enum class Groups : uint8_t {
  some,        // any processes: those left out take no part
  every,       // each process is in one
  every_equal  // and groups are of one size
};
// Errors: INVALID_ARGUMENT; use_global_device_ids without a channel, too.
void check_groups(Opcode opcode, const CollectiveAttrs& attrs, Groups groups);

// The pairs' sources are unique, and their targets, and none is negative.
void check_pairs(Opcode opcode, std::span<const std::pair<int64_t, int64_t>> pairs);

// The number of processes of a group, where the program says so: not when all of them are one
// group, and not when groups span the partitions, which are counted at run time.
std::optional<int64_t> group_size(const CollectiveAttrs& attrs);

// Declared result type `i`, which an unknown group size makes necessary. Errors: INVALID_ARGUMENT
// when there is none.
const TensorType& declared_result(const InferContext& context, int i);

}  // namespace systole::hlo
