// Which instructions of a computation go into one loop nest: the decisions of the fusion pass,
// before it changes anything.
#pragma once

#include <vector>

#include "systole/hlo/passes/fusion.h"

namespace systole::hlo {

// Element i of the result is made of element i of the operands, in row-major order.
bool maps_element_to_element(const Instruction& instruction);

// Instructions are numbered in program order, the terminator left out. Every instruction is in a
// group, at first alone; a group has the number of one of its members. The graph of groups stays
// free of cycles.
class FusionGroups {
 public:
  FusionGroups(Computation& computation, const FusionOptions& options);

  void form();

  int size() const { return static_cast<int>(program_.size()); }
  Instruction* instruction(int i) const { return program_[static_cast<size_t>(i)]; }
  int group(int i) const { return group_[static_cast<size_t>(i)]; }
  // The instructions of this computation that use i, or that have a region which does, each once.
  // The terminator is -1 and left out.
  const std::vector<int>& users(int i) const { return users_[static_cast<size_t>(i)]; }

 private:
  struct Group {
    std::vector<int> members;  // in no given order
    Shape loop;                // what the nest runs over
    bool ends = false;         // in reductions or the like
    int code = 0;              // of the members: FusionOptions::max_code
  };

  bool movable(int i) const { return movable_[static_cast<size_t>(i)]; }
  void start_groups();
  void join_users(int i);
  int code_of(int i) const;
  bool has_room(int i, int group) const;
  bool fits_inside(int i, int group) const;
  bool index_kept(int i, int group) const;
  // The times that the group computes one element of i, were it a member; 0 when that cannot be
  // told.
  double evaluations(int i, int group) const;
  bool fits_as_result(int i, int group);
  // A path from a user of i outside of the group leads back into it.
  bool makes_cycle(int i, int group);
  bool reaches(const std::vector<int>& from, int group);
  void join(int i, int group);
  int rank_above_users(int i) const;
  void raise_rank(int group, int rank);
  // Every group's rank is higher than those of its users: the graph of groups has no cycle.
  bool ranks_hold() const;
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
  // Of each group, higher than those of all groups that use it: searches for paths look no further.
  std::vector<int> rank_;
  std::vector<int> seen_;    // the number of the last search that came by the group
  std::vector<int> wanted_;  // that of the last search for it
  int search_ = 0;
  std::vector<bool>
      own_index_;  // computed at the index of the nest (or of the reduction's operand)
  std::vector<double> evaluated_;  // elements computed by its group
};

}  // namespace systole::hlo
