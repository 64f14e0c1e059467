// Computations on the cores of a TPU, in programs that a session runs. (tf.contrib.tpu)
//
// A session compiles a run that needs a replicated computation for as many replicas as it has; what
// is built outside of it is the same on all of them and is computed once. Variables have one value
// for all replicas: an assignment in the computation of what differs between replicas stores their
// mean (replica 0's value when it is no float), so gradients go through CrossShardOptimizer or
// cross_replica_sum. What is built inside cannot be fetched, only what the computation returns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/core/graph.h"

namespace systole::tpu {

using Computation = std::function<std::vector<Output>(const std::vector<Output>& inputs)>;

struct ReplicateOptions {
  std::string name = "TPUReplicate";
};

// Runs `computation` once for each list of inputs, each on a core of its own, in lockstep; the
// computation is built once. Returns its outputs, replica by replica. While it is built the shard
// context tells the number of replicas.
// Errors: INVALID_ARGUMENT for no replica; for lists of different lengths, dtypes or shapes; when
// computations are nested.
std::vector<std::vector<Output>> replicate(const Computation& computation,
                                           const std::vector<std::vector<Output>>& inputs,
                                           const ReplicateOptions& options = {},
                                           Input::Where where = Input::Where::current());

// On one core.
std::vector<Output> rewrite(const Computation& computation, const std::vector<Output>& inputs = {},
                            Input::Where where = Input::Where::current());

struct ShardOptions {
  int num_shards = 1;
  // By input: the axis along which it is split. All 0 when empty.
  std::vector<int64_t> input_shard_axes = {};
  // False: the outputs of shard 0 alone.
  bool outputs_from_all_shards = true;
  // By output: the axis along which the shards' outputs are concatenated. All 0 when empty.
  std::vector<int64_t> output_shard_axes = {};
};

// Splits the inputs, runs `computation` on the parts, and concatenates its outputs; scalars become
// vectors.
// Errors: INVALID_ARGUMENT for num_shards below 1, for numbers of axes that are not those of inputs
// or outputs, and for an axis whose size is unknown or no multiple of num_shards.
std::vector<Output> shard(const Computation& computation, const std::vector<Output>& inputs,
                          const ShardOptions& options = {},
                          Input::Where where = Input::Where::current());

// shard() along the first axis of everything.
std::vector<Output> batch_parallel(const Computation& computation,
                                   const std::vector<Output>& inputs, int num_shards,
                                   Input::Where where = Input::Where::current());

// body(... body(inputs)), n times. Assignments in the body happen each time.
std::vector<Output> repeat(int64_t n, const LoopBodyFn& body, const InputList& inputs = {});

// systole::while_loop, under the name that it has among TPU functions.
std::vector<Output> while_loop(const LoopConditionFn& condition, const LoopBodyFn& body,
                               const InputList& inputs);

// fn(), for what runs on the host: string and IO ops, which run before the program does. Ops that a
// core has are part of the program: there is no reason to leave it.
std::vector<Output> outside_compilation(const std::function<std::vector<Output>()>& fn);

// Whether `node` is built inside of a replicated computation.
bool is_replicated(const Node& node);

}  // namespace systole::tpu
