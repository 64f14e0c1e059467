// The stream of a recording.
#pragma once

#include <memory>

#include "systole/base/mutex.h"
#include "systole/worker/calls/call.h"
#include "systole/worker/service.h"

namespace systole::worker {

struct GateState;

// Has a thread of its own after its first message.
class ProfileCall final : public Call, public ProfilePeer {
 public:
  ProfileCall(const CallContext& context, GateState& gate);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

  // The calls of ProfilePeer, on the call's thread.
  bool read(v1::ProfileRequest& request) override;
  bool write(const v1::ProfileReply& reply) override;
  std::function<void()> canceller() override;

 private:
  void serve();
  // Waits for `done`, within the time for a client that stands still. Returns its outcome.
  bool wait_for(bool& done, const bool& outcome);

  GateState& gate_;
  grpc::ByteBuffer message_;  // that is read
  grpc::ByteBuffer written_;
  bool begun_ = false;
  Mutex mutex_;
  CondVar changed_;
  bool read_done_ = false;
  bool read_ok_ = false;
  bool write_done_ = false;
  bool write_ok_ = false;
};

}  // namespace systole::worker
