#include "systole/worker/service.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "systole/base/log.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {
namespace {

constexpr double kMaxLeaseSeconds = 3600;

uint64_t random_bits() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

std::string random_token() {
  std::string token;
  for (int i = 0; i < 2; ++i) {
    const uint64_t bits = random_bits();
    token.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  return token;
}

// A session's stream.
class StreamSink final : public ReplySink {
 public:
  StreamSink(grpc::ServerContext& context, grpc::ServerReaderWriter<v1::Reply, v1::Request>& stream)
      : context_(context), stream_(stream) {}
  bool send(const v1::Reply& reply) override { return stream_.Write(reply); }
  void cancel() override { context_.TryCancel(); }

 private:
  grpc::ServerContext& context_;
  grpc::ServerReaderWriter<v1::Reply, v1::Request>& stream_;
};

}  // namespace

WorkerService::WorkerService(const SessionContext& context, const WorkerOptions& options,
                             std::string note)
    : context_(context), options_(options), note_(std::move(note)), incarnation_(random_bits()) {}

WorkerService::~WorkerService() { close_all(); }

void WorkerService::check_token(const grpc::ServerContextBase& context) const {
  if (options_.token.empty()) return;
  const auto& metadata = context.client_metadata();
  const auto given = metadata.find(kAuthorization);
  if (given == metadata.end()) {
    throw make_error(Code::unauthenticated, "worker: token, got none, expected this worker's");
  }
  const std::string expected = "Bearer " + options_.token;
  const std::string_view text(given->second.data(), given->second.size());
  unsigned difference = text.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(text.size(), expected.size()); ++i) {
    difference |= static_cast<unsigned char>(text[i] ^ expected[i]);
  }
  if (difference != 0) {
    throw make_error(Code::unauthenticated, "worker: token, got another than this worker's");
  }
}

std::shared_ptr<WorkerSession> WorkerService::find(const v1::SessionKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = sessions_.find(key.id());
  if (it == sessions_.end()) {
    throw not_found(
        "worker: session, got {:016x}, which does not exist: the worker started anew, or the "
        "lease was over",
        key.id());
  }
  if (!it->second->has_token(key.token())) {
    throw make_error(Code::permission_denied, "worker: session, got a wrong token");
  }
  return it->second;
}

v1::SessionKey WorkerService::add_session(const v1::HelloRequest& request, double lease_seconds) {
  const std::lock_guard lock(mutex_);
  if (static_cast<int64_t>(sessions_.size()) >= options_.limits.max_sessions) {
    throw make_error(Code::resource_exhausted, "worker: sessions, got one more than {}",
                     options_.limits.max_sessions);
  }
  v1::SessionKey key;
  do {
    key.set_id(random_bits());
  } while (sessions_.contains(key.id()));
  key.set_token(random_token());
  sessions_[key.id()] = std::make_shared<WorkerSession>(
      context_, key.id(), key.token(), request.client().substr(0, 100), lease_seconds);
  return key;
}

grpc::Status WorkerService::Hello(grpc::ServerContext* context, const v1::HelloRequest* request,
                                  v1::HelloReply* reply) {
  return status_of([&] {
    check_token(*context);
    check_versions(request->min_version(), request->max_version());
    if (preempted_) {
      throw make_error(Code::unavailable, "worker: session, got one while the worker shuts down");
    }
    const double lease = request->lease_seconds() > 0
                             ? std::min(request->lease_seconds(), kMaxLeaseSeconds)
                             : options_.lease_seconds;
    *reply->mutable_session() = add_session(*request, lease);
    const int64_t recorded_events = recorder_.events_per_thread();
    if (SessionProcess* const process = find(reply->session())->process();
        process != nullptr && recorded_events > 0) {
      process->begin_recording(recorded_events);
    }
    reply->set_version(std::min(request->max_version(), kNewestVersion));
    reply->set_lease_seconds(lease);
    reply->set_platform(std::string(context_.device.platform()));
    for (const runtime::Device& device : context_.device.devices()) {
      to_wire(device, *reply->add_devices());
    }
    v1::Limits& limits = *reply->mutable_limits();
    limits.set_max_sessions(options_.limits.max_sessions);
    limits.set_max_bytes(context_.account.limit());
    limits.set_max_queued(options_.limits.max_queued);
    limits.set_max_program_bytes(options_.limits.max_program_bytes);
    limits.set_max_compile_seconds(options_.limits.max_compile_seconds);
    limits.set_inline_bytes(kInlineBytes);
    reply->set_incarnation(incarnation_);
    reply->set_note(note_);
  });
}

grpc::Status WorkerService::Session(grpc::ServerContext* context,
                                    grpc::ServerReaderWriter<v1::Reply, v1::Request>* stream) {
  return status_of([&] {
    check_token(*context);
    v1::Request request;
    if (!stream->Read(&request)) return;
    if (!request.has_open()) {
      throw invalid_argument("worker: first request of a session, got another, expected open");
    }
    const auto session = find(request.open().session());
    const auto sink = std::make_shared<StreamSink>(*context, *stream);
    session->attach(sink, request.acknowledged());
    try {
      while (stream->Read(&request)) session->receive(std::move(request));
    } catch (const Error& error) {
      log_warning("worker: session of {}: {}", session->client(), error.message());
      session->detach(*sink);  // first: close() cancels the stream, and its error with it
      session->close();
      throw;
    }
    session->detach(*sink);
  });
}

grpc::Status WorkerService::Close(grpc::ServerContext* context, const v1::SessionKey* key,
                                  v1::CloseReply*) {
  return status_of([&] {
    check_token(*context);
    const auto session = find(*key);
    if (session->process() != nullptr && recorder_.events_per_thread() > 0) {
      recorder_.add(end_part(*session, options_.limits.max_profile_bytes));
    }
    session->close();
  });
}

grpc::Status WorkerService::Status(grpc::ServerContext* context, const v1::StatusRequest*,
                                   v1::StatusReply* reply) {
  return status_of([&] {
    check_token(*context);
    reply->set_version(kNewestVersion);
    reply->set_platform(std::string(context_.device.platform()));
    for (const runtime::Device& device : context_.device.devices()) {
      to_wire(device, *reply->add_devices());
    }
    reply->mutable_limits()->set_max_sessions(options_.limits.max_sessions);
    reply->mutable_limits()->set_max_bytes(context_.account.limit());
    reply->set_uptime_seconds(
        std::chrono::duration<double>(WorkerSession::Clock::now() - begin_).count());
    reply->set_bytes_in_use(context_.account.in_use());
    reply->set_preempted(preempted_);
    reply->set_note(note_);
    const std::lock_guard lock(mutex_);
    for (const auto& [id, session] : sessions_) *reply->add_sessions() = session->status();
  });
}

std::vector<std::shared_ptr<WorkerSession>> WorkerService::sessions() const {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) sessions.push_back(session);
  return sessions;
}

void WorkerService::preempt(const std::string& why, double grace_seconds) {
  preempted_ = true;
  for (const auto& session : sessions()) session->notify_preempted(why, grace_seconds);
}

void WorkerService::check() {
  const auto now = WorkerSession::Clock::now();
  const auto stall = std::chrono::duration_cast<WorkerSession::Clock::duration>(
      std::chrono::duration<double>(options_.stall_seconds));
  recorder_.check(now, stall);
  std::vector<std::shared_ptr<WorkerSession>> sessions;  // some are destroyed, without the lock
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(sessions_, [&](auto& entry) {
      sessions.push_back(entry.second);
      return entry.second->check(now, stall) && entry.second->freed();
    });
  }
  limit_memory(sessions, context_.account.in_use(), context_.account.limit());
}

void WorkerService::close_all() {
  std::map<uint64_t, std::shared_ptr<WorkerSession>> closed;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) session->close();
  closed.swap(sessions_);
}

int64_t WorkerService::num_connected() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::count_if(
      sessions_, [](const auto& entry) { return entry.second->status().connected(); });
}

}  // namespace systole::worker
