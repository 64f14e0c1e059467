#include "systole/runtime/mpi_heartbeat.h"

#include <utility>

#include "systole/base/mutex.h"

namespace systole::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kBeatTag = 1;
constexpr int32_t kLeaveTag = 2;
constexpr int kBeatsInTimeout = 10;
constexpr size_t kMaxUnsent = 100;  // messages to a rank that takes none

int next_of(const MpiJob& job) { return (job.rank + 1) % job.size; }
int previous_of(const MpiJob& job) { return (job.rank + job.size - 1) % job.size; }

}  // namespace

MpiHeartbeat::MpiHeartbeat(std::chrono::milliseconds timeout, OnLoss on_loss)
    : job_(mpi_job()),
      mpi_(*job_.functions),
      timeout_(timeout),
      on_loss_(std::move(on_loss)),
      heard_(Clock::now()) {
  const MutexLock lock(mpi_mutex());
  check_mpi(mpi_.open_group(&group_), "MPI_Comm_dup");
  check_mpi(mpi_.receive(group_, nullptr, 0, previous_of(job_), kBeatTag, &beat_), "MPI_Irecv");
  check_mpi(mpi_.receive(group_, nullptr, 0, previous_of(job_), kLeaveTag, &leave_), "MPI_Irecv");
  thread_ = std::thread([this] { run(); });
}

MpiHeartbeat::~MpiHeartbeat() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
  const MutexLock lock(mpi_mutex());
  void* request = nullptr;  // without bytes: done at once, and MPI ends what is not
  mpi_.send(group_, nullptr, 0, next_of(job_), kLeaveTag, &request);
  if (beat_ != nullptr) mpi_.cancel(&beat_);
  if (leave_ != nullptr) mpi_.cancel(&leave_);
}

void MpiHeartbeat::run() {
  MutexLock lock(mutex_);
  bool all_live = true;
  while (!changed_.wait_for(lock, timeout_ / kBeatsInTimeout,
                            [&]() SYSTOLE_REQUIRES(mutex_) { return ends_; })) {
    lock.unlock();
    try {
      if (all_live) beat();
    } catch (const Error& error) {
      on_loss_(error);
      all_live = false;
    }
    lock.lock();
  }
}

void MpiHeartbeat::beat() {
  const auto is_done = [&](void*& request) {
    int done = 0;
    check_mpi(mpi_.test(&request, &done), "message");
    return done != 0;
  };
  {
    const MutexLock lock(mpi_mutex());
    std::erase_if(sends_, is_done);
    if (sends_.size() < kMaxUnsent) {
      sends_.push_back(nullptr);
      check_mpi(mpi_.send(group_, nullptr, 0, next_of(job_), kBeatTag, &sends_.back()),
                "MPI_Isend");
    }
    while (is_done(beat_)) {
      heard_ = Clock::now();
      check_mpi(mpi_.receive(group_, nullptr, 0, previous_of(job_), kBeatTag, &beat_), "MPI_Irecv");
    }
    if (leave_ != nullptr && is_done(leave_)) leave_ = nullptr;
  }
  const auto silent = Clock::now() - heard_;
  if (leave_ == nullptr || silent < timeout_) return;
  throw make_error(Code::deadline_exceeded,
                   "mpi: rank {} of {} was not heard of for {} ms: it is gone, or does not run",
                   previous_of(job_), job_.size,
                   std::chrono::duration_cast<std::chrono::milliseconds>(silent).count());
}

}  // namespace systole::runtime
