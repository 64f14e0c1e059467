#include "systole/worker/calls/unary_call.h"

#include <utility>

#include "systole/worker/calls/task_thread.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {

void check_small(const grpc::ByteBuffer& message) {
  if (message.Length() <= kMaxSmallBytes) return;
  throw invalid_argument("worker: message, got {} bytes, expected at most {}", message.Length(),
                         kMaxSmallBytes);
}

UnaryCall::UnaryCall(const CallContext& context, double seconds, TaskThread* thread,
                     Handler handler)
    : Call(context), thread_(thread), handler_(std::move(handler)) {
  read_first(&request_, seconds);
}

void UnaryCall::OnReadDone(bool ok) {
  if (!claim()) return;
  if (!ok) return Finish({grpc::StatusCode::CANCELLED, "worker: call, got no message"});
  if (thread_ == nullptr) return answer();
  if (thread_->post([this] { answer(); })) return;
  Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "worker: calls, got too many at a time"});
}

void UnaryCall::answer() {
  const grpc::Status status = status_of([&] {
    check_small(request_);
    reply_ = handler_(request_);
    admit_connection();
  });
  if (!status.ok()) return Finish(status);
  StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
}

}  // namespace systole::worker
