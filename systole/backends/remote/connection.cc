#include "systole/backends/remote/connection.h"

#include <utility>

#include "systole/base/clock.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/runtime/preemption.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::remote {
namespace {

namespace v1 = worker::v1;

// Freed objects are told with the next operation, or at once when they are many.
constexpr size_t kMaxFreed = 64;
constexpr int64_t kMaxFreedBytes = int64_t{1} << 20;
constexpr auto kRetryEvery = std::chrono::milliseconds(50);
constexpr double kCloseSeconds = 1;

// Errors of a connection that a new one may heal.
bool may_heal(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::cancelled ||
         error.code() == Code::deadline_exceeded || error.code() == Code::unknown;
}

}  // namespace

std::shared_ptr<Connection> Connection::open(const ConnectionOptions& options) {
  // The last owner may be an event's callback on the reader's thread, which cannot join itself.
  const auto destroy = [](Connection* connection) {
    if (std::this_thread::get_id() == connection->reader_.get_id() ||
        std::this_thread::get_id() == connection->keeper_.get_id()) {
      std::thread([connection] { delete connection; }).detach();
    } else {
      delete connection;
    }
  };
  std::shared_ptr<Connection> connection(new Connection(options), destroy);
  connection->start();
  connection->record_with_process();
  return connection;
}

void Connection::record_with_process() {
  recorded_ = std::make_unique<tracing::WorkerSource>(
      options_.address, [weak = weak_from_this()]() -> std::unique_ptr<tracing::WorkerCapture> {
        const auto self = weak.lock();
        if (self == nullptr || self->failure()) return nullptr;
        return std::make_unique<RemoteCapture>(self->options_.address, self->options_.credentials,
                                               self->hello_, self->calls_);
      });
}

void Connection::start() {
  channel_ = worker::make_channel(options_.address, options_.credentials);
  say_hello();
  last_heard_ = steady_ns();
  {
    const MutexLock send_lock(send_mutex_);
    keeper_ = std::thread([this] { keep_alive(); });  // ends a silent stream
    open_stream();
  }
  reader_ = std::thread([this] { read_replies(); });
}

Connection::~Connection() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  changed_.notify_all();
  if (reader_.joinable()) reader_.join();
  if (keeper_.joinable()) keeper_.join();
  if (hello_.session().id() == 0 || failure_) return;
  grpc::ClientContext context;
  worker::prepare(context, options_.credentials, kCloseSeconds);
  v1::CloseReply reply;
  static_cast<void>(stub_->Close(&context, hello_.session(), &reply).ok());
}

std::string Connection::what(const char* call) const {
  return fmt::format("worker {}: {}", options_.address, call);
}

void Connection::say_hello() {
  stub_ = v1::Worker::NewStub(channel_);
  v1::HelloRequest request;
  request.set_min_version(worker::kOldestVersion);
  request.set_max_version(worker::kNewestVersion);
  request.set_client(worker::client_name());
  request.set_lease_seconds(options_.lease_seconds);
  grpc::ClientContext context;
  worker::prepare(context, options_.credentials, options_.connect_seconds);
  const grpc::Status status = stub_->Hello(&context, request, &hello_);
  if (!status.ok()) {
    throw worker::call_error(status, what("no session"), options_.credentials);
  }
  if (!hello_.note().empty()) {
    log_warning("worker {}: {}", options_.address, hello_.note());
  }
}

uint64_t Connection::open_stream() {
  stream_.reset();
  {
    const MutexLock lock(mutex_);
    context_ = std::make_unique<grpc::ClientContext>();
    worker::prepare(*context_, options_.credentials, 0);
    last_heard_ = steady_ns();
    if (closing_) context_->TryCancel();
  }
  stream_ = stub_->Session(context_.get());
  v1::Request request;
  *request.mutable_open()->mutable_session() = hello_.session();
  request.set_acknowledged(acknowledged_);
  v1::Reply reply;
  if (!stream_->Write(request) || !stream_->Read(&reply)) {
    throw worker::from_status(finish_stream(), what("no stream"));
  }
  last_heard_ = steady_ns();
  return reply.received();
}

grpc::Status Connection::finish_stream() {
  grpc::Status status = stream_->Finish();
  stream_.reset();
  if (!status.ok()) return status;
  return {grpc::StatusCode::UNAVAILABLE, "the worker has ended the stream"};
}

void Connection::read_replies() {
  while (true) {
    v1::Reply reply;
    while (stream_->Read(&reply)) handle(reply);
    grpc::Status status;
    {
      const MutexLock send_lock(send_mutex_);
      status = finish_stream();
    }
    {
      const MutexLock lock(mutex_);
      if (closing_) break;
    }
    const Error error = worker::from_status(status, what("connection lost"));
    if (!may_heal(error)) return fail(error);
    log_warning("worker {}: the connection is lost ({}); trying again", options_.address,
                error.message());
    try {
      reconnect();
      log_info("worker {}: connected again; the session continues", options_.address);
    } catch (const Error& failure) {
      return fail(failure);
    }
  }
  fail(make_error(Code::cancelled, "{}", what("the client is closed")));
}

void Connection::handle(const v1::Reply& reply) {
  last_heard_ = steady_ns();
  if (!reply.preempted().empty()) {
    log_warning("worker {}: preempted in {} s: {}", options_.address, reply.grace_seconds(),
                reply.preempted());
    preempted_ = true;
    runtime::note_preemption();
  }
  if (reply.op_id() == 0) return;
  Pending pending;
  {
    const MutexLock lock(mutex_);
    if (pending_.empty() || pending_.front().op_id != reply.op_id()) return;
    pending = std::move(pending_.front());
    pending_.pop_front();
  }
  acknowledged_ = reply.op_id();
  changed_.notify_all();
  calls_->add(pending.began, *pending.request);
  if (!reply.has_error()) return pending.handler(reply, nullptr);
  const Error error = worker::from_wire(reply.error());
  pending.handler(reply, &error);
}

void Connection::reconnect() {
  const MutexLock send_lock(send_mutex_);
  const auto end = SteadyClock::now() + std::chrono::duration<double>(options_.reconnect_seconds);
  uint64_t received = 0;
  while (true) {
    try {
      auto channel = worker::make_channel(options_.address, options_.credentials);
      stub_ = v1::Worker::NewStub(channel);
      {
        const MutexLock lock(mutex_);
        channel_ = std::move(channel);
      }
      received = open_stream();
      break;
    } catch (const Error& error) {
      if (error.code() == Code::not_found) {
        throw make_error(Code::unavailable, "{}: what it held is lost", error.message());
      }
      if (!may_heal(error)) throw;
      if (SteadyClock::now() > end) throw make_error(Code::unavailable, "{}", error.message());
    }
    MutexLock lock(mutex_);
    if (changed_.wait_for(lock, kRetryEvery,
                          [this]() SYSTOLE_REQUIRES(mutex_) { return closing_; })) {
      throw make_error(Code::cancelled, "{}", what("the client is closed"));
    }
  }
  std::vector<std::shared_ptr<const v1::Request>> again;
  {
    const MutexLock lock(mutex_);
    for (const Pending& pending : pending_) {
      if (pending.op_id > received) again.push_back(pending.request);
    }
  }
  for (const auto& request : again) {
    if (!stream_->Write(*request)) break;  // the reader notices
  }
}

void Connection::fail(const Error& error) {
  std::deque<Pending> pending;
  {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = error;
    pending.swap(pending_);
  }
  changed_.notify_all();
  const v1::Reply none;
  for (const Pending& lost : pending) lost.handler(none, &error);
}

std::optional<Error> Connection::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

void Connection::send(v1::Request&& request, Handler handler) {
  {
    // Without the stream's lock, which a lost connection needs. Threads that pass together exceed
    // half of the worker's queue a little.
    MutexLock lock(mutex_);
    const auto most = static_cast<size_t>((hello_.limits().max_queued() + 1) / 2);
    changed_.wait(lock,
                  [&]() SYSTOLE_REQUIRES(mutex_) { return failure_ || pending_.size() < most; });
  }
  const MutexLock send_lock(send_mutex_);
  std::shared_ptr<const v1::Request> sent;
  {
    const MutexLock lock(mutex_);
    if (failure_) throw Error(*failure_);
    request.set_op_id(++last_op_);
    request.set_acknowledged(acknowledged_);
    for (const uint64_t id : freed_) request.add_free(id);
    freed_.clear();
    freed_bytes_ = 0;
    sent = std::make_shared<const v1::Request>(std::move(request));
    pending_.push_back({sent->op_id(), std::move(handler), sent, CallLog::now()});
  }
  // A lost connection is the reader's to notice: it sends the operation again.
  if (stream_ != nullptr) static_cast<void>(stream_->Write(*sent));
}

v1::Reply Connection::call(v1::Request&& request) {
  struct Answer {
    Mutex mutex;
    CondVar changed;
    std::optional<Error> error SYSTOLE_GUARDED_BY(mutex);
    v1::Reply reply SYSTOLE_GUARDED_BY(mutex);
    bool there SYSTOLE_GUARDED_BY(mutex) = false;
  };
  const auto answer = std::make_shared<Answer>();
  send(std::move(request), [answer](const v1::Reply& reply, const Error* error) {
    const MutexLock lock(answer->mutex);
    answer->reply = reply;
    if (error != nullptr) answer->error = *error;
    answer->there = true;
    answer->changed.notify_all();
  });
  MutexLock lock(answer->mutex);
  answer->changed.wait(lock, [&]() SYSTOLE_REQUIRES(answer->mutex) { return answer->there; });
  if (answer->error) throw Error(*answer->error);
  return std::move(answer->reply);
}

void Connection::free_later(uint64_t id, int64_t bytes) {
  {
    const MutexLock lock(mutex_);
    if (failure_) return;
    freed_.push_back(id);
    freed_bytes_ += bytes;
    if (freed_.size() < kMaxFreed && freed_bytes_ < kMaxFreedBytes) return;
  }
  changed_.notify_all();  // the keeper sends them
}

void Connection::keep_alive() {
  const auto silence = std::chrono::duration<double>(options_.silence_seconds);
  while (true) {
    bool freeing = false;
    {
      MutexLock lock(mutex_);
      changed_.wait_for(lock, silence / 4, [this]() SYSTOLE_REQUIRES(mutex_) {
        return closing_ || failure_ || freed_.size() >= kMaxFreed || freed_bytes_ >= kMaxFreedBytes;
      });
      if (closing_ || failure_) return;
      freeing = !freed_.empty();
      const std::chrono::nanoseconds quiet(steady_ns() - last_heard_);
      if (quiet > silence && context_ != nullptr) context_->TryCancel();
    }
    try {
      v1::Request request;
      if (freeing) {
        request.mutable_nothing();
        send(std::move(request), [](const v1::Reply&, const Error*) {});
      } else if (send_mutex_.try_lock()) {
        request.set_acknowledged(acknowledged_);
        if (stream_ != nullptr) static_cast<void>(stream_->Write(request));
        send_mutex_.unlock();
      }
    } catch (const Error&) {
      return;
    }
  }
}

}  // namespace systole::remote
