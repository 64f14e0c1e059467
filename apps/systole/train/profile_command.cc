// systole profile: where the time of a training goes.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/systole/base/output.h"
#include "apps/systole/train/profile_process.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/report.h"
#include "systole/profile/writer.h"
#include "systole/train/loop/signals.h"
#include "systole/worker/worker_profile.h"

namespace systole::app {
namespace {

// How long to wait for the profile of another process: its capture (SYSTOLE_PROFILE_SECONDS) and
// its analysis together.
constexpr double kSecondsForProcess = 60;
// How long a worker is recorded: by default, and at most while --steps are awaited.
constexpr double kSecondsOfWorker = 2;
constexpr double kSecondsForSteps = 60;

struct ReportCommand {
  std::string logdir;
  std::string against;
  bool json = false;
  int64_t ops = profile::ReportOptions().ops;
};

struct ProfileCommand {
  ConfigOptions config;
  std::optional<int64_t> pid;
  std::string worker;
  std::string logdir;
  int64_t start = ProfileOptions().start;
  std::optional<int64_t> steps;
  double seconds = 0;  // 0: not given
  bool json = false;
  ReportCommand report;
  bool reports = false;  // the command `report` was given
};

nlohmann::json profile_at(const std::string& path) {
  return profile::read_profile(default_file_system(), path);
}

void print_report(const ReportCommand& command) {
  const nlohmann::json profile = profile_at(command.logdir);
  const profile::ReportOptions options{.ops = static_cast<int>(command.ops)};
  if (command.json) {
    print_json(profile);
  } else if (!command.against.empty()) {
    fmt::print("{}", profile::comparison_text(profile_at(command.against), profile, options));
  } else {
    fmt::print("{}", profile::report_text(profile, options));
  }
}

void finish(const std::string& folder, bool json) {
  if (json) return print_json(profile_at(folder));
  fmt::print("{}profile: {}\n", profile::report_text(profile_at(folder)), folder);
}

// A folder for the checkpoints of a training that is thrown away.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "systole_profile.XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      throw failed_precondition("profile: no folder can be made at {}", path);
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Trains a few steps from new variables. The model_dir of the file is left alone, but for the
// profile.
void profile_training(ProfileCommand command) {
  if (command.config.path.empty())
    throw UsageError("configuration file, --pid or --worker, got none, expected one of them");
  const std::string& path = command.config.path;
  if (FileSystem& files = default_file_system();
      files.exists(path) && files.stat(path).is_directory) {
    throw UsageError(
        fmt::format("{}: configuration file, got a folder; `systole profile report {}` prints the "
                    "profile in one",
                    path, path));
  }
  if (command.logdir.empty()) command.logdir = command.config.read().estimator.config.model_dir;
  if (command.logdir.empty()) command.logdir = "profile";
  const TemporaryFolder folder;
  command.config.overrides.model_dir = folder.path();
  TrainingConfig config = command.config.read();
  const InputFn& input = needed_input(config.train_input, path, "train");
  if (std::getenv("SYSTOLE_LOG") == nullptr) set_log_level(LogLevel::warning);
  TPUEstimator estimator(config.estimator);
  const int64_t steps = command.steps.value_or(ProfileOptions().steps);
  const auto& loops = config.estimator.config.tpu_config.iterations_per_loop;
  const int64_t loop = loops ? std::max<int64_t>(loops->count(), 1) : 1;
  config.train.max_steps.reset();
  config.train.steps = (command.start + loop - 1) / loop * loop + steps;
  config.train.profile =
      ProfileOptions{.start = command.start, .steps = steps, .output_dir = command.logdir};
  estimator.train(input, config.train);
  finish(command.logdir, command.json);
}

void profile_running_worker(const ProfileCommand& command) {
  if (command.steps && command.seconds > 0)
    throw UsageError("--worker: --steps and --seconds, got both, expected one of them");
  const double otherwise = command.steps ? kSecondsForSteps : kSecondsOfWorker;
  tracing::WorkerRecording recorded = worker::profile_worker(
      command.worker,
      {.seconds = command.seconds > 0 ? command.seconds : otherwise, .steps = command.steps});
  const std::string host = recorded.recording.host;
  const profile::WrittenProfile written = profile::write_profile(
      std::move(recorded.recording), command.logdir.empty() ? "profile" : command.logdir,
      default_file_system());
  finish(written.folder, command.json);
  if (command.json) return;
  fmt::print("worker: {}, whose clock + {} ns is this machine's, within {} ns\n", host,
             recorded.clock_offset_ns, recorded.clock_error_ns);
}

void run_profile(const ProfileCommand& command) {
  if (command.reports) return;
  const int sources = (command.config.path.empty() ? 0 : 1) + (command.pid ? 1 : 0) +
                      (command.worker.empty() ? 0 : 1);
  if (sources > 1) {
    throw UsageError(
        fmt::format("configuration file, --pid and --worker, got {}, expected one of them",
                    sources == 2 ? "both" : "all"));
  }
  if (command.seconds > 0 && command.worker.empty())
    throw UsageError("--seconds, got it without --worker, expected it with a worker alone");
  if (!command.worker.empty()) return profile_running_worker(command);
  if (!command.pid) return profile_training(command);
  finish(profile_of_process(*command.pid, command.logdir, kSecondsForProcess), command.json);
}

}  // namespace

void add_profile_command(CommandLine& line) {
  auto command = std::make_shared<ProfileCommand>();
  add_config_options(line, command->config);
  line.option("--steps", command->steps,
              "Steps to profile: of a configuration, in whole loops, 100 by default; of a worker, "
              "waits 60 s for them at most")
      .positive();
  line.option("--start", command->start, "Steps before them; 0 profiles the compilation, too")
      .not_negative()
      .show_default();
  line.option("--pid", command->pid, "Profiles a training in another process for 2 seconds")
      .value_name("PID");
  line.option("--worker", command->worker, "Profiles what a running `systole worker` does")
      .value_name("HOST:PORT");
  line.option("--seconds", command->seconds, "How long to record a worker; 2 by default")
      .positive();
  line.option("--logdir", command->logdir,
              "Folder for plugins/profile/RUN; by default the model_dir, else ./profile")
      .value_name("FOLDER");
  line.flag("--json", command->json, "Prints all figures as JSON");
  line.on_run([command] { run_profile(*command); });

  CommandLine& report = line.command("report", "Prints a profile, or what changed between two");
  report.example("runs/1");
  report.example("runs/2 --against runs/1");
  ReportCommand& options = command->report;
  report
      .option("logdir", options.logdir,
              "Folder with plugins/profile, whose newest run is read, or the folder of a run")
      .required();
  const CommandLineOption against =
      report.option("--against", options.against, "An earlier profile to compare with")
          .value_name("FOLDER");
  report.flag("--json", options.json, "Prints all figures as JSON").excludes(against);
  report.option("--ops", options.ops, "Rows of the table of ops").positive().show_default();
  report.on_run([command] {
    command->reports = true;
    print_report(command->report);
  });
}

}  // namespace systole::app
