// Sums over the replicas of several processes.
#pragma once

#include "systole/hlo/passes/pass.h"
#include "systole/runtime/process_group.h"

namespace systole::cpu {

// Joins sums over replicas (calls of hlo::kSumReplicas), so that processes exchange few large
// arrays instead of many small ones. Those of one type of elements of which none needs the result
// of another become one call of kAllReduceStart and one of kAllReduceDone (kernels/processes.h), as
// long as they have no more bytes than runtime::max_joined_bytes(). A sum that joins no other
// becomes such calls, too. What needs no sum comes before what does.
class AllReduceCombiner : public hlo::Pass {
 public:
  explicit AllReduceCombiner(const runtime::ProcessGroup& processes) : processes_(processes) {}
  std::string_view name() const override { return "all_reduce_combiner"; }
  bool run(hlo::Module& module) override;

 private:
  const runtime::ProcessGroup& processes_;
};

// Moves each call of kAllReduceStart to where its operands are there, each call of kAllReduceDone
// to the first use of its result, and what needs no sum before it: the program computes while
// processes exchange.
class AllReduceScheduler : public hlo::Pass {
 public:
  std::string_view name() const override { return "all_reduce_scheduler"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
