// The processes that run a program in parallel, and the exchange between them in the evaluator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// A grid of replicas by partitions. Its processes are numbered replica_id * num_partitions +
// partition_id.
struct ProcessGrid {
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;

  int64_t size() const { return num_replicas * num_partitions; }
};

// Synchronises the processes of a grid. Thread-safe. Once a process fails, or waits for processes
// that will not come, all waiting and later calls fail; nothing hangs.
class Rendezvous {
 public:
  explicit Rendezvous(int64_t num_processes) : num_processes_(num_processes) {}

  // Sends `tensors` to the processes of `group` and returns what each of them sent, in group order.
  // Blocks until all of them are at `instruction`, which must be the same for all. Errors:
  // FAILED_PRECONDITION if they disagree or cannot all arrive; the error of a process that failed.
  std::vector<std::vector<Tensor>> exchange(const Instruction& instruction,
                                            std::span<const int64_t> group, int64_t process,
                                            std::vector<Tensor> tensors);

  // Called when a process ends, with or without an error.
  void finish();
  void fail(const Error& error);

  // The first error; nullopt if there was none.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  struct Meeting {
    const Instruction* instruction = nullptr;
    std::vector<std::vector<Tensor>> given;
    size_t arrived = 0;
  };

  void fail_locked(const Error& error) SYSTOLE_REQUIRES(mutex_);
  void check_progress() SYSTOLE_REQUIRES(mutex_);

  const int64_t num_processes_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::vector<int64_t>, std::shared_ptr<Meeting>> meetings_
      SYSTOLE_GUARDED_BY(mutex_);  // by group
  int64_t num_waiting_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  int64_t num_finished_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  std::optional<Error> failure_ SYSTOLE_GUARDED_BY(mutex_);
};

// One process of the grid. Not thread-safe.
class Process {
 public:
  // The only process of its grid.
  Process() = default;
  // All processes of the grid share `rendezvous`, which must outlive them.
  Process(ProcessGrid grid, int64_t number, Rendezvous& rendezvous)
      : grid_(grid), number_(number), rendezvous_(&rendezvous) {}

  const ProcessGrid& grid() const { return grid_; }
  int64_t number() const { return number_; }
  int64_t replica_id() const { return number_ / grid_.num_partitions; }
  int64_t partition_id() const { return number_ % grid_.num_partitions; }

  // Rendezvous::exchange with `group`, which includes this process.
  std::vector<std::vector<Tensor>> exchange(const Instruction& instruction,
                                            std::span<const int64_t> group,
                                            std::vector<Tensor> tensors);

  // Returns a new number on each call: the hidden state of `rng`.
  uint64_t next_random_run() { return random_runs_++; }

 private:
  ProcessGrid grid_;
  int64_t number_ = 0;
  Rendezvous* rendezvous_ = nullptr;
  uint64_t random_runs_ = 0;
};

}  // namespace systole::hlo
