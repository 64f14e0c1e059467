#include "systole/worker/network/connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/worker/network/listener.h"

namespace systole::worker {
namespace {

constexpr int kFirstBuffer = 128 << 10;  // from there the kernel adapts it
constexpr auto kReportEvery = std::chrono::seconds(10);
constexpr auto kResetPeriod = std::chrono::seconds(10);

}  // namespace

Connection::~Connection() { ::close(descriptor_); }

void Connection::shut_down() {
  shut_down_ = true;
  ::shutdown(descriptor_, SHUT_RDWR);
}

int64_t Connection::received_bytes() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return static_cast<int64_t>(info.tcpi_bytes_received);
}

void Connection::widen() const {
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &kFirstBuffer, sizeof kFirstBuffer);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_WINDOW_CLAMP, &kFirstBuffer, sizeof kFirstBuffer);
  const int unlocked = 0;
  ::setsockopt(descriptor_, SOL_SOCKET, kBufferLock, &unlocked, sizeof unlocked);
}

int64_t Connection::waiting_bytes() const {
  int bytes = 0;
  return ::ioctl(descriptor_, FIONREAD, &bytes) == 0 ? bytes : 0;
}

bool Connection::has_descriptor(int other) const {
  struct stat own {};
  struct stat others {};
  return ::fstat(descriptor_, &own) == 0 && ::fstat(other, &others) == 0 &&
         own.st_dev == others.st_dev && own.st_ino == others.st_ino;
}

std::shared_ptr<Connection> Connections::stranger_to_evict() const {
  std::map<std::array<uint8_t, 16>, int64_t> counts;
  int64_t most = 0;
  for (const auto& [number, stranger] : strangers_) {
    most = std::max(most, ++counts[stranger->peer().address]);
  }
  for (const auto& [number, stranger] : strangers_) {
    if (counts[stranger->peer().address] == most) return stranger;
  }
  return nullptr;
}

void Connections::take_out(const Connection& connection) {
  const auto it = all_.find(connection.peer());
  if (it != all_.end() && it->second->number() == connection.number()) all_.erase(it);
  strangers_.erase(connection.number());
  known_.erase(connection.number());
}

std::shared_ptr<Connection> Connections::add(int descriptor, const Peer& peer) {
  std::shared_ptr<Connection> replaced;  // destroyed without the lock
  const MutexLock lock(mutex_);
  if (static_cast<int64_t>(strangers_.size()) >= limits_.max_strangers) {
    replaced = stranger_to_evict();
    replaced->shut_down();
    take_out(*replaced);
    ++shut_down_;
  }
  auto added = insert(descriptor, peer);
  strangers_[added->number()] = added;
  return added;
}

std::shared_ptr<Connection> Connections::add_own(int descriptor, const Peer& peer) {
  const MutexLock lock(mutex_);
  auto added = insert(descriptor, peer);
  added->known_ = true;
  return added;
}

std::shared_ptr<Connection> Connections::insert(int descriptor, const Peer& peer) {
  auto added = std::make_shared<Connection>(descriptor, peer, next_number_++);
  // The kernel has closed an older connection of the same peer.
  if (const auto it = all_.find(peer); it != all_.end()) {
    const std::shared_ptr<Connection> old = it->second;
    old->shut_down();
    take_out(*old);
  }
  all_[peer] = added;
  return added;
}

std::shared_ptr<Connection> Connections::find(const Peer& peer) const {
  const MutexLock lock(mutex_);
  const auto it = all_.find(peer);
  return it == all_.end() ? nullptr : it->second;
}

void Connections::remove(const Connection& connection) {
  const MutexLock lock(mutex_);
  take_out(connection);
}

void Connections::admit(Connection& connection) {
  if (make_known(connection)) return;
  throw make_error(Code::resource_exhausted, "worker: connections, got one too many");
}

bool Connections::make_known(Connection& connection) {
  if (connection.known_) return true;
  const MutexLock lock(mutex_);
  if (connection.known_) return true;
  const auto it = strangers_.find(connection.number());
  if (it == strangers_.end()) return false;  // it was shut down
  if (static_cast<int64_t>(known_.size()) >= limits_.max_known) {
    const auto now = Connection::Clock::now();
    const std::chrono::duration<double> enough(limits_.idle_seconds);
    const auto idle = std::ranges::find_if(known_, [&](const auto& entry) {
      return entry.second->calls_ == 0 && now - entry.second->idle_since_.load() >= enough;
    });
    if (idle == known_.end()) {
      connection.shut_down();
      ++shut_down_;
      return false;
    }
    const std::shared_ptr<Connection> dropped = idle->second;
    dropped->shut_down();
    take_out(*dropped);
  }
  connection.known_ = true;
  connection.widen();
  known_.insert(strangers_.extract(it));
  return true;
}

void Connections::count_refusal(Connection& connection) const {
  if (++connection.refusals_ >= limits_.max_refusals) connection.shut_down();
}

void Connections::count_call(Connection& connection) const {
  if (connection.call_began() > limits_.max_calls) connection.shut_down();
}

void Connections::count_reset(Connection& connection) const {
  if (++connection.resets_ >= limits_.max_resets) connection.shut_down();
}

void Connections::check_bytes(Connection& stranger) {
  if (stranger.known() || stranger.received_bytes() <= limits_.stranger_bytes) return;
  stranger.shut_down();
  const MutexLock lock(mutex_);
  ++shut_down_;
}

void Connections::check(Connection::Clock::time_point now) {
  const auto allowed = std::chrono::duration<double>(limits_.stranger_seconds);
  std::vector<std::shared_ptr<Connection>> dropped;  // destroyed without the lock
  const MutexLock lock(mutex_);
  for (const auto& [number, stranger] : strangers_) {
    if (now - stranger->begin_ > allowed || stranger->received_bytes() > limits_.stranger_bytes) {
      dropped.push_back(stranger);
    }
  }
  for (const auto& stranger : dropped) {
    stranger->shut_down();
    take_out(*stranger);
    ++shut_down_;
  }
  if (now - period_began_ > kResetPeriod) {
    period_began_ = now;
    for (const auto& [peer, connection] : all_) connection->resets_ = 0;
  }
  report(now);
}

void Connections::report(Connection::Clock::time_point now) {
  if (shut_down_ == 0 || now - reported_ < kReportEvery) return;
  log_warning("worker: {} connections did not show the token in time or made room; shut down",
              shut_down_);
  shut_down_ = 0;
  reported_ = now;
}

bool Connections::evict_stranger() {
  const MutexLock lock(mutex_);
  const auto evicted = stranger_to_evict();
  if (evicted == nullptr) return false;
  evicted->shut_down();
  take_out(*evicted);
  ++shut_down_;
  return true;
}

void Connections::shut_down_all() {
  const MutexLock lock(mutex_);
  for (const auto& [peer, connection] : all_) connection->shut_down();
}

int64_t Connections::num_strangers() const {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(strangers_.size());
}

int64_t Connections::num_known() const {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(known_.size());
}

}  // namespace systole::worker
