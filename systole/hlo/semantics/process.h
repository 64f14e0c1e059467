// The processes that run a program in parallel, and how collective ops meet in the evaluator.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// A grid of replicas by partitions. Process number replica_id * num_partitions + partition_id runs
// at each of its places.
struct ProcessGrid {
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;

  int64_t size() const { return num_replicas * num_partitions; }
};

// Where processes wait for each other. Thread-safe. Once one of them fails, or waits for others
// that will never come, all that wait or come later fail: nothing hangs.
class Rendezvous {
 public:
  explicit Rendezvous(int64_t num_processes) : num_processes_(num_processes) {}

  // Gives `tensors` to the processes of `group` and returns what each of them gave, in the order of
  // the group. Returns when all of them are at `instruction`, which must be one and the same.
  // Errors: FAILED_PRECONDITION when they disagree or wait in vain; the error of a process that
  // failed.
  std::vector<std::vector<Tensor>> exchange(const Instruction& instruction,
                                            std::span<const int64_t> group, int64_t process,
                                            std::vector<Tensor> tensors);

  // A process has ended, or has ended with an error.
  void finish();
  void fail(const Error& error);

  // The error that came first; nullopt when all went well.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  struct Meeting {
    const Instruction* instruction = nullptr;
    std::vector<std::vector<Tensor>> given;
    size_t arrived = 0;
  };

  void fail_locked(const Error& error);
  void check_progress();

  const int64_t num_processes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<int64_t>, std::shared_ptr<Meeting>> meetings_;  // by group
  int64_t num_waiting_ = 0;
  int64_t num_finished_ = 0;
  std::optional<Error> failure_;
};

// One process: what an op may know of where it runs. Used by one thread.
class Process {
 public:
  // Alone.
  Process() = default;
  // `rendezvous` is shared by all processes of the grid and outlives them.
  Process(ProcessGrid grid, int64_t number, Rendezvous& rendezvous)
      : grid_(grid), number_(number), rendezvous_(&rendezvous) {}

  const ProcessGrid& grid() const { return grid_; }
  int64_t number() const { return number_; }
  int64_t replica_id() const { return number_ / grid_.num_partitions; }
  int64_t partition_id() const { return number_ % grid_.num_partitions; }

  // Rendezvous::exchange with the other processes of `group`, of which this is one.
  std::vector<std::vector<Tensor>> exchange(const Instruction& instruction,
                                            std::span<const int64_t> group,
                                            std::vector<Tensor> tensors);

  // A number that no other call of this process gets: the hidden state of `rng`.
  uint64_t next_random_run() { return random_runs_++; }

 private:
  ProcessGrid grid_;
  int64_t number_ = 0;
  Rendezvous* rendezvous_ = nullptr;
  uint64_t random_runs_ = 0;
};

}  // namespace systole::hlo
