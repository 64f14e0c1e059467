// The recording of a worker, for the call Profile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/tracing/recording.h"
#include "systole/worker/protocol/convert_recording.h"

namespace systole::worker {

// Thread-safe. One recording is in progress at a time.
class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string client;  // for the errors of others
    double seconds = 0;  // after which the recording ends by itself
    int64_t events_per_thread = 0;
    std::function<void()> cancel;  // ends the call that made it, from any thread
    // Ends the recordings of the processes of sessions and returns them.
    std::function<std::vector<RecordingPart>()> collect;
  };

  // What was recorded, here and in the processes of sessions.
  struct Recorded {
    tracing::Recording own;
    std::vector<RecordingPart> parts;
  };

  // A recording in progress, which its end drops.
  class Active {
   public:
    explicit Active(Recorder& recorder) : recorder_(recorder) {}
    ~Active();
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;
    // The client has sent a message.
    void heard();
    // Whether its time is over.
    bool over() const;
    // Ends it and returns it. Called once.
    Recorded end();

   private:
    Recorder& recorder_;
    bool ended_ = false;
  };

  // Errors: FAILED_PRECONDITION while another is in progress, of this worker or elsewhere in its
  // process. This object must outlive the result.
  std::unique_ptr<Active> begin(Options options);
  // The events of a thread that the recording in progress keeps; 0 for none.
  int64_t events_per_thread() const;
  // Adds what the process of a session recorded that ends before the recording in progress.
  void add(RecordingPart part);
  // Ends a recording whose time is over, and the call of a client that is silent for `stall`.
  void check(Clock::time_point now, Clock::duration stall);

 private:
  struct State {
    Options options;
    Clock::time_point until;
    Clock::time_point last_heard;
    std::vector<RecordingPart> parts = {};  // of sessions that have ended
    std::optional<Recorded> recorded = {};  // once its time is over
  };
  // REQUIRES: the lock. Ends what is recorded.
  static Recorded stop(State& state);

  mutable Mutex mutex_;
  std::optional<State> state_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::worker
