// Hooks, checkpoints and summaries for programs with their own training loop.
// (tf.train.MonitoredSession, SingularMonitoredSession, MonitoredTrainingSession)
//
//   st::train::MonitoredTrainingSession sess(
//       {.checkpoint_dir = "/tmp/model",
//        .hooks = {std::make_shared<st::train::StopAtStepHook>(
//            st::train::StopAtStepHook::Options{.last_step = 1000})}});
//   while (!sess.should_stop()) sess.run(train_op, {{x, batch}});
//   sess.close();
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/session/session.h"
#include "systole/train/loop/hooks.h"
#include "systole/train/loop/scaffold.h"

namespace systole {

struct MonitoredSessionOptions {
  std::string master = {};          // a Session's target
  std::string checkpoint_dir = {};  // the latest checkpoint there is restored; empty: none
  HookList hooks = {};
  Scaffold scaffold = {};
  SessionConfig config = {};
};

// A session of the current graph. Restores the latest checkpoint or initialises the variables, and
// calls hooks around each run. A run counts as many steps as it adds to the global step, or 1 if
// the graph has none. Each run computes the hooks' fetches, and must feed what they need. A
// CheckpointSaverHook without `save` saves to checkpoint_dir on another thread, with the random
// state and the state of hooks, so that training continues exactly, except for its input. Not
// thread-safe.
class MonitoredSession {
 public:
  // Errors: those of hooks, of the session and of restoring a checkpoint;
  // INVALID_ARGUMENT for a CheckpointSaverHook without `save` and without a checkpoint_dir.
  explicit MonitoredSession(MonitoredSessionOptions options = {});
  // Calls close() and logs its error. If an exception other than the end of the input
  // (OUT_OF_RANGE) ends the block, hooks are not called and nothing is saved, as at the end of
  // Python's `with`.
  virtual ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  // As Session::run. The end of an input is OUT_OF_RANGE and does not stop the session: a loop over
  // epochs catches it, initialises its iterator and continues.
  // Errors: those of Session::run and of hooks; FAILED_PRECONDITION after a stop or close().
  std::vector<Tensor> run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds = {});
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches,
                          std::initializer_list<FeedItem> feeds = {}) {
    return run(std::span(fetches.begin(), fetches.size()), std::span(feeds.begin(), feeds.size()));
  }
  // With the feeds in a FeedDict.
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches, std::span<const FeedItem> feeds) {
    return run(std::span(fetches.begin(), fetches.size()), feeds);
  }
  // Returns the value of one fetch.
  Tensor run(const Fetch& fetch, std::span<const FeedItem> feeds) {
    return run(std::span(&fetch, 1), feeds)[0];
  }
  Tensor run(const Fetch& fetch, std::initializer_list<FeedItem> feeds = {}) {
    return run(fetch, std::span(feeds.begin(), feeds.size()));
  }

  // True after a hook asked to stop, or close().
  bool should_stop() const;
  int64_t global_step() const;
  // The underlying session, without hooks. (SingularMonitoredSession.raw_session)
  Session& raw_session();
  // Calls end() of hooks, waits for checkpoints and closes the session, each even if others fail.
  // Idempotent. Errors: the first of hooks and of writing a checkpoint.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
// MonitoredSession does not recreate its session after failures, so the two are the same.
using SingularMonitoredSession = MonitoredSession;

struct MonitoredTrainingSessionOptions {
  std::string master = {};
  std::string checkpoint_dir = {};
  Scaffold scaffold = {};
  HookList hooks = {};
  // One of save_checkpoint_secs and save_checkpoint_steps. Both absent: 600 seconds. 0 or less
  // (None in Python): no checkpoints. A CheckpointSaverHook among the hooks replaces them.
  std::optional<double> save_checkpoint_secs = std::nullopt;
  // One of the two. Both absent: 100 steps. 0 or less: no summaries.
  std::optional<int64_t> save_summaries_steps = std::nullopt;
  std::optional<double> save_summaries_secs = std::nullopt;
  SessionConfig config = {};
  int64_t log_step_count_steps = 100;  // 0: never
  std::optional<int64_t> save_checkpoint_steps = std::nullopt;
  std::string summary_dir = {};  // empty: checkpoint_dir
};

// A MonitoredSession that saves checkpoints and summaries (all of the graph's, and the graph) to
// checkpoint_dir, and logs steps per second. Without a checkpoint_dir it saves no checkpoints, and
// summaries only to a summary_dir. Errors: INVALID_ARGUMENT for a checkpoint_dir without a global
// step, and for a schedule with both steps and seconds.
class MonitoredTrainingSession final : public MonitoredSession {
 public:
  explicit MonitoredTrainingSession(MonitoredTrainingSessionOptions options = {});
};

}  // namespace systole
