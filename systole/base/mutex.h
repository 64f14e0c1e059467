// Locks that Clang's thread-safety analysis knows (-Wthread-safety; `make tidy` runs it). Members
// that a mutex guards say so with SYSTOLE_GUARDED_BY, and functions that need it with
// SYSTOLE_REQUIRES.
//
//   class Counter {
//    public:
//     void add() {
//       const MutexLock lock(mutex_);
//       ++count_;
//     }
//
//    private:
//     Mutex mutex_;
//     int count_ SYSTOLE_GUARDED_BY(mutex_) = 0;
//   };
//
// Other compilers ignore the annotations. Source:
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#ifdef __clang__
#define SYSTOLE_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define SYSTOLE_THREAD_ANNOTATION(attribute)
#endif

// Behind a member: it is read and written with the mutex held.
#define SYSTOLE_GUARDED_BY(mutex) SYSTOLE_THREAD_ANNOTATION(guarded_by(mutex))
// Behind a function, or the parameters of a lambda: callers hold the mutex.
#define SYSTOLE_REQUIRES(...) SYSTOLE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SYSTOLE_REQUIRES_SHARED(...) \
  SYSTOLE_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
// Behind a function that locks in ways that the analysis cannot follow.
#define SYSTOLE_NO_THREAD_SAFETY_ANALYSIS SYSTOLE_THREAD_ANNOTATION(no_thread_safety_analysis)

#define SYSTOLE_CAPABILITY SYSTOLE_THREAD_ANNOTATION(capability("mutex"))
#define SYSTOLE_SCOPED_CAPABILITY SYSTOLE_THREAD_ANNOTATION(scoped_lockable)
#define SYSTOLE_ACQUIRE(...) SYSTOLE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SYSTOLE_ACQUIRE_SHARED(...) \
  SYSTOLE_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define SYSTOLE_RELEASE(...) SYSTOLE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SYSTOLE_RELEASE_SHARED(...) \
  SYSTOLE_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define SYSTOLE_RELEASE_GENERIC(...) \
  SYSTOLE_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define SYSTOLE_TRY_ACQUIRE(...) SYSTOLE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

namespace systole {

// std::mutex.
class SYSTOLE_CAPABILITY Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() SYSTOLE_ACQUIRE() { native_.lock(); }
  void unlock() SYSTOLE_RELEASE() { native_.unlock(); }
  bool try_lock() SYSTOLE_TRY_ACQUIRE(true) { return native_.try_lock(); }

 private:
  friend class MutexLock;
  std::mutex native_;
};

// std::shared_mutex.
class SYSTOLE_CAPABILITY SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() SYSTOLE_ACQUIRE() { native_.lock(); }
  void unlock() SYSTOLE_RELEASE() { native_.unlock(); }
  void lock_shared() SYSTOLE_ACQUIRE_SHARED() { native_.lock_shared(); }
  void unlock_shared() SYSTOLE_RELEASE_SHARED() { native_.unlock_shared(); }

 private:
  std::shared_mutex native_;
};

// Holds a Mutex while it lives, but for the time between unlock() and lock().
class SYSTOLE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SYSTOLE_ACQUIRE(mutex) : lock_(mutex.native_) {}
  ~MutexLock() SYSTOLE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() SYSTOLE_ACQUIRE() { lock_.lock(); }
  void unlock() SYSTOLE_RELEASE() { lock_.unlock(); }
  bool owns_lock() const { return lock_.owns_lock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// Holds a SharedMutex alone while it lives.
class SYSTOLE_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) SYSTOLE_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~WriterLock() SYSTOLE_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Holds a SharedMutex together with other readers while it lives.
class SYSTOLE_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) SYSTOLE_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex.lock_shared();
  }
  ~ReaderLock() SYSTOLE_RELEASE_GENERIC() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// std::condition_variable. Predicates are called with the mutex held: annotate those lambdas that
// read guarded members, `[this]() SYSTOLE_REQUIRES(mutex_) { return done_; }`.
class CondVar {
 public:
  void notify_one() { native_.notify_one(); }
  void notify_all() { native_.notify_all(); }

  void wait(MutexLock& lock) { native_.wait(lock.lock_); }
  template <class Ready>
  void wait(MutexLock& lock, Ready ready) {
    native_.wait(lock.lock_, std::move(ready));
  }
  // Both return what `ready()` returns at the end.
  template <class Duration, class Ready>
  bool wait_for(MutexLock& lock, const Duration& duration, Ready ready) {
    return native_.wait_for(lock.lock_, duration, std::move(ready));
  }
  template <class TimePoint, class Ready>
  bool wait_until(MutexLock& lock, const TimePoint& time, Ready ready) {
    return native_.wait_until(lock.lock_, time, std::move(ready));
  }

 private:
  std::condition_variable native_;
};

}  // namespace systole
