// What the calls of a worker share.
#pragma once

#include "systole/worker/calls/call.h"
#include "systole/worker/calls/health_call.h"
#include "systole/worker/calls/session_streams.h"
#include "systole/worker/calls/task_thread.h"
#include "systole/worker/network/connections.h"
#include "systole/worker/service.h"
#include "systole/worker/worker_options.h"

namespace systole::worker {

// All that the constructor takes must outlive it.
struct GateState {
  GateState(WorkerService& service, const WorkerOptions& options, Connections& connections);

  WorkerService& service;
  const WorkerOptions& options;
  Connections& connections;
  HealthState health;
  CallList calls;
  SessionStreamTable streams;
  ThreadCount session_threads;
  ThreadCount profile_threads;
  TaskThread hello_thread;
  TaskThread close_thread;
};

}  // namespace systole::worker
