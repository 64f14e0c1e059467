// Work on one thread, in order, that others wait for.
#pragma once

#include <cfenv>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole::runtime {

// Runs work in the order in which it was added, on a thread of its own that starts with the first,
// in the floating-point environment of whoever adds it. Thread-safe.
class OrderedWork {
 public:
  OrderedWork() = default;
  ~OrderedWork();  // waits for all work
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  // `key` names the work for finish(). REQUIRES: no unfinished work has this key.
  void add(const void* key, std::function<void()> work);
  // Waits for the work of this key and forgets it. Does nothing if there is none. Errors: those of
  // the work.
  void finish(const void* key);
  // Waits for all work. Its errors stay for finish().
  void wait_for_all();
  // Waits for all work and forgets it and its errors.
  void drop_all();

 private:
  struct Item {
    const void* key;
    std::function<void()> work;
    std::fenv_t environment;  // with it, whether denormals count
  };
  using Outcome = std::optional<Error>;
  void run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<Item> waiting_ SYSTOLE_GUARDED_BY(mutex_);  // the first one may be under way
  std::map<const void*, Outcome> done_ SYSTOLE_GUARDED_BY(mutex_);
  bool ends_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace systole::runtime
