#include "systole/data/cancellation.h"

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole {

void Cancellation::cancel() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  for (const auto& wake : wakes_) wake();
}

void Cancellation::check() const {
  if (cancelled()) throw make_error(Code::cancelled, "Iterator: closed while it was waited for");
}

Cancellation::Registration::Registration(Cancellation& cancellation, std::function<void()> wake)
    : cancellation_(cancellation) {
  const MutexLock lock(cancellation_.mutex_);
  if (cancellation_.cancelled()) wake();
  entry_ = cancellation_.wakes_.insert(cancellation_.wakes_.end(), std::move(wake));
}

Cancellation::Registration::~Registration() {
  const MutexLock lock(cancellation_.mutex_);
  cancellation_.wakes_.erase(entry_);
}

}  // namespace systole
