#include "apps/board/logdir.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/board/hparams.h"
#include "apps/board/inside_files.h"
#include "apps/board/names.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_pool.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"

namespace systole::board {
namespace {

constexpr size_t kMaxScanProblems = 20;
constexpr size_t kMaxProfiles = 10'000;
constexpr size_t kMaxHparamFiles = 16;  // of a run
constexpr size_t kRunBytes = sizeof(Run) + 1500;
constexpr int kReaders = 4;  // runs that are read at once: each may hold a large record

bool is_event_file(std::string_view name) {
  return name.find("tfevents") != std::string_view::npos && !name.ends_with(".profile-empty");
}

// Returns the name of `entry` in the directory `name`. Names are relative to the log directory,
// ".".
std::string join_name(const std::string& name, const std::string& entry) {
  return name == "." ? entry : fmt::format("{}/{}", name, entry);
}

}  // namespace

struct Logdir::Scan {
  struct Found {
    std::string name;
    std::string directory;
    std::vector<std::string> files;
    std::vector<std::string> hparam_files;  // with those of the directories above
  };
  std::vector<Found> runs;
  std::map<std::string, std::string> profiles;
  std::vector<std::string> problems;

  void add_problem(std::string_view problem) {
    if (problems.size() < kMaxScanProblems) problems.push_back(safe_text(problem, 1000));
  }
};

namespace {

// Returns the path without links; "" if it is not on this machine.
std::string real_local_path(const FileSystem& file_system, const std::string& path) {
  const bool is_local = &file_system == &local_file_system() ||
                        (&file_system == &default_file_system() && local_path(path).has_value());
  if (!is_local) return "";
  std::error_code failed;
  const auto real = std::filesystem::weakly_canonical(*local_path(path), failed);
  return failed ? "" : real.string();
}

}  // namespace

Logdir::Logdir(FileSystem& file_system, std::string path, LogdirOptions options)
    : path_(std::move(path)),
      real_path_(real_local_path(file_system, path_)),
      inside_(real_path_.empty() ? nullptr : files_inside(real_path_)),
      files_(inside_ ? inside_.get() : &file_system),
      options_(options),
      budget_(options.max_memory_bytes) {}

Logdir::~Logdir() {
  stop_ = true;
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Logdir::start() {
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& error) {
    throw make_error(Code::resource_exhausted, "{}: thread that reads it, got '{}', expected one",
                     path_, error.what());
  }
}

void Logdir::loop() {
  while (!stop_) {
    const auto begin = std::chrono::steady_clock::now();
    refresh();
    // A large directory takes long to scan: at most a quarter of the time goes there.
    const auto took = std::chrono::steady_clock::now() - begin;
    const auto wait = std::max<std::chrono::steady_clock::duration>(
        std::chrono::milliseconds(static_cast<int64_t>(options_.reload_seconds * 1000)), 3 * took);
    MutexLock hold(sleep_mutex_);
    wake_.wait_for(hold, wait, [this] { return stop_.load(); });
  }
}

bool Logdir::is_link(const std::string& path) const {
  if (real_path_.empty()) return false;
  std::error_code failed;
  return std::filesystem::is_symlink(std::filesystem::symlink_status(*local_path(path), failed));
}

// Links may lead anywhere; a name from list() has no separator and cannot.
bool Logdir::is_inside(const std::string& path) const {
  if (!is_link(path)) return true;
  std::error_code failed;
  const std::string real = std::filesystem::weakly_canonical(*local_path(path), failed).string();
  return !failed && (real == real_path_ || real.starts_with(real_path_ + "/"));
}

bool Logdir::is_file_inside(const std::string& path, Scan& found) const {
  if (!is_inside(path)) return false;
  if (real_path_.empty()) return true;
  std::error_code failed;
  const auto type = std::filesystem::status(*local_path(path), failed).type();
  using Type = std::filesystem::file_type;
  if (type != Type::fifo && type != Type::socket && type != Type::character && type != Type::block)
    return true;
  found.add_problem(fmt::format(
      "{}: event file, got a pipe, a socket or a device, expected a regular file", path));
  return false;
}

void Logdir::scan_profiles(const std::string& directory, const std::string& name, Scan& found) {
  const std::string folder = join_path(join_path(directory, "plugins"), "profile");
  if (!files_->exists(folder) || !is_inside(folder)) return;
  for (const std::string& profile : files_->list(folder)) {
    const std::string path = join_path(folder, profile);
    if (found.profiles.size() >= kMaxProfiles || !files_->stat(path).is_directory ||
        !is_inside(path)) {
      continue;
    }
    const std::string shown = safe_text(profile, 1000);
    found.profiles[join_name(name, shown)] = path;
  }
}

void Logdir::scan(const std::string& directory, const std::string& name,
                  std::vector<std::string> hparam_files, Scan& found, int depth) {
  if (stop_ || depth > options_.max_depth) return;
  Scan::Found run{.name = name, .directory = directory};
  std::vector<std::string> folders;
  for (const std::string& entry : files_->list(directory)) {
    const std::string path = join_path(directory, entry);
    if (is_event_file(entry) && is_file_inside(path, found)) {
      run.files.push_back(entry);
    } else if (is_hparam_file(entry)) {
      if (hparam_files.size() < kMaxHparamFiles && is_inside(path)) hparam_files.push_back(path);
    } else if (entry == "plugins") {
      scan_profiles(directory, name, found);
    } else {
      folders.push_back(entry);
    }
  }
  if (!run.files.empty()) {
    // A scan holds the names of all runs, whether there is memory for them or not.
    const size_t most = std::min(options_.max_runs, options_.max_memory_bytes / kRunBytes + 1);
    if (found.runs.size() >= most) {
      found.add_problem(
          fmt::format("{}: more than {} runs; the others are not shown.", path_, most));
      return;
    }
    run.hparam_files = hparam_files;
    found.runs.push_back(std::move(run));
  }
  for (const std::string& entry : folders) {
    const std::string path = join_path(directory, entry);
    try {
      // Behind a link is a directory outside, or one that the scan meets under its own name.
      if (is_link(path) || !files_->stat(path).is_directory) continue;
      const std::string shown = safe_text(entry, 1000);
      scan(path, join_name(name, shown), hparam_files, found, depth + 1);
    } catch (const std::exception& error) {
      found.add_problem(error.what());
    }
  }
}

void Logdir::refresh() {
  const MutexLock one(refresh_mutex_);
  Scan found;
  try {
    scan(path_, ".", {}, found, 0);
  } catch (const Error& error) {
    found.add_problem(error.what());
  } catch (const std::exception& error) {
    found.add_problem(fmt::format("{}: scan, got '{}'", path_, error.what()));
  }
  try {
    add_runs(found);
    read_runs();
    bound_memory();
  } catch (const std::exception& error) {
    found.add_problem(fmt::format("{}: reading, got '{}'", path_, error.what()));
  }
  const MutexLock hold(mutex_);
  if (!ready_ || scan_problems_ != found.problems || profiles_ != found.profiles) ++generation_;
  ready_ = true;
  scan_problems_ = std::move(found.problems);
  profiles_ = std::move(found.profiles);
}

void Logdir::add_runs(Scan& found) {
  size_t left_out = 0;
  for (const Scan::Found& one : found.runs) {
    std::shared_ptr<Run> run = find_run(one.name);
    if (!run) {
      if (!budget_.take_names(kRunBytes + 3 * one.name.size() + one.directory.size())) {
        ++left_out;
        continue;
      }
      const MutexLock hold(mutex_);
      run = std::make_shared<Run>(*files_, one.name, one.directory,
                                  static_cast<uint32_t>(runs_.size()), options_.run_limits, budget_,
                                  [this] { bound_memory(); });
      by_name_[one.name] = runs_.size();
      runs_.push_back(run);
      ++generation_;
    }
    run->add_files(one.files);
    run->set_hparam_files(one.hparam_files);
  }
  if (left_out > 0) {
    found.add_problem(fmt::format(
        "{}: {} runs are not shown, because they do not fit into the memory (option --memory).",
        path_, left_out));
  }
}

void Logdir::read_runs() {
  const std::vector<std::shared_ptr<Run>> all = runs();
  std::atomic<size_t> next = 0;
  ThreadPool::global().parallel_for(kReaders, 1, [&](int64_t begin, int64_t end) {
    for (int64_t reader = begin; reader < end; ++reader) {
      for (size_t i = next++; i < all.size(); i = next++) {
        if (all[i]->refresh(bytes_read_, stop_)) ++generation_;
      }
    }
  });
}

// Also called by the threads that read, between two batches of records.
void Logdir::bound_memory() {
  const MutexLock one(bound_mutex_);
  const std::vector<std::shared_ptr<Run>> all = runs();
  std::vector<size_t> sizes;
  size_t total = 0;
  for (const auto& run : all) {
    sizes.push_back(run->bytes());
    total += sizes.back();
  }
  budget_.set_points(total);
  bool thinned = false;
  // Somewhat below the limit, so that the next points do not exceed it again.
  const size_t target = budget_.limit() - budget_.limit() / 8;
  for (bool over = budget_.is_over(); over && !stop_; over = budget_.used() > target) {
    const auto largest = std::ranges::max_element(sizes) - sizes.begin();
    const size_t freed = all.empty() ? 0 : all[largest]->shrink();
    if (freed == 0) break;
    thinned = true;
    total -= std::min(freed, total);
    sizes[largest] -= std::min(freed, sizes[largest]);
    budget_.set_points(total);
  }
  budget_.set_full(budget_.is_over());
  const MutexLock hold(mutex_);
  if (thinned && !std::exchange(thinned_, true)) ++generation_;
}

LogdirStatus Logdir::status() const {
  LogdirStatus status;
  uint64_t left = 0;
  for (const auto& run : runs()) left += run->bytes_left();
  const MutexLock hold(mutex_);
  status.ready = ready_;
  status.generation = generation_;
  status.bytes_read = bytes_read_;
  status.bytes_total = status.bytes_read + left;
  status.runs = runs_.size();
  status.memory_bytes = budget_.used();
  status.full = budget_.is_full();
  status.dropped = budget_.dropped();
  status.thinned = thinned_;
  status.problems = scan_problems_;
  return status;
}

std::vector<std::shared_ptr<Run>> Logdir::runs() const {
  const MutexLock hold(mutex_);
  return runs_;
}

std::shared_ptr<Run> Logdir::run(size_t id) const {
  const MutexLock hold(mutex_);
  return id < runs_.size() ? runs_[id] : nullptr;
}

std::shared_ptr<Run> Logdir::find_run(std::string_view name) const {
  const MutexLock hold(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : runs_[found->second];
}

std::map<std::string, std::string> Logdir::profiles() const {
  const MutexLock hold(mutex_);
  return profiles_;
}

}  // namespace systole::board
