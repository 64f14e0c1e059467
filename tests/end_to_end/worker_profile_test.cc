// Profiles of workers in another process: alone, and beside the program that uses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/profile/report.h"
#include "systole/profile/trace_json.h"
#include "systole/profile/writer.h"
#include "systole/systole.h"
#include "systole/tracing/recorder.h"
#include "tests/end_to_end/program.h"
#include "tests/end_to_end/worker_process.h"

namespace systole::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Squares a number on a worker, again and again.
class Squares {
 public:
  explicit Squares(const std::string& target) {
    const GraphScope scope(graph_);
    x_ = placeholder(DType::f32, {});
    y_ = square(x_);
    session_ = std::make_unique<Session>(target);
  }
  void run(int times) {
    for (int i = 0; i < times; ++i) session_->run(y_, {{x_, 2.0F}});
  }

 private:
  Graph graph_;
  Output x_;
  Output y_;
  std::unique_ptr<Session> session_;
};

// The part of a worker. Workers of other tests, which are gone, may have a part that says so.
const tracing::WorkerRecording& part_of(const tracing::Recording& recording,
                                        const WorkerProcess& worker) {
  static const tracing::WorkerRecording none{.problem = "not there"};
  const auto found =
      std::ranges::find(recording.workers, worker.address(), &tracing::WorkerRecording::address);
  return found == recording.workers.end() ? none : *found;
}

// The worker's clock is that of this machine, so every span of the worker must lie in its call, but
// for the error that the recording states.
TEST(WorkerProfile, IsOnTheTimeAxisOfTheProgram) {
  const WorkerProcess worker("");
  Squares squares(worker.target());
  squares.run(3);
  ASSERT_TRUE(tracing::start());
  squares.run(50);
  const tracing::Recording recording = tracing::stop();

  const tracing::WorkerRecording& remote = part_of(recording, worker);
  EXPECT_EQ(remote.problem, "");
  EXPECT_LE(std::abs(remote.clock_offset_ns), remote.clock_error_ns);
  std::map<int64_t, tracing::Event> calls;
  for (const tracing::ThreadEvents& row : remote.calls) {
    for (const tracing::Event& event : row.events) calls[event.arg("op")] = event;
  }
  ASSERT_GE(calls.size(), 50U);
  int inside = 0;
  for (const tracing::ThreadEvents& thread : remote.recording.threads) {
    for (const tracing::Event& event : thread.events) {
      if (event.kind == tracing::Kind::op || event.arg("op") < calls.begin()->first) continue;
      const auto call = calls.find(event.arg("op"));
      ASSERT_NE(call, calls.end()) << event.name;
      EXPECT_STREQ(call->second.name, event.name);
      EXPECT_GE(event.begin, call->second.begin - remote.clock_error_ns);
      EXPECT_LE(event.end, call->second.end + remote.clock_error_ns);
      ++inside;
    }
  }
  EXPECT_GE(inside, 50);
}

TEST(WorkerProfile, IsWrittenBesideThatOfTheProgram) {
  const WorkerProcess worker("local:v3-8");
  Squares squares(worker.target());
  squares.run(3);
  MemoryFileSystem files;
  profile::Capture capture("logs", &files);
  squares.run(20);
  const profile::WrittenProfile written = capture.finish();

  const json figures = profile::read_profile(files, "logs");
  json remote;
  for (const json& w : figures["workers"]) {
    if (w["address"] == worker.address()) remote = w;
  }
  ASSERT_EQ(remote["problem"], "");
  EXPECT_GT(remote["clock_error_ns"], 0);
  EXPECT_EQ(remote["calls"][0]["name"], "execute");
  EXPECT_EQ(remote["calls"][0]["count"], 20);
  EXPECT_GT(remote["calls"][0]["worker_seconds"], 0);
  EXPECT_THAT(profile::report_text(figures),
              HasSubstr("worker " + worker.address() + ": its clock"));
  // A host of its own, with its ops.
  const std::string host = remote["host"];
  const json own = profile::read_profile(files, written.folder + "/" + host + ".systole.json");
  EXPECT_EQ(own["steps"], 20);
  EXPECT_THAT(own["ops"], Not(IsEmpty()));
  EXPECT_TRUE(files.exists(written.folder + "/" + host + ".xplane.pb"));

  std::string trace;
  profile::write_trace_json(written.recording, [&](std::string_view text) { trace += text; });
  EXPECT_THAT(profile::check_trace_json(trace), IsEmpty());
  EXPECT_THAT(trace, AllOf(HasSubstr("/device:TPU:0 of worker " + worker.address()),
                           HasSubstr("calls of " + worker.address()), HasSubstr("clock_error_ns")));
}

// The program continues without the worker's recording.
TEST(WorkerProfile, MayBeMissing) {
  const WorkerProcess worker("");
  Squares squares(worker.target());
  squares.run(1);
  const TempFolder folder;
  std::thread other([&] {
    run_program("systole profile --worker " + worker.address() + " --seconds 3 --logdir " +
                folder.path());
  });
  tracing::Recording recording;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(tracing::start());
    squares.run(1);
    recording = tracing::stop();
    if (!part_of(recording, worker).problem.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_THAT(part_of(recording, worker).problem, HasSubstr("recording, got a second one"));
  EXPECT_THAT(recording.threads, Not(IsEmpty()));
  other.join();
}

TEST(WorkerProfile, IsACommand) {
  const TempFolder folder;
  const WorkerProcess worker("local:v3-8");
  Squares squares(worker.target());
  std::atomic<bool> ended = false;
  std::thread busy([&] {
    while (!ended) squares.run(1);
  });
  const std::string command =
      "systole profile --worker " + worker.address() + " --logdir " + folder.path();
  const ProgramResult steps = run_program(command + " --steps 20");
  const ProgramResult seconds = run_program(command + " --seconds 0.3");
  ended = true;
  busy.join();
  EXPECT_EQ(steps.status, 0) << steps.output;
  EXPECT_THAT(steps.output,
              AllOf(HasSubstr("ops by name"), HasSubstr("execute"), HasSubstr("whose clock + ")));
  EXPECT_EQ(seconds.status, 0) << seconds.output;
  EXPECT_THAT(seconds.output, HasSubstr("ops by name"));

  const ProgramResult idle = run_program(command + " --seconds 0.1");
  EXPECT_EQ(idle.status, 0) << idle.output;
  EXPECT_THAT(idle.output, AllOf(HasSubstr("Nothing ran during the capture"),
                                 HasSubstr("1 program is connected to the worker, and sent no")));
  EXPECT_THAT(run_program(command + " --seconds 1 --steps 1").output, HasSubstr("got both"));
  EXPECT_THAT(run_program("systole profile --worker 127.0.0.1:1").output,
              HasSubstr("worker 127.0.0.1:1: no profile"));
}

// `systole profile CONFIG` with a worker as master.
TEST(WorkerProfile, IsPartOfTheProfileOfATraining) {
  const TempFolder folder;
  const WorkerProcess worker("");
  const ProgramResult profile =
      run_program("systole profile examples/configs/iris.yaml --steps 20 --set run_config.master=" +
                  worker.target() + " --logdir " + folder.path());
  EXPECT_EQ(profile.status, 0) << profile.output;
  EXPECT_THAT(profile.output,
              AllOf(HasSubstr("where the step time goes"),
                    HasSubstr("worker " + worker.address() + ": its clock"), HasSubstr("execute")));
}

}  // namespace
}  // namespace systole::testing
