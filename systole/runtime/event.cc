#include "systole/runtime/event.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace systole::runtime {

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> ready = false;  // `error` does not change after it
  std::optional<Error> error;
  std::vector<Callback> callbacks;  // guarded by `mutex`

  void finish(std::optional<Error> failure) {
    std::vector<Callback> called;
    {
      const std::lock_guard lock(mutex);
      if (ready) return;
      error = std::move(failure);
      ready = true;
      called.swap(callbacks);
    }
    changed.notify_all();
    for (const Callback& callback : called) callback(outcome());
  }

  // REQUIRES: ready.
  const Error* outcome() const { return error ? &*error : nullptr; }
};

Event Event::failed(Error error) {
  auto state = std::make_shared<State>();
  state->error = std::move(error);
  state->ready = true;
  return Event(std::move(state));
}

bool Event::state_ready() const { return state_->ready; }

const Error* Event::state_error() const { return state_->ready ? state_->outcome() : nullptr; }

void Event::wait_for_state() const {
  if (!state_->ready) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->ready.load(); });
  }
  if (const Error* error = state_->outcome()) throw Error(*error);
}

void Event::then(Callback callback) const {
  if (state_ == nullptr) return callback(nullptr);
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->ready) {
      state_->callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(state_->outcome());
}

Promise::Promise() : state_(std::make_shared<Event::State>()) {}

Promise::~Promise() {
  if (state_ == nullptr || state_->ready) return;
  fail(make_error(Code::cancelled, "device: the work was dropped before it ended"));
}

void Promise::set() { state_->finish(std::nullopt); }
void Promise::fail(const Error& error) { state_->finish(error); }

Event all_of(std::span<const Event> events) {
  const auto is_ready = [](const Event& event) { return event.ready(); };
  if (std::ranges::all_of(events, is_ready)) {
    const auto failed =
        std::ranges::find_if(events, [](const Event& event) { return event.error() != nullptr; });
    return failed == events.end() ? Event() : *failed;
  }
  struct Joined {
    Promise promise;
    std::vector<Event> events;
    std::atomic<size_t> left;
  };
  const auto joined = std::make_shared<Joined>();
  joined->events.assign(events.begin(), events.end());
  joined->left = events.size();
  Event result = joined->promise.event();
  for (const Event& event : events) {
    event.then([joined](const Error*) {
      if (--joined->left > 0) return;
      for (const Event& done : joined->events) {
        if (const Error* error = done.error()) return joined->promise.fail(*error);
      }
      joined->promise.set();
    });
  }
  return result;
}

}  // namespace systole::runtime
