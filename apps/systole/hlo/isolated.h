// Runs tasks in separate processes, so that a crash or hang affects one task only.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace systole::app {

// The outcome of a task.
struct IsolatedResult {
  std::string text;   // its return value
  std::string death;  // why it ended without returning: "signal 11 (Segmentation fault)"; else ""
};

struct IsolationOptions {
  int processes = 1;        // concurrent tasks
  double time_limit = 600;  // seconds per task, after which its process is killed
};

// Calls task(i) for every i in [0, count) in worker processes, which are copies of this process,
// and done(i, result) in this process, in the order of i. `task` must not throw; a task that does
// counts as dead. REQUIRES: this process has one thread (fork copies no other). Errors:
// RESOURCE_EXHAUSTED if no process can be created; those of `done`, after all processes have ended.
void run_isolated(size_t count, const IsolationOptions& options,
                  const std::function<std::string(size_t)>& task,
                  const std::function<void(size_t, const IsolatedResult&)>& done);

}  // namespace systole::app
