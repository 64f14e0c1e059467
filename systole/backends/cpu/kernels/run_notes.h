// The events of one run of a program, for a recording (tracing/recording.h).
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::tracing {
struct Program;
}

namespace systole::cpu {

// The memory of a run's events. One for each run at a time.
class RunNotes {
 public:
  RunNotes();
  ~RunNotes();
  RunNotes(const RunNotes&) = delete;
  RunNotes& operator=(const RunNotes&) = delete;

  // Makes the run of `context` note its steps and ops. `in_loop`: the program has a step loop,
  // whose iterations are the steps; otherwise the run is one step.
  void begin(RunContext& context, const tracing::Program& program, bool in_loop);
  // Adds the events to the recording, as events of this thread.
  void end(RunContext& context);

  // Called by compiled code: before the step loop, after each of its steps, after it, and after an
  // op.
  void enter_steps(RunContext& context);
  void end_step(RunContext& context);
  void leave_steps(RunContext& context);
  void note_op(int64_t op);

 private:
  struct Events;
  void choose(RunContext& context, int64_t now) const;
  void record_steps();

  std::unique_ptr<Events> events_;
  const tracing::Program* program_ = nullptr;
  bool in_loop_ = false;
  int64_t step_begin_ = 0;  // ticks, as all times here
  int64_t last_ = 0;        // end of the last op
  int64_t ops_ = 0;         // noted in this step
  int64_t next_ = 0;        // when a step may note its ops again
};

}  // namespace systole::cpu
