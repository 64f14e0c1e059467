// What carries out the operations of a session: this process, or one of the session's own.
#pragma once

#include <cstdint>
#include <string>

#include "systole/base/error.h"
#include "systole/worker/protocol/worker.pb.h"

namespace systole::worker {

// Used by one thread at a time, a session's executor, except where said.
class OperationRunner {
 public:
  virtual ~OperationRunner() = default;
  // Carries out the operation of a request and returns when it has ended. An error goes into the
  // reply, and becomes the error of the buffers that the operation should have made. May empty the
  // request.
  virtual void run(v1::Request& request, v1::Reply& reply) = 0;
  // Does not carry it out: it ends with `error`.
  virtual void refuse(v1::Request& request, const Error& error, v1::Reply& reply) = 0;
  // Frees all objects. No operation follows.
  virtual void clear() = 0;
  // Ends the operation under way, where that is possible. Thread-safe.
  virtual void stop() = 0;
  virtual int64_t num_buffers() const = 0;
  virtual int64_t num_executables() const = 0;
};

}  // namespace systole::worker
