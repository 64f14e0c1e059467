#include "systole/backends/remote/transfer.h"

#include <optional>
#include <string>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::remote {
namespace {

using worker::ChunkReader;
using worker::ChunkWriter;
namespace v1 = worker::v1;

constexpr double kSecondsPerByte = 1e-6;

double seconds_for(const TransferContext& context, int64_t bytes) {
  return context.stall_seconds + static_cast<double>(bytes) * kSecondsPerByte;
}

class Latch {
 public:
  void open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return open_; });
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ SYSTOLE_GUARDED_BY(mutex_) = false;
};

// Lives on the stack of upload(), which waits for OnDone().
class UploadCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  UploadCall(const TransferContext& context, uint64_t id, const TensorType& type, const void* data)
      : stub_(context.channel),
        // gRPC may keep slices of the memory after the call has ended. `free_` opens when it
        // releases the last one.
        writer_(std::in_place, data, type.byte_size(),
                std::shared_ptr<const void>(data, [this](const void*) { free_.open(); })) {
    worker::prepare(*context_, context.credentials, seconds_for(context, type.byte_size()));
    v1::Chunk chunk;
    v1::UploadHeader& header = *chunk.mutable_header();
    *header.mutable_session() = context.session;
    header.set_transfer(id);
    worker::to_wire(type, *header.mutable_type());
    message_ = worker::to_buffer(chunk);
    next_ = writer_->next();
    stub_.PrepareBidiStreamingCall(&*context_, "/systole.worker.v1.Worker/Upload", {}, this);
    StartRead(&reply_);
    StartWrite(&message_);
    StartCall();
  }

  grpc::Status wait() {
    done_.wait();
    context_.reset();  // the call, with what it has not sent of a refused upload
    writer_.reset();
    message_.Clear();
    next_.reset();
    free_.wait();
    return status_;
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;
    // The message is written while the checksum of the one after it is computed.
    const MutexLock lock(mutex_);
    if (!next_) return StartWritesDone();
    message_.Swap(&*next_);
    StartWrite(&message_);
    next_ = writer_->next();
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.open();
  }

 private:
  grpc::GenericStub stub_;
  std::optional<grpc::ClientContext> context_{std::in_place};
  Latch free_;
  Latch done_;
  Mutex mutex_;
  std::optional<ChunkWriter> writer_;
  std::optional<grpc::ByteBuffer> next_;  // none after the last
  grpc::ByteBuffer message_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
};

// Deletes itself.
class DownloadCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  DownloadCall(const TransferContext& context, uint64_t id, void* target, int64_t size,
               std::function<void(const grpc::Status&)> done)
      : stub_(context.channel), reader_(target, size), done_(std::move(done)) {
    worker::prepare(context_, context.credentials, seconds_for(context, size));
    v1::DownloadRequest request;
    *request.mutable_session() = context.session;
    request.set_transfer(id);
    request_ = worker::to_buffer(request);
    stub_.PrepareBidiStreamingCall(&context_, "/systole.worker.v1.Worker/Download", {}, this);
    StartWriteLast(&request_, {});
    StartRead(&message_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    try {
      complete_ = reader_.take(message_);
      StartRead(&message_);
    } catch (const Error& error) {
      failure_ = worker::to_status(error);
      context_.TryCancel();
    }
  }
  void OnDone(const grpc::Status& status) override {
    grpc::Status result = failure_.value_or(status);
    if (result.ok() && !complete_) {
      result = {grpc::StatusCode::DATA_LOSS, "worker: download, got no end"};
    }
    const auto done = std::move(done_);
    delete this;
    done(result);
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  ChunkReader reader_;
  std::function<void(const grpc::Status&)> done_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer message_;
  bool complete_ = false;
  std::optional<grpc::Status> failure_;
};

}  // namespace

grpc::Status upload(const TransferContext& context, uint64_t id, const TensorType& type,
                    const void* data) {
  return UploadCall(context, id, type, data).wait();
}

void download(const TransferContext& context, uint64_t id, void* target, int64_t size,
              std::function<void(const grpc::Status&)> done) {
  new DownloadCall(context, id, target, size, std::move(done));
}

}  // namespace systole::remote
