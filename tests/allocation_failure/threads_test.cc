// Threads that cannot be started, and lack of memory on threads of input pipelines and saves.
#include <gtest/gtest.h>

#include "systole/base/log.h"
#include "systole/base/thread_pool.h"
#include "systole/data/dataset.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/runtime/registry.h"
#include "systole/train/async_saver.h"
#include "tests/allocation_failure/failing_malloc.h"
#include "tests/allocation_failure/failing_threads.h"

namespace systole::testing {
namespace {

void expect_none(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
}

// Reads a pipeline with threads in several stages.
void read_pipeline() {
  Dataset dataset = Dataset::range(40)
                        .shuffle(10, {.seed = 1})
                        .map_cpp([](const Element& x) { return x; },
                                 ElementSpec(TensorType{DType::s64, {}}), {.num_parallel_calls = 3})
                        .interleave([](const Element&) { return Dataset::range(3); },
                                    {.cycle_length = 4, .num_parallel_calls = 2})
                        .batch(7)
                        .prefetch(2);
  int64_t rows = 0;
  Iterator iterator = dataset.make_iterator();
  while (const auto element = iterator.next()) ++rows;
  if (rows != 18) throw std::logic_error("other elements");
}

TEST(WithoutThreads, Pools) {
  expect_none(fail_threads([] {
    ThreadPool pool(4);
    std::atomic<int64_t> sum{0};
    pool.parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    if (sum != 100) throw std::logic_error("other work");
  }));
}

TEST(WithoutThreads, Pipelines) { expect_none(fail_threads(read_pipeline)); }

TEST(WithoutThreads, Clients) {
  for (const char* backend : {"cpu", "reference"}) {
    expect_none(fail_threads([&] { runtime::client(backend, {{"cores", int64_t{3}}}); }));
  }
}

class SavesOnThreads : public ::testing::Test {
 protected:
  SavesOnThreads() : scope_(*graph_) {
    w_ = Variable(Tensor::of<float>({2}, {1, 2}), {.name = "w"});
    session_ = std::make_unique<Session>("", SessionConfig{.graph = graph_.get()});
    session_->run({global_variables_initializer()});
  }
  void save() {
    Saver saver({.write_meta_graph = false, .file_system = &fs_});
    AsyncSaver async(saver);
    async.save(*session_, "d/m", {.global_step = 1});
    async.join();
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_;
  Variable w_;
  std::unique_ptr<Session> session_;
  MemoryFileSystem fs_;
};

TEST_F(SavesOnThreads, WithoutThreads) {
  expect_none(fail_threads([&] { save(); }));
}

TEST_F(SavesOnThreads, WithoutMemory) {
  set_log_level(LogLevel::off);
  const auto check = [&]() -> std::string {
    fs_.copy_from(MemoryFileSystem());
    return "";
  };
  constexpr int64_t kForgotten = 3;  // objects, by protobuf and leveldb
  expect_none(fail_allocations([&] { save(); }, {.leaks = kForgotten, .check = check}).problems);
  set_log_level(LogLevel::info);
}

TEST(PipelinesWithoutMemory, Read) { expect_none(fail_allocations(read_pipeline).problems); }

}  // namespace
}  // namespace systole::testing
