#include "systole/worker/calls/health_call.h"

#include <array>
#include <utility>

#include "systole/base/mutex.h"

namespace systole::worker {

bool HealthState::serving() const {
  const MutexLock lock(mutex_);
  return serving_;
}

void HealthState::set_serving(bool serving) {
  const MutexLock lock(mutex_);
  serving_ = serving;
  for (HealthWatch* watch : watches_) watch->tell();
}

grpc::ByteBuffer health_reply(bool serving) {
  // Field 1, a varint: SERVING is 1, NOT_SERVING 2.
  const std::array<char, 2> bytes = {0x08, static_cast<char>(serving ? 1 : 2)};
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

HealthCheck::HealthCheck(const CallContext& context, bool serving)
    : Call(context), reply_(health_reply(serving)) {
  StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
}

HealthWatch::HealthWatch(const CallContext& context, HealthState& state)
    : Call(context), state_(state) {
  const MutexLock lock(state_.mutex_);
  if (state_.watches_.size() >= HealthState::kMaxWatches) {
    end({grpc::StatusCode::RESOURCE_EXHAUSTED, "worker: watches, got too many"});
  } else {
    state_.watches_.insert(this);
    tell();
  }
}

HealthWatch::~HealthWatch() {
  const MutexLock lock(state_.mutex_);
  state_.watches_.erase(this);
}

void HealthWatch::tell() {
  if (ended_ || writing_ || (told_ && told_serving_ == state_.serving_)) return;
  told_ = true;
  told_serving_ = state_.serving_;
  reply_ = health_reply(told_serving_);
  writing_ = true;
  StartWrite(&reply_);
}

void HealthWatch::OnWriteDone(bool ok) {
  const MutexLock lock(state_.mutex_);
  writing_ = false;
  if (!ok || cancelled_) return end(grpc::Status::CANCELLED);
  tell();
}

void HealthWatch::OnCancel() {
  Call::OnCancel();
  const MutexLock lock(state_.mutex_);
  cancelled_ = true;
  if (!writing_) end(grpc::Status::CANCELLED);
}

void HealthWatch::end(const grpc::Status& status) {
  if (std::exchange(ended_, true)) return;
  Finish(status);
}

}  // namespace systole::worker
