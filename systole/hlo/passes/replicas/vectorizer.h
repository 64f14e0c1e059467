// The state of one vectorisation, and what the rules of opcodes ask of it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/replicas/variance.h"

namespace systole::hlo::replicas {

// Writes a computation of the old module into one of the new. A lane is what one replica has of a
// value; a stacked value has one lane behind the other along its first axis.
class Vectorizer {
 public:
  explicit Vectorizer(const Variance& variance) : variance_(variance) {}

  // main, parameters and results included.
  void write_main(const Computation& from, Computation& to, const std::vector<bool>& varying);

  // -- For rules
  int64_t num_replicas() const { return variance_.num_replicas(); }
  Builder& b() { return *builder_; }
  bool varying(Value old) const { return variance_.varying(old); }
  // What stands for an old value: stacked when it varies.
  Value at(Value old) const { return map_.at(old); }
  // Stacked in any case.
  Value stacked(Value old);
  std::vector<Value> stacked(std::span<const Value> old);
  Value lane(Value stacked, int64_t replica);
  // One value a replica, stacked.
  Value stack(std::span<const Value> lanes);
  // The type with the replicas in front.
  TensorType stacked_type(const TensorType& type) const;
  // A stacked value with the replicas as the outer part of `axis`, an axis of the lane; and back.
  Value merge_lanes(Value stacked, int64_t axis);
  Value split_lanes(Value merged, int64_t axis);
  // [.., replicas at `axis`, ..] with the replicas in front.
  Value lanes_to_front(Value value, int64_t axis);

  // Writes a region's instructions; its parameters stand for values already. Returns what stands
  // for its results, stacked where `varying` says so.
  std::vector<Value> write_region(const Computation& from, Computation& to,
                                  const std::vector<bool>& varying);
  void map_to(Value old, Value now) { map_[old] = now; }

  // The sum of a varying value over all replicas.
  Value sum_over_replicas(Value old);
  // The same where it takes no stacked value; nullopt where it does. Only `user` may use `old`.
  std::optional<Value> linear_sum(Value old);

 private:
  void write(Instruction& instruction);
  std::vector<Value> write_lane_by_lane(Instruction& instruction);

  const Variance& variance_;
  ValueMap map_;
  std::optional<Builder> builder_;
};

Dims shifted(const Dims& axes, int64_t by = 1);
Dims with_front(const Dims& dims, int64_t front);

std::vector<Value> results_of(Instruction& instruction);

}  // namespace systole::hlo::replicas
