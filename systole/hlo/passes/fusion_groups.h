// The decisions of the fusion pass: which instructions of a computation share a loop nest.
#pragma once

#include <vector>

#include "systole/hlo/passes/fusion.h"

namespace systole::hlo {

// Returns whether element i of the result depends on element i of the operands only, in row-major
// order.
bool maps_element_to_element(const Instruction& instruction);

// Instructions are numbered in program order, without the terminator. Each starts in a group of its
// own; a group is identified by the number of one of its members. The graph of groups stays
// acyclic.
class FusionGroups {
 public:
  FusionGroups(Computation& computation, const FusionOptions& options);

  void form();

  int size() const { return static_cast<int>(program_.size()); }
  Instruction* instruction(int i) const { return program_[i]; }
  int group(int i) const { return group_[i]; }
  // The instructions of this computation that use i, directly or in a region, without repetitions.
  // The terminator is left out.
  const std::vector<int>& users(int i) const { return users_[i]; }

 private:
  struct Group {
    std::vector<int> members;  // in no given order
    Shape loop;                // what the nest runs over
    bool ends = false;         // in reductions or the like
    int code = 0;              // of the members: FusionOptions::max_code
  };

  bool movable(int i) const { return movable_[i]; }
  void start_groups();
  void join_users(int i);
  int code_of(int i) const;
  bool has_room(int i, int group) const;
  bool fits_inside(int i, int group) const;
  bool index_kept(int i, int group) const;
  // How often the group would compute one element of i if it were a member; 0 if unknown.
  double evaluations(int i, int group) const;
  bool fits_as_result(int i, int group);
  bool has_only_bitcasts(int group) const;
  // Whether a path leads from a user of i outside the group back into the group.
  bool makes_cycle(int i, int group);
  bool reaches(const std::vector<int>& from, int group);
  void join(int i, int group);
  int rank_above_users(int i) const;
  void raise_rank(int group, int rank);
  // Whether every group's rank is higher than those of its users, which proves that the graph is
  // acyclic.
  bool ranks_hold() const;
  void merge_consumers();
  bool is_loop(int group) const;
  // Whether a loop that computes `producer` could compute `consumer` too: both have one number of
  // elements, and the consumer reads results of the producer, each of them at its own index.
  bool reads_at_own_index(int consumer, int producer) const;
  bool merges_into(int consumer, int producer);
  void merge_ends();
  void merge(int from, int into);
  bool is_end(int group) const;
  std::vector<const Instruction*> large_reads(int group) const;
  bool same_nest(int a, int b) const;

  const FusionOptions& options_;
  std::vector<Instruction*> program_;
  std::vector<std::vector<int>> users_;
  std::vector<std::vector<int>> inputs_;  // the other way round
  std::vector<bool> used_outside_;        // by the terminator
  std::vector<bool> movable_;
  std::vector<int> group_;
  std::vector<Group> groups_;
  // Per group; higher than those of all groups that use it. Bounds searches for paths.
  std::vector<int> rank_;
  std::vector<int> seen_;    // the number of the last search that came by the group
  std::vector<int> wanted_;  // that of the last search for it
  int search_ = 0;
  std::vector<bool>
      own_index_;  // computed at the index of the nest (or of the reduction's operand)
  std::vector<double> evaluated_;  // elements computed by its group
};

}  // namespace systole::hlo
