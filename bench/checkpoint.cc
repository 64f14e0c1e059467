// Saving and restoring 1 GB of variables. The limit writes and reads one file of as many bytes with
// plain system calls. The files are written beside the program.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/figures.h"
#include "systole/session/step_loop.h"
#include "systole/systole.h"
#include "systole/train/saver.h"

namespace bench {
namespace {

constexpr int kVariables = 16;
constexpr int64_t kElements = int64_t{1} << 24;  // of a variable: 64 MiB of f32
constexpr double kGigabytes = kVariables * kElements * 4e-9;

std::string folder() {
  const auto path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "checkpoint_bench";
  std::filesystem::create_directories(path);
  return path.string();
}

// The model. Its memory and files are freed after the last row that uses it.
struct Model {
  Model() {
    const st::GraphScope scope(*graph);
    for (int i = 0; i < kVariables; ++i) {
      st::Variable(st::fill({kElements}, 1.0F + static_cast<float>(i)),
                   {.name = "v" + std::to_string(i)});
    }
    session = std::make_unique<st::Session>("", st::SessionConfig{.graph = graph.get()});
    session->run({st::global_variables_initializer()});
    saver = std::make_unique<st::Saver>(st::SaverOptions{.max_to_keep = 1});
  }
  ~Model() { std::filesystem::remove_all(folder()); }

  std::shared_ptr<st::Graph> graph = std::make_shared<st::Graph>();
  std::unique_ptr<st::Session> session;
  std::unique_ptr<st::Saver> saver;
};

std::shared_ptr<Model> model() {
  static std::weak_ptr<Model> shared;
  auto result = shared.lock();
  if (result == nullptr) shared = result = std::make_shared<Model>();
  return result;
}

void save(benchmark::State& state) {
  const auto used = model();
  for (auto _ : state) used->saver->save(*used->session, folder() + "/model.ckpt");
}

// The time that training waits for an AsyncSaver: the snapshot, and the slowdown of the step after
// it against the step before.
void stall(benchmark::State& state) {
  const auto used = model();
  const st::GraphScope scope(*used->graph);
  std::vector<st::Operation> updates;
  for (const st::Variable& variable : used->saver->var_list()) {
    updates.emplace_back(variable.assign(st::add(variable.value(), 0.5F)));
  }
  st::StepLoop loop(*used->session, {.targets = updates});
  const auto seconds = [](auto&& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto step = [&] { loop.run({}, 1); };
  const auto step_after_snapshot = [&] {
    const st::CheckpointSnapshot snapshot = used->saver->snapshot(*used->session);
    step();
  };
  // The step after the first checkpoint copies what it updates and allocates what later ones need.
  step_after_snapshot();
  while (!loop.double_buffers_updates()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    step();
  }
  step_after_snapshot();
  constexpr size_t kPairs = 5;
  for (auto _ : state) {
    std::vector<double> longer;
    for (size_t i = 0; i < kPairs; ++i) {
      const double undisturbed = seconds(step);
      longer.push_back(seconds(step_after_snapshot) - undisturbed);
    }
    std::ranges::sort(longer);
    state.SetIterationTime(std::max(longer[kPairs / 2], 1e-6));
  }
}

void restore(benchmark::State& state) {
  const auto used = model();
  const std::string prefix = used->saver->save(*used->session, folder() + "/model.ckpt");
  for (auto _ : state) used->saver->restore(*used->session, prefix);
}

void write_file(benchmark::State& state) {
  const std::vector<float> block(kElements, 1.5F);
  const std::string path = folder() + "/plain";
  for (auto _ : state) {
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
    bool written = file >= 0;
    for (int i = 0; i < kVariables && written; ++i) {
      const ssize_t bytes = kElements * 4;
      written = ::write(file, block.data(), static_cast<size_t>(bytes)) == bytes;
    }
    if (!written || ::fdatasync(file) != 0) state.SkipWithError("cannot write");
    ::close(file);
  }
  std::filesystem::remove(path);
}

void read_file(benchmark::State& state) {
  std::vector<float> block(kElements, 1.5F);
  const std::string path = folder() + "/plain";
  const int out = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  bool good = out >= 0;
  for (int i = 0; i < kVariables && good; ++i) {
    good = ::write(out, block.data(), block.size() * 4) == kElements * 4;
  }
  ::close(out);
  for (auto _ : state) {
    const int file = ::open(path.c_str(), O_RDONLY);
    for (int i = 0; i < kVariables && good; ++i) {
      good = ::read(file, block.data(), block.size() * 4) == kElements * 4;
    }
    ::close(file);
  }
  if (!good) state.SkipWithError("cannot read");
  std::filesystem::remove(path);
}

}  // namespace

void add_checkpoint_figures() {
  add({.name = "checkpoint.save",
       .unit = "GB/s",
       .work = kGigabytes,
       .ours = save,
       .limit = write_file,
       .repetitions = 3});
  add({.name = "checkpoint.restore",
       .unit = "GB/s",
       .work = kGigabytes,
       .ours = restore,
       .limit = read_file,
       .repetitions = 3});
  add({.name = "checkpoint.stall",
       .unit = "ms",
       .ours = stall,
       .manual_time = true,
       .repetitions = 3});
}

}  // namespace bench
