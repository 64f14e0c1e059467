#include "systole/worker/calls/profile_call.h"

#include <utility>

#include "systole/base/mutex.h"
#include "systole/worker/calls/gate_state.h"
#include "systole/worker/calls/unary_call.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {

ProfileCall::ProfileCall(const CallContext& context, GateState& gate) : Call(context), gate_(gate) {
  read_first(&message_, gate_.options.first_message_seconds);
}

void ProfileCall::OnReadDone(bool ok) {
  if (!begun_) {
    if (!claim()) return;
    const grpc::Status status = status_of([&] {
      if (!ok) throw make_error(Code::cancelled, "worker: profile, got no message");
      check_small(message_);
      admit_connection();
      read_done_ = read_ok_ = begun_ = true;
      gate_.profile_threads.start([this] { serve(); });
    });
    if (!status.ok()) Finish(status);
    return;
  }
  const MutexLock lock(mutex_);
  read_done_ = true;
  read_ok_ = ok;
  changed_.notify_all();
}

void ProfileCall::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  write_done_ = true;
  write_ok_ = ok;
  changed_.notify_all();
}

void ProfileCall::serve() {
  const grpc::Status status = status_of([&] { gate_.service.profile(*this); });
  Finish(status);
}

bool ProfileCall::wait_for(bool& done, const bool& outcome) {
  MutexLock lock(mutex_);
  if (!done) set_deadline(gate_.options.stall_seconds);
  changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return done; });
  set_deadline(0);
  done = false;
  return outcome;
}

bool ProfileCall::read(v1::ProfileRequest& request) {
  const bool is_first = read_done_;
  if (!is_first) StartRead(&message_);
  if (!wait_for(read_done_, read_ok_)) return false;
  check_small(message_);
  if (!from_buffer(message_, request)) {
    throw invalid_argument("worker: request of a profile, got bytes that are none");
  }
  return true;
}

bool ProfileCall::write(const v1::ProfileReply& reply) {
  written_ = to_buffer(reply);
  StartWrite(&written_);
  return wait_for(write_done_, write_ok_);
}

std::function<void()> ProfileCall::canceller() {
  return [end = Call::canceller()] { end->cancel(); };
}

}  // namespace systole::worker
