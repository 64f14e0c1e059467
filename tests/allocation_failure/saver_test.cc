// Saves while allocations fail: afterwards the directory holds the save before, or a whole new one.
#include "systole/train/saver.h"

#include <gtest/gtest.h>

#include "systole/base/log.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/npy.h"
#include "tests/allocation_failure/failing_malloc.h"

namespace systole::testing {
namespace {

// Objects that protobuf and leveldb forget when memory is lacking.
constexpr int64_t kForgotten = 3;

void expect_no_problems(const AllocationFailures& failures) {
  fmt::print("{} allocations, {} runs\n", failures.allocations, failures.runs);
  for (const std::string& problem : failures.problems) ADD_FAILURE() << problem;
}

class WithoutMemory : public ::testing::Test {
 protected:
  WithoutMemory() : scope_(*graph_) {
    w_ = Variable(Tensor::of<float>({2}, {1, 2}), {.name = "w"});
    session_ = std::make_unique<Session>("", SessionConfig{.graph = graph_.get()});
    session_->run({global_variables_initializer()});
    set_log_level(LogLevel::off);
  }
  ~WithoutMemory() override { set_log_level(LogLevel::info); }

  // Without the graph: protobuf's maps are not written for a lack of memory.
  void save(int64_t step) {
    Saver({.max_to_keep = 1, .write_meta_graph = false, .file_system = &fs_, .clock = &clock_})
        .save(*session_, "d/m", {.global_step = step, .extras = {{"step", std::to_string(step)}}});
  }
  // Returns what is wrong with the newest checkpoint.
  std::string wrong() {
    try {
      const RestoredCheckpoint found = Saver({.file_system = &fs_}).restore_latest(*session_, "d");
      const bool whole = found.prefix == "d/m-" + found.extras.at("step") &&
                         session_->variable_value(w_).to_string() == "f32[2] {1, 2}";
      return whole ? "" : "the newest checkpoint is " + found.prefix;
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_;
  Variable w_;
  std::unique_ptr<Session> session_;
  MemoryFileSystem fs_;
  FakeClock clock_;
};

TEST_F(WithoutMemory, Saves) {
  save(1);
  MemoryFileSystem before;
  before.copy_from(fs_);
  const auto check = [&] {
    std::string problem = wrong();
    // A further save removes what the failed one left.
    save(3);
    if (fs_.list("d").size() != 4) problem += "; files are left behind";
    fs_.copy_from(before);
    return problem;
  };
  expect_no_problems(fail_allocations([&] { save(2); }, {.leaks = kForgotten, .check = check}));
}

TEST_F(WithoutMemory, Restores) {
  save(1);
  expect_no_problems(
      fail_allocations([&] { Saver({.file_system = &fs_}).restore_latest(*session_, "d"); },
                       {.leaks = kForgotten, .check = [&] { return wrong(); }}));
}

TEST_F(WithoutMemory, WritesFiles) {
  const Tensor numbers = Tensor::of<float>({2}, {1, 2});
  write_npy(fs_, "a.npy", numbers);
  {
    RecordWriter writer(fs_, "r");
    writer.write("record");
    writer.close();
  }
  MemoryFileSystem before;
  before.copy_from(fs_);
  expect_no_problems(fail_allocations(
      [&] {
        write_npy(fs_, "a.npy", numbers);
        RecordWriter writer(fs_, "r", {.compression = Compression::none});
        writer.write("record");
        writer.close();
      },
      {.check = [&]() -> std::string {
        auto files = fs_.contents();
        std::erase_if(files, [](const auto& file) { return file.first.find(".tmp.") < 100; });
        const bool whole = files == before.contents();
        fs_.copy_from(before);
        return whole ? "" : "a part of a file";
      }}));
}

}  // namespace
}  // namespace systole::testing
