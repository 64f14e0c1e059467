// Training loops of one's own with hooks, checkpoints and summaries around them.
// (tf.train.MonitoredSession, SingularMonitoredSession, MonitoredTrainingSession)
//
//   st::train::MonitoredTrainingSession sess(
//       {.checkpoint_dir = "/tmp/model",
//        .hooks = {std::make_shared<st::train::StopAtStepHook>(...last_step = 1000)}});
//   while (!sess.should_stop()) sess.run(train_op, {{x, batch}});
//   sess.close();
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/estimator/hooks.h"
#include "systole/estimator/spec.h"
#include "systole/session/session.h"

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

  // As Session::run. Errors: its own; those of hooks; FAILED_PRECONDITION after a stop or a close.
  std::vector<Tensor> run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds = {});
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches,
                          std::initializer_list<FeedItem> feeds = {}) {
    return run(std::span(fetches.begin(), fetches.size()), std::span(feeds.begin(), feeds.size()));
  }
  Tensor run(const Fetch& fetch, std::initializer_list<FeedItem> feeds = {}) {
    return run(std::span(&fetch, 1), std::span(feeds.begin(), feeds.size()))[0];
  }

  // A hook wants no more runs, the input has ended, or the session is closed.
  bool should_stop() const;
  int64_t global_step() const;
  // The session without hooks. (SingularMonitoredSession.raw_session)
  Session& raw_session();
  // Tells hooks of the end, waits for checkpoints, frees the session. Idempotent. Errors: those of
  // hooks and of writing a checkpoint.
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
  // When both are absent: 600 seconds. 0 for either (None in Python): no checkpoints.
  std::optional<double> save_checkpoint_secs = std::nullopt;
  // When both are absent: 100 steps. 0 for either: no summaries.
  std::optional<int64_t> save_summaries_steps = std::nullopt;
  std::optional<double> save_summaries_secs = std::nullopt;
  SessionConfig config = {};
  int64_t log_step_count_steps = 100;  // 0: never
  std::optional<int64_t> save_checkpoint_steps = std::nullopt;
  std::string summary_dir = {};  // checkpoint_dir when empty
};

// A MonitoredSession whose checkpoints, summaries (all of the graph's, and the graph) and steps a
// second are taken care of where there is a checkpoint_dir. Errors: INVALID_ARGUMENT without a
// global step then.
class MonitoredTrainingSession final : public MonitoredSession {
 public:
  explicit MonitoredTrainingSession(MonitoredTrainingSessionOptions options = {});
};

}  // namespace systole
