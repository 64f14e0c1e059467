// The state of a vectorisation, and its interface for the rules of opcodes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/replicas/variance.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::replicas {

// Writes a computation of the old module into the new module. A lane is one replica's value; a
// stacked value holds the lanes along its first axis.
class Vectorizer {
 public:
  // `num_replicas`: those of this process, each with a lane.
  Vectorizer(const Variance& variance, const ReplicaOptions& options)
      : variance_(variance),
        num_lanes_(options.num_replicas),
        processes_(options.processes),
        in_turn_(options.in_turn && options.num_replicas > 1) {}

  // Writes main, with parameters and results.
  void write_main(const Computation& from, Computation& to, const std::vector<bool>& varying);

  // -- For rules
  // The lanes of a stacked value: the replicas of this process; for rules of ops that meet other
  // replicas, those of all processes.
  int64_t num_replicas() const { return num_lanes_; }
  // The first replica of this process.
  int64_t first_replica() const { return processes_ ? processes_->index * num_lanes_ : 0; }
  Builder& b() { return *builder_; }
  bool varying(Value old) const { return variance_.varying(old); }
  // Returns the new value of an old one; stacked if it varies.
  Value at(Value old) { return lanes_of_all_ && varying(old) ? gathered(old) : map_.at(old); }
  // Returns the new value, stacked in any case.
  Value stacked(Value old);
  std::vector<Value> stacked(std::span<const Value> old);
  Value lane(Value stacked, int64_t replica);
  // Stacks one value per replica.
  Value stack(std::span<const Value> lanes);
  // The type with a leading replica axis.
  TensorType stacked_type(const TensorType& type) const;
  // Moves the replica axis of a stacked value into the outer part of `axis`, an axis of the lane;
  // split_lanes is the inverse.
  Value merge_lanes(Value stacked, int64_t axis);
  Value split_lanes(Value merged, int64_t axis);
  // Moves the replica axis from `axis` to the front.
  Value lanes_to_front(Value value, int64_t axis);

  // Writes a region's instructions; its parameters must have new values. Returns the values of its
  // results, stacked where `varying` says so.
  std::vector<Value> write_region(const Computation& from, Computation& to,
                                  const std::vector<bool>& varying);
  void map_to(Value old, Value now) { map_[old] = now; }
  // Tells the sum over all replicas of a value that is not stacked.
  void note_sum(Value old, Value sum) { sums_[old] = sum; }

  // Whether sums over replicas are calls of kSumReplicas.
  bool sums_by_calls() const { return processes_.has_value(); }
  // Returns the sum of a varying value over all replicas.
  Value sum_over_replicas(Value old);
  // The same, if it can be computed without the stacked value; otherwise nullopt. `old` must have
  // one user.
  std::optional<Value> linear_sum(Value old);

 private:
  void write(Instruction& instruction);
  // Writes a region's instructions with loops over the lanes.
  void write_in_turn(const Computation& from);
  bool must_be_lane_by_lane(const Instruction& instruction) const;
  // Calls the rule of an op that meets replicas of other processes.
  std::vector<Value> write_over_processes(Instruction& instruction, VectorizeRule rule);
  // Returns the stacked value with the lanes of all processes.
  Value gathered(Value old);
  std::vector<Value> write_lane_by_lane(Instruction& instruction);

  const Variance& variance_;
  int64_t num_lanes_;
  const std::optional<ProcessSpan> processes_;
  const bool in_turn_;
  bool lanes_of_all_ = false;  // within write_over_processes()
  ValueMap map_;
  ValueMap sums_;
  std::optional<Builder> builder_;
};

Dims shifted(const Dims& axes, int64_t by = 1);
Dims with_front(const Dims& dims, int64_t front);

std::vector<Value> results_of(Instruction& instruction);

// Returns whether the instruction reads its replica id or communicates.
bool meets_others(const Instruction& instruction);

}  // namespace systole::hlo::replicas
