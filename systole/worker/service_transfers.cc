// The streams of arrays.
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"
#include "systole/worker/service.h"

namespace systole::worker {
namespace {

class UploadReactor final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  UploadReactor(WorkerService& service, grpc::CallbackServerContext& context,
                grpc::ByteBuffer& reply)
      : service_(service), context_(context), reply_(reply) {
    StartRead(&message_);
  }

  // The message after this one arrives while this one is copied.
  void OnReadDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    grpc::ByteBuffer message;
    message.Swap(&message_);
    if (ok) StartRead(&message_);
    try {
      if (!ok) throw make_error(Code::cancelled, "worker: upload, got no end");
      if (session_ == nullptr) {
        begin(message);
      } else if (reader_->take(message)) {
        session_->transfers().finish_upload(id_, transfer_);
        reply_ = to_buffer(v1::UploadReply());
        finish(grpc::Status::OK);
      }
    } catch (const Error& error) {
      if (transfer_ != nullptr) session_->transfers().drop_upload(id_, transfer_);
      finish(to_status(error));
    } catch (const std::bad_alloc&) {
      finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "worker: memory, got none left"});
    }
  }
  void OnDone() override { delete this; }

 private:
  void finish(const grpc::Status& status) {
    finished_ = true;
    Finish(status);
  }
  void begin(grpc::ByteBuffer& message) {
    service_.check_token(context_);
    v1::Chunk chunk;
    if (!from_buffer(message, chunk) || !chunk.has_header()) {
      throw invalid_argument("worker: upload, got a message without header first");
    }
    const v1::UploadHeader& header = chunk.header();
    const auto session = service_.find(header.session());
    id_ = header.transfer();
    transfer_ = session->transfers().begin_upload(id_, from_wire(header.type()),
                                                  [this] { context_.TryCancel(); });
    reader_.emplace(transfer_->value.raw(), transfer_->value.byte_size());
    session_ = session;
  }

  WorkerService& service_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& reply_;
  std::mutex mutex_;  // of all below, except for message_ while it is read
  bool finished_ = false;
  grpc::ByteBuffer message_;
  std::shared_ptr<WorkerSession> session_;
  std::shared_ptr<Transfer> transfer_;
  std::optional<ChunkReader> reader_;
  uint64_t id_ = 0;
};

class DownloadReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  DownloadReactor(WorkerService& service, grpc::CallbackServerContext& context,
                  const grpc::ByteBuffer& request) {
    try {
      service.check_token(context);
      v1::DownloadRequest message;
      grpc::ByteBuffer bytes = request;
      if (!from_buffer(bytes, message)) {
        throw invalid_argument("worker: download, got a damaged request");
      }
      const auto transfer = service.find(message.session())->transfers().find(message.transfer());
      writer_.emplace(transfer->value.raw(), transfer->value.byte_size(), transfer);
      write_next();
    } catch (const Error& error) {
      Finish(to_status(error));
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::CANCELLED, "worker: download, got no reader"});
    write_next();
  }
  void OnDone() override { delete this; }

 private:
  void write_next() {
    auto next = writer_->next();
    if (!next) return Finish(grpc::Status::OK);
    message_.Swap(&*next);
    StartWrite(&message_);
  }

  std::optional<ChunkWriter> writer_;
  grpc::ByteBuffer message_;
};

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* WorkerService::Upload(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* reply) {
  return new UploadReactor(*this, *context, *reply);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* WorkerService::Download(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return new DownloadReactor(*this, *context, *request);
}

}  // namespace systole::worker
