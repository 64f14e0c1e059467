// Writes what moves a value from one layout to another.
#pragma once

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/partition/grid.h"

namespace systole::hlo::spmd {

// Returns the type of a device's part.
TensorType local_type(const Grid& grid, const TensorType& whole, const Layout& layout);

class Resharder {
 public:
  Resharder(const Grid& grid, int num_replicas) : grid_(grid), num_replicas_(num_replicas) {}

  // Returns the device's part in layout `to` of the value whose part in `from` is `part`. Atoms
  // that an axis gets and no axis had are a slice. Otherwise, in this order: a permutation of the
  // devices if all parts have the same shape; all_to_all for atoms that move to another axis;
  // all_gather. Before that, terms are added up; after it, the first device keeps the value as its
  // term, and the others get zeros; of an axis that is split over atoms of the sum each device
  // keeps its part.
  Value reshard(Builder& b, Value part, Layout from, const Layout& to);
  // Returns the device's index along the atoms times `scale`, s64[].
  Value index(Builder& b, const Atoms& atoms, int64_t scale) const;
  // Combines the parts of the devices that differ in these atoms alone.
  Value all_reduce(Builder& b, Value part, const Atoms& atoms, Opcode reducer);
  // The same, and returns the device's part of it along `axis`, which these atoms split further.
  Value reduce_scatter(Builder& b, Value part, const Atoms& atoms, int64_t axis, Opcode reducer);
  // Returns the value of the device at the other end of these atoms.
  Value mirror(Builder& b, Value part, const Atoms& atoms);
  // Returns the value of the first device.
  Value from_first_device(Builder& b, Value value);

 private:
  Value add_up(Builder& b, Value part, Layout& from, const Layout& to);
  Value move(Builder& b, Value part, Layout& from, const Layout& to);
  // Parts along axes that `to` has whole become terms: the part among zeros.
  Value keep_part_as_term(Builder& b, Value part, Layout& from, const Layout& to) const;
  Value keep_one_term(Builder& b, Value part, const Layout& from, const Layout& to) const;
  Value slice(Builder& b, Value part, Layout& from, const Layout& to) const;
  Value permute(Builder& b, Value part, const Layout& from, const Layout& to);
  bool move_axis(Builder& b, Value& part, Layout& from, const Layout& to);
  Value gather(Builder& b, Value part, Layout& from, const Layout& to);
  ChannelHandle next_channel() { return {.handle = ++channels_, .type = 1}; }
  // Groups of the partitions that differ in these atoms alone; if `flattened`, of all processes of
  // the grid of replicas by partitions.
  CollectiveAttrs groups(const Atoms& atoms, bool flattened);

  const Grid& grid_;
  const int num_replicas_;
  int64_t channels_ = 0;
};

}  // namespace systole::hlo::spmd
