// What a person waits for: the command line's start, and the first compilation of a process.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

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

// A child of this program that measures itself and prints seconds; its arguments are made anew for
// every start.
using Arguments = std::function<std::string()>;

void cold(benchmark::State& state, const Arguments& arguments,
          const std::string& environment = "") {
  const std::string program = environment + (own_folder() / "systole_bench").string() + " ";
  for (auto _ : state) {
    std::FILE* child = popen((program + arguments()).c_str(), "r");
    double seconds = 0;
    if (child == nullptr || std::fscanf(child, "%lf", &seconds) != 1)
      state.SkipWithError("the child failed");
    if (child != nullptr) pclose(child);
    state.SetIterationTime(seconds);
  }
}

// With the machine code that another process has left.
void cached(benchmark::State& state, const Arguments& arguments) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("systole_bench." + std::to_string(getpid()));
  const std::string environment = "SYSTOLE_CACHE_DIR='" + folder.string() + "' ";
  const std::string fill =
      environment + (own_folder() / "systole_bench").string() + " " + arguments() + " >/dev/null";
  if (std::system(fill.c_str()) != 0) return state.SkipWithError("the child failed");
  cold(state, arguments, environment);
  std::filesystem::remove_all(folder);
}

void add_cold_and_cached(const std::string& name, const Arguments& arguments) {
  add({.name = name,
       .unit = "ms",
       .ours = [=](benchmark::State& state) { cold(state, arguments); },
       .manual_time = true});
  add({.name = name + "_cached",
       .unit = "ms",
       .ours = [=](benchmark::State& state) { cached(state, arguments); },
       .manual_time = true});
}

}  // namespace

void add_startup_figures() {
  add({.name = "startup.version", .unit = "ms", .ours = start_version});
  add_cold_and_cached("iris.compile", [] { return std::string("--compile-iris-cold"); });
  add_cold_and_cached("cnn_step.compile", [] { return std::string("--compile-cnn-cold"); });
  // From the start of the process, not from main on.
  add_cold_and_cached("startup.first_step", [] {
    const std::string records = mnist_folder() + "/train.tfrecords";
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return fmt::format("--first-mnist-step {} {}", records, std::chrono::nanoseconds(now).count());
  });
}

}  // namespace bench
