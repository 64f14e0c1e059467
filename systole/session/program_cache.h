// The compiled programs of a session, by fetches, feeds and fed types.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/session/program.h"

namespace systole {

// References to programs stay valid as long as the cache. Thread-safe: two threads that ask for the
// same new program compile it once.
class ProgramCache {
 public:
  ProgramCache(const Graph& graph, runtime::Client& client, runtime::CompileOptions options,
               SessionState& state)
      : graph_(graph), client_(client), options_(std::move(options)), state_(state) {}

  // Errors: INVALID_ARGUMENT for fetches and feeds of another graph, repeated feeds, and values
  // that do not fit; those of compiling.
  const Program& find_or_compile(std::span<const FetchKey> fetches, const FeedValues& feeds);

  // The number of programs, and the time that compiling them took.
  struct Stats {
    int64_t programs = 0;
    double compile_seconds = 0;
  };
  Stats stats() const;

 private:
  const Program* find(uint64_t hash, std::span<const FetchKey> fetches,
                      const FeedValues& feeds) const SYSTOLE_REQUIRES_SHARED(mutex_);
  ProgramKey make_key(std::span<const FetchKey> fetches, const FeedValues& feeds) const;
  void log_compiled(const Program& program, const Program* sibling) const;

  const Graph& graph_;
  runtime::Client& client_;
  runtime::CompileOptions options_;
  SessionState& state_;
  mutable SharedMutex mutex_;
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<Program>>> programs_
      SYSTOLE_GUARDED_BY(mutex_);
  std::vector<const Program*> in_order_ SYSTOLE_GUARDED_BY(mutex_);
  double compile_seconds_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  Mutex compile_mutex_;  // one compilation at a time
};

}  // namespace systole
