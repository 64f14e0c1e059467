// Saving and restoring 1 GB of variables. The limits write and read as many bytes of one file with
// plain system calls, with as much memory as a checkpoint needs. The files are written beside the
// program.
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

// Sixteen blocks of memory, as new as the values of a restored checkpoint.
std::vector<st::Tensor> new_blocks() {
  std::vector<st::Tensor> blocks;
  for (int i = 0; i < kVariables; ++i) blocks.emplace_back(st::DType::f32, st::Shape{kElements});
  return blocks;
}

// Writes the blocks as one file with plain calls. False if that fails.
bool write_plain(const std::string& path, const std::vector<st::Tensor>& blocks) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  bool good = file >= 0;
  for (const st::Tensor& block : blocks) {
    const auto bytes = static_cast<size_t>(block.byte_size());
    good = good && ::write(file, block.raw(), bytes) == block.byte_size();
  }
  good = good && ::fdatasync(file) == 0;
  ::close(file);
  return good;
}

// As a checkpoint: under another name first, while the file of before is there.
void write_file(benchmark::State& state) {
  std::vector<st::Tensor> blocks = new_blocks();
  for (st::Tensor& block : blocks) std::ranges::fill(block.data<float>(), 1.5F);
  const std::string path = folder() + "/plain";
  for (auto _ : state) {
    if (!write_plain(path + ".tmp", blocks)) state.SkipWithError("cannot write");
    std::filesystem::rename(path + ".tmp", path);
  }
  std::filesystem::remove(path);
}

// Into new memory each time, while the values of before are there: restoring sets all variables or
// none.
void read_file(benchmark::State& state) {
  std::vector<st::Tensor> blocks = new_blocks();
  for (st::Tensor& block : blocks) std::ranges::fill(block.data<float>(), 1.5F);
  const std::string path = folder() + "/plain";
  bool good = write_plain(path, blocks);
  for (auto _ : state) {
    const int file = ::open(path.c_str(), O_RDONLY);
    std::vector<st::Tensor> values = new_blocks();
    for (st::Tensor& value : values) {
      const auto bytes = static_cast<size_t>(value.byte_size());
      good = good && ::read(file, value.raw(), bytes) == value.byte_size();
    }
    ::close(file);
    blocks = std::move(values);
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
