// Recordings that a worker makes for others. The worker and its programs are in this process.
#include "systole/worker/worker_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/runtime/registry.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/profile_stream.h"
#include "systole/worker/server/worker_server.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using tracing::Kind;

std::unique_ptr<WorkerServer> serve(WorkerOptions options = {}) {
  options.listen = "127.0.0.1:0";
  return std::make_unique<WorkerServer>(runtime::client("cpu"), options);
}

std::unique_ptr<runtime::Executable> increment(runtime::Client& client) {
  hlo::Module module("increment");
  hlo::Computation& main = module.add_function("main");
  const hlo::Value x = main.add_parameter({DType::f32, {64}});
  hlo::Builder b(main);
  main.set_results({b.add(x, x)});
  return client.compile(module);
}

// A program that launches again and again while it lives.
class BusyProgram {
 public:
  explicit BusyProgram(const WorkerServer& worker)
      : executable_(increment(runtime::client("remote", {{"address", worker.address()}}))),
        thread_([this] {
          const Tensor x = Tensor::full(DType::f32, {64}, 1);
          while (!ended_) runtime::run(*executable_, {{x}});
        }) {}
  ~BusyProgram() {
    ended_ = true;
    thread_.join();
  }
  BusyProgram(const BusyProgram&) = delete;
  BusyProgram& operator=(const BusyProgram&) = delete;

 private:
  std::unique_ptr<runtime::Executable> executable_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

int64_t count(const tracing::Recording& recording, Kind kind, std::string_view name) {
  int64_t n = 0;
  for (const tracing::ThreadEvents& thread : recording.threads) {
    for (const tracing::Event& event : thread.events) {
      if (event.kind == kind && event.name == name) ++n;
    }
  }
  return n;
}

TEST(WorkerProfile, HasTheLaunchesOfItsPrograms) {
  WorkerOptions options;
  options.peaks = [] { return tracing::DevicePeaks{.name = "here", .cores = 3}; };
  const auto worker = serve(options);
  const BusyProgram program(*worker);
  const tracing::WorkerRecording profile =
      profile_worker(worker->address(), {.seconds = 20, .steps = 10});
  EXPECT_EQ(profile.problem, "");
  const tracing::Recording& recording = profile.recording;
  EXPECT_EQ(recording.remark, "");
  EXPECT_EQ(recording.peaks->cores, 3);
  EXPECT_GE(count(recording, Kind::launch, "execute"), 9);
  EXPECT_GE(count(recording, Kind::step, "step"), 10);
  EXPECT_EQ(recording.programs.size(), 1U);
  EXPECT_THAT(recording.threads.at(0).name, HasSubstr("session of "));
  EXPECT_THAT(recording.host, ::testing::EndsWith(worker->address().substr(10)));  // the port
  // One machine, one clock.
  EXPECT_LE(std::abs(profile.clock_offset_ns), profile.clock_error_ns);
}

TEST(WorkerProfile, SaysWhyThereIsNothing) {
  const auto worker = serve();
  const tracing::Recording recording =
      profile_worker(worker->address(), {.seconds = 0.05, .steps = 3}).recording;
  EXPECT_TRUE(recording.threads.empty());
  EXPECT_EQ(recording.remark,
            "No program is connected to the worker. 0 of 3 steps ended within 0 s.");
}

TEST(WorkerProfile, RefusesASecondOne) {
  const auto worker = serve();
  auto first =
      std::make_unique<ProfileStream>(worker->address(), Credentials(), v1::ProfileBegin());
  EXPECT_THAT(error_of([&] { profile_worker(worker->address(), {.seconds = 0.05}); }),
              AllOf(HasSubstr("FAILED_PRECONDITION"),
                    HasSubstr("recording, got a second one, expected none while that of "),
                    HasSubstr(client_name())));
  first.reset();  // without an end: the worker drops the recording
  std::string error = "a worker";
  for (int i = 0; i < 500 && error != "no error"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    error = error_of([&] { profile_worker(worker->address(), {.seconds = 0.01}); });
  }
  EXPECT_EQ(error, "no error");
}

TEST(WorkerProfile, RefusesStrangers) {
  WorkerOptions options;
  options.token = "secret";
  const auto worker = serve(options);
  const auto error = [&](const std::string& token, const v1::ProfileBegin& begin) {
    return error_of([&] { ProfileStream(worker->address(), {.token = token}, begin); });
  };
  EXPECT_THAT(error("", {}), HasSubstr("UNAUTHENTICATED"));
  EXPECT_THAT(error("wrong", {}), HasSubstr("UNAUTHENTICATED"));
  v1::ProfileBegin unknown;
  unknown.mutable_session()->set_id(7);
  EXPECT_THAT(error("secret", unknown), HasSubstr("NOT_FOUND"));
  EXPECT_EQ(error("secret", {}), "no error");
  EXPECT_THAT(error_of([] { profile_worker("127.0.0.1:1", {}); }),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("127.0.0.1:1: no profile")));
  EXPECT_THAT(error_of([] { profile_worker("a:1,b:2", {}); }), HasSubstr("expected one"));
}

// Sends one request, without the help of ProfileStream. Returns the error.
grpc::Status send(const std::string& address, const v1::ProfileRequest& request) {
  const auto stub = v1::Worker::NewStub(make_channel(address, {}));
  grpc::ClientContext context;
  prepare(context, {}, 10);
  const auto stream = stub->Profile(&context);
  stream->Write(request);
  v1::ProfileReply reply;
  while (stream->Read(&reply)) {
  }
  return stream->Finish();
}

TEST(WorkerProfile, RefusesOtherVersionsAndRequests) {
  const auto worker = serve();
  v1::ProfileRequest request;
  request.mutable_end();
  EXPECT_THAT(send(worker->address(), request).error_message(), HasSubstr("expected begin"));
  request.mutable_begin()->set_min_version(kNewestVersion + 1);
  request.mutable_begin()->set_max_version(kNewestVersion + 2);
  EXPECT_THAT(send(worker->address(), request).error_message(), HasSubstr("protocol version, got"));
}

TEST(WorkerProfile, EndsAtTheLimitsOfTheWorker) {
  WorkerOptions options;
  options.limits.max_profile_seconds = 0.2;
  options.limits.max_profile_bytes = 20'000;
  const auto worker = serve(options);
  const BusyProgram program(*worker);
  const tracing::Recording recording = profile_worker(worker->address(), {.seconds = 20}).recording;
  EXPECT_THAT(recording.remark, HasSubstr("the worker's limit"));
  EXPECT_GE(recording.duration_ns, 200'000'000);
  int64_t dropped = 0;
  for (const tracing::ThreadEvents& thread : recording.threads) dropped += thread.dropped;
  EXPECT_GT(dropped, 0);
}

// A client that begins a recording and is silent loses it.
TEST(WorkerProfile, DropsTheRecordingOfASilentClient) {
  WorkerOptions options;
  options.stall_seconds = 0.1;
  const auto worker = serve(options);
  v1::ProfileRequest request;
  request.mutable_begin()->set_min_version(kNewestVersion);
  request.mutable_begin()->set_max_version(kNewestVersion);
  EXPECT_EQ(send(worker->address(), request).error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(error_of([&] { profile_worker(worker->address(), {.seconds = 0.01}); }), "no error");
}

}  // namespace
}  // namespace systole::worker
