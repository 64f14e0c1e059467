// systole hlo test: runs self-checking programs.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "apps/systole/hlo/checks.h"
#include "apps/systole/hlo/hlo_commands.h"
#include "apps/systole/hlo/isolated.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/counted.h"
#include "systole/profile/prediction/machine.h"

namespace systole::app {
namespace {

struct TestOptions {
  std::vector<std::string> paths;
  std::string backend = "cpu";
  int jobs = 0;
  double timeout = 600;
};

// The outcome of a file. The letter is sent by the worker process.
enum class Outcome : char { pass = 'P', fail = 'F', unsupported = 'U', no_checks = 'N' };

struct Verdict {
  Outcome outcome = Outcome::pass;
  std::string why;
};

Verdict verdict_of(const Error& error) {
  return {error.code() == Code::unimplemented ? Outcome::unsupported : Outcome::fail, error.what()};
}

Verdict test_program(const hlo::Module& module, const TestOptions& options) {
  try {
    runtime::Client& client = backend(options.backend);
    // If several files run at a time, each uses one core.
    const runtime::CompileOptions compile{.num_threads = options.jobs > 1 ? 1 : 0};
    const std::string wrong = run_checks(extract_checks(module, client, compile), client, compile);
    return {wrong.empty() ? Outcome::pass : Outcome::fail, wrong};
  } catch (const Error& error) {
    return verdict_of(error);
  }
}

// StableHLO's marker of programs whose expectations its own interpreter does not meet.
constexpr std::string_view kDisabled = "RUN-DISABLED";

// Returns the worst verdict of the text's programs.
Verdict test_text(const std::string& text, const std::string& path, const TestOptions& options) {
  try {
    const auto modules = parse_programs(text, path);
    Verdict worst{Outcome::no_checks, "no program with checks"};
    const auto rank = [](Outcome o) { return std::string_view("NPUF").find(static_cast<char>(o)); };
    for (size_t i = 0; i < modules.size(); ++i) {
      if (!has_checks(*modules[i])) continue;
      Verdict verdict = test_program(*modules[i], options);
      if (rank(verdict.outcome) <= rank(worst.outcome)) continue;
      if (!verdict.why.empty() && modules.size() > 1)
        verdict.why = fmt::format("program {} of {}: {}", i + 1, modules.size(), verdict.why);
      worst = std::move(verdict);
    }
    return worst;
  } catch (const Error& error) {
    return verdict_of(error);
  } catch (const std::exception& error) {
    return {Outcome::fail, error.what()};
  }
}

Verdict test_file(const std::string& path, const TestOptions& options) {
  try {
    const std::string text = read_text(path);
    Verdict verdict = test_text(text, path, options);
    if (verdict.outcome == Outcome::fail && text.find(kDisabled) != std::string::npos)
      verdict = {Outcome::unsupported, fmt::format("{} by the file: {}", kDisabled, verdict.why)};
    return verdict;
  } catch (const Error& error) {
    return verdict_of(error);
  }
}

// Returns the named files and all *.mlir and *.mlirbc below the named folders, sorted.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      const auto ending = entry.path().extension();
      if (entry.is_regular_file() && (ending == ".mlir" || ending == ".mlirbc"))
        found.push_back(entry.path().string());
    }
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) throw not_found("hlo test: files *.mlir and *.mlirbc, got none");
  return files;
}

// Prints verdicts as they arrive, and progress on a terminal.
class Report {
 public:
  explicit Report(size_t files) : files_(files), on_terminal_(isatty(STDERR_FILENO) != 0) {}

  void add(const std::string& path, const Verdict& verdict) {
    ++done_;
    clear_progress();
    switch (verdict.outcome) {
      case Outcome::pass:
        ++passed_;
        fmt::print("{}: PASS\n", path);
        break;
      case Outcome::unsupported:
        ++unsupported_;
        fmt::print("{}: UNSUPPORTED {}\n", path, verdict.why);
        break;
      case Outcome::fail:
        ++failed_;
        fmt::print("{}: FAIL {}\n", path, verdict.why);
        break;
      case Outcome::no_checks:
        ++without_;
        break;
    }
    std::fflush(stdout);
    if (on_terminal_) fmt::print(stderr, "{} of {}, {} failed", done_, files_, failed_);
  }

  bool finish() {
    clear_progress();
    if (without_ > 0) {
      fmt::print("{} without checks left out\n", counted(without_, "file"));
    }
    fmt::print("{} passed, {} failed, {} unsupported\n", passed_, failed_, unsupported_);
    return failed_ == 0;
  }

 private:
  void clear_progress() const {
    if (on_terminal_) fmt::print(stderr, "\r\033[K");
  }

  size_t files_;
  bool on_terminal_;
  size_t done_ = 0;
  size_t passed_ = 0;
  size_t failed_ = 0;
  size_t unsupported_ = 0;
  size_t without_ = 0;
};

void run_test(TestOptions options) {
  // A wrong name is told once, not for each file. (A plugin may not survive the fork of its
  // process.)
  if (!options.backend.starts_with("pjrt")) backend(options.backend);
  const std::vector<std::string> files = files_of(options.paths);
  if (options.jobs == 0) options.jobs = profile::num_cores();
  options.jobs = std::min(options.jobs, static_cast<int>(files.size()));
  Report report(files.size());
  run_isolated(
      files.size(), {.processes = options.jobs, .time_limit = options.timeout},
      [&](size_t i) {
        const Verdict verdict = test_file(files[i], options);
        return static_cast<char>(verdict.outcome) + verdict.why;
      },
      [&](size_t i, const IsolatedResult& result) {
        if (!result.death.empty()) {
          report.add(files[i], {Outcome::fail, result.death});
        } else {
          report.add(files[i], {static_cast<Outcome>(result.text[0]), result.text.substr(1)});
        }
      });
  if (!report.finish()) throw ExitStatus{1};
}

}  // namespace

void add_test_command(CommandLine& line) {
  auto options = std::make_shared<TestOptions>();
  line.option("path", options->paths, "Files, or folders with *.mlir and *.mlirbc files")
      .required();
  line.option("--backend", options->backend, "The backend that runs the programs")
      .value_name(kBackendNames)
      .show_default();
  line.option("--jobs", options->jobs, "Files run at a time; 0: one per core")
      .show_default()
      .not_negative();
  line.option("--timeout", options->timeout, "Time limit per file, in seconds")
      .show_default()
      .positive();
  line.on_run([options] { run_test(*options); });
}

}  // namespace systole::app
