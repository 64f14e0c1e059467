#include "systole/runtime/event.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "systole/base/mutex.h"

namespace systole::runtime {

namespace {

using SharedError = std::shared_ptr<const Error>;

// What the event of work gets that failed when there was no memory for its error.
const SharedError& no_memory() {
  static const SharedError& error = *new SharedError(std::make_shared<const Error>(
      make_error(Code::resource_exhausted, "device: no memory for the error of failed work")));
  return error;
}

[[maybe_unused]] const SharedError& kMadeEarly = no_memory();

SharedError share(const Error& error) noexcept {
  try {
    return std::make_shared<const Error>(error);
  } catch (...) {
    return no_memory();
  }
}

SharedError dropped() noexcept {
  try {
    return share(make_error(Code::cancelled, "device: the work was dropped before it ended"));
  } catch (...) {
    return no_memory();
  }
}

}  // namespace

struct Event::State {
  Mutex mutex;
  CondVar changed;
  std::atomic<bool> ready = false;  // `error` does not change after it
  SharedError error;
  std::vector<Callback> callbacks SYSTOLE_GUARDED_BY(mutex);

  // Allocates nothing.
  void finish(SharedError failure) {
    std::vector<Callback> called;
    {
      const MutexLock lock(mutex);
      if (ready) return;
      error = std::move(failure);
      ready = true;
      called.swap(callbacks);
    }
    changed.notify_all();
    for (const Callback& callback : called) callback(outcome());
  }

  // REQUIRES: ready.
  const Error* outcome() const { return error.get(); }
};

Event Event::failed(Error error) {
  auto state = std::make_shared<State>();
  state->error = share(error);
  state->ready = true;
  return Event(std::move(state));
}

bool Event::state_ready() const { return state_->ready; }

const Error* Event::state_error() const { return state_->ready ? state_->outcome() : nullptr; }

void Event::wait_for_state() const {
  if (!state_->ready) {
    MutexLock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->ready.load(); });
  }
  if (const Error* error = state_->outcome()) throw Error(*error);
}

void Event::then(Callback callback) const {
  if (state_ == nullptr) return callback(nullptr);
  {
    const MutexLock lock(state_->mutex);
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
  state_->finish(dropped());
}

void Promise::set() { state_->finish(nullptr); }
void Promise::fail(const Error& error) { state_->finish(share(error)); }

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
