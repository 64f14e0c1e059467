// What a person waits for: the command line's start, and the first compilation of a process.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/figures.h"

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

// The child measures itself: starting it is not part of the figure.
void compile_cold(benchmark::State& state, const std::string& option) {
  const std::string command = (own_folder() / "systole_bench").string() + " " + option;
  for (auto _ : state) {
    std::FILE* child = popen(command.c_str(), "r");
    double seconds = 0;
    if (child == nullptr || std::fscanf(child, "%lf", &seconds) != 1)
      state.SkipWithError("the child failed");
    if (child != nullptr) pclose(child);
    state.SetIterationTime(seconds);
  }
}

}  // namespace

void add_startup_figures() {
  add({.name = "startup.version", .unit = "ms", .ours = start_version});
  for (const auto& [name, option] : {std::pair{"iris.compile", "--compile-iris-cold"},
                                     {"cnn_step.compile", "--compile-cnn-cold"}}) {
    add({.name = name,
         .unit = "ms",
         .ours = [=](benchmark::State& state) { compile_cold(state, option); },
         .manual_time = true});
  }
}

}  // namespace bench
