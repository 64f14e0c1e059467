// Runs tasks in processes of their own, so that one that crashes or hangs costs itself alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace systole::app {

// What became of a task.
struct IsolatedResult {
  std::string text;   // what it returned
  std::string death;  // how it ended without returning: "signal 11 (Segmentation fault)"; else ""
};

struct IsolationOptions {
  int processes = 1;        // tasks at a time
  double time_limit = 600;  // seconds a task; beyond them its process is ended
};

// Calls task(i) for every i in [0, count), each call in one of the worker processes, which are
// copies of this one, and done(i, result) here, in the order of i. REQUIRES: this process has one
// thread (fork copies no other). Errors: RESOURCE_EXHAUSTED when no process can be made; what
// `done` throws, after all processes have ended. `task` must not throw: a task that does counts as
// dead.
void run_isolated(size_t count, const IsolationOptions& options,
                  const std::function<std::string(size_t)>& task,
                  const std::function<void(size_t, const IsolatedResult&)>& done);

}  // namespace systole::app
