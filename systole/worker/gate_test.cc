// What a worker does with strangers, and with clients that hold back their messages.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/registry.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"
#include "systole/worker/protocol/worker.grpc.pb.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/testing/proxy.h"
#include "systole/worker/testing/raw_http2.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;
using testing::RawHttp2;
using ::testing::StartsWith;

constexpr const char* kToken = "0123456789abcdef";
constexpr const char* kHello = "/systole.worker.v1.Worker/Hello";
constexpr double kLong = 10;  // seconds: bounds a hang

WorkerOptions options_with_token() { return {.listen = "127.0.0.1:0", .token = kToken}; }

std::unique_ptr<WorkerServer> serve(const WorkerOptions& options) {
  return std::make_unique<WorkerServer>(runtime::client("cpu"), options);
}

int port_of(const WorkerServer& worker) { return testing::port_of(worker.address()); }

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A client with a connection of its own.
class Client {
 public:
  explicit Client(const WorkerServer& worker, std::string token = kToken)
      : credentials_{.token = std::move(token)},
        channel_(make_channel(worker.address(), credentials_)),
        stub_(v1::Worker::NewStub(channel_)) {}

  grpc::Status status(v1::StatusReply* reply = nullptr) {
    grpc::ClientContext context;
    prepare(context, credentials_, kLong);
    v1::StatusReply dropped;
    return stub_->Status(&context, {}, reply == nullptr ? &dropped : reply);
  }
  grpc::Status hello(v1::HelloReply& reply, double lease_seconds = 0, const char* name = "test") {
    v1::HelloRequest request;
    request.set_min_version(kNewestVersion);
    request.set_max_version(kNewestVersion);
    request.set_lease_seconds(lease_seconds);
    request.set_client(name);
    grpc::ClientContext context;
    prepare(context, credentials_, kLong);
    return stub_->Hello(&context, request, &reply);
  }
  v1::Worker::Stub& stub() { return *stub_; }
  const std::shared_ptr<grpc::Channel>& channel() { return channel_; }
  const Credentials& credentials() const { return credentials_; }

 private:
  Credentials credentials_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Worker::Stub> stub_;
};

bool answers(const WorkerServer& worker) { return Client(worker).status().ok(); }

TEST(Gate, RefusesCallsByTheirHeaders) {
  const auto worker = serve(options_with_token());
  RawHttp2 stranger(port_of(*worker));
  const uint32_t without = stranger.call(kHello);
  const uint32_t wrong = stranger.call(kHello, "0123456789abcdeF");
  const uint32_t unknown = stranger.call("/systole.worker.v1.Worker/Nothing", kToken);
  EXPECT_TRUE(becomes_true([&] {
    stranger.receive(0);
    return stranger.ended(without) && stranger.ended(wrong) && stranger.ended(unknown);
  })) << "no message was sent";
  EXPECT_TRUE(answers(*worker));
}

TEST(Gate, ShutsDownAConnectionThatGuesses) {
  const auto worker = serve(options_with_token());
  RawHttp2 stranger(port_of(*worker));
  for (int i = 0; i < 4; ++i) stranger.call(kHello, "0123456789abcde" + std::to_string(i));
  EXPECT_TRUE(stranger.closes(kLong));
  EXPECT_TRUE(answers(*worker));
}

TEST(Gate, ShutsDownWhoIsNoClient) {
  WorkerOptions options = options_with_token();
  options.connections.stranger_seconds = 0.3;
  const auto worker = serve(options);
  RawHttp2 idle(port_of(*worker), /*preface=*/false);
  RawHttp2 half(port_of(*worker), /*preface=*/false);
  half.send(testing::kPreface.substr(0, 10));
  RawHttp2 silent(port_of(*worker));
  RawHttp2 garbage(port_of(*worker), /*preface=*/false);
  garbage.send("GET / HTTP/1.1\r\n\r\n");
  for (RawHttp2* connection : {&idle, &half, &silent, &garbage}) {
    EXPECT_TRUE(connection->closes(kLong));
  }
  Client known(*worker);
  EXPECT_TRUE(known.status().ok());
}

TEST(Gate, ShutsDownAConnectionThatOnlySends) {
  const auto worker = serve(options_with_token());
  RawHttp2 stranger(port_of(*worker));
  const std::string settings = testing::frame(4, 0, 0, "");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += settings;
  for (int i = 0; i < 1000 && stranger.send(many); ++i) {
    stranger.receive(0.002);
  }
  EXPECT_TRUE(stranger.closes(kLong));
  EXPECT_TRUE(answers(*worker));
}

TEST(Gate, HasRoomForOthersAmongStrangers) {
  WorkerOptions options = options_with_token();
  options.connections.max_strangers = 4;
  const auto worker = serve(options);
  Client known(*worker);
  EXPECT_TRUE(known.status().ok());
  std::vector<RawHttp2> strangers;
  for (int i = 0; i < 50; ++i) strangers.emplace_back(port_of(*worker));
  EXPECT_TRUE(answers(*worker));
  EXPECT_TRUE(known.status().ok());
  EXPECT_TRUE(strangers.front().closes(kLong));
}

// Without a token a client is known when it has sent a message of a call.
TEST(Gate, KnowsClientsOfAWorkerWithoutToken) {
  WorkerOptions options{.listen = "127.0.0.1:0"};
  options.connections.stranger_seconds = 0.3;
  const auto worker = serve(options);
  RawHttp2 stranger(port_of(*worker));
  stranger.call(kHello);
  Client client(*worker, "");
  EXPECT_TRUE(client.status().ok());
  EXPECT_TRUE(stranger.closes(kLong));
  EXPECT_TRUE(client.status().ok());
}

TEST(Gate, EndsCallsWithoutAMessage) {
  WorkerOptions options = options_with_token();
  options.first_message_seconds = 0.3;
  const auto worker = serve(options);
  RawHttp2 client(port_of(*worker));
  std::vector<uint32_t> streams;
  for (const char* method :
       {"Hello", "Session", "Upload", "Download", "Close", "Status", "Profile"}) {
    const std::string path = std::string("/systole.worker.v1.Worker/") + method;
    streams.push_back(client.call(path, kToken));
    const uint32_t half = client.call(path, kToken);
    client.message(half, 1000, "half of it");
    streams.push_back(half);
  }
  EXPECT_TRUE(becomes_true([&] {
    client.receive(0);
    return std::ranges::all_of(streams, [&](uint32_t stream) { return client.ended(stream); });
  }));
  EXPECT_FALSE(client.closed());
}

// More calls than there are threads or room for first messages.
TEST(Gate, ServesOthersWhileCallsHoldBackTheirMessages) {
  const auto worker = serve(options_with_token());
  std::vector<RawHttp2> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(port_of(*worker));
    for (int k = 0; k < 50; ++k) {
      clients.back().call("/systole.worker.v1.Worker/Session", kToken);
    }
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(answers(*worker));
}

grpc::Status health(Client& client, const char* method, std::string* reply = nullptr) {
  grpc::GenericStub stub(client.channel());
  grpc::ClientContext context;
  prepare(context, client.credentials(), kLong);
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer bytes;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, method, {}, &request, &bytes,
                 [&](const grpc::Status& status) { ended.set_value(status); });
  const grpc::Status status = ended.get_future().get();
  std::vector<grpc::Slice> slices;
  if (reply != nullptr && bytes.Dump(&slices).ok()) {
    reply->clear();
    for (const grpc::Slice& slice : slices) {
      reply->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return status;
}

TEST(Gate, AnswersHealthChecksWithoutAToken) {
  const auto worker = serve(options_with_token());
  Client stranger(*worker, "");
  std::string reply;
  EXPECT_TRUE(health(stranger, "/grpc.health.v1.Health/Check", &reply).ok());
  EXPECT_EQ(reply, "\x08\x01");
  EXPECT_EQ(health(stranger, "/grpc.health.v1.Health/Watch").error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  worker->preempt("test", 0);
  EXPECT_TRUE(health(stranger, "/grpc.health.v1.Health/Check", &reply).ok());
  EXPECT_EQ(reply, "\x08\x02");
}

TEST(Gate, WatchesHealth) {
  const auto worker = serve(options_with_token());
  Client client(*worker);
  class Watch final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Watch(Client& client) : stub_(client.channel()) {
      prepare(context_, client.credentials(), kLong);
      stub_.PrepareBidiStreamingCall(&context_, "/grpc.health.v1.Health/Watch", {}, this);
      StartRead(&reply_);
      StartCall();
    }
    void OnReadDone(bool ok) override {
      if (!ok) return;
      ++replies;
      StartRead(&reply_);
    }
    void OnDone(const grpc::Status&) override { ended.set_value(); }
    void cancel() { context_.TryCancel(); }
    std::atomic<int> replies = 0;
    std::promise<void> ended;

   private:
    grpc::GenericStub stub_;
    grpc::ClientContext context_;
    grpc::ByteBuffer reply_;
  };
  Watch watch(client);
  EXPECT_TRUE(becomes_true([&] { return watch.replies == 1; }));
  worker->preempt("test", 0);
  EXPECT_TRUE(becomes_true([&] { return watch.replies == 2; }));
  watch.cancel();
  watch.ended.get_future().get();
}

TEST(Gate, RefusesLargeAndCompressedMessages) {
  const auto worker = serve(options_with_token());
  Client client(*worker);
  v1::HelloReply reply;
  const std::string large(100'000, 'x');
  // A busy machine may take longer than the gate waits for a token.
  EXPECT_TRUE(becomes_true([&] {
    const std::string error = client.hello(reply, 0, large.c_str()).error_message();
    return error.find("expected at most 65536") != std::string::npos;
  }));
  grpc::ClientContext context;
  prepare(context, client.credentials(), kLong);
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::HelloRequest request;
  request.set_client(std::string(50'000, 'x'));
  EXPECT_FALSE(client.stub().Hello(&context, request, &reply).ok());
}

TEST(Gate, FreesSessionsThatNobodyOpens) {
  WorkerOptions options = options_with_token();
  options.limits.max_sessions = 2;
  options.max_lease_seconds = 40;
  options.unopened_seconds = 0.3;
  const auto worker = serve(options);
  Client client(*worker);
  v1::HelloReply reply;
  ASSERT_TRUE(client.hello(reply, 3600, "a\nb\x1b[31m").ok());
  EXPECT_EQ(reply.lease_seconds(), 40);
  v1::StatusReply status;
  ASSERT_TRUE(client.status(&status).ok());
  EXPECT_EQ(status.sessions(0).client(), "a\\nb\\x1b[31m");
  ASSERT_TRUE(client.hello(reply, 3600).ok());
  EXPECT_TRUE(becomes_true([&] { return client.hello(reply, 3600).ok(); }));
}

// The session holds a way to end an upload, also when the upload has ended.
TEST(Gate, ForgetsUploadsThatFailed) {
  const auto worker = serve(options_with_token());
  Client client(*worker);
  v1::HelloReply hello;
  ASSERT_TRUE(client.hello(hello).ok());
  for (const bool damaged : {false, true}) {
    grpc::ClientContext context;
    prepare(context, client.credentials(), kLong);
    v1::UploadReply reply;
    const auto writer = client.stub().Upload(&context, &reply);
    v1::Chunk chunk;
    *chunk.mutable_header()->mutable_session() = hello.session();
    chunk.mutable_header()->set_transfer(7);
    to_wire(TensorType{DType::u8, {1000}}, *chunk.mutable_header()->mutable_type());
    EXPECT_TRUE(writer->Write(chunk));
    if (damaged) {
      chunk.Clear();
      chunk.set_data(std::string(2000, 'x'));
      writer->Write(chunk);
    } else {
      context.TryCancel();
    }
    EXPECT_FALSE(writer->Finish().ok());
  }
  grpc::ClientContext context;
  prepare(context, client.credentials(), kLong);
  v1::CloseReply reply;
  EXPECT_TRUE(client.stub().Close(&context, hello.session(), &reply).ok());
  EXPECT_TRUE(becomes_true([&] {
    v1::StatusReply status;
    return client.status(&status).ok() && status.sessions_size() == 0;
  }));
}

TEST(Gate, CallsItsOwnPort) {
  WorkerOptions options = options_with_token();
  std::atomic<bool> deaf = false;
  options.watchdog = {.every_seconds = 0.02, .tries = 1};
  options.on_deaf = [&] { deaf = true; };
  options.connections.max_strangers = 2;
  const auto worker = serve(options);
  std::vector<RawHttp2> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.emplace_back(port_of(*worker));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(deaf);
}

TEST(StatusOf, MakesErrorsOfAllExceptions) {
  EXPECT_EQ(status_of([] { throw invalid_argument("x"); }).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_of([] { throw std::bad_alloc(); }).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status_of([] { throw std::length_error("too long"); }).error_message(),
            "worker: internal error: too long");
  EXPECT_EQ(status_of([] { throw 3; }).error_code(), grpc::StatusCode::INTERNAL);
}

TEST(TokenText, IsVisibleAscii) {
  EXPECT_EQ(error_of([] { check_token_text("aZ09+/=~!", "test"); }), "no error");
  for (const char* token : {"secret\r", "secret\n", "sec ret", "secr\xe9t", "s\x01"}) {
    const std::string error = error_of([&] { check_token_text(token, "the file 'f'"); });
    EXPECT_THAT(error, AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("the file 'f'")));
    EXPECT_THAT(error, ::testing::Not(HasSubstr("sec")));
    EXPECT_THAT(error_of([&] { make_channel("127.0.0.1:1", {.token = token}); }),
                StartsWith("INVALID_ARGUMENT"));
    WorkerOptions options = options_with_token();
    options.token = token;
    EXPECT_THAT(error_of([&] { serve(options); }), StartsWith("INVALID_ARGUMENT"));
  }
}

}  // namespace
}  // namespace systole::worker
