#include "systole/io/buckets/object_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <random>
#include <system_error>

#include "systole/base/environment.h"
#include "systole/base/escape.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/io/buckets/block_cache.h"

namespace systole::buckets {
namespace {

constexpr int kRenewalsPerLease = 4;
constexpr int kLooksPerLease = 12;
constexpr uint64_t kMaxLockBytes = 4096;

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string holder_and_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return fmt::format("{}:{} since {}", host_name(), ::getpid(), time.data());
}

std::string_view line(std::string_view text, int number) {
  for (; number > 0; --number) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// Who holds a lock, for people.
std::string holder_in(std::string_view text) {
  const std::string_view first = line(text, 0);
  return first.empty() ? "another program" : escaped(first.substr(0, 200), {.ascii = true});
}

}  // namespace

ObjectLock::ObjectLock(ObjectStore& store, ObjectName name, const ObjectLockOptions& options)
    : store_(store),
      name_(std::move(name)),
      path_(object_path(store, name_)),
      options_(options),
      id_(random_id()),
      since_(holder_and_time()) {
  acquire();
  if (!is_kept()) {
    log_warning(
        "{}: no lock, as the service ignores conditions of writes; nothing keeps two "
        "programs from writing here",
        path_);
    version_.clear();
    return;
  }
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throw make_error(Code::resource_exhausted, "{}: cannot renew, got no thread ({})", path_,
                     error.what());
  }
}

ObjectLock::~ObjectLock() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
  try {
    const auto seen = look();
    if (seen && line(seen->text, 1) == id_) store_.remove(name_);
  } catch (const Error& error) {
    log_debug("{}; the lock ends with its lease", error.message());
  }
}

std::string ObjectLock::contents() const {
  return fmt::format("{}\n{}\n{}\n", since_, id_, renewals_);
}

std::optional<ObjectLock::Seen> ObjectLock::look() const {
  const auto info = store_.find(name_);
  if (!info) return std::nullopt;
  Seen seen{.version = info->version};
  if (info->size == 0) return seen;
  try {
    ObjectBlock block(store_, name_, info->version, 0,
                      static_cast<size_t>(std::min(info->size, kMaxLockBytes)));
    seen.text.assign(block.bytes(), block.size());
  } catch (const Error& error) {
    // It was changed or removed between the two requests.
    if (error.code() != Code::failed_precondition && error.code() != Code::not_found) throw;
  }
  return seen;
}

std::optional<std::string> ObjectLock::write(const std::string& version) const {
  try {
    const auto upload = store_.upload(name_, {.any = false, .version = version}, nullptr);
    upload->write(contents());
    return upload->finish().version;
  } catch (const Error& error) {
    if (error.code() != Code::failed_precondition && error.code() != Code::aborted) throw;
    return std::nullopt;
  }
}

void ObjectLock::acquire() {
  while (true) {
    const auto seen = look();
    const std::string before = seen ? wait_for_end(*seen) : "";
    if (const auto written = write(before)) {
      if (!before.empty()) {
        log_warning("{}: took over the lock of {}, which has not renewed it for {} s", path_,
                    holder_in(seen->text), options_.lease.count() / 1000);
      }
      version_ = *written;
      return;
    }
    // Another program was faster.
  }
}

std::string ObjectLock::wait_for_end(Seen seen) const {
  Clock& clock = real_clock();
  log_info("{}: locked by {}; looking whether it is alive, for at most {} s", path_,
           holder_in(seen.text), options_.lease.count() / 1000);
  const auto begin = clock.steady_now();
  while (clock.steady_now() - begin < options_.lease) {
    clock.sleep(options_.lease / kLooksPerLease);
    const auto now = look();
    if (!now) return "";
    if (now->version != seen.version) {
      throw failed_precondition("{}: in use by {}", path_,
                                holder_in(now->text.empty() ? seen.text : now->text));
    }
  }
  return seen.version;
}

// Creates the object once more, with other contents, which must fail.
bool ObjectLock::is_kept() {
  ++renewals_;
  return !write("").has_value();
}

void ObjectLock::renew() {
  ++renewals_;
  if (const auto written = write(version_)) {
    version_ = *written;
    return;
  }
  // An earlier renewal may have happened though its answer was lost.
  const auto seen = look();
  if (seen && line(seen->text, 1) == id_) {
    version_ = seen->version;
    return;
  }
  const MutexLock lock(mutex_);
  taken_by_ = seen ? holder_in(seen->text) : "a program that removed it";
  log_error("{}: the lock was taken by {}", path_, taken_by_);
}

void ObjectLock::run() {
  MutexLock lock(mutex_);
  while (taken_by_.empty()) {
    stop_.wait_for(lock, options_.lease / kRenewalsPerLease,
                   [&]() SYSTOLE_REQUIRES(mutex_) { return stopping_; });
    if (stopping_) return;
    lock.unlock();
    try {
      renew();
    } catch (const Error& error) {
      log_warning("{}; the lock is renewed again later", error.message());
    }
    lock.lock();
  }
}

void ObjectLock::check() const {
  const MutexLock lock(mutex_);
  if (taken_by_.empty()) return;
  throw failed_precondition("{}: the lock was lost to {}, expected it to be held by {}", path_,
                            taken_by_, since_);
}

}  // namespace systole::buckets
