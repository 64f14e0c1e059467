#pragma once

#include <functional>
#include <utility>

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// Gives every replica its own part of each random stream: the counter of a Philox state u64[3] is
// moved by replica_id times the blocks of 128 bits that a draw takes. Replicas that draw for parts
// of a batch then draw, one behind the other, what one program would draw for the whole batch,
// where the parts fill their blocks. Leaves other generators and states, and draws that `wanted`
// does not want. Not idempotent.
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
