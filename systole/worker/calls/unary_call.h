// Calls with one small request and one small reply.
#pragma once

#include <functional>
#include <memory>

#include "systole/worker/calls/call.h"

namespace systole::worker {

// Runs what may block, on one thread. Thread-safe.
class TaskThread;

class UnaryCall final : public Call {
 public:
  // Returns the reply to a request. May throw.
  using Handler = std::function<grpc::ByteBuffer(grpc::ByteBuffer& request)>;

  // The handler runs on `thread` if there is one, otherwise where the request arrives.
  UnaryCall(const CallContext& context, double seconds, TaskThread* thread, Handler handler);
  void OnReadDone(bool ok) override;

 private:
  void answer();

  TaskThread* const thread_;
  const Handler handler_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
};

// Requests of calls other than streams.
inline constexpr size_t kMaxSmallBytes = size_t{64} << 10;
// Errors: INVALID_ARGUMENT for a message beyond that.
void check_small(const grpc::ByteBuffer& message);

}  // namespace systole::worker
