// The end of work that a device does after the call that started it.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "systole/base/error.h"

namespace systole::runtime {

// Becomes ready once, with success or with an error. A default-constructed Event is ready and owns
// no memory: work that is done when a call returns costs nothing. Copies share one state.
// Thread-safe.
class [[nodiscard]] Event {
 public:
  // Null for success.
  using Callback = std::function<void(const Error*)>;

  Event() = default;
  static Event failed(Error error);

  // Whether the work has ended, with success or not.
  bool ready() const { return state_ == nullptr || state_ready(); }
  // Blocks until the work has ended. Errors: that of the work.
  void wait() const {
    if (state_ != nullptr) wait_for_state();
  }
  // The error of work that failed; null while it runs and after success. Lives as long as a copy
  // of the event.
  const Error* error() const { return state_ == nullptr ? nullptr : state_error(); }
  // Calls `callback` once: now if the event is ready, else on the thread that makes it ready.
  // REQUIRES: `callback` neither throws nor blocks.
  void then(Callback callback) const;

 private:
  friend class Promise;
  struct State;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
  bool state_ready() const;
  const Error* state_error() const;
  void wait_for_state() const;

  std::shared_ptr<State> state_;  // null: ready
};

// Makes its event ready. Used by backends. Movable; the event may outlive it.
class Promise {
 public:
  Promise();
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&&) = delete;
  // Fails an event that is not ready yet with CANCELLED.
  ~Promise();

  Event event() const { return Event(state_); }
  // The first call of these two counts.
  void set();
  void fail(const Error& error);

 private:
  std::shared_ptr<Event::State> state_;
};

// Ready when all of `events` are; fails with the error of the first of them that failed, in the
// order given. Allocates nothing when all of them are ready.
Event all_of(std::span<const Event> events);

}  // namespace systole::runtime
