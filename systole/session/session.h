// Session: runs parts of a graph on a device. (tf.Session)
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/api/graph.h"
#include "systole/graph/api/variable.h"
#include "systole/session/feed_value.h"

namespace systole {

struct SessionConfig {
  // The graph to run; the current one when null. It must outlive the session.
  Graph* graph = nullptr;
  // The backend behind the target: "cpu" when empty; "reference" interprets, for checking results.
  std::string backend;
  // The seed of random ops that have none; from the operating system when absent.
  std::optional<uint64_t> entropy;
  // Programs are optimised; false compiles them as they were lowered, for checking results.
  bool optimize = true;
  // Threads that a program may use; 0: one for each core.
  int num_threads = 0;
  // The folder in which compiled code is kept for the next process; when empty $SYSTOLE_CACHE_DIR,
  // by default ~/.cache/systole.
  std::string cache_folder;
};

// What can be fetched: a tensor, an operation (runs, gives no value), a variable (its value) or
// either by name.
class Fetch {
 public:
  Fetch(Output output) : output_(output) {}  // NOLINT(google-explicit-constructor)
  Fetch(Operation operation)
      : operation_(operation.node()) {}  // NOLINT(google-explicit-constructor)
  Fetch(const Variable& variable)
      : output_(variable.value()) {}             // NOLINT(google-explicit-constructor)
  Fetch(std::string_view name) : name_(name) {}  // NOLINT(google-explicit-constructor)
  Fetch(const char* name) : name_(name) {}       // NOLINT(google-explicit-constructor)

 private:
  friend class Session;
  Output output_;
  Node* operation_ = nullptr;
  std::string_view name_;  // borrowed for the call
};

struct SessionStats {
  int64_t runs = 0;
  int64_t programs = 0;  // compiled so far
  double compile_seconds = 0;
};

// A connection to a device, with the values of the graph's variables. Programs are specialised to
// the shapes they are fed and cached; a line in the log says when and why one is compiled again.
// All methods may be called from several threads at once: runs that change variables or draw random
// numbers take turns, all others run side by side. A run that fails leaves the session usable;
// where a run's own checks fail, no variable has changed (but see debugging_ops.h on checks of what
// the host computes from variables that the same run changes).
class Session {
 public:
  // `target`: "" (this machine's CPU), "local", "local:v3-8" or "local:N" (a virtual TPU, see
  // target.h), "grpc://host:port" (a worker).
  // Errors: INVALID_ARGUMENT for an unknown target, UNAVAILABLE for one that does not answer.
  explicit Session(std::string_view target = "", const SessionConfig& config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs what the fetches need and returns a host tensor for each (an invalid one for an
  // operation). Errors: INVALID_ARGUMENT (unfed placeholder; fed shape, dtype or name that does not
  // fit; a tensor of another graph), FAILED_PRECONDITION (uninitialised variable, closed session),
  // and what building the program throws.
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
  Tensor run(const Fetch& fetch, std::span<const FeedItem> feeds);
  Tensor run(const Fetch& fetch, std::initializer_list<FeedItem> feeds = {}) {
    return run(fetch, std::span(feeds.begin(), feeds.size()));
  }

  // The hot path: fetches and feeds resolved once. Calling it takes one tensor for each of
  // `feed_list`, in that order. Keeps working while the session lives. One thread calls one
  // Callable at a time.
  class Callable;
  Callable make_callable(const std::vector<Fetch>& fetches, std::vector<Output> feed_list = {});

  // Frees variables and programs. A run after it is an error. Idempotent.
  void close();

  Graph& graph() const;
  const std::string& target() const;
  SessionStats stats() const;

  // Direct access to variables, for savers: the value now. Errors: FAILED_PRECONDITION when not
  // initialised.
  Tensor variable_value(const Variable& variable);
  void set_variable(const Variable& variable, const Tensor& value);
  bool is_initialized(const Variable& variable);

  // How often each random op has run, and the seed of those without one, as bytes: with the values
  // of the variables, all that a session of the same graph needs to go on as this one would have.
  // Errors: DATA_LOSS for other bytes; FAILED_PRECONDITION for those of another graph. Nothing has
  // changed then.
  std::string random_state();
  void set_random_state(std::string_view bytes);

 private:
  friend class StepLoop;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Session::Callable {
 public:
  Callable(Callable&&) noexcept;
  Callable& operator=(Callable&&) noexcept;
  ~Callable();

  // The results' memory is reused by the next call unless the caller keeps a copy of the Tensor.
  std::span<const Tensor> operator()(std::span<const Tensor> arguments);
  std::span<const Tensor> operator()(std::initializer_list<Tensor> arguments) {
    return (*this)(std::span(arguments.begin(), arguments.size()));
  }

 private:
  friend class Session;
  struct State;
  explicit Callable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace systole
