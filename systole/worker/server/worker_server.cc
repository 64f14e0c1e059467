#include "systole/worker/server/worker_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/runtime/memory.h"
#include "systole/worker/calls/gate.h"
#include "systole/worker/crash_marker.h"
#include "systole/worker/network/acceptor.h"
#include "systole/worker/network/health_probe.h"
#include "systole/worker/network/watchdog.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/server/server_credentials.h"
#include "systole/worker/service.h"
#include "systole/worker/session_template.h"

namespace systole::worker {
namespace {

constexpr auto kCheckEvery = std::chrono::milliseconds(50);
constexpr int kMaxStreams = 64;  // calls of a connection at a time
// Bytes of a stream that are received before anybody reads them.
constexpr int kLookaheadBytes = 64 << 10;
// Connections that have shown the token.
constexpr int64_t kConnectionsOfASession = 4;
constexpr int64_t kOtherConnections = 32;
constexpr double kAnswerSeconds = 5;  // of a call to the own port
constexpr int kKeepaliveMs = 10'000;

WorkerOptions checked(WorkerOptions options) {
  WorkerLimits& limits = options.limits;
  if (parse_addresses(options.listen).size() != 1) {
    throw invalid_argument("worker: address, got '{}', expected one", options.listen);
  }
  check_token_text(options.token, "the worker's options");
  if (limits.max_sessions < 1 || limits.max_queued < 1 || limits.max_program_bytes < 1 ||
      limits.max_bytes < 0 || limits.max_compile_seconds <= 0 || limits.max_profile_seconds <= 0 ||
      limits.max_profile_bytes < 1) {
    throw invalid_argument("worker: limits, got one below 1");
  }
  if (options.connections.max_known == 0) {
    options.connections.max_known =
        kConnectionsOfASession * limits.max_sessions + kOtherConnections;
  }
  if (limits.max_bytes == 0) limits.max_bytes = runtime::host_memory_bytes() / 4 * 3;
  return options;
}

// Counts for all sessions.
std::shared_ptr<MemoryAccount> make_account(const WorkerOptions& options) {
  auto total = std::make_shared<ByteCounter>(0);
  if (options.processes != nullptr) {
    const auto& counters = options.processes->counters();
    total = {counters, &counters->total};
  }
  return MemoryAccount::make(options.limits.max_bytes, total, total);
}

// Connections that were accepted elsewhere, as gRPC's.
using GrpcAcceptor = grpc::experimental::ExternalConnectionAcceptor;

void hand_to(GrpcAcceptor& acceptor, int descriptor) {
  GrpcAcceptor::NewConnectionParameters parameters;
  parameters.fd = descriptor;
  acceptor.HandleNewConnection(&parameters);
}

void set_limits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A small message that becomes a large one.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kKeepaliveMs / 2);
}

}  // namespace

struct WorkerServer::Impl {
  Impl(runtime::Client& device, WorkerOptions given)
      : options(checked(std::move(given))),
        credentials(make_credentials(options)),
        crash_marker(options.state_folder),
        account(make_account(options)),
        compiler(options.limits.max_compile_seconds),
        service({device, options.limits, *account, compiler, options.processes}, options,
                crash_marker.last_exit()),
        acceptor(parse_addresses(options.listen).front(), options.connections,
                 !options.tls.certificate.empty()),
        gate(service, options, acceptor.connections()) {}

  void start();
  bool answers();
  void became_deaf();
  void check_until_end();

  const WorkerOptions options;
  const std::shared_ptr<grpc::ServerCredentials> credentials;
  CrashMarker crash_marker;
  const std::shared_ptr<MemoryAccount> account;
  CompileService compiler;
  WorkerService service;
  Acceptor acceptor;
  Gate gate;
  std::string address;
  std::unique_ptr<GrpcAcceptor> of_network;
  std::unique_ptr<GrpcAcceptor> of_own;  // connections of the worker to itself
  std::unique_ptr<grpc::Server> server;
  Mutex mutex;
  CondVar ended;
  bool ending SYSTOLE_GUARDED_BY(mutex) = false;
  std::thread checker;
  std::optional<Watchdog> watchdog;
};

void WorkerServer::Impl::start() {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  grpc::ServerBuilder builder;
  of_network = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
  of_own = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD,
                                                                grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&gate);
  set_limits(builder);
  server = builder.BuildAndStart();
  if (server == nullptr) {
    throw make_error(Code::unavailable, "worker: cannot serve at '{}'", options.listen);
  }
  acceptor.start([this](int descriptor) { hand_to(*of_network, descriptor); },
                 [this](int descriptor) { hand_to(*of_own, descriptor); });
  address =
      options.listen.substr(0, options.listen.rfind(':') + 1) + std::to_string(acceptor.port());
  checker = std::thread([this] { check_until_end(); });
  watchdog.emplace(
      options.watchdog, [this] { return answers(); }, [this] { became_deaf(); });
}

// Whether a call over the worker's own port is answered, and sessions can be made.
bool WorkerServer::Impl::answers() {
  if (options.processes != nullptr && !options.processes->works()) return false;
  const auto socket = acceptor.connect_own(kAnswerSeconds);
  return socket && answers_health(*socket, kAnswerSeconds);
}

void WorkerServer::Impl::became_deaf() {
  log_error("worker: it does not answer calls to its own port");
  crash_marker.add("ended because it did not answer calls to its own port");
  if (options.on_deaf) options.on_deaf();
}

void WorkerServer::Impl::check_until_end() {
  MutexLock lock(mutex);
  while (!ended.wait_for(lock, kCheckEvery, [this]() SYSTOLE_REQUIRES(mutex) { return ending; })) {
    lock.unlock();
    service.check();
    gate.check(std::chrono::steady_clock::now());
    lock.lock();
  }
}

WorkerServer::WorkerServer(runtime::Client& device, WorkerOptions options)
    : impl_(std::make_unique<Impl>(device, std::move(options))) {
  impl_->start();
}

WorkerServer::~WorkerServer() {
  impl_->watchdog.reset();
  impl_->acceptor.stop();
  impl_->server->Shutdown(std::chrono::system_clock::now());
  {
    const MutexLock lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->ended.notify_all();
  impl_->checker.join();
  impl_->service.close_all();
  impl_->server->Wait();
}

const std::string& WorkerServer::address() const { return impl_->address; }
const std::string& WorkerServer::note() const { return impl_->crash_marker.last_exit(); }

void WorkerServer::preempt(const std::string& why, double grace_seconds) {
  impl_->gate.set_serving(false);
  impl_->service.preempt(why, grace_seconds);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(grace_seconds);
  while (impl_->service.num_connected() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kCheckEvery);
  }
}

}  // namespace systole::worker
