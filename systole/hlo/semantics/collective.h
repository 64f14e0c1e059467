// Code shared by the collective opcodes: the groups of processes that communicate. A program runs
// on a grid of replicas by partitions; a process is one cell of the grid.
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

// The constraint on replica_groups, besides unique ids.
enum class Groups : uint8_t {
  some,        // processes may be in no group
  every,       // every process is in a group
  every_equal  // every process is in a group, and all groups have the same size
};
// Errors: INVALID_ARGUMENT, also for use_global_device_ids without a channel or without ids.
void check_groups(Opcode opcode, const CollectiveAttrs& attrs, Groups groups);

// Checks that sources are unique, targets are unique, and no id is negative.
void check_pairs(Opcode opcode, std::span<const std::pair<int64_t, int64_t>> pairs);

// Checks the channel of a send or recv: its type is `host_type` for a transfer with the host, else
// 1 (device to device).
void check_channel(Opcode opcode, const TransferAttrs& attrs, int64_t host_type);

// Returns the number of processes per group. Returns nullopt if the program does not tell: if all
// processes are one group, or if groups span the partitions.
std::optional<int64_t> group_size(const CollectiveAttrs& attrs);

// Returns the error for a process id that the grid does not have: UNIMPLEMENTED if the program runs
// as one process, else INVALID_ARGUMENT. `attribute` holds the id.
Error no_such_process(const Instruction& instruction, std::string_view attribute, int64_t id,
                      int64_t num_processes);

// How ids in replica_groups map to processes; the names are the specification's.
enum class Grouping : uint8_t {
  cross_replica,
  cross_partition,
  cross_replica_and_partition,
  flattened_ids
};
// The grouping of all_gather, all_reduce and reduce_scatter.
Grouping grouping_of(const CollectiveAttrs& attrs);
// The grouping of ops without use_global_device_ids.
Grouping grouping_of(const ChannelHandle& channel);

// Returns the members of the group of `process`, in group order, itself included. Empty if it is in
// no group. Errors: INVALID_ARGUMENT for ids beyond the grid (UNIMPLEMENTED if it has one process)
// and, except with Groups::some, for processes without a group.
std::vector<int64_t> group_around(const Instruction& instruction, const Process& process,
                                  const CollectiveAttrs& attrs, Grouping grouping, Groups groups);

// Checks that `axis`, along which an op gathers or scatters, is not empty in `shape`.
void check_split_axis(Opcode opcode, std::string_view name, const Shape& shape, int axis);

// Sends `operands` to the group of this process and returns what each member sent, in group order.
std::vector<std::vector<Tensor>> exchange_in_group(const Instruction& instruction,
                                                   std::span<const Tensor> operands,
                                                   const Evaluator& evaluator,
                                                   const CollectiveAttrs& attrs, Grouping grouping,
                                                   Groups groups);

// Returns tensor `i` of each process.
std::vector<Tensor> column(std::span<const std::vector<Tensor>> given, size_t i);

// -- collective_broadcast and collective_reduce

// Returns the types of the data operands. Checks the groups, and that roots hold one s32 per
// operand.
std::vector<TensorType> check_rooted(const InferContext& context);
// Returns the root for operand `i`, as an index into its group of `group_size` processes. Errors:
// INVALID_ARGUMENT if out of range.
size_t root_of(const Instruction& instruction, std::span<const Tensor> operands, size_t i,
               size_t group_size);
// The results of processes that are in no group.
std::vector<Tensor> zeros_of(std::span<const TensorType> types);

// Folds the group's tensors in order, elementwise, with `region`.
Tensor combine_elements(const Computation& region, const Evaluator& evaluator, DType dtype,
                        std::span<const Tensor> tensors);

// Returns part `i` of `count` equal parts along `axis`.
Tensor split_part(const Tensor& tensor, int axis, int64_t count, int64_t i);

// Returns declared result type `i`, which is required if the group size is unknown. Errors:
// INVALID_ARGUMENT if it is missing.
const TensorType& declared_result(const InferContext& context, int i);

}  // namespace systole::hlo
