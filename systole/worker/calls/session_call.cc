#include "systole/worker/calls/session_call.h"

#include <utility>

#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/worker/calls/gate_state.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {

// The replies of a stream. One is written while the next is made.
class SessionSink final : public ReplySink {
 public:
  explicit SessionSink(SessionCall& call) : call_(call), canceller_(call.canceller()) {}

  bool send(const v1::Reply& reply) override {
    grpc::ByteBuffer bytes = to_buffer(reply);
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return !writing_ || ended_; });
      if (ended_) return false;
      writing_ = true;
    }
    message_.Swap(&bytes);
    call_.StartWrite(&message_);  // close() waits for its end, so the call lives
    return true;
  }
  void cancel() override { canceller_->cancel(); }

  // The write has ended.
  void written(bool ok) {
    const MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) ended_ = true;
    changed_.notify_all();
  }
  // Nothing more is sent.
  void end() {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // Ends, and waits for the write under way.
  void close() {
    MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return !writing_; });
  }

 private:
  SessionCall& call_;
  const std::shared_ptr<Canceller> canceller_;
  grpc::ByteBuffer message_;
  Mutex mutex_;
  CondVar changed_;
  bool writing_ SYSTOLE_GUARDED_BY(mutex_) = false;
  bool ended_ SYSTOLE_GUARDED_BY(mutex_) = false;
};

SessionCall::SessionCall(const CallContext& context, GateState& gate)
    : Call(context), gate_(gate), sink_(std::make_shared<SessionSink>(*this)) {
  read_first(&message_, gate_.options.first_message_seconds);
}

SessionCall::~SessionCall() = default;

void SessionCall::OnReadDone(bool ok) {
  if (session_ == nullptr) {
    if (!claim()) return;
    const grpc::Status status = status_of([&] {
      if (!ok) throw make_error(Code::cancelled, "worker: session, got no message");
      open();
    });
    if (!status.ok()) Finish(status);
    return;
  }
  if (!ok) return end_input(grpc::Status::OK);
  const grpc::Status status = status_of([&] { take_message(); });
  if (!status.ok()) return end_input(status);
  StartRead(&message_);
}

void SessionCall::open() {
  v1::Request request;
  if (!from_buffer(message_, request) || !request.has_open()) {
    throw invalid_argument("worker: first request of a session, got another, expected open");
  }
  const auto session = gate_.service.open(request.open().session());
  admit_connection();
  session_ = session;
  try {
    gate_.session_threads.start([this, seen = request.acknowledged()] { serve(seen); });
  } catch (...) {
    session_.reset();
    throw;
  }
}

void SessionCall::take_message() {
  v1::Request request;
  if (!from_buffer(message_, request)) {
    throw invalid_argument("worker: request, got bytes that are none");
  }
  if (request.op_id() != 0) return session_->receive(std::move(request));
  const MutexLock lock(mutex_);
  heartbeat_ = true;
  last_heartbeat_.Clear();
  last_heartbeat_.set_acknowledged(request.acknowledged());
  changed_.notify_all();
}

void SessionCall::end_input(const grpc::Status& status) {
  const MutexLock lock(mutex_);
  if (!input_ended_) input_status_ = status;
  input_ended_ = true;
  changed_.notify_all();
}

void SessionCall::serve(uint64_t acknowledged) {
  grpc::Status status = status_of([&] { session_->attach(sink_, acknowledged); });
  if (status.ok()) {
    StartRead(&message_);
    status = answer_heartbeats();
    if (!status.ok()) {
      log_warning("worker: session of {}: {}", session_->client(), status.error_message());
    }
    session_->detach(*sink_);  // first: close() cancels the stream, and its error with it
    if (!status.ok()) session_->close();
  } else {
    session_->detach(*sink_);
  }
  set_deadline(gate_.options.stall_seconds);
  sink_->close();
  Finish(status);
}

grpc::Status SessionCall::answer_heartbeats() {
  while (true) {
    v1::Request heartbeat;
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return heartbeat_ || input_ended_; });
      if (input_ended_) return input_status_;
      heartbeat_ = false;
      heartbeat = last_heartbeat_;
    }
    grpc::Status status = status_of([&] { session_->receive(std::move(heartbeat)); });
    if (!status.ok()) return status;
  }
}

void SessionCall::OnWriteDone(bool ok) { sink_->written(ok); }

void SessionCall::OnCancel() {
  Call::OnCancel();
  sink_->end();
  end_input(grpc::Status::OK);
}

}  // namespace systole::worker
