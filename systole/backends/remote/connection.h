// One session with a worker.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/backends/remote/transfer.h"
#include "systole/backends/remote/worker_capture.h"
#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/base/tensor.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/worker.grpc.pb.h"

namespace systole::remote {

struct ConnectionOptions {
  std::string address;
  worker::Credentials credentials;
  double connect_seconds = 10;    // for the first answer
  double silence_seconds = 15;    // without a message from the worker: the connection is lost
  double reconnect_seconds = 10;  // to continue the session after a lost connection
  double lease_seconds = 30;      // that the worker keeps the session without a connection
};

// Sends operations in order and hands out their replies. When the connection is lost it continues
// the session on a new one: operations that the worker has not received are sent again, and those
// that it has carried out are not. When that fails, everything that waits ends with UNAVAILABLE.
// Thread-safe.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Gets the reply, or the error of an operation that failed, on a thread of the connection.
  // REQUIRES: it neither throws nor blocks.
  using Handler = std::function<void(const worker::v1::Reply& reply, const Error* error)>;

  // Errors: UNAVAILABLE if nobody answers; those of the worker.
  static std::shared_ptr<Connection> open(const ConnectionOptions& options);
  ~Connection();  // ends the session
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const worker::v1::HelloReply& hello() const { return hello_; }
  // Returns the number of a new buffer, executable or transfer.
  uint64_t new_id() { return next_id_++; }
  // The error with which the session has ended; none while it lives.
  std::optional<Error> failure() const;
  // Whether the worker has told that it will end soon.
  bool preempted() const { return preempted_; }

  // Sends an operation, whose number it sets. Blocks while too many are without a reply. Errors:
  // failure(), and the handler is not called then.
  void send(worker::v1::Request&& request, Handler handler);
  // Sends and waits. Errors: that of the reply, failure().
  worker::v1::Reply call(worker::v1::Request&& request);

  // Puts the value into a request: its bytes, or an upload, which has ended when this returns.
  // Errors: those of the upload.
  void give(const Tensor& value, worker::v1::Data& data);
  void give_bytes(std::string_view bytes, worker::v1::Data& data);
  // Takes a value out of a reply: `done` gets null, or the error. `target` has the value's size
  // and stays in place until then. Frees the transfer.
  void take(const worker::v1::Data& data, void* target, int64_t size,
            std::function<void(const Error*)> done);
  // Frees a buffer, an executable or a transfer of the worker, after the operations sent before.
  void free_later(uint64_t id, int64_t bytes);

 private:
  using Stream = grpc::ClientReaderWriter<worker::v1::Request, worker::v1::Reply>;
  using SteadyClock = std::chrono::steady_clock;
  struct Pending {
    uint64_t op_id;
    Handler handler;
    std::shared_ptr<const worker::v1::Request> request;
    int64_t began;  // CallLog::now()
  };

  explicit Connection(const ConnectionOptions& options) : options_(options) {}
  void start();
  // From now on, recordings of this process have the worker's.
  void record_with_process();
  void say_hello();
  // Opens the session's stream, and returns the number of operations that the worker has. Errors:
  // those of the worker, UNAVAILABLE. REQUIRES: send_mutex_.
  uint64_t open_stream();
  // Returns why the stream has ended: never OK. REQUIRES: send_mutex_.
  grpc::Status finish_stream();
  void read_replies();
  void handle(const worker::v1::Reply& reply);
  // Continues the session on a new stream. Errors: why it cannot.
  void reconnect();
  void fail(const Error& error);
  void keep_alive();
  void upload_bytes(uint64_t id, const TensorType& type, const void* data);
  void download_again(uint64_t id, void* target, int64_t size, int tries,
                      std::function<void(const Error*)> done);
  TransferContext transfer_context() const;
  std::string what(const char* call) const;

  const ConnectionOptions options_;
  worker::v1::HelloReply hello_;
  std::atomic<uint64_t> next_id_{1};

  Mutex send_mutex_;  // guards the stream's writes and their order; locked before mutex_
  std::unique_ptr<worker::v1::Worker::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;  // of the stream; changed under both mutexes
  std::unique_ptr<Stream> stream_;                // null while there is none

  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<grpc::Channel> channel_;
  std::deque<Pending> pending_ SYSTOLE_GUARDED_BY(mutex_);
  uint64_t last_op_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  std::vector<uint64_t> freed_ SYSTOLE_GUARDED_BY(mutex_);
  int64_t freed_bytes_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  std::optional<Error> failure_ SYSTOLE_GUARDED_BY(mutex_);
  bool closing_ SYSTOLE_GUARDED_BY(mutex_) = false;

  std::atomic<bool> preempted_ = false;
  std::atomic<uint64_t> acknowledged_{0};
  std::atomic<int64_t> last_heard_{0};  // steady nanoseconds
  const std::shared_ptr<CallLog> calls_ = std::make_shared<CallLog>();
  std::unique_ptr<tracing::WorkerSource> recorded_;
  std::thread reader_;
  std::thread keeper_;
};

}  // namespace systole::remote
