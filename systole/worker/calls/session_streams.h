// The streams of one session, and the messages that they may receive at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "systole/base/mutex.h"

namespace systole::worker {

// A stream that reads when it is its turn.
class TurnReader {
 public:
  virtual ~TurnReader() = default;
  // Starts to read a message. Called with a lock: must neither block nor call SessionStreams.
  virtual void read_in_turn() = 0;
};

// Thread-safe.
class SessionStreams {
 public:
  // Uploads of a session that receive a message at a time; each may take the memory of a message.
  static constexpr int kMaxReads = 2;
  // Streams of a session besides its own. No more fit on one connection.
  static constexpr int64_t kMaxStreams = 64;

  // Calls read_in_turn() now, or after others.
  void read(TurnReader& reader);
  // The read has ended.
  void read_done();
  // The reader does not want to read any more. Returns whether it was waiting for its turn.
  bool leave(const TurnReader& reader);

 private:
  Mutex mutex_;
  int reads_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  std::deque<TurnReader*> waiting_ SYSTOLE_GUARDED_BY(mutex_);
};

// Thread-safe.
class SessionStreamTable {
 public:
  // Returns the streams of a session for one more of them. Errors: RESOURCE_EXHAUSTED if there are
  // too many.
  std::shared_ptr<SessionStreams> join(uint64_t session);

 private:
  Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<SessionStreams>> streams_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::worker
