// gRPC's health service (grpc.health.v1.Health), which answers for the whole worker.
#pragma once

#include <set>

#include "systole/base/mutex.h"
#include "systole/worker/calls/call.h"

namespace systole::worker {

class HealthWatch;

// Thread-safe.
class HealthState {
 public:
  // Watches at a time.
  static constexpr size_t kMaxWatches = 16;

  bool serving() const;
  // The mutex of the watches is that of this state, which the analysis cannot know.
  void set_serving(bool serving) SYSTOLE_NO_THREAD_SAFETY_ANALYSIS;

 private:
  friend class HealthWatch;
  mutable Mutex mutex_;
  bool serving_ SYSTOLE_GUARDED_BY(mutex_) = true;
  std::set<HealthWatch*> watches_ SYSTOLE_GUARDED_BY(mutex_);
};

// The message HealthCheckResponse.
grpc::ByteBuffer health_reply(bool serving);

// Health/Check: answers without reading the request.
class HealthCheck final : public Call {
 public:
  HealthCheck(const CallContext& context, bool serving);

 private:
  grpc::ByteBuffer reply_;
};

// Health/Watch: says how the worker is, and again when that changes.
class HealthWatch final : public Call {
 public:
  HealthWatch(const CallContext& context, HealthState& state);
  ~HealthWatch() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

 private:
  friend class HealthState;
  // All REQUIRE the lock of the state.
  void tell() SYSTOLE_REQUIRES(state_.mutex_);
  void end(const grpc::Status& status);

  HealthState& state_;
  grpc::ByteBuffer reply_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
  bool told_ = false;
  bool told_serving_ = false;
};

}  // namespace systole::worker
