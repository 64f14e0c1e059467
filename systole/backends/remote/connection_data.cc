// The arrays that a connection sends and gets.
#include <cstring>
#include <thread>
#include <utility>

#include "systole/backends/remote/connection.h"
#include "systole/base/mutex.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::remote {
namespace {

namespace v1 = worker::v1;

constexpr int kTransferTries = 4;
constexpr auto kTransferPause = std::chrono::milliseconds(200);

bool is_broken(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED;
}

}  // namespace

TransferContext Connection::transfer_context() const {
  const MutexLock lock(mutex_);
  if (failure_) throw Error(*failure_);
  return {channel_, options_.credentials, hello_.session(),
          options_.silence_seconds + options_.reconnect_seconds};
}

void Connection::upload_bytes(uint64_t id, const TensorType& type, const void* data) {
  for (int tries = 1;; ++tries) {
    const grpc::Status status = upload(transfer_context(), id, type, data);
    if (status.ok()) return;
    if (!is_broken(status) || tries == kTransferTries) {
      throw worker::from_status(status, what("upload"));
    }
    std::this_thread::sleep_for(kTransferPause * tries);
  }
}

void Connection::give(const Tensor& value, v1::Data& data) {
  if (value.byte_size() <= hello_.limits().inline_bytes()) {
    return worker::set_bytes(worker::bytes_of(value), data);
  }
  const uint64_t id = new_id();
  upload_bytes(id, value.type(), value.raw());
  data.set_transfer(id);
  data.set_size(static_cast<uint64_t>(value.byte_size()));
}

void Connection::give_bytes(std::string_view bytes, v1::Data& data) {
  if (static_cast<int64_t>(bytes.size()) > hello_.limits().max_program_bytes()) {
    throw make_error(Code::resource_exhausted,
                     "worker {}: program, got {} bytes, expected at most {}", options_.address,
                     bytes.size(), hello_.limits().max_program_bytes());
  }
  if (static_cast<int64_t>(bytes.size()) <= hello_.limits().inline_bytes()) {
    return worker::set_bytes(bytes, data);
  }
  const uint64_t id = new_id();
  upload_bytes(id, {DType::u8, Shape({static_cast<int64_t>(bytes.size())})}, bytes.data());
  data.set_transfer(id);
  data.set_size(bytes.size());
}

void Connection::take(const v1::Data& data, void* target, int64_t size,
                      std::function<void(const Error*)> done) {
  try {
    if (data.place_case() != v1::Data::kTransfer) {
      const std::string_view bytes = worker::checked_bytes(data, "value");
      if (static_cast<int64_t>(bytes.size()) != size) {
        throw make_error(Code::data_loss, "worker {}: value, got {} bytes, expected {}",
                         options_.address, bytes.size(), size);
      }
      if (size > 0) std::memcpy(target, bytes.data(), bytes.size());
      return done(nullptr);
    }
    download_again(data.transfer(), target, size, kTransferTries, std::move(done));
  } catch (const Error& error) {
    done(&error);
  }
}

void Connection::download_again(uint64_t id, void* target, int64_t size, int tries,
                                std::function<void(const Error*)> done) {
  download(transfer_context(), id, target, size,
           [weak = weak_from_this(), id, target, size, tries,
            done = std::move(done)](const grpc::Status& status) mutable {
             const auto connection = weak.lock();
             if (status.ok()) {
               if (connection != nullptr) connection->free_later(id, size);
               return done(nullptr);
             }
             if (connection == nullptr || !is_broken(status) || tries <= 1) {
               const Error error = worker::from_status(status, "worker: download");
               return done(&error);
             }
             // Not on gRPC's thread, which must not wait.
             std::thread([connection, id, target, size, tries, done = std::move(done)]() mutable {
               std::this_thread::sleep_for(kTransferPause);
               try {
                 connection->download_again(id, target, size, tries - 1, done);
               } catch (const Error& error) {
                 done(&error);
               }
             }).detach();
           });
}

}  // namespace systole::remote
