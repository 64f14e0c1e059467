#include "systole/worker/session.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "systole/base/clock.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_name.h"
#include "systole/tracing/span.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/secret.h"

namespace systole::worker {
namespace {

// What all processes of sessions may take beyond the limit, for code, threads and passes.
constexpr int64_t kUncountedBytes = int64_t{320} << 20;

// Messages in memory take a multiple of their bytes.
int64_t bytes_in_memory(const google::protobuf::Message& message) {
  return static_cast<int64_t>(message.SpaceUsedLong());
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
      account_(context.account.for_session()) {
  begin_runner();
  executor_ = std::thread([this] { execute_all(); });
}

void WorkerSession::begin_runner() {
  if (context_.processes == nullptr) {
    transfers_ = std::make_unique<Transfers>(account_);
    runner_ = std::make_unique<Operations>(context_.device, context_.limits, account_,
                                           context_.compiler, *transfers_);
    return;
  }
  auto process = std::make_unique<SessionProcess>(*context_.processes, context_.limits,
                                                  context_.account.limit());
  transfers_ = process->make_transfers(account_);
  process_ = process.get();
  runner_ = std::move(process);
}

WorkerSession::~WorkerSession() {
  close();
  executor_.join();
}

bool WorkerSession::has_token(std::string_view token) const { return is_secret(token, token_); }

void WorkerSession::attach(std::shared_ptr<ReplySink> sink, uint64_t acknowledged) {
  {
    const MutexLock lock(mutex_);
    if (sink_ != nullptr) sink_->cancel();
  }
  const MutexLock write_lock(write_mutex_);
  if (acknowledged > replied_) {
    throw make_error(Code::data_loss, "worker: acknowledged replies, got {}, expected at most {}",
                     acknowledged, replied_);
  }
  v1::Reply open;
  {
    const MutexLock lock(mutex_);
    if (closing_) throw failed_precondition("worker: session, got one that is closed");
    sink_ = std::move(sink);
    last_received_ = Clock::now();
    open.set_received(received_);
  }
  acknowledged_ = acknowledged;
  write(open);
  for (const KeptReply& kept : unacknowledged_) {
    if (kept.reply.op_id() > acknowledged) write(kept.reply);
  }
}

void WorkerSession::detach(const ReplySink& sink) {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(mutex_);
  if (sink_.get() != &sink) return;
  sink_.reset();
  detached_ = Clock::now();
}

void WorkerSession::receive(v1::Request&& request) {
  {
    const MutexLock lock(mutex_);
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
      Charge charge = account_->charge(bytes_in_memory(request), "request");
      queue_.push_back({std::move(request), std::move(charge)});
      ++received_;
      changed_.notify_one();
      return;
    }
  }
  v1::Reply heartbeat;
  const MutexLock write_lock(write_mutex_);
  {
    const MutexLock lock(mutex_);
    heartbeat.set_received(received_);
  }
  write(heartbeat);
}

void WorkerSession::notify_preempted(const std::string& why, double grace_seconds) {
  v1::Reply notice;
  notice.set_preempted(why);
  notice.set_grace_seconds(grace_seconds);
  const MutexLock write_lock(write_mutex_);
  write(notice);
}

void WorkerSession::execute_all() {
  thread_id_ = ::syscall(SYS_gettid);
  name_thread("session");
  while (true) {
    QueuedRequest queued;
    bool refused = false;
    {
      const tracing::Span span("wait for requests");
      MutexLock lock(mutex_);
      changed_.wait(lock,
                    [this]() SYSTOLE_REQUIRES(mutex_) { return closing_ || !queue_.empty(); });
      if (closing_) break;
      refused = static_cast<int64_t>(queue_.size()) > context_.limits.max_queued;
      queued = std::move(queue_.front());
      queue_.pop_front();
    }
    v1::Request& request = queued.request;
    v1::Reply reply;
    reply.set_op_id(request.op_id());
    if (refused) {
      runner_->refuse(request,
                      make_error(Code::resource_exhausted,
                                 "worker: queue, got more than {} operations without a reply",
                                 context_.limits.max_queued),
                      reply);
    } else {
      runner_->run(request, reply);
    }
    buffers_ = runner_->num_buffers();
    executables_ = runner_->num_executables();
    const tracing::Span span("reply", tracing::Kind::transfer);
    if (!deliver(std::move(reply))) close();
  }
  transfers_->close();
  runner_->clear();
  freed_ = true;
}

bool WorkerSession::deliver(v1::Reply&& reply) {
  const MutexLock write_lock(write_mutex_);
  while (!unacknowledged_.empty() && unacknowledged_.front().reply.op_id() <= acknowledged_) {
    unacknowledged_.pop_front();
  }
  replied_ = reply.op_id();
  try {
    Charge charge = account_->charge(bytes_in_memory(reply), "replies without acknowledgement");
    unacknowledged_.push_back({std::move(reply), std::move(charge)});
    write(unacknowledged_.back().reply);
    const auto most = static_cast<size_t>(2 * context_.limits.max_queued);
    if (unacknowledged_.size() <= most) return true;
    log_warning("worker: session of {}: {} replies without acknowledgement; it is closed", client_,
                unacknowledged_.size());
  } catch (const Error& error) {
    log_warning("worker: session of {}: {}; it is closed", client_, error.message());
  }
  return false;
}

void WorkerSession::write(const v1::Reply& reply) {
  if (sink_ == nullptr) return;
  write_began_ = steady_ns();
  const bool sent = sink_->send(reply);
  write_began_ = 0;
  if (!sent) {
    const MutexLock lock(mutex_);
    sink_.reset();
    detached_ = Clock::now();
  }
}

void WorkerSession::close() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    queue_.clear();
    if (sink_ != nullptr) sink_->cancel();
  }
  changed_.notify_all();
  runner_->stop();
}

bool WorkerSession::check(Clock::time_point now, Clock::duration stall) {
  transfers_->trim();
  if (process_ != nullptr) process_->check(context_.limits.max_launch_seconds);
  bool expired = false;
  {
    const MutexLock lock(mutex_);
    if (closing_) return true;
    const int64_t began = write_began_;
    const bool stuck = began != 0 && std::chrono::nanoseconds(steady_ns() - began) > stall;
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
  const MutexLock lock(mutex_);
  status.set_client(client_);
  status.set_connected(sink_ != nullptr);
  status.set_age_seconds(std::chrono::duration<double>(Clock::now() - begin_).count());
  status.set_bytes(account_->in_use() + (process_ != nullptr ? process_->counted_bytes() : 0));
  status.set_buffers(buffers_);
  status.set_executables(executables_);
  status.set_queued(static_cast<int64_t>(queue_.size()));
  status.set_operations(received_ - queue_.size());
  return status;
}

void limit_memory(const std::vector<std::shared_ptr<WorkerSession>>& sessions, int64_t counted,
                  int64_t limit) {
  SessionProcess* largest = nullptr;
  int64_t most_beyond = 0;
  int64_t used = counted;
  for (const auto& session : sessions) {
    SessionProcess* const process = session->process();
    if (process == nullptr) continue;
    const int64_t beyond = process->private_bytes() - process->counted_bytes();
    used += std::max<int64_t>(beyond, 0);
    if (beyond <= most_beyond) continue;
    most_beyond = beyond;
    largest = process;
  }
  if (largest == nullptr || used <= limit + kUncountedBytes) return;
  largest->end(fmt::format("was ended for its memory, {} bytes beyond its arrays,", most_beyond));
}

}  // namespace systole::worker
