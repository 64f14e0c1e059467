// What a worker does with clients, networks and requests that are not as they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/runtime/preemption.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/worker.grpc.pb.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/session.h"
#include "systole/worker/testing/proxy.h"
#include "systole/worker/worker_status.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::Proxy;
using ::testing::StartsWith;

constexpr int64_t kMiB = int64_t{1} << 20;

// main(x) -> x + 1, written over x.
std::unique_ptr<hlo::Module> increment_module() {
  auto module = std::make_unique<hlo::Module>("increment");
  hlo::Computation& main = module->add_function("main");
  const hlo::Value x = main.add_parameter({DType::f32, {}});
  hlo::Builder b(main);
  main.set_results({b.add(x, b.constant(Tensor(1.0F)))});
  module->aliases = {{0, 0}};
  return module;
}

WorkerOptions quick_options() {
  return {.listen = "127.0.0.1:0", .lease_seconds = 10, .stall_seconds = 10};
}

std::unique_ptr<WorkerServer> serve(const WorkerOptions& options = quick_options()) {
  return std::make_unique<WorkerServer>(runtime::client("cpu"), options);
}

runtime::Client& client_of(const std::string& address, double reconnect_seconds = 2) {
  return runtime::client("remote", {{"address", address},
                                    {"reconnect_seconds", reconnect_seconds},
                                    {"silence_seconds", 2.0},
                                    {"lease_seconds", 20.0}});
}

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A client that does what it likes.
class RawClient {
 public:
  explicit RawClient(const std::string& address, const std::string& token = "")
      : credentials_{.token = token},
        channel_(make_channel(address, credentials_)),
        stub_(v1::Worker::NewStub(channel_)) {}
  ~RawClient() { leave(); }

  grpc::Status hello(uint32_t version = kNewestVersion) {
    v1::HelloRequest request;
    request.set_min_version(version);
    request.set_max_version(version);
    grpc::ClientContext context;
    prepare(context, credentials_, 10);
    return stub_->Hello(&context, request, &hello_);
  }

  // Opens the session's stream. Returns the worker's first reply.
  v1::Reply open(uint64_t acknowledged = 0) {
    context_ = std::make_unique<grpc::ClientContext>();
    prepare(*context_, credentials_, 30);
    stream_ = stub_->Session(context_.get());
    v1::Request request;
    *request.mutable_open()->mutable_session() = hello_.session();
    request.set_acknowledged(acknowledged);
    send(request);
    return read();
  }
  bool send(const v1::Request& request) { return stream_->Write(request); }
  v1::Reply read() {
    v1::Reply reply;
    while (stream_->Read(&reply) && reply.op_id() == 0 && opened_) {
    }
    opened_ = true;
    return reply;
  }
  grpc::Status finish() {
    v1::Reply reply;
    while (stream_->Read(&reply)) {
    }
    return std::exchange(stream_, nullptr)->Finish();
  }
  // Ends the stream, also a send() that blocks.
  void cancel() { context_->TryCancel(); }
  void leave() {
    if (context_ != nullptr) context_->TryCancel();
    if (stream_ != nullptr) static_cast<void>(stream_->Finish().ok());
    stream_.reset();
    opened_ = false;
  }

  v1::Request put(uint64_t op, uint64_t buffer, const Tensor& value) {
    v1::Request request;
    request.set_op_id(op);
    request.mutable_put()->set_buffer(buffer);
    to_wire(value.type(), *request.mutable_put()->mutable_type());
    set_bytes(bytes_of(value), *request.mutable_put()->mutable_value());
    return request;
  }

  v1::HelloReply& session() { return hello_; }
  v1::Worker::Stub& stub() { return *stub_; }

 private:
  Credentials credentials_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  v1::HelloReply hello_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Request, v1::Reply>> stream_;
  bool opened_ = false;
};

TEST(WorkerFaults, RefusesStrangers) {
  WorkerOptions options = quick_options();
  options.token = "secret";
  options.limits.max_sessions = 1;
  const auto worker = serve(options);
  const struct {
    const char* token;
    uint32_t version;
    grpc::StatusCode code;
    const char* text;
  } cases[] = {
      {"", 1, grpc::StatusCode::UNAUTHENTICATED, "token, got none"},
      {"secre", 1, grpc::StatusCode::UNAUTHENTICATED, "token, got another"},
      {"secrets", 1, grpc::StatusCode::UNAUTHENTICATED, "token, got another"},
      {"secret", 7, grpc::StatusCode::FAILED_PRECONDITION,
       "version, got 7 to 7, expected one of 1"},
  };
  for (const auto& c : cases) {
    RawClient stranger(worker->address(), c.token);
    const grpc::Status status = stranger.hello(c.version);
    EXPECT_EQ(status.error_code(), c.code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(c.text));
  }
  RawClient first(worker->address(), "secret");
  EXPECT_TRUE(first.hello().ok());
  RawClient second(worker->address(), "secret");
  EXPECT_EQ(second.hello().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(WorkerFaults, SurvivesGarbage) {
  const auto worker = serve();
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(5000, '\xff'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(1000, '\x80')}) {
    const int socket = testing::connect_to(testing::port_of(worker->address()));
    EXPECT_GT(::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    ::close(socket);
  }
  {
    RawClient rude(worker->address());
    ASSERT_TRUE(rude.hello().ok());
    rude.session().mutable_session()->set_token("0123456789abcdef");
    rude.open();
    EXPECT_EQ(rude.finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  {
    RawClient skips(worker->address());
    ASSERT_TRUE(skips.hello().ok());
    skips.open();
    skips.send(skips.put(7, 1, Tensor(1.0F)));
    EXPECT_THAT(skips.finish().error_message(), HasSubstr("operation, got number 7, expected 1"));
  }
  RawClient polite(worker->address());
  EXPECT_TRUE(polite.hello().ok());
}

// Requests that the worker refuses, one reply each; the session continues.
TEST(WorkerFaults, RefusesRequests) {
  WorkerOptions options = quick_options();
  options.limits.max_bytes = kMiB;
  options.limits.max_program_bytes = 2000;
  options.limits.max_compile_seconds = 1e-9;
  const auto worker = serve(options);
  RawClient client(worker->address());
  ASSERT_TRUE(client.hello().ok());
  client.open();
  uint64_t op = 0;
  const auto refused = [&](v1::Request request) {
    request.set_op_id(++op);
    client.send(request);
    const v1::Reply reply = client.read();
    EXPECT_EQ(reply.op_id(), op);
    return std::string(from_wire(reply.error()).what());
  };
  v1::Request request = client.put(0, 1, Tensor(1.0F));
  request.mutable_put()->mutable_value()->set_crc32c(7);
  EXPECT_THAT(refused(request), AllOf(StartsWith("DATA_LOSS"), HasSubstr("CRC-32C")));
  request = client.put(0, 2, Tensor(1.0F));
  request.mutable_put()->mutable_type()->add_dims(2);
  EXPECT_THAT(refused(request), HasSubstr("got 4 bytes, expected 8"));
  request.mutable_put()->set_buffer(3);
  request.mutable_put()->mutable_type()->set_dims(0, 1 << 30);
  EXPECT_THAT(refused(request), StartsWith("RESOURCE_EXHAUSTED"));
  request.mutable_put()->set_buffer(4);
  request.mutable_put()->mutable_type()->set_dims(0, -5);
  EXPECT_THAT(refused(request), StartsWith("INVALID_ARGUMENT"));
  request.mutable_put()->set_buffer(5);
  request.mutable_put()->mutable_type()->set_dtype("i1024");
  EXPECT_THAT(refused(request), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(refused({}), StartsWith("UNIMPLEMENTED"));
  request = {};
  request.mutable_fetch()->set_buffer(99);
  EXPECT_THAT(refused(request), StartsWith("NOT_FOUND"));
  request.mutable_fetch()->set_buffer(1);
  EXPECT_THAT(refused(request), AllOf(StartsWith("DATA_LOSS"), HasSubstr("CRC-32C")))
      << "a buffer that was not made has the error of its operation";
  request = {};
  request.mutable_execute()->set_executable(5);
  EXPECT_THAT(refused(request), StartsWith("NOT_FOUND"));
  request = {};
  set_bytes("module {", *request.mutable_compile()->mutable_program());
  EXPECT_THAT(refused(request), AnyOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("compilation")));
  set_bytes(std::string(3000, ' '), *request.mutable_compile()->mutable_program());
  EXPECT_THAT(refused(request), AllOf(StartsWith("RESOURCE_EXHAUSTED"), HasSubstr("3000 bytes")));
}

TEST(WorkerFaults, RefusesUploads) {
  WorkerOptions options = quick_options();
  options.limits.max_bytes = kMiB;
  const auto worker = serve(options);
  runtime::Client& client = client_of(worker->address());
  EXPECT_THAT(error_of([&] { client.buffer_from_host(Tensor::zeros(DType::u8, {2 * kMiB})); }),
              AllOf(StartsWith("RESOURCE_EXHAUSTED"), HasSubstr("upload")));
  const auto third = client.buffer_from_host(Tensor::zeros(DType::u8, {kMiB / 3}));
  third->ready().wait();
  EXPECT_THAT(error_of([&] { client.buffer_from_host(Tensor::zeros(DType::u8, {kMiB / 4 * 3})); }),
              StartsWith("RESOURCE_EXHAUSTED"));
  EXPECT_EQ(third->to_host().num_elements(), kMiB / 3);
}

// Lets the replies of operations pass once it is open.
class Gate final : public ReplySink {
 public:
  bool send(const v1::Reply& reply) override {
    std::unique_lock lock(mutex_);
    if (reply.op_id() == 0) return true;
    changed_.wait(lock, [this] { return open_; });
    codes_.push_back(reply.error().code());
    changed_.notify_all();
    return true;
  }
  void cancel() override { open(); }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // The codes of the first `count` replies.
  std::vector<int> wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return codes_.size() >= count; });
    return codes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<int> codes_;
};

TEST(WorkerFaults, RefusesWhatTheQueueDoesNotHold) {
  const WorkerLimits limits{.max_queued = 4};
  const auto account =
      MemoryAccount::make(kMiB, std::make_shared<ByteCounter>(0), std::make_shared<ByteCounter>(0));
  CompileService compiler(10);
  WorkerSession session({runtime::client("cpu"), limits, *account, compiler}, 1, "token", "test",
                        10);
  const auto gate = std::make_shared<Gate>();
  session.attach(gate, 0);
  uint64_t op = 0;
  const auto send = [&] {
    v1::Request request;
    request.set_op_id(++op);
    request.mutable_nothing();
    session.receive(std::move(request));
  };
  send();
  EXPECT_TRUE(becomes_true([&] { return session.status().queued() == 0; }));
  for (int i = 0; i < 8; ++i) send();  // after the one whose reply the gate holds
  EXPECT_THAT(error_of(send), AllOf(StartsWith("RESOURCE_EXHAUSTED"), HasSubstr("8 operations")));
  gate->open();
  constexpr int kRefused = static_cast<int>(Code::resource_exhausted);
  EXPECT_THAT(gate->wait_for(9),
              ::testing::ElementsAre(0, kRefused, kRefused, kRefused, kRefused, 0, 0, 0, 0));
}

// The worker carries an operation out once, however often it arrives.
TEST(WorkerFaults, RunsReplayedOperationsOnce) {
  const auto worker = serve();
  RawClient client(worker->address());
  ASSERT_TRUE(client.hello().ok());
  client.open();
  v1::Request compile;
  compile.set_op_id(1);
  compile.mutable_compile()->set_executable(1);
  compile.mutable_compile()->mutable_options()->set_num_replicas(1);
  compile.mutable_compile()->mutable_options()->set_num_partitions(1);
  set_bytes(hlo::print(*increment_module()), *compile.mutable_compile()->mutable_program());
  client.send(compile);
  ASSERT_FALSE(client.read().has_error());
  client.send(client.put(2, 2, Tensor(0.0F)));
  client.read();
  v1::Request add;
  add.set_op_id(3);
  add.mutable_execute()->set_executable(1);
  add.mutable_execute()->add_arguments()->set_buffer(2);
  add.mutable_execute()->mutable_arguments(0)->set_donate(true);
  add.mutable_execute()->add_results();
  client.send(add);
  client.send(add);
  EXPECT_EQ(client.read().op_id(), 3);
  client.leave();
  const v1::Reply open = client.open(/*acknowledged=*/2);
  EXPECT_EQ(open.received(), 3);
  EXPECT_EQ(client.read().op_id(), 3) << "a reply that was not acknowledged is sent again";
  client.send(add);
  v1::Request fetch;
  fetch.set_op_id(4);
  fetch.mutable_fetch()->set_buffer(2);
  client.send(fetch);
  const v1::Reply reply = client.read();
  Tensor value(DType::f32, {});
  copy_bytes(reply.data(), value, "value");
  EXPECT_EQ(value.item<float>(), 1);
}

TEST(WorkerFaults, FreesMemoryAfterTheLease) {
  WorkerOptions options = quick_options();
  options.lease_seconds = 1;
  const auto worker = serve(options);
  const std::string before = "memory    0 B";
  EXPECT_THAT(worker_status(worker->address()), HasSubstr(before));
  {
    RawClient client(worker->address());
    ASSERT_TRUE(client.hello().ok());
    client.open();
    client.send(client.put(1, 1, Tensor(1.0F)));
    client.read();
    EXPECT_THAT(worker_status(worker->address()),
                AllOf(HasSubstr("connected"), HasSubstr("in 1 buffers")));
  }
  EXPECT_TRUE(becomes_true([&] {
    const std::string status = worker_status(worker->address());
    return status.find(before) != std::string::npos &&
           status.find("sessions  0") != std::string::npos;
  })) << worker_status(worker->address());
}

TEST(WorkerFaults, ContinuesAfterALostConnection) {
  const auto worker = serve();
  Proxy proxy(worker->address());
  runtime::Client& client = client_of(proxy.address());
  const auto add = client.compile(*increment_module());
  const auto x = client.buffer_from_host(Tensor(0.0F));
  std::thread cutter([&] {
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      proxy.cut();
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      proxy.heal();
    }
  });
  constexpr int kSteps = 1000;
  for (int i = 0; i < kSteps; ++i) {
    const runtime::Event done = add->execute({{{.buffer = x.get(), .donate = true}}}, {{{}}});
    if (i % 20 == 0) {
      done.wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  cutter.join();
  EXPECT_EQ(x->to_host().item<float>(), kSteps);
}

TEST(WorkerFaults, NamesAWorkerThatIsGone) {
  auto worker = serve();
  const std::string address = worker->address();
  runtime::Client& client = client_of(address, /*reconnect_seconds=*/0.5);
  const auto add = client.compile(*increment_module());
  const auto x = client.buffer_from_host(Tensor(0.0F));
  worker.reset();
  EXPECT_THAT(error_of([&] {
                for (int i = 0; i < 1000; ++i) {
                  add->execute({{{.buffer = x.get(), .donate = true}}}, {{{}}}).wait();
                }
              }),
              AllOf(StartsWith("UNAVAILABLE"), HasSubstr(address)));
  EXPECT_THAT(error_of([&] { x->to_host(); }), StartsWith("UNAVAILABLE"));
  // A new worker at the same address serves the client; what the old one held is lost.
  WorkerOptions options = quick_options();
  options.listen = address;
  worker = serve(options);
  const auto again = client.compile(*increment_module());
  const auto y = client.buffer_from_host(Tensor(5.0F));
  again->execute({{{.buffer = y.get(), .donate = true}}}, {{{}}}).wait();
  EXPECT_EQ(y->to_host().item<float>(), 6);
  EXPECT_THAT(error_of([&] { again->execute({{{.buffer = x.get()}}}, {{{}}}).wait(); }),
              StartsWith("UNAVAILABLE"));
}

TEST(WorkerFaults, DropsAClientThatDoesNotRead) {
  WorkerOptions options = quick_options();
  options.lease_seconds = 1;
  options.stall_seconds = 0.5;
  const auto worker = serve(options);
  RawClient slow(worker->address());
  ASSERT_TRUE(slow.hello().ok());
  slow.open();
  slow.send(slow.put(1, 1, Tensor::zeros(DType::u8, {60'000})));
  std::thread writer([&] {
    for (uint64_t op = 2; op < 5000; ++op) {
      v1::Request fetch;
      fetch.set_op_id(op);
      fetch.mutable_fetch()->set_buffer(1);
      if (!slow.send(fetch)) return;
    }
  });
  EXPECT_TRUE(becomes_true([&] {
    const std::string status = worker_status(worker->address());
    return status.find("sessions  0") != std::string::npos;
  })) << worker_status(worker->address());
  writer.join();
  RawClient other(worker->address());
  EXPECT_TRUE(other.hello().ok());
}

TEST(WorkerFaults, TellsThatItIsPreempted) {
  const auto worker = serve();
  runtime::Client& client = client_of(worker->address());
  const auto x = client.buffer_from_host(Tensor(7.0F));
  x->ready().wait();
  runtime::clear_preemption();
  std::thread preemption([&] { worker->preempt("SIGTERM", 0.7); });
  EXPECT_TRUE(becomes_true([] { return runtime::preempted(); }));
  EXPECT_EQ(x->to_host().item<float>(), 7) << "there is time to save";
  EXPECT_THAT(error_of([&] { client.compile(*increment_module()); }),
              AllOf(StartsWith("UNAVAILABLE"), HasSubstr("shuts down")));
  preemption.join();
  runtime::clear_preemption();
}

TEST(WorkerFaults, TellsItsClientsThoughOneDoesNotRead) {
  WorkerOptions options = quick_options();
  options.lease_seconds = 60;
  options.stall_seconds = 60;  // so the worker waits for the slow client all the time
  const auto worker = serve(options);
  RawClient slow(worker->address());
  ASSERT_TRUE(slow.hello().ok());
  slow.open();
  slow.send(slow.put(1, 1, Tensor::zeros(DType::u8, {60'000})));
  std::atomic<int> sent = 0;
  std::thread writer([&] {
    for (uint64_t op = 2; op < 5000; ++op) {
      v1::Request fetch;
      fetch.set_op_id(op);
      fetch.mutable_fetch()->set_buffer(1);
      if (!slow.send(fetch)) return;
      ++sent;
    }
  });
  // The window is full: neither requests nor replies go on.
  int before = -1;
  EXPECT_TRUE(becomes_true([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return std::exchange(before, sent.load()) == sent;
  }));
  runtime::Client& client = client_of(worker->address());
  const auto x = client.buffer_from_host(Tensor(7.0F));
  x->ready().wait();
  runtime::clear_preemption();
  worker->preempt("SIGTERM", 0);
  EXPECT_TRUE(becomes_true([] { return runtime::preempted(); }));
  runtime::clear_preemption();
  slow.cancel();
  writer.join();
}

TEST(WorkerFaults, RefusesAddresses) {
  const struct {
    const char* listen;
    const char* text;
  } cases[] = {
      {"0.0.0.0:0", "which other machines can reach"},
      {"127.0.0.1", "expected 'host:port'"},
      {"127.0.0.1:99999", "expected 'host:port'"},
      {"127.0.0.1:1,127.0.0.1:2", "expected one"},
  };
  for (const auto& c : cases) {
    WorkerOptions options = quick_options();
    options.listen = c.listen;
    EXPECT_THAT(error_of([&] { serve(options); }),
                AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr(c.text)));
  }
  const auto worker = serve();
  WorkerOptions same = quick_options();
  same.listen = worker->address();
  EXPECT_THAT(error_of([&] { serve(same); }), StartsWith("UNAVAILABLE"));
  EXPECT_THAT(error_of([] { make_channel("10.0.0.1:8470", {}); }), HasSubstr("TLS, got no"));
}

}  // namespace
}  // namespace systole::worker
