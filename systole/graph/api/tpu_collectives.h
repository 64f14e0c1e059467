// What replicas of a program say to each other. (tf.contrib.tpu)
//
// A program that one device runs is one replica: sums are the values themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole::tpu {

// Groups of replicas that work together, by their numbers: each replica once. Empty: all are one.
using GroupAssignment = std::vector<std::vector<int64_t>>;

struct CrossReplicaSumOptions {
  GroupAssignment group_assignment = {};
  std::string name = {};
};
// The sum of x over the replicas of a group, in the order of the replicas: the same for each of
// them. Gradient: the sum of the gradients.
Output cross_replica_sum(const Input& x, const CrossReplicaSumOptions& options = {});

// The rows of x of all replicas of a group, one after the other in the order of the replicas: the
// same for each of them. No gradient.
Output all_gather(const Input& x, const CrossReplicaSumOptions& options = {});

struct AllToAllOptions {
  int64_t concat_dimension = 0;
  int64_t split_dimension = 0;
  int64_t split_count = 1;  // the size of a group
  GroupAssignment group_assignment = {};
  std::string name = {};
};
// Splits x and gives part i to replica i of the group; what each has got is concatenated in order.
Output all_to_all(const Input& x, const AllToAllOptions& options);

// x of the source for the target of a pair; zeros for a replica that is the target of none.
Output collective_permute(const Input& x,
                          const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
                          const NameOptions& options = {});

// s32 scalar: the number of the replica that runs it. (xla.replica_id)
Output replica_id(Input::Where where = Input::Where::current());

// Replicas as the code that builds a graph knows them; this thread's. Nothing is replicated by it.
class TpuContext {
 public:
  // Nothing when it is not set: one, then.
  std::optional<int> number_of_shards() const { return number_of_shards_; }
  // Errors: INVALID_ARGUMENT below 1.
  void set_number_of_shards(std::optional<int> number);

 private:
  std::optional<int> number_of_shards_;
};
TpuContext& get_tpu_context();

// `with tpu_shard_context(n):` while it lives. Errors: UNIMPLEMENTED `tpu_shard_context cannot be
// nested.`
class ShardContext {
 public:
  explicit ShardContext(int number_of_shards);
  ~ShardContext();
  ShardContext(const ShardContext&) = delete;
  ShardContext& operator=(const ShardContext&) = delete;

 private:
  std::optional<int> previous_;
};

}  // namespace systole::tpu
