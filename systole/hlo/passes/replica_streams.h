#pragma once

#include <functional>
#include <utility>

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// Gives every replica its own part of each random stream: adds replica_id times the number of
// 128-bit blocks of a draw to the counter of a Philox state u64[3]. If the draws fill their blocks,
// replicas that draw for parts of a batch get the numbers that one program would draw for the whole
// batch. Leaves other generators and states alone, and draws that `wanted` rejects. Not idempotent.
class ReplicaStreams : public Pass {
 public:
  using Filter = std::function<bool(const Instruction& draw)>;
  explicit ReplicaStreams(Filter wanted = nullptr) : wanted_(std::move(wanted)) {}

  std::string_view name() const override { return "replica_streams"; }
  bool run(Module& module) override;

 private:
  bool visit(Computation& computation);

  Filter wanted_;
};

}  // namespace systole::hlo
