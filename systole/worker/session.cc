#include "systole/worker/session.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "systole/base/log.h"
#include "systole/base/trace.h"
#include "systole/worker/protocol/convert.h"

namespace systole::worker {
namespace {

// Of replies that a client has not acknowledged.
constexpr size_t kMaxReplyBytes = size_t{256} << 20;

int64_t nanoseconds(WorkerSession::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

WorkerSession::WorkerSession(const SessionContext& context, uint64_t id, std::string token,
                             std::string client, double lease_seconds)
    : context_(context),
      id_(id),
      token_(std::move(token)),
      client_(std::move(client)),
      lease_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(lease_seconds))),
      account_(context.account.limit(), &context.account),
      transfers_(account_),
      operations_(context.device, context.limits, account_, context.compiler, transfers_),
      executor_([this] { execute_all(); }) {}

WorkerSession::~WorkerSession() {
  close();
  executor_.join();
}

bool WorkerSession::has_token(std::string_view token) const {
  if (token.size() != token_.size()) return false;
  unsigned difference = 0;  // in time that does not depend on the first difference
  for (size_t i = 0; i < token.size(); ++i) {
    difference |= static_cast<unsigned char>(token[i]) ^ static_cast<unsigned char>(token_[i]);
  }
  return difference == 0;
}

void WorkerSession::attach(std::shared_ptr<ReplySink> sink, uint64_t acknowledged) {
  {
    const std::lock_guard lock(mutex_);
    if (sink_ != nullptr) sink_->cancel();
  }
  const std::lock_guard write_lock(write_mutex_);
  if (acknowledged > replied_) {
    throw make_error(Code::data_loss, "worker: acknowledged replies, got {}, expected at most {}",
                     acknowledged, replied_);
  }
  v1::Reply open;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) throw failed_precondition("worker: session, got one that is closed");
    sink_ = std::move(sink);
    last_received_ = Clock::now();
    open.set_received(received_);
  }
  acknowledged_ = acknowledged;
  write(open);
  for (const v1::Reply& reply : unacknowledged_) {
    if (reply.op_id() > acknowledged) write(reply);
  }
}

void WorkerSession::detach(const ReplySink& sink) {
  const std::lock_guard write_lock(write_mutex_);
  const std::lock_guard lock(mutex_);
  if (sink_.get() != &sink) return;
  sink_.reset();
  detached_ = Clock::now();
}

void WorkerSession::receive(v1::Request&& request) {
  {
    const std::lock_guard lock(mutex_);
    last_received_ = Clock::now();
    if (request.acknowledged() > acknowledged_) acknowledged_ = request.acknowledged();
    if (request.op_id() != 0) {
      if (request.op_id() <= received_) return;  // sent again after a lost connection
      if (request.op_id() != received_ + 1) {
        throw invalid_argument("worker: operation, got number {}, expected {}", request.op_id(),
                               received_ + 1);
      }
      const int64_t most = context_.limits.max_queued;
      if (static_cast<int64_t>(queue_.size()) >= 2 * most) {
        throw make_error(Code::resource_exhausted, "worker: queue, got more than {} operations",
                         2 * most);
      }
      ++received_;
      queue_.push_back(std::move(request));
      changed_.notify_one();
      return;
    }
  }
  v1::Reply heartbeat;
  const std::lock_guard write_lock(write_mutex_);
  {
    const std::lock_guard lock(mutex_);
    heartbeat.set_received(received_);
  }
  write(heartbeat);
}

void WorkerSession::notify_preempted(const std::string& why, double grace_seconds) {
  v1::Reply notice;
  notice.set_preempted(why);
  notice.set_grace_seconds(grace_seconds);
  const std::lock_guard write_lock(write_mutex_);
  write(notice);
}

void WorkerSession::execute_all() {
  thread_id_ = ::syscall(SYS_gettid);
  tracing::name_thread("session");
  while (true) {
    v1::Request request;
    bool refused = false;
    {
      const tracing::Span span("wait for requests");
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (closing_) break;
      refused = static_cast<int64_t>(queue_.size()) > context_.limits.max_queued;
      request = std::move(queue_.front());
      queue_.pop_front();
    }
    v1::Reply reply;
    reply.set_op_id(request.op_id());
    if (refused) {
      operations_.refuse(request,
                         make_error(Code::resource_exhausted,
                                    "worker: queue, got more than {} operations without a reply",
                                    context_.limits.max_queued),
                         reply);
    } else {
      operations_.run(request, reply);
    }
    buffers_ = operations_.objects().num_buffers();
    executables_ = operations_.objects().num_executables();
    const tracing::Span span("reply", tracing::Kind::transfer);
    if (!deliver(std::move(reply))) close();
  }
  transfers_.close();
  operations_.clear();
  freed_ = true;
}

bool WorkerSession::deliver(v1::Reply&& reply) {
  const std::lock_guard write_lock(write_mutex_);
  while (!unacknowledged_.empty() && unacknowledged_.front().op_id() <= acknowledged_) {
    unacknowledged_bytes_ -= unacknowledged_.front().ByteSizeLong();
    unacknowledged_.pop_front();
  }
  replied_ = reply.op_id();
  unacknowledged_bytes_ += reply.ByteSizeLong();
  unacknowledged_.push_back(std::move(reply));
  write(unacknowledged_.back());
  const auto most = static_cast<size_t>(2 * context_.limits.max_queued);
  if (unacknowledged_.size() <= most && unacknowledged_bytes_ <= kMaxReplyBytes) return true;
  log_warning("worker: session of {}: {} replies without acknowledgement; it is closed", client_,
              unacknowledged_.size());
  return false;
}

void WorkerSession::write(const v1::Reply& reply) {
  if (sink_ == nullptr) return;
  write_began_ = nanoseconds(Clock::now());
  const bool sent = sink_->send(reply);
  write_began_ = 0;
  if (!sent) {
    const std::lock_guard lock(mutex_);
    sink_.reset();
    detached_ = Clock::now();
  }
}

void WorkerSession::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    queue_.clear();
    if (sink_ != nullptr) sink_->cancel();
  }
  changed_.notify_all();
}

bool WorkerSession::check(Clock::time_point now, Clock::duration stall) {
  bool expired = false;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return true;
    const int64_t began = write_began_;
    const bool stuck = began != 0 && nanoseconds(now - stall) > began;
    if (sink_ != nullptr && (stuck || now - last_received_ > stall)) {
      log_warning("worker: session of {}: the client {}; its lease begins", client_,
                  stuck ? "does not read" : "is silent");
      sink_->cancel();
    }
    expired = sink_ == nullptr && now - detached_ > lease_;
  }
  if (!expired) return false;
  log_warning("worker: session of {}: the lease is over; what it held is freed", client_);
  close();
  return true;
}

v1::SessionStatus WorkerSession::status() const {
  v1::SessionStatus status;
  const std::lock_guard lock(mutex_);
  status.set_client(client_);
  status.set_connected(sink_ != nullptr);
  status.set_age_seconds(std::chrono::duration<double>(Clock::now() - begin_).count());
  status.set_bytes(account_.in_use());
  status.set_buffers(buffers_);
  status.set_executables(executables_);
  status.set_queued(static_cast<int64_t>(queue_.size()));
  status.set_operations(received_ - queue_.size());
  return status;
}

}  // namespace systole::worker
