// The rules of OpSemantics::shard that hlo/ops names.
#pragma once

#include "systole/hlo/passes/partition/sharding_rule.h"

namespace systole::hlo::spmd {

// -- elementwise.cc. `alike`: all operands and results of the results' rank are split alike.
ShardingRule shard_alike(const Instruction& x);
ShardingRule shard_bitcast_convert(const Instruction& x);
ShardingRule shard_batch_norm(const Instruction& x);

// -- movement.cc
ShardingRule shard_broadcast_in_dim(const Instruction& x);
ShardingRule shard_concatenate(const Instruction& x);
ShardingRule shard_dynamic_slice(const Instruction& x);
ShardingRule shard_dynamic_update_slice(const Instruction& x);
ShardingRule shard_pad(const Instruction& x);
ShardingRule shard_reshape(const Instruction& x);
ShardingRule shard_reverse(const Instruction& x);
ShardingRule shard_slice(const Instruction& x);
ShardingRule shard_transpose(const Instruction& x);

// -- products.cc
ShardingRule shard_cholesky(const Instruction& x);
ShardingRule shard_convolution(const Instruction& x);
ShardingRule shard_dot_general(const Instruction& x);
ShardingRule shard_fft(const Instruction& x);
ShardingRule shard_triangular_solve(const Instruction& x);

// -- indexed.cc
ShardingRule shard_gather(const Instruction& x);
ShardingRule shard_scatter(const Instruction& x);

// -- windows.cc
ShardingRule shard_reduce(const Instruction& x);
ShardingRule shard_reduce_window(const Instruction& x);
ShardingRule shard_select_and_scatter(const Instruction& x);
ShardingRule shard_sort(const Instruction& x);

// -- leaves.cc
ShardingRule shard_constant(const Instruction& x);
ShardingRule shard_iota(const Instruction& x);
ShardingRule shard_get_dimension_size(const Instruction& x);
ShardingRule shard_rng(const Instruction& x);

// -- control_flow.cc: `branches` is the rule of case and if
ShardingRule shard_branches(const Instruction& x);
ShardingRule shard_optimization_barrier(const Instruction& x);
ShardingRule shard_while(const Instruction& x);

// -- manual.cc: custom calls that place values, and what only manual computations may have
ShardingRule shard_all_gather(const Instruction& x);
ShardingRule shard_all_to_all(const Instruction& x);
ShardingRule shard_collective(const Instruction& x);
ShardingRule shard_custom_call(const Instruction& x);
ShardingRule shard_reduce_scatter(const Instruction& x);

}  // namespace systole::hlo::spmd
