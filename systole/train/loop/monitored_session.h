// Training loops of one's own with hooks, checkpoints and summaries around them.
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
  std::string checkpoint_dir = {};  // the latest checkpoint there is restored; none when empty
  HookList hooks = {};
  Scaffold scaffold = {};
  SessionConfig config = {};
};

// A session of the graph as it is then, whose variables are restored from the latest checkpoint or
// initialised, with hooks around each run: a run is a loop of as many steps as it adds to the
// global step (of a graph without one, 1). What hooks fetch is computed in every run, so that each
// run must feed what that needs. A CheckpointSaverHook without `save` saves checkpoints into
// checkpoint_dir, on a thread of their own, with the random numbers and the state of all hooks:
// training that goes on from one is the one that did not stop, as far as its input is. Not
// thread-safe.
class MonitoredSession {
 public:
  // Errors: those of hooks, of the session, of a checkpoint that cannot be restored;
  // INVALID_ARGUMENT for a CheckpointSaverHook without `save` and without a checkpoint_dir.
  explicit MonitoredSession(MonitoredSessionOptions options = {});
  // close(), as the end of Python's `with`; what that throws is logged. When it is an error other
  // than the end of the input (OUT_OF_RANGE) that ends the block, hooks are not told of an end, and
  // nothing is saved.
  virtual ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  // As Session::run. OUT_OF_RANGE, the end of an input, is thrown too, and stops nothing: a loop of
  // epochs catches it, initialises its iterator and goes on.
  // Errors: its own; those of hooks; FAILED_PRECONDITION after a stop or a close.
  std::vector<Tensor> run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds = {});
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches,
                          std::initializer_list<FeedItem> feeds = {}) {
    return run(std::span(fetches.begin(), fetches.size()), std::span(feeds.begin(), feeds.size()));
  }
  // Feeds that are kept in a FeedDict.
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches, std::span<const FeedItem> feeds) {
    return run(std::span(fetches.begin(), fetches.size()), feeds);
  }
  // One fetch: its value.
  Tensor run(const Fetch& fetch, std::span<const FeedItem> feeds) {
    return run(std::span(&fetch, 1), feeds)[0];
  }
  Tensor run(const Fetch& fetch, std::initializer_list<FeedItem> feeds = {}) {
    return run(fetch, std::span(feeds.begin(), feeds.size()));
  }

  // A hook wants no more runs, or the session is closed.
  bool should_stop() const;
  int64_t global_step() const;
  // The session without hooks. (SingularMonitoredSession.raw_session)
  Session& raw_session();
  // Tells hooks of the end, waits for checkpoints, frees the session: each whatever the others
  // throw. Nothing when closed. Errors: the first of hooks and of writing a checkpoint.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
// Nothing here is recovered by building a session again, so both are one.
using SingularMonitoredSession = MonitoredSession;

struct MonitoredTrainingSessionOptions {
  std::string master = {};
  std::string checkpoint_dir = {};
  Scaffold scaffold = {};
  HookList hooks = {};
  // One of save_checkpoint_secs and save_checkpoint_steps. When both are absent: 600 seconds; 0 or
  // less (None in Python): no checkpoints. A CheckpointSaverHook among the hooks takes their place.
  std::optional<double> save_checkpoint_secs = std::nullopt;
  // One of the two. When both are absent: 100 steps; 0 or less: no summaries.
  std::optional<int64_t> save_summaries_steps = std::nullopt;
  std::optional<double> save_summaries_secs = std::nullopt;
  SessionConfig config = {};
  int64_t log_step_count_steps = 100;  // 0: never
  std::optional<int64_t> save_checkpoint_steps = std::nullopt;
  std::string summary_dir = {};  // checkpoint_dir when empty
};

// A MonitoredSession whose checkpoints, summaries (all of the graph's, and the graph) and steps a
// second are taken care of where there is a checkpoint_dir. Without one there are no checkpoints,
// summaries only where there is a summary_dir, and the steps a second are logged. Errors:
// INVALID_ARGUMENT for a checkpoint_dir without a global step, and for both the steps and the
// seconds of one thing.
class MonitoredTrainingSession final : public MonitoredSession {
 public:
  explicit MonitoredTrainingSession(MonitoredTrainingSessionOptions options = {});
};

}  // namespace systole
