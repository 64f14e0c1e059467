// What collective opcodes have in common: which processes work together. A program runs on a grid
// of replicas by partitions; a process is one place of it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/evaluator.h"

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

// The type of a send's or recv's channel is `host_type` for a transfer with the host and device to
// device (1) otherwise.
void check_channel(Opcode opcode, const TransferAttrs& attrs, int64_t host_type);

// The number of processes of a group, where the program says so: not when all of them are one
// group, and not when groups span the partitions, which are counted at run time.
std::optional<int64_t> group_size(const CollectiveAttrs& attrs);

// Returns the error for a process id that the grid does not have: UNIMPLEMENTED if the program runs
// as one process, else INVALID_ARGUMENT. `attribute` holds the id.
Error no_such_process(const Instruction& instruction, std::string_view attribute, int64_t id,
                      int64_t num_processes);

// How the ids of replica_groups name processes, as the specification calls it.
enum class Grouping : uint8_t {
  cross_replica,
  cross_partition,
  cross_replica_and_partition,
  flattened_ids
};
// That of all_gather, all_reduce and reduce_scatter.
Grouping grouping_of(const CollectiveAttrs& attrs);
// That of ops without use_global_device_ids.
Grouping grouping_of(const ChannelHandle& channel);

// The numbers of the processes that `process` works with, itself among them, in order; none when it
// is in no group. Errors: INVALID_ARGUMENT when there are ids beyond the grid, or, but for
// Groups::some, processes without one.
std::vector<int64_t> group_around(const Instruction& instruction, const Process& process,
                                  const CollectiveAttrs& attrs, Grouping grouping, Groups groups);

// What each process of that group gave, when `operands` is what this one gives.
std::vector<std::vector<Tensor>> exchange_in_group(const Instruction& instruction,
                                                   std::span<const Tensor> operands,
                                                   const Evaluator& evaluator,
                                                   const CollectiveAttrs& attrs, Grouping grouping,
                                                   Groups groups);

// Tensor `i` of each process.
std::vector<Tensor> column(std::span<const std::vector<Tensor>> given, size_t i);

// collective_broadcast and collective_reduce.

// The types of the operands that carry data. Checks the groups, and that roots are one s32 an
// operand.
std::vector<TensorType> check_rooted(const InferContext& context);
// The number, within its group of `group_size` processes, of the root for operand `i`. Errors:
// INVALID_ARGUMENT when there is no such process.
size_t root_of(const Instruction& instruction, std::span<const Tensor> operands, size_t i,
               size_t group_size);
// What those without a part get.
std::vector<Tensor> zeros_of(std::span<const TensorType> types);

// The sum, or what `region` makes of two elements, of the group's tensors in order.
Tensor combine_elements(const Computation& region, const Evaluator& evaluator, DType dtype,
                        std::span<const Tensor> tensors);

// Part `i` of `count` equal ones along `axis`.
Tensor split_part(const Tensor& tensor, int axis, int64_t count, int64_t i);

// Declared result type `i`, which an unknown group size makes necessary. Errors: INVALID_ARGUMENT
// when there is none.
const TensorType& declared_result(const InferContext& context, int i);

}  // namespace systole::hlo
