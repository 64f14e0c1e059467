// The runs below a log directory, kept up to date by a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "apps/board/run.h"
#include "systole/base/file_system.h"
#include "systole/base/mutex.h"

namespace systole::board {

struct LogdirOptions {
  // Bytes of all that is kept of the runs. Names, descriptions and hyperparameters have at most
  // half.
  size_t max_memory_bytes = size_t{1} << 30U;
  size_t max_runs = 200'000;
  int max_depth = 24;  // of directories
  double reload_seconds = 1;
  Run::Limits run_limits;
};

// What the loader is doing.
struct LogdirStatus {
  bool ready = false;  // all that was there at the start has been read
  uint64_t generation = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_total = 0;
  size_t runs = 0;
  size_t memory_bytes = 0;
  bool thinned = false;  // points were dropped to bound the memory
  bool full = false;     // new points are dropped: those that are kept cannot be thinned
  uint64_t dropped = 0;  // how often a tag, a hyperparameter, a file or a run found no memory
  std::vector<std::string> problems;
};

// A run is a directory that holds event files; its name is the path below the log directory, "."
// for the log directory itself. Links to directories, and to files outside the log directory, are
// not followed, also not those that appear later; pipes, sockets and devices are not opened.
// Thread-safe.
class Logdir {
 public:
  // `file_system` must outlive the object. Reads nothing yet.
  Logdir(FileSystem& file_system, std::string path, LogdirOptions options = {});
  ~Logdir();
  Logdir(const Logdir&) = delete;
  Logdir& operator=(const Logdir&) = delete;

  // Starts the thread that calls refresh() every `reload_seconds`.
  void start();
  // Looks for new runs and files, and reads what was added. Never throws: what fails is a problem
  // of status() or of its run.
  void refresh();

  const std::string& path() const { return path_; }
  // The files of the log directory: of a local one, none outside of it (inside_files.h).
  FileSystem& file_system() const { return *files_; }
  LogdirStatus status() const;
  // In the order in which they were found: the index is the id. Runs stay when their files vanish.
  std::vector<std::shared_ptr<Run>> runs() const;
  // Returns null for an unknown id or name.
  std::shared_ptr<Run> run(size_t id) const;
  std::shared_ptr<Run> find_run(std::string_view name) const;
  // Returns the directories plugins/profile/<run> by the name "<run of events>/<profile>", sorted.
  std::map<std::string, std::string> profiles() const;
  // Returns whether a path below the log directory stays there: false for a link that leads out.
  bool is_inside(const std::string& path) const;

 private:
  struct Scan;

  void scan(const std::string& directory, const std::string& name,
            std::vector<std::string> hparam_files, Scan& found, int depth);
  void scan_profiles(const std::string& directory, const std::string& name, Scan& found);
  bool is_link(const std::string& path) const;
  // Adds a problem for a file of another kind.
  bool is_file_inside(const std::string& path, Scan& found) const;
  void add_runs(Scan& found);
  void read_runs();
  void bound_memory();
  void loop();

  const std::string path_;
  std::string real_path_;               // without links; "" if the path is not local
  std::unique_ptr<FileSystem> inside_;  // null if the path is not local
  FileSystem* const files_;
  const LogdirOptions options_;
  MemoryBudget budget_;

  mutable Mutex mutex_;  // guards the members up to `thread_`
  std::vector<std::shared_ptr<Run>> runs_ SYSTOLE_GUARDED_BY(mutex_);
  std::map<std::string, size_t, std::less<>> by_name_ SYSTOLE_GUARDED_BY(mutex_);
  std::map<std::string, std::string> profiles_ SYSTOLE_GUARDED_BY(mutex_);
  std::vector<std::string> scan_problems_ SYSTOLE_GUARDED_BY(mutex_);
  bool ready_ SYSTOLE_GUARDED_BY(mutex_) = false;
  bool thinned_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::thread thread_;

  Mutex bound_mutex_;  // one bound_memory() at a time

  Mutex refresh_mutex_;  // one refresh at a time
  std::atomic<uint64_t> bytes_read_ = 0;
  std::atomic<uint64_t> generation_ = 1;
  std::atomic<bool> stop_ = false;
  Mutex sleep_mutex_;
  CondVar wake_;
};

}  // namespace systole::board
