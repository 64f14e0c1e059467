#include "systole/worker/service.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "systole/base/escape.h"
#include "systole/base/mutex.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {
namespace {

constexpr size_t kMaxNameBytes = 100;
// A session without a stream makes room for another one after this time.
constexpr auto kTimeToOpen = std::chrono::seconds(1);

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

}  // namespace

WorkerService::WorkerService(const SessionContext& context, const WorkerOptions& options,
                             std::string note)
    : context_(context), options_(options), note_(std::move(note)), incarnation_(random_bits()) {}

WorkerService::~WorkerService() { close_all(); }

const WorkerService::Entry& WorkerService::find_entry(const v1::SessionKey& key) const {
  const auto it = sessions_.find(key.id());
  if (it == sessions_.end()) {
    throw not_found(
        "worker: session, got {:016x}, which does not exist: the worker started anew, or the "
        "lease was over",
        key.id());
  }
  if (!it->second.session->has_token(key.token())) {
    throw make_error(Code::permission_denied, "worker: session, got a wrong token");
  }
  return it->second;
}

std::shared_ptr<WorkerSession> WorkerService::find(const v1::SessionKey& key) const {
  const MutexLock lock(mutex_);
  return find_entry(key).session;
}

std::shared_ptr<WorkerSession> WorkerService::open(const v1::SessionKey& key) {
  const MutexLock lock(mutex_);
  static_cast<void>(find_entry(key));
  Entry& entry = sessions_.at(key.id());
  entry.opened = true;
  return entry.session;
}

std::shared_ptr<WorkerSession> WorkerService::reserve_place() {
  std::shared_ptr<WorkerSession> dropped;
  const int64_t most = options_.limits.max_sessions;
  if (static_cast<int64_t>(sessions_.size()) + in_making_ >= most) {
    const auto now = WorkerSession::Clock::now();
    const auto unused = std::ranges::find_if(sessions_, [&](const auto& entry) {
      return !entry.second.opened && now - entry.second.made > kTimeToOpen;
    });
    if (unused == sessions_.end()) {
      throw make_error(Code::resource_exhausted, "worker: sessions, got one more than {}", most);
    }
    dropped = std::move(unused->second.session);
    dropped->close();
    sessions_.erase(unused);
  }
  ++in_making_;
  return dropped;
}

v1::SessionKey WorkerService::add_session(const v1::HelloRequest& request, double lease_seconds) {
  v1::SessionKey key;
  key.set_id(random_bits());
  key.set_token(random_token());
  std::shared_ptr<WorkerSession> session;  // first one that is destroyed, without the lock
  {
    const MutexLock lock(mutex_);
    session = reserve_place();
  }
  session.reset();
  try {
    session = std::make_shared<WorkerSession>(context_, key.id(), key.token(),
                                              clean_name(request.client()), lease_seconds);
  } catch (...) {
    const MutexLock lock(mutex_);
    --in_making_;
    throw;
  }
  const MutexLock lock(mutex_);
  --in_making_;
  sessions_[key.id()].session = std::move(session);
  return key;
}

v1::HelloReply WorkerService::hello(const v1::HelloRequest& request) {
  check_versions(request.min_version(), request.max_version());
  if (preempted_) {
    throw make_error(Code::unavailable, "worker: session, got one while the worker shuts down");
  }
  const double lease = request.lease_seconds() > 0
                           ? std::min(request.lease_seconds(), options_.max_lease_seconds)
                           : options_.lease_seconds;
  v1::HelloReply reply;
  *reply.mutable_session() = add_session(request, lease);
  const int64_t recorded_events = recorder_.events_per_thread();
  if (SessionProcess* const process = find(reply.session())->process();
      process != nullptr && recorded_events > 0) {
    process->begin_recording(recorded_events);
  }
  reply.set_version(std::min(request.max_version(), kNewestVersion));
  reply.set_lease_seconds(lease);
  reply.set_platform(std::string(context_.device.platform()));
  for (const runtime::Device& device : context_.device.devices()) {
    to_wire(device, *reply.add_devices());
  }
  v1::Limits& limits = *reply.mutable_limits();
  limits.set_max_sessions(options_.limits.max_sessions);
  limits.set_max_bytes(context_.account.limit());
  limits.set_max_queued(options_.limits.max_queued);
  limits.set_max_program_bytes(options_.limits.max_program_bytes);
  limits.set_max_compile_seconds(options_.limits.max_compile_seconds);
  limits.set_inline_bytes(kInlineBytes);
  reply.set_incarnation(incarnation_);
  reply.set_note(note_);
  return reply;
}

v1::CloseReply WorkerService::close(const v1::SessionKey& key) {
  const auto session = find(key);
  if (session->process() != nullptr && recorder_.events_per_thread() > 0) {
    recorder_.add(end_part(*session, options_.limits.max_profile_bytes));
  }
  session->close();
  return {};
}

v1::StatusReply WorkerService::status(const v1::StatusRequest&) {
  v1::StatusReply reply;
  reply.set_version(kNewestVersion);
  reply.set_platform(std::string(context_.device.platform()));
  for (const runtime::Device& device : context_.device.devices()) {
    to_wire(device, *reply.add_devices());
  }
  reply.mutable_limits()->set_max_sessions(options_.limits.max_sessions);
  reply.mutable_limits()->set_max_bytes(context_.account.limit());
  reply.set_uptime_seconds(
      std::chrono::duration<double>(WorkerSession::Clock::now() - begin_).count());
  reply.set_bytes_in_use(context_.account.in_use());
  reply.set_preempted(preempted_);
  reply.set_note(note_);
  const MutexLock lock(mutex_);
  for (const auto& [id, entry] : sessions_) *reply.add_sessions() = entry.session->status();
  return reply;
}

std::vector<std::shared_ptr<WorkerSession>> WorkerService::sessions() const {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  const MutexLock lock(mutex_);
  for (const auto& [id, entry] : sessions_) sessions.push_back(entry.session);
  return sessions;
}

void WorkerService::preempt(const std::string& why, double grace_seconds) {
  preempted_ = true;
  const MutexLock lock(mutex_);
  // A client that does not read keeps its notice waiting, but no other one.
  for (const auto& [id, entry] : sessions_) {
    notices_.emplace_back([session = entry.session, why, grace_seconds] {
      static_cast<void>(status_of([&] { session->notify_preempted(why, grace_seconds); }));
    });
  }
}

void WorkerService::check() {
  const auto now = WorkerSession::Clock::now();
  const auto stall = std::chrono::duration_cast<WorkerSession::Clock::duration>(
      std::chrono::duration<double>(options_.stall_seconds));
  recorder_.check(now, stall);
  const std::chrono::duration<double> to_open(options_.unopened_seconds);
  std::vector<std::shared_ptr<WorkerSession>> sessions;  // some are destroyed, without the lock
  {
    const MutexLock lock(mutex_);
    std::erase_if(sessions_, [&](const auto& item) {
      const Entry& entry = item.second;
      sessions.push_back(entry.session);
      if (!entry.opened && now - entry.made > to_open) entry.session->close();
      return entry.session->check(now, stall) && entry.session->freed();
    });
  }
  limit_memory(sessions, context_.account.in_use(), context_.account.limit());
}

void WorkerService::close_all() {
  std::map<uint64_t, Entry> closed;
  std::vector<std::thread> notices;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, entry] : sessions_) entry.session->close();
    closed.swap(sessions_);
    notices.swap(notices_);
  }
  for (std::thread& notice : notices) notice.join();
}

int64_t WorkerService::num_connected() const {
  const MutexLock lock(mutex_);
  return std::ranges::count_if(
      sessions_, [](const auto& item) { return item.second.session->status().connected(); });
}

std::string clean_name(std::string_view name) {
  return escaped(name.substr(0, kMaxNameBytes), {.ascii = true});
}

}  // namespace systole::worker
