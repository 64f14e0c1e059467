// The implementation of Session, shared by the files of this folder.
#pragma once

#include <atomic>
#include <mutex>

#include "systole/base/mutex.h"
#include "systole/session/host/host_executor.h"
#include "systole/session/program_cache.h"
#include "systole/session/session.h"
#include "systole/session/targets/target.h"

namespace systole {

struct Session::Impl {
  class SessionRunner;

  Impl(std::string_view target_name, const SessionConfig& config)
      : graph(config.graph != nullptr ? *config.graph : Graph::current()),
        target(resolve_target(target_name, config.backend)),
        state(config.entropy ? *config.entropy : draw_entropy()),
        compile_options({.optimize = config.optimize,
                         .num_threads = config.num_threads,
                         .memory_limit = target.memory_per_core,
                         .cache_folder = config.cache_folder}),
        cache(graph, *target.client, compile_options, state) {}

  static uint64_t draw_entropy();
  void run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds,
           std::span<Tensor> fetched);
  void execute(std::span<const FetchKey> fetches, const FeedValues& feeds,
               std::span<Tensor> fetched);
  void execute(const Program& program, const FeedValues& feeds, std::span<Tensor> fetched);
  void execute_with_host(const Program& program, const FeedValues& feeds,
                         std::span<Tensor> fetched);
  void note_idle_cores(const Program& program);
  // Errors: INVALID_ARGUMENT for a variable of another graph.
  void check_graph(const Variable& variable) const;
  // Errors: those of check_graph(); INVALID_ARGUMENT for a value of another type.
  void check_value(const Variable& variable, const Tensor& value) const;
  // Errors: INVALID_ARGUMENT if the target is a TPU with fewer cores.
  void check_cores(int num_replicas) const;
  void check_open() const SYSTOLE_REQUIRES_SHARED(run_mutex) {
    if (closed) throw failed_precondition("Session.run: Attempted to use a closed Session");
  }

  Graph& graph;
  Target target;
  HostContextState host_state;
  SessionState state;
  const runtime::CompileOptions compile_options;
  ProgramCache cache;
  SharedMutex run_mutex;  // guards `state`'s values and `closed`
  bool closed SYSTOLE_GUARDED_BY(run_mutex) = false;
  std::atomic<int64_t> runs{0};
  std::once_flag idle_cores_once;  // for note_idle_cores(); a StepLoop uses it up
  std::atomic<bool> snapshots_taken{false};
};

}  // namespace systole
