// A worker on loopback: the time of a small step, training against the same on this machine, and
// uploads against a bare gRPC stream.
#include "bench/remote.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/cnn_step.h"
#include "bench/figures.h"
#include "bench/iris.h"
#include "systole/runtime/registry.h"
#include "systole/systole.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/session_main.h"
#include "systole/worker/session_template.h"

namespace bench {
namespace {

constexpr int64_t kUpload = 100'000'000;
constexpr int64_t kMessage = int64_t{1} << 20;
constexpr int64_t kStepsALaunch = 100;

// Forked before the first row, while this process has one thread.
st::worker::SessionTemplate* processes = nullptr;

// A worker of this process, which runs programs in processes of their own as `systole worker` does,
// or here. Lives until the process ends.
const std::string& worker_address(bool isolated = true) {
  static const auto serve = [](st::worker::SessionTemplate* of_sessions) {
    return new st::worker::WorkerServer(st::runtime::client("cpu"),
                                        {.listen = "127.0.0.1:0", .processes = of_sessions});
  };
  static auto& apart = *serve(processes);
  static auto& here = *serve(nullptr);
  return isolated ? apart.address() : here.address();
}

void iris_callable(benchmark::State& state) {
  IrisStep step("grpc://" + worker_address());
  auto train = step.session->make_callable({step.updates}, {step.x, step.y});
  const std::vector<st::Tensor> example = {step.example_x, step.example_y};
  train(example);  // compiles
  for (auto _ : state) train(example);
}

void train_cnn(benchmark::State& state, const std::string& target) {
  CnnStep step(st::DType::f32, target);
  st::StepLoop loop(*step.session, {.inputs = {step.images, step.labels},
                                    .input_types = {step.batch[0].type(), step.batch[1].type()},
                                    .targets = {step.updates},
                                    .max_steps = kStepsALaunch});
  const st::Tensor images =
      st::Tensor::full(st::DType::f32, {1, kStepsALaunch, CnnStep::kBatch, 784}, 0.5);
  const st::Tensor labels =
      st::Tensor::full(st::DType::s32, {1, kStepsALaunch, CnnStep::kBatch}, 3);
  loop.run({{images, labels}}, 1);
  for (auto _ : state) loop.run({{images, labels}}, kStepsALaunch);
}

void upload(benchmark::State& state) {
  st::runtime::Client& client = st::runtime::client("remote", {{"address", worker_address()}});
  const st::Tensor value = st::Tensor::full(st::DType::u8, {kUpload}, 3);
  for (auto _ : state) client.buffer_from_host(value)->ready().wait();
}

// Reads messages and drops them.
class Sink final : public grpc::ServerGenericBidiReactor {
 public:
  Sink() { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartRead(&message_);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

class SinkService final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Sink();
  }
};

// Writes messages of 1 MiB.
class Source final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Source(const std::shared_ptr<grpc::Channel>& channel, const char* data, int64_t size)
      : stub_(channel), data_(data), left_(size) {
    stub_.PrepareBidiStreamingCall(&context_, "/bench/Sink", {}, this);
    write_next();
    StartRead(&reply_);
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (ok) write_next();
  }
  void OnDone(const grpc::Status&) override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }

 private:
  void write_next() {
    if (left_ == 0) return StartWritesDone();
    const int64_t size = std::min(left_, kMessage);
    const grpc::Slice slice(data_, static_cast<size_t>(size), grpc::Slice::STATIC_SLICE);
    data_ += size;
    left_ -= size;
    message_ = grpc::ByteBuffer(&slice, 1);
    StartWrite(&message_);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const char* data_;
  int64_t left_;
  grpc::ByteBuffer message_;
  grpc::ByteBuffer reply_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

void bare_stream(benchmark::State& state) {
  static auto& service = *new SinkService();
  static int port = 0;
  static const std::unique_ptr<grpc::Server>& server = *new std::unique_ptr<grpc::Server>([] {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service);
    return builder.BuildAndStart();
  }());
  static_cast<void>(server);
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  const std::vector<char> value(kUpload, 3);
  for (auto _ : state) Source(channel, value.data(), kUpload).wait();
}

}  // namespace

void add_remote_figures() {
  processes = new st::worker::SessionTemplate(
      [](const st::worker::SessionSeat& seat,
         const std::shared_ptr<st::worker::SharedCounters>& counters) {
        st::worker::run_session(st::runtime::client("cpu"), seat, counters, true);
      });
  add({.name = "remote.iris.callable", .unit = "us", .ours = iris_callable});
  // What a process for each session costs.
  add({.name = "remote.isolation.mnist",
       .unit = "images/s",
       .work = static_cast<double>(CnnStep::kBatch * kStepsALaunch),
       .ours = [](benchmark::State& state) { train_cnn(state, "grpc://" + worker_address()); },
       .limit =
           [](benchmark::State& state) { train_cnn(state, "grpc://" + worker_address(false)); },
       .repetitions = 3});
  add({.name = "remote.mnist.train",
       .unit = "images/s",
       .work = static_cast<double>(CnnStep::kBatch * kStepsALaunch),
       .ours = [](benchmark::State& state) { train_cnn(state, "grpc://" + worker_address()); },
       .limit = [](benchmark::State& state) { train_cnn(state, ""); },
       .repetitions = 3});
  add({.name = "remote.upload.100MB",
       .unit = "GB/s",
       .work = static_cast<double>(kUpload) * 1e-9,
       .ours = upload,
       .limit = bare_stream});
}

}  // namespace bench
