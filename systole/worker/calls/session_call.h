// The stream of a session.
#pragma once

#include <cstdint>
#include <memory>

#include "systole/base/mutex.h"
#include "systole/worker/calls/call.h"
#include "systole/worker/session.h"

namespace systole::worker {

struct GateState;
class SessionSink;

// Reads operations where they arrive, which does not block. A thread of its own attaches the stream
// to the session, answers heartbeats and detaches it: these may wait for a client that does not
// read.
class SessionCall final : public Call {
 public:
  SessionCall(const CallContext& context, GateState& gate);
  ~SessionCall() override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

 private:
  friend class SessionSink;
  void open();
  void take_message();
  void serve(uint64_t acknowledged);
  grpc::Status answer_heartbeats();
  void end_input(const grpc::Status& status);

  GateState& gate_;
  grpc::ByteBuffer message_;
  std::shared_ptr<WorkerSession> session_;  // set by open()
  std::shared_ptr<SessionSink> sink_;
  Mutex mutex_;
  CondVar changed_;
  bool heartbeat_ SYSTOLE_GUARDED_BY(mutex_) = false;  // one has arrived
  v1::Request last_heartbeat_ SYSTOLE_GUARDED_BY(mutex_);
  bool input_ended_ SYSTOLE_GUARDED_BY(mutex_) = false;  // with this status
  grpc::Status input_status_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::worker
