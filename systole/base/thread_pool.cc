#include "systole/base/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "systole/base/available_cpus.h"
#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_name.h"

namespace systole {
namespace {

constexpr int64_t kChunksPerThread = 4;  // a late or slow thread then delays a call little
constexpr int kSlots = 32;               // calls that can share threads at once; more run in place
constexpr auto kSpinTime = std::chrono::microseconds(50);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns whether `done()` became true while spinning.
template <class Done>
bool spin_until(bool may_spin, Done&& done) {
  if (done()) return true;
  if (!may_spin) return false;
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// The chunks of [0, n).
struct Chunks {
  Chunks(int64_t total, int64_t grain, int num_threads) : n(total) {
    const int64_t wanted = num_threads == 1 ? 1 : num_threads * kChunksPerThread;
    size = std::max({grain, n / wanted + (n % wanted != 0 ? 1 : 0), int64_t{1}});
    count = n / size + (n % size != 0 ? 1 : 0);
  }
  int64_t begin(int64_t chunk) const { return chunk * size; }
  int64_t end(int64_t chunk) const { return chunk == count - 1 ? n : (chunk + 1) * size; }

  int64_t n;
  int64_t size;
  int64_t count;
};

// One call of parallel_for. Slots live as long as the pool: a worker that is late may look at a
// slot whose call has returned, and finds it closed.
//
// The owner writes the plain fields while the slot is closed and no helper is counted in; a helper
// reads them only between counting itself in, seeing the slot open, and counting itself out.
struct alignas(128) Slot {
  std::atomic<bool> taken{
      false};  // by an owner, from before it opens until after it has collected the error
  std::atomic<bool> open{false};
  Chunks chunks{0, 1, 1};
  ThreadPool::RangeFn fn = nullptr;
  void* context = nullptr;

  Mutex error_mutex;
  std::exception_ptr error;
  int64_t error_chunk = std::numeric_limits<int64_t>::max();

  alignas(128) std::atomic<int64_t> next_chunk{0};
  alignas(128) std::atomic<int> helpers{0};

  void work();
  bool help();
};

void Slot::work() {
  for (;;) {
    const int64_t chunk = next_chunk.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks.count) return;
    try {
      fn(context, chunks.begin(chunk), chunks.end(chunk));
    } catch (...) {
      const MutexLock lock(error_mutex);
      if (chunk < error_chunk) {
        error_chunk = chunk;
        error = std::current_exception();
      }
    }
  }
}

// Returns whether there was a call to help with.
bool Slot::help() {
  if (!open.load(std::memory_order_relaxed)) return false;
  // Sequentially consistent with the owner's "close, then count helpers": either the owner sees
  // this helper, or this helper sees the slot closed.
  helpers.fetch_add(1, std::memory_order_seq_cst);
  const bool useful = open.load(std::memory_order_seq_cst) &&
                      next_chunk.load(std::memory_order_relaxed) < chunks.count;
  if (useful) work();
  if (helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) helpers.notify_all();
  return useful;
}

}  // namespace

struct ThreadPool::Impl {
  explicit Impl(int threads);
  ~Impl();

  void start_workers();
  void stop_workers();
  void run_worker();
  bool help_any();
  void wake(int64_t count);
  Slot* take_slot();
  void run_shared(Slot& slot, const Chunks& chunks, RangeFn fn, void* context);

  int num_threads;
  bool may_spin;  // not when threads would spin on a CPU that another needs
  std::array<Slot, kSlots> slots;
  alignas(128) std::atomic<int> epoch{0};  // goes up when a slot opens
  alignas(128) std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
};

ThreadPool::Impl::Impl(int threads) : num_threads(threads), may_spin(threads <= available_cpus()) {
  try {
    start_workers();
  } catch (const std::system_error& error) {
    stop_workers();
    throw make_error(Code::resource_exhausted, "ThreadPool: threads, got {}, expected {}: {}",
                     workers.size() + 1, num_threads, error.what());
  } catch (...) {
    stop_workers();
    throw;
  }
}

ThreadPool::Impl::~Impl() { stop_workers(); }

void ThreadPool::Impl::start_workers() {
  for (int i = 1; i < num_threads; ++i) {
    workers.emplace_back([this] {
      name_thread("pool");
      run_worker();
    });
  }
}

void ThreadPool::Impl::stop_workers() {
  stop.store(true);
  epoch.fetch_add(1);
  epoch.notify_all();
  for (std::thread& worker : workers) worker.join();
}

bool ThreadPool::Impl::help_any() {
  bool helped = false;
  for (Slot& slot : slots) helped |= slot.help();
  return helped;
}

void ThreadPool::Impl::run_worker() {
  for (;;) {
    const int seen = epoch.load(std::memory_order_acquire);
    // Read after the epoch: the destructor sets `stop` before it raises the epoch, so a worker that
    // misses it here does not sleep on the new epoch.
    if (stop.load(std::memory_order_relaxed)) return;
    if (help_any()) continue;
    const auto changed = [&] { return epoch.load(std::memory_order_acquire) != seen; };
    if (spin_until(may_spin, changed)) continue;
    // Counted before the epoch is read again, so that an owner either sees the sleeper or is seen
    // by it.
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    epoch.wait(seen, std::memory_order_seq_cst);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

void ThreadPool::Impl::wake(int64_t count) {
  epoch.fetch_add(1, std::memory_order_seq_cst);
  const int64_t asleep = sleepers.load(std::memory_order_seq_cst);
  if (asleep == 0) return;
  if (count >= asleep) {
    epoch.notify_all();
  } else {
    for (int64_t i = 0; i < count; ++i) epoch.notify_one();
  }
}

Slot* ThreadPool::Impl::take_slot() {
  for (Slot& slot : slots) {
    if (!slot.taken.load(std::memory_order_relaxed) &&
        !slot.taken.exchange(true, std::memory_order_acquire)) {
      return &slot;
    }
  }
  return nullptr;
}

void ThreadPool::Impl::run_shared(Slot& slot, const Chunks& chunks, RangeFn fn, void* context) {
  slot.chunks = chunks;
  slot.fn = fn;
  slot.context = context;
  slot.next_chunk.store(0, std::memory_order_relaxed);
  slot.open.store(true, std::memory_order_release);
  wake(chunks.count - 1);
  slot.work();
  slot.open.store(false, std::memory_order_seq_cst);
  const auto alone = [&] { return slot.helpers.load(std::memory_order_seq_cst) == 0; };
  if (!spin_until(may_spin, alone)) {
    for (int helpers = slot.helpers.load(); helpers != 0; helpers = slot.helpers.load()) {
      slot.helpers.wait(helpers);
    }
  }
}

ThreadPool::ThreadPool(int num_threads)
    : impl_(std::make_unique<Impl>(num_threads > 0 ? num_threads : available_cpus())) {}

ThreadPool::~ThreadPool() = default;

int ThreadPool::num_threads() const { return impl_->num_threads; }

void ThreadPool::parallel_for(int64_t n, int64_t grain, RangeFn fn, void* context) {
  if (n <= 0) return;
  const Chunks chunks(n, grain, impl_->num_threads);
  if (chunks.count == 1) return fn(context, 0, n);

  Slot* shared = impl_->take_slot();
  if (shared == nullptr) {
    Slot own;
    own.chunks = chunks;
    own.fn = fn;
    own.context = context;
    own.work();
    if (own.error) std::rethrow_exception(own.error);
    return;
  }
  impl_->run_shared(*shared, chunks, fn, context);
  const std::exception_ptr error = std::exchange(shared->error, nullptr);
  shared->error_chunk = std::numeric_limits<int64_t>::max();
  shared->taken.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

ThreadPool& ThreadPool::global() {
  static ThreadPool* const pool = new ThreadPool();  // never destroyed: others may use it at exit
  return *pool;
}

}  // namespace systole
