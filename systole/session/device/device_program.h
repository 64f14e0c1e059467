// A compiled program and the session state that it reads and updates. Every launch of this layer is
// made here: runs of a session, loops of steps, functions on the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/client.h"
#include "systole/session/device/session_state.h"

namespace systole {

// Parameters: the variables in `reads`, the feeds, the random state where there are `run_counts`,
// further arguments, the memory of `spare`. Results: the fetches, the updates, the checks.
struct DeviceProgram {
  struct Read {
    VariableSlot* slot;
    const Node* handle;
    int update = -1;  // the index of the update that is written over the argument; -1: none
  };
  // Memory that an update is written to instead of the variable's own; the two are exchanged after
  // the launch.
  struct Spare {
    VariableSlot memory;
    int update;
  };
  // What a launch is given besides variables. Borrowed until the launch's event is ready; arguments
  // for the call.
  struct LaunchOptions {
    std::span<const runtime::Argument> feeds = {};
    std::span<const runtime::Argument> further = {};
    std::span<const runtime::Result> fetched = {};
    std::span<Tensor> flags = {};  // as many as checks
    std::vector<runtime::StepProfile>* profile = nullptr;
    int64_t steps = 1;
    bool on_host = false;  // part of a function on the host: recordings have no steps of it
    // Updates take place only after a launch without an error. False: at once, with buffers that
    // are still computed, unless checks decide about them.
    bool wait = true;
  };

  // Launches. Errors: FAILED_PRECONDITION for an uninitialised variable; those of
  // Executable::execute(); a failed check's own, and no variable has changed then. Those of the
  // program itself are thrown where the launch waits or has ended, else the event's. REQUIRES: the
  // session's lock, exclusive when exclusive().
  runtime::Event launch(const LaunchOptions& options);

  // Records the steps of a launch from `begin` (tracing::ticks) to now, in equal parts, while a
  // recording is in progress, if the device does not.
  void note_steps(int64_t begin, int64_t steps) const;

  // Counts `runs` more of the random ops.
  void advance(uint64_t runs) {
    for (uint64_t* count : run_counts) *count += runs;
  }
  // Whether launches change the session's state.
  bool exclusive() const { return !updates.empty() || !run_counts.empty(); }

  std::unique_ptr<runtime::Executable> executable;
  std::vector<Read> reads;
  std::vector<VariableSlot*> updates;
  std::vector<Spare> spare;
  std::vector<uint64_t*> run_counts;
  const SessionState* session = nullptr;  // of the run counts
  std::vector<SpecializedProgram::Check> checks;
  Tensor random_state;  // a launch's, under the exclusive lock
};

// Points the program at the variables, in the order of its parameters, and at its random ops.
void bind_state(DeviceProgram& program, SessionState& state, std::span<const Node* const> variables,
                std::span<const Node* const> updated, std::span<const Node* const> random_nodes);

// Errors: that of the first check whose flag is set.
void throw_failed_checks(std::span<const SpecializedProgram::Check> checks,
                         std::span<const Tensor> flags);

}  // namespace systole
