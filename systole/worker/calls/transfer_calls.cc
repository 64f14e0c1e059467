#include "systole/worker/calls/transfer_calls.h"

#include <utility>

#include "systole/base/mutex.h"
#include "systole/worker/calls/gate_state.h"
#include "systole/worker/calls/unary_call.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {

UploadCall::UploadCall(const CallContext& context, GateState& gate) : Call(context), gate_(gate) {
  read_first(&message_, gate_.options.first_message_seconds);
}

void UploadCall::read_in_turn() {
  set_deadline(gate_.options.stall_seconds);
  StartRead(&message_);
}

// The message after this one arrives while this one is copied.
void UploadCall::OnReadDone(bool ok) {
  const MutexLock lock(mutex_);
  const bool first = !claimed_;
  if (first && !claim()) return;
  claimed_ = true;
  if (!first) streams_->read_done();
  if (ended_) return;
  set_deadline(0);
  grpc::ByteBuffer message;
  message.Swap(&message_);
  if (ok && !first) streams_->read(*this);
  bool complete = false;
  const grpc::Status status = status_of([&]() SYSTOLE_REQUIRES(mutex_) {
    if (!ok) throw make_error(Code::cancelled, "worker: upload, got no end");
    if (first) {
      begin(message);
    } else {
      complete = reader_->take(message);
    }
    if (complete) session_->transfers().finish_upload(id_, transfer_);
  });
  if (!status.ok()) {
    end(status);
  } else if (complete) {
    end(grpc::Status::OK);
  } else if (first) {
    streams_->read(*this);
  }
}

void UploadCall::OnCancel() {
  Call::OnCancel();
  const MutexLock lock(mutex_);
  // A read under way ends by itself.
  if (streams_ != nullptr && !ended_ && streams_->leave(*this)) {
    end({grpc::StatusCode::CANCELLED, "worker: upload, got no end"});
  }
}

void UploadCall::begin(grpc::ByteBuffer& message) {
  check_small(message);
  v1::Chunk chunk;
  if (!from_buffer(message, chunk) || !chunk.has_header()) {
    throw invalid_argument("worker: upload, got a message without header first");
  }
  admit_connection();
  const v1::UploadHeader& header = chunk.header();
  session_ = gate_.service.find(header.session());
  streams_ = gate_.streams.join(session_->id());
  id_ = header.transfer();
  transfer_ = session_->transfers().begin_upload(id_, from_wire(header.type()),
                                                 [end = canceller()] { end->cancel(); });
  reader_.emplace(transfer_->value.raw(), transfer_->value.byte_size());
}

void UploadCall::end(const grpc::Status& status) {
  ended_ = true;
  if (streams_ != nullptr) static_cast<void>(streams_->leave(*this));
  if (!status.ok()) {
    if (transfer_ != nullptr) session_->transfers().drop_upload(id_, transfer_);
    return Finish(status);
  }
  reply_ = to_buffer(v1::UploadReply());
  StartWriteAndFinish(&reply_, {}, status);
}

DownloadCall::DownloadCall(const CallContext& context, GateState& gate)
    : Call(context), gate_(gate) {
  read_first(&message_, gate_.options.first_message_seconds);
}

void DownloadCall::OnReadDone(bool ok) {
  if (!claim()) return;
  const grpc::Status status = status_of([&] {
    if (!ok) throw make_error(Code::cancelled, "worker: download, got no message");
    begin();
  });
  if (!status.ok()) return Finish(status);
  write_next();
}

void DownloadCall::begin() {
  check_small(message_);
  v1::DownloadRequest request;
  if (!from_buffer(message_, request)) {
    throw invalid_argument("worker: download, got a damaged request");
  }
  admit_connection();
  session_ = gate_.service.find(request.session());
  streams_ = gate_.streams.join(session_->id());
  const auto transfer = session_->transfers().find(request.transfer());
  writer_.emplace(transfer->value.raw(), transfer->value.byte_size(), transfer);
}

void DownloadCall::OnWriteDone(bool ok) {
  set_deadline(0);
  if (!ok) return Finish({grpc::StatusCode::CANCELLED, "worker: download, got no reader"});
  write_next();
}

void DownloadCall::write_next() {
  std::optional<grpc::ByteBuffer> next;
  const grpc::Status status = status_of([&] { next = writer_->next(); });
  if (!status.ok() || !next) return Finish(status);
  message_.Swap(&*next);
  set_deadline(gate_.options.stall_seconds);
  StartWrite(&message_);
}

}  // namespace systole::worker
