#include "systole/worker/calls/call.h"

#include <algorithm>
#include <map>

#include "systole/base/clock.h"
#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {
namespace {

// Between the status of a late call and its cancellation, for clients that do not read.
constexpr double kLastSeconds = 5;

int64_t after(double seconds) { return steady_ns() + static_cast<int64_t>(seconds * 1e9); }

}  // namespace

void CallList::check(std::chrono::steady_clock::time_point now) {
  const MutexLock lock(mutex_);
  for (Call* call : calls_) call->check(now);
}

Call& CallList::first_read_to_end() const {
  std::map<const Connection*, int> counts;
  int most = 0;
  for (const Call* call : first_reads_) most = std::max(most, ++counts[call->connection_.get()]);
  return **std::ranges::find_if(
      first_reads_, [&](const Call* call) { return counts[call->connection_.get()] == most; });
}

void Canceller::cancel() {
  const MutexLock lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

Call::Call(const CallContext& context)
    : calls_(context.calls),
      connections_(context.connections),
      connection_(context.connection),
      canceller_(std::make_shared<Canceller>(context.grpc)),
      method_(context.grpc.method()) {
  connections_.count_call(*connection_);
  const MutexLock lock(calls_.mutex_);
  place_ = calls_.calls_.insert(calls_.calls_.end(), this);
}

Call::~Call() {
  connection_->call_ended();
  const MutexLock lock(calls_.mutex_);
  calls_.calls_.erase(place_);
  if (in_first_reads_) calls_.first_reads_.erase(first_read_place_);
}

void Call::OnDone() {
  {
    const MutexLock lock(canceller_->mutex_);
    canceller_->context_ = nullptr;
  }
  delete this;
}

void Call::OnCancel() { connections_.count_reset(*connection_); }

void Call::read_first(grpc::ByteBuffer* message, double seconds) {
  set_deadline(seconds);
  {
    const MutexLock lock(calls_.mutex_);
    first_read_place_ = calls_.first_reads_.insert(calls_.first_reads_.end(), this);
    in_first_reads_ = true;
    if (calls_.first_reads_.size() > CallList::kMaxFirstReads) {
      Call& ended = calls_.first_read_to_end();
      calls_.first_reads_.erase(ended.first_read_place_);
      ended.in_first_reads_ = false;
      ended.give_up({grpc::StatusCode::RESOURCE_EXHAUSTED,
                     "worker: calls, got more than there is room for before their first message"});
    }
  }
  StartRead(message);
}

bool Call::claim() {
  {
    const MutexLock lock(calls_.mutex_);
    if (in_first_reads_) calls_.first_reads_.erase(first_read_place_);
    in_first_reads_ = false;
  }
  State waits = State::waits;
  if (!state_.compare_exchange_strong(waits, State::claimed)) return false;
  set_deadline(0);
  return true;
}

void Call::give_up(const grpc::Status& status) {
  State waits = State::waits;
  if (!state_.compare_exchange_strong(waits, State::ended)) return;
  set_deadline(kLastSeconds);
  Finish(status);
}

void Call::set_deadline(double seconds) { deadline_ = seconds > 0 ? after(seconds) : 0; }

void Call::admit_connection() { connections_.admit(*connection_); }

void Call::check(std::chrono::steady_clock::time_point now) {
  const int64_t deadline = deadline_;
  const int64_t now_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  if (deadline == 0 || now_ns < deadline) return;
  if (state_ == State::waits) {
    return give_up(
        {grpc::StatusCode::DEADLINE_EXCEEDED, "worker: " + method_ + ", got no message in time"});
  }
  deadline_ = 0;
  canceller_->cancel();
}

}  // namespace systole::worker
