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
#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"
#include "systole/session/feed_value.h"

namespace systole {

struct FetchKey;

struct SessionConfig {
  // The graph to run; the current one when null. It must outlive the session.
  Graph* graph = nullptr;
  // The backend that computes: "cpu" if empty; "reference" interprets, to check results.
  std::string backend;
  // The seed of random ops without one; from the operating system if absent.
  std::optional<uint64_t> entropy;
  // Optimise programs; false compiles them without passes, to check results.
  bool optimize = true;
  // Threads of a program; 0: one for each core.
  int num_threads = 0;
  // The folder where compiled code is kept for later processes; if empty $SYSTOLE_CACHE_DIR, by
  // default ~/.cache/systole.
  std::string cache_folder;
};

// A fetch: a tensor, an operation (which runs and has no value), a variable (its value), or a
// tensor or operation by name.
class Fetch {
 public:
  Fetch(Output output) : output_(output) {}  // NOLINT(google-explicit-constructor)
  Fetch(Operation operation)
      : operation_(operation.node()) {}  // NOLINT(google-explicit-constructor)
  Fetch(const Variable& variable)
      : output_(variable.value()) {}             // NOLINT(google-explicit-constructor)
  Fetch(std::string_view name) : name_(name) {}  // NOLINT(google-explicit-constructor)
  Fetch(const char* name) : name_(name) {}       // NOLINT(google-explicit-constructor)

  // What it means in `graph`. Errors: INVALID_ARGUMENT for an empty handle; NOT_FOUND for another
  // name, with near misses.
  FetchKey in(const Graph& graph) const;

 private:
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
// the shapes of the feeds and cached; the log says when and why one is compiled again. Thread-safe:
// runs that change variables or draw random numbers exclude each other, all others run
// concurrently. A failed run leaves the session usable. If a check of the run fails, no variable
// has changed (but see debugging_ops.h on checks of values that the host computes from variables
// that the run changes). If the device fails, variables that the run updated in place report its
// error until they are set.
class Session {
 public:
  // `target`: "" (this machine's CPU); "local", "local:v3-8" or "local:N" (a virtual TPU of 8 or N
  // cores; a plain graph uses one); "grpc://host:port" (a worker); or another registered scheme,
  // see target.h. Errors: INVALID_ARGUMENT for an unknown target, UNAVAILABLE for one that does not
  // answer.
  explicit Session(std::string_view target = "", const SessionConfig& config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs the nodes that the fetches need and returns a host tensor for each fetch (an invalid one
  // for an operation). Errors: INVALID_ARGUMENT (unfed placeholder; fed shape, dtype or name that
  // does not fit; a tensor of another graph), FAILED_PRECONDITION (uninitialised variable, closed
  // session), and those of building the program.
  std::vector<Tensor> run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds = {});
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches,
                          std::initializer_list<FeedItem> feeds = {}) {
    return run(std::span(fetches.begin(), fetches.size()), std::span(feeds.begin(), feeds.size()));
  }
  // With feeds in a FeedDict.
  std::vector<Tensor> run(std::initializer_list<Fetch> fetches, std::span<const FeedItem> feeds) {
    return run(std::span(fetches.begin(), fetches.size()), feeds);
  }
  // Returns the value of one fetch.
  Tensor run(const Fetch& fetch, std::span<const FeedItem> feeds);
  Tensor run(const Fetch& fetch, std::initializer_list<FeedItem> feeds = {}) {
    return run(fetch, std::span(feeds.begin(), feeds.size()));
  }

  // The hot path: resolves fetches and feeds once. A call takes one tensor for each of `feed_list`,
  // in that order. The session must outlive the Callable. One thread at a time calls it.
  class Callable;
  Callable make_callable(const std::vector<Fetch>& fetches, std::vector<Output> feed_list = {});

  // Frees the variables. Later runs are errors. Idempotent.
  void close();

  Graph& graph() const;
  const std::string& target() const;
  SessionStats stats() const;

  // Direct access to variables, for savers. Errors: FAILED_PRECONDITION if the variable is not
  // initialised; the error of the launch that should have computed it.
  Tensor variable_value(const Variable& variable);
  void set_variable(const Variable& variable, const Tensor& value);
  bool is_initialized(const Variable& variable);

  // The run counts of all random ops and the session's seed, as bytes. With these and the
  // variables, another session of the same graph continues exactly as this one would. Errors:
  // DATA_LOSS for invalid bytes; FAILED_PRECONDITION for those of another graph. Nothing has
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

  // The next call reuses the memory of the results unless the caller keeps a copy of the Tensor.
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
