#include "systole/worker/calls/session_streams.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole::worker {

void SessionStreams::read(TurnReader& reader) {
  const MutexLock lock(mutex_);
  if (reads_ < kMaxReads) {
    ++reads_;
    reader.read_in_turn();
  } else {
    waiting_.push_back(&reader);
  }
}

void SessionStreams::read_done() {
  const MutexLock lock(mutex_);
  if (waiting_.empty()) {
    --reads_;
    return;
  }
  TurnReader& next = *waiting_.front();
  waiting_.pop_front();
  next.read_in_turn();
}

bool SessionStreams::leave(const TurnReader& reader) {
  const MutexLock lock(mutex_);
  return std::erase(waiting_, &reader) > 0;
}

std::shared_ptr<SessionStreams> SessionStreamTable::join(uint64_t session) {
  const MutexLock lock(mutex_);
  std::erase_if(streams_, [](const auto& entry) { return entry.second.expired(); });
  auto streams = streams_[session].lock();
  if (streams == nullptr) {
    streams = std::make_shared<SessionStreams>();
    streams_[session] = streams;
  }
  if (streams.use_count() > SessionStreams::kMaxStreams) {
    throw make_error(Code::resource_exhausted,
                     "worker: streams of a session, got more than {} at a time",
                     SessionStreams::kMaxStreams);
  }
  return streams;
}

}  // namespace systole::worker
