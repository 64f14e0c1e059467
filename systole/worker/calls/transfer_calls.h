// The streams of arrays. They use no thread while they wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "systole/base/mutex.h"
#include "systole/worker/calls/call.h"
#include "systole/worker/calls/session_streams.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/session.h"

namespace systole::worker {

struct GateState;

class UploadCall final : public Call, private TurnReader {
 public:
  UploadCall(const CallContext& context, GateState& gate);
  void OnReadDone(bool ok) override;
  void OnCancel() override;

 private:
  void read_in_turn() override;
  // All REQUIRE the lock.
  void begin(grpc::ByteBuffer& message) SYSTOLE_REQUIRES(mutex_);
  void end(const grpc::Status& status) SYSTOLE_REQUIRES(mutex_);

  GateState& gate_;
  Mutex mutex_;  // of all below, except for message_ while it is read
  bool claimed_ SYSTOLE_GUARDED_BY(mutex_) = false;
  bool ended_ SYSTOLE_GUARDED_BY(mutex_) = false;
  grpc::ByteBuffer message_;
  grpc::ByteBuffer reply_ SYSTOLE_GUARDED_BY(mutex_);
  std::shared_ptr<WorkerSession> session_ SYSTOLE_GUARDED_BY(mutex_);
  std::shared_ptr<SessionStreams> streams_ SYSTOLE_GUARDED_BY(mutex_);
  std::shared_ptr<Transfer> transfer_ SYSTOLE_GUARDED_BY(mutex_);
  std::optional<ChunkReader> reader_ SYSTOLE_GUARDED_BY(mutex_);
  uint64_t id_ SYSTOLE_GUARDED_BY(mutex_) = 0;
};

class DownloadCall final : public Call {
 public:
  DownloadCall(const CallContext& context, GateState& gate);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 private:
  void begin();
  void write_next();

  GateState& gate_;
  std::shared_ptr<WorkerSession> session_;  // outlives the transfer
  std::shared_ptr<SessionStreams> streams_;
  std::optional<ChunkWriter> writer_;
  grpc::ByteBuffer message_;
};

}  // namespace systole::worker
