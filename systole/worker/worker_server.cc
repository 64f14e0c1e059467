#include "systole/worker/worker_server.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "systole/runtime/memory.h"
#include "systole/worker/death_note.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/server_credentials.h"
#include "systole/worker/service.h"

namespace systole::worker {
namespace {

constexpr auto kCheckEvery = std::chrono::milliseconds(50);
// Each stream of a session has a thread; so do calls that are no stream.
constexpr int kOtherThreads = 16;
constexpr int kKeepaliveMs = 10'000;

WorkerOptions checked(WorkerOptions options) {
  WorkerLimits& limits = options.limits;
  if (parse_addresses(options.listen).size() != 1) {
    throw invalid_argument("worker: address, got '{}', expected one", options.listen);
  }
  if (limits.max_sessions < 1 || limits.max_queued < 1 || limits.max_program_bytes < 1 ||
      limits.max_bytes < 0 || limits.max_compile_seconds <= 0 || limits.max_profile_seconds <= 0 ||
      limits.max_profile_bytes < 1) {
    throw invalid_argument("worker: limits, got one below 1");
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

}  // namespace

struct WorkerServer::Impl {
  Impl(runtime::Client& device, WorkerOptions given)
      : options(checked(std::move(given))),
        death_note(options.state_folder),
        account(make_account(options)),
        compiler(options.limits.max_compile_seconds),
        service({device, options.limits, *account, compiler, options.processes}, options,
                death_note.of_last()) {}

  void start();
  void check_until_end();

  const WorkerOptions options;
  DeathNote death_note;
  const std::shared_ptr<MemoryAccount> account;
  CompileService compiler;
  WorkerService service;
  std::string address;
  std::unique_ptr<grpc::Server> server;
  std::mutex mutex;
  std::condition_variable ended;
  bool ending = false;
  std::thread checker;
};

void WorkerServer::Impl::start() {
  static const bool health = [] {
    grpc::EnableDefaultHealthCheckService(true);
    return true;
  }();
  static_cast<void>(health);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options.listen, make_credentials(options), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  grpc::ResourceQuota quota("worker");
  quota.SetMaxThreads(static_cast<int>(options.limits.max_sessions) + kOtherThreads);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kKeepaliveMs / 2);
  server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    throw make_error(Code::unavailable,
                     "worker: cannot listen at '{}': is the address in use, or not this machine's?",
                     options.listen);
  }
  address = options.listen.substr(0, options.listen.rfind(':') + 1) + std::to_string(port);
  checker = std::thread([this] { check_until_end(); });
}

void WorkerServer::Impl::check_until_end() {
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kCheckEvery, [this] { return ending; })) {
    lock.unlock();
    service.check();
    lock.lock();
  }
}

WorkerServer::WorkerServer(runtime::Client& device, WorkerOptions options)
    : impl_(std::make_unique<Impl>(device, std::move(options))) {
  impl_->start();
}

WorkerServer::~WorkerServer() {
  impl_->server->Shutdown(std::chrono::system_clock::now());
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->ended.notify_all();
  impl_->checker.join();
  impl_->service.close_all();
  impl_->server->Wait();
}

const std::string& WorkerServer::address() const { return impl_->address; }
const std::string& WorkerServer::note() const { return impl_->death_note.of_last(); }

void WorkerServer::preempt(const std::string& why, double grace_seconds) {
  if (auto* health = impl_->server->GetHealthCheckService()) health->SetServingStatus(false);
  impl_->service.preempt(why, grace_seconds);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(grace_seconds);
  while (impl_->service.num_connected() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kCheckEvery);
  }
}

}  // namespace systole::worker
