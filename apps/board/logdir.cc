#include "apps/board/logdir.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/board/hparams.h"
#include "apps/board/names.h"
#include "systole/base/thread_pool.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/file_systems/local_file_system.h"

namespace systole::board {
namespace {

constexpr size_t kMaxScanProblems = 20;
constexpr size_t kMaxProfiles = 10'000;

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

Logdir::Logdir(FileSystem& file_system, std::string path, LogdirOptions options)
    : file_system_(file_system), path_(std::move(path)), options_(options) {
  const bool is_local = &file_system == &local_file_system() ||
                        (&file_system == &default_file_system() && local_path(path_).has_value());
  if (!is_local) return;
  std::error_code failed;
  const auto real = std::filesystem::weakly_canonical(*local_path(path_), failed);
  if (!failed) real_path_ = real.string();
}

Logdir::~Logdir() {
  stop_ = true;
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Logdir::start() {
  thread_ = std::thread([this] { loop(); });
}

void Logdir::loop() {
  while (!stop_) {
    const auto begin = std::chrono::steady_clock::now();
    refresh();
    // A large directory takes long to scan: at most a quarter of the time goes there.
    const auto took = std::chrono::steady_clock::now() - begin;
    const auto wait = std::max<std::chrono::steady_clock::duration>(
        std::chrono::milliseconds(static_cast<int64_t>(options_.reload_seconds * 1000)), 3 * took);
    std::unique_lock<std::mutex> hold(sleep_mutex_);
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

void Logdir::scan_profiles(const std::string& directory, const std::string& name, Scan& found) {
  const std::string folder = join_path(join_path(directory, "plugins"), "profile");
  if (!file_system_.exists(folder) || !is_inside(folder)) return;
  for (const std::string& profile : file_system_.list(folder)) {
    const std::string path = join_path(folder, profile);
    if (found.profiles.size() >= kMaxProfiles || !file_system_.stat(path).is_directory ||
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
  for (const std::string& entry : file_system_.list(directory)) {
    const std::string path = join_path(directory, entry);
    if (is_event_file(entry) ? is_inside(path) : false) {
      run.files.push_back(entry);
    } else if (is_hparam_file(entry)) {
      if (is_inside(path)) hparam_files.push_back(path);
    } else if (entry == "plugins") {
      scan_profiles(directory, name, found);
    } else {
      folders.push_back(entry);
    }
  }
  if (!run.files.empty()) {
    if (found.runs.size() >= options_.max_runs) {
      found.add_problem(fmt::format("{}: more than {} runs; the others are not shown.", path_,
                                    options_.max_runs));
      return;
    }
    run.hparam_files = hparam_files;
    found.runs.push_back(std::move(run));
  }
  for (const std::string& entry : folders) {
    const std::string path = join_path(directory, entry);
    try {
      // Behind a link is a directory outside, or one that the scan meets under its own name.
      if (is_link(path) || !file_system_.stat(path).is_directory) continue;
      const std::string shown = safe_text(entry, 1000);
      scan(path, join_name(name, shown), hparam_files, found, depth + 1);
    } catch (const std::exception& error) {
      found.add_problem(error.what());
    }
  }
}

void Logdir::refresh() {
  const std::lock_guard<std::mutex> one(refresh_mutex_);
  Scan found;
  try {
    scan(path_, ".", {}, found, 0);
  } catch (const std::exception& error) {
    found.add_problem(error.what());
  }
  try {
    add_runs(found);
    read_runs();
    bound_memory();
  } catch (const std::exception& error) {
    found.add_problem(error.what());
  }
  const std::lock_guard<std::mutex> hold(mutex_);
  if (!ready_ || scan_problems_ != found.problems || profiles_ != found.profiles) ++generation_;
  ready_ = true;
  scan_problems_ = std::move(found.problems);
  profiles_ = std::move(found.profiles);
}

void Logdir::add_runs(const Scan& found) {
  for (const Scan::Found& one : found.runs) {
    std::shared_ptr<Run> run = find_run(one.name);
    if (!run) {
      const std::lock_guard<std::mutex> hold(mutex_);
      run = std::make_shared<Run>(file_system_, one.name, one.directory,
                                  static_cast<uint32_t>(runs_.size()), options_.run_limits);
      by_name_[one.name] = runs_.size();
      runs_.push_back(run);
      ++generation_;
    }
    run->add_files(one.files);
    run->set_hparam_files(one.hparam_files);
  }
}

void Logdir::read_runs() {
  const std::vector<std::shared_ptr<Run>> all = runs();
  ThreadPool::global().parallel_for(
      static_cast<int64_t>(all.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (all[static_cast<size_t>(i)]->refresh(bytes_read_, stop_)) ++generation_;
        }
      });
}

void Logdir::bound_memory() {
  const std::vector<std::shared_ptr<Run>> all = runs();
  std::vector<size_t> sizes;
  size_t total = 0;
  for (const auto& run : all) {
    sizes.push_back(run->bytes());
    total += sizes.back();
  }
  bool thinned = false;
  while (total > options_.max_memory_bytes && !stop_) {
    const auto largest = std::ranges::max_element(sizes) - sizes.begin();
    const size_t freed = all[static_cast<size_t>(largest)]->shrink();
    if (freed == 0) break;
    thinned = true;
    total -= freed;
    sizes[static_cast<size_t>(largest)] -= freed;
  }
  const std::lock_guard<std::mutex> hold(mutex_);
  memory_bytes_ = total;
  if (thinned && !std::exchange(thinned_, true)) ++generation_;
}

LogdirStatus Logdir::status() const {
  LogdirStatus status;
  uint64_t left = 0;
  for (const auto& run : runs()) left += run->bytes_left();
  const std::lock_guard<std::mutex> hold(mutex_);
  status.ready = ready_;
  status.generation = generation_;
  status.bytes_read = bytes_read_;
  status.bytes_total = status.bytes_read + left;
  status.runs = runs_.size();
  status.memory_bytes = memory_bytes_;
  status.thinned = thinned_;
  status.problems = scan_problems_;
  return status;
}

std::vector<std::shared_ptr<Run>> Logdir::runs() const {
  const std::lock_guard<std::mutex> hold(mutex_);
  return runs_;
}

std::shared_ptr<Run> Logdir::run(size_t id) const {
  const std::lock_guard<std::mutex> hold(mutex_);
  return id < runs_.size() ? runs_[id] : nullptr;
}

std::shared_ptr<Run> Logdir::find_run(std::string_view name) const {
  const std::lock_guard<std::mutex> hold(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : runs_[found->second];
}

std::map<std::string, std::string> Logdir::profiles() const {
  const std::lock_guard<std::mutex> hold(mutex_);
  return profiles_;
}

}  // namespace systole::board
