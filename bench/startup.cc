// Startup times: the command line, the first compilation of a process, and the first step of an
// example.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "bench/mnist_files.h"

namespace bench {
namespace {

std::filesystem::path own_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

void start_version(benchmark::State& state) {
  const std::string command = (own_folder() / "systole").string() + " version >/dev/null";
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0)
      return state.SkipWithError("systole version failed: run `make build`");
  }
}

// Returns a path in the temporary folder that only this process uses.
std::filesystem::path own_temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "." + std::to_string(getpid()));
}

// Starts a process and returns the measured seconds, 0 if it failed.
using Start = std::function<double()>;

// Runs this program as a child that measures itself and prints seconds.
double measured_child(const std::string& argument) {
  const std::string command = (own_folder() / "systole_bench").string() + " " + argument;
  std::FILE* child = popen(command.c_str(), "r");
  if (child == nullptr) return 0;
  double seconds = 0;
  if (std::fscanf(child, "%lf", &seconds) != 1) seconds = 0;
  pclose(child);
  return seconds;
}

// Returns the seconds from the start of the program until it has printed `wanted`, then kills it.
double seconds_until_written(std::vector<std::string> arguments, const std::string& wanted) {
  const auto path = own_temporary("systole_bench_log");
  std::filesystem::remove(path);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, path.c_str(), O_CREAT | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0600);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  const bool started = posix_spawn(&child, argv[0], &files, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  double seconds = 0;
  while (started && seconds == 0) {
    usleep(500);
    const bool ended = waitpid(child, nullptr, WNOHANG) != 0;
    std::string text(1 << 14, '\0');
    if (std::FILE* log = std::fopen(path.c_str(), "r")) {
      text.resize(std::fread(text.data(), 1, text.size(), log));
      std::fclose(log);
    }
    if (text.find(wanted) != std::string::npos) {
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    if (ended) return seconds;
  }
  if (started) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::filesystem::remove(path);
  return seconds;
}

// Times an example from the start of the process to the end of its first step. This program itself
// is not used: its own start would count.
double first_mnist_step(int64_t batch_size) {
  const std::string records = mnist_folder() + "/train.tfrecords";
  const auto model_dir = own_temporary("systole_bench_first_step");
  std::filesystem::remove_all(model_dir);
  const double seconds = seconds_until_written(
      {(own_folder() / "mnist_tpuestimator").string(), "--train_steps=1", "--iterations=1",
       "--batch_size=" + std::to_string(batch_size), "--train_file=" + records,
       "--eval_file=" + records, "--model_dir=" + model_dir.string()},
      "step = 1");
  std::filesystem::remove_all(model_dir);
  return seconds;
}

void cold(benchmark::State& state, const Start& start) {
  for (auto _ : state) {
    const double seconds = start();
    if (seconds == 0) state.SkipWithError("the child failed: run `make build`");
    state.SetIterationTime(seconds);
  }
}

// Uses the machine code that another process cached.
void cached(benchmark::State& state, const Start& start) {
  const auto folder = own_temporary("systole_bench_cache");
  setenv("SYSTOLE_CACHE_DIR", folder.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
  start();
  cold(state, start);
  setenv("SYSTOLE_CACHE_DIR", "", 1);  // NOLINT(concurrency-mt-unsafe)
  std::filesystem::remove_all(folder);
}

void add_cold_and_cached(const std::string& name, const Start& start) {
  add({.name = name,
       .unit = "ms",
       .ours = [=](benchmark::State& state) { cold(state, start); },
       .manual_time = true});
  add({.name = name + "_cached",
       .unit = "ms",
       .ours = [=](benchmark::State& state) { cached(state, start); },
       .manual_time = true});
}

}  // namespace

void add_startup_figures() {
  add({.name = "startup.version", .unit = "ms", .ours = start_version});
  add_cold_and_cached("iris.compile", [] { return measured_child("--compile-iris-cold"); });
  add_cold_and_cached("cnn_step.compile", [] { return measured_child("--compile-cnn-cold"); });
  add_cold_and_cached("keras.compile.imdb_lstm",
                      [] { return measured_child("--compile-imdb-lstm-cold"); });
  add_cold_and_cached("startup.first_step", [] { return first_mnist_step(1024); });
  add_cold_and_cached("startup.first_step_of_64", [] { return first_mnist_step(64); });
}

}  // namespace bench
