// A lock that programs on any machine can hold: an object that names its holder. Only conditional
// writes change it, so that one of several writers wins.
//   object  := holder " since " time "\n" id "\n" renewals "\n"
//   holder  := host ":" process           time := "2024-05-01 10:20:30 UTC"
//   id      := 32 hexadecimal digits, random, of this holding
//   renewals:= a number that grows with each renewal, so that the ETag changes
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "systole/base/clock.h"
#include "systole/base/mutex.h"
#include "systole/io/buckets/object_store.h"

namespace systole::buckets {

struct ObjectLockOptions {
  // The holder renews the lock four times in this time. Without a renewal in it, the lock is that
  // of a dead program, and the next one takes it.
  std::chrono::milliseconds lease{60'000};
};

// Holds a lock from construction to destruction and renews it on a thread of its own. No clocks of
// different machines are compared. A holder that stopped for longer than the lease (a suspended
// machine, a network that is down) may find its lock taken: see check(). Thread-safe.
class ObjectLock {
 public:
  // If the object exists, watches it: fails as soon as it is renewed, and takes it over when it was
  // not renewed for the lease. Warns, and locks nothing, if the store ignores conditions. Errors:
  // FAILED_PRECONDITION names the living holder; those of the store. `store` outlives the lock.
  ObjectLock(ObjectStore& store, ObjectName name, const ObjectLockOptions& options = {});
  // Removes the object if it is still this lock's.
  ~ObjectLock();
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

  // Errors: FAILED_PRECONDITION names who has taken the lock over.
  void check() const;

 private:
  struct Seen {
    std::string version;
    std::string text;
  };

  std::string contents() const;
  std::optional<Seen> look() const;
  // Writes the contents under a precondition. Returns nullopt if it does not hold.
  std::optional<std::string> write(const std::string& version) const;
  void acquire();
  // Waits until the lock is free or that of a dead program, whose version it returns ("": free).
  std::string wait_for_end(Seen seen) const;
  bool is_kept();
  void renew();
  void run();

  ObjectStore& store_;
  const ObjectName name_;
  const std::string path_;
  const ObjectLockOptions options_;
  const std::string id_;
  const std::string since_;
  int64_t renewals_ = 0;
  std::string version_;  // of the object as this lock wrote it; "" if it locks nothing

  mutable Mutex mutex_;
  CondVar stop_;
  bool stopping_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::string taken_by_ SYSTOLE_GUARDED_BY(mutex_);  // "" while this lock holds

  std::thread thread_;
};

}  // namespace systole::buckets
