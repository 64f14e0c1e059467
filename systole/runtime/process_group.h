// The processes of a job that train one model together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/runtime/collective.h"

namespace systole::runtime {

class OrderedWork;

// The largest array that sums are joined into. With more, a message of each process to each other
// is larger than what sending one costs. Less lets the exchange of the first gradients begin
// earlier.
inline int64_t max_joined_bytes(int num_processes) {
  constexpr int64_t kMinBytes = int64_t{1} << 20;
  constexpr int64_t kBytesPerProcess = int64_t{32} << 10;
  return std::max(kMinBytes, kBytesPerProcess * num_processes);
}

// The operations that programs and training loops need among processes. Each process has as many
// replicas of a program as the others; replica r of process p is replica p * replicas + r of all.
// Every process calls the same operations in the same order. Calls of several threads of a process
// exclude each other; any other operation waits for sums that were started.
//
// Errors: those of Collective. `on_failure` is called first where another process is gone or does
// not answer.
class ProcessGroup {
 public:
  using OnFailure = std::function<void(const Error&)>;

  // A group of one process.
  ProcessGroup();
  // `steps` is for operations of each step, which wait for a process shortly; `rare` for the start,
  // the end and checkpoints, which may take long on one process.
  ProcessGroup(std::unique_ptr<Collective> steps, std::unique_ptr<Collective> rare,
               OnFailure on_failure);
  ~ProcessGroup();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // How long a process waits for the others.
  enum class Wait : uint8_t { step, rare };

  // One of the arrays that are added up together: `num_lanes` arrays of `count` elements, one
  // after another. Its sum is stored from element `at` of the sums.
  struct SumTerm {
    const void* lanes = nullptr;
    int64_t count = 0;
    int64_t at = 0;
  };
  // Adds up the lanes of each term and those of all other processes, in two calls: start_sums()
  // reads the lanes and returns, finish_sums() waits and stores the `count` sums of all terms.
  // Between them a thread of the group exchanges `workspace`, sum_rows() x `count` elements that
  // the caller leaves alone; `sums` may be its first row. Elements are added in pairs of replicas
  // (reduce_in_pairs), so that a sum depends on the number of all replicas only, and neither on how
  // processes share them nor on the other terms. It costs a process the traffic of one row if
  // sum_rows() is 1, and that of all its lanes otherwise.
  void start_sums(DType dtype, std::span<const SumTerm> terms, int64_t num_lanes, int64_t count,
                  void* workspace);
  void finish_sums(DType dtype, int64_t num_lanes, int64_t count, void* workspace, void* sums);
  // Returns 1 if the number of lanes is a power of two and the elements have 32 bits or more, or if
  // there are no other processes; otherwise the number of all replicas.
  int64_t sum_rows(DType dtype, int64_t num_lanes) const;
  // Waits for sums that were started, whose results nobody wants.
  void drop_sums();
  // The bytes of all processes, by rank.
  void gather_bytes(const void* own, int64_t bytes, void* all);
  // Replaces each number by the least of all processes.
  void reduce_min(std::span<int64_t> numbers, Wait wait = Wait::step);
  int64_t sum_of(int64_t number, Wait wait = Wait::step);
  // The value of rank 0.
  void broadcast(Tensor& value);
  std::string broadcast(const std::string& bytes);
  // The texts of all processes, by rank.
  std::vector<std::string> gather(const std::string& text);
  void barrier();

 private:
  // Runs `work` after the sums that were started.
  template <class Work>
  void guarded(Wait wait, Work&& work);
  template <class Work>
  void exchange(Wait wait, Work&& work);

  int rank_ = 0;
  int size_ = 1;
  Mutex mutex_;
  std::unique_ptr<Collective> steps_ SYSTOLE_GUARDED_BY(mutex_);
  std::unique_ptr<Collective> rare_ SYSTOLE_GUARDED_BY(mutex_);
  OnFailure on_failure_ SYSTOLE_GUARDED_BY(mutex_);
  std::unique_ptr<OrderedWork> sums_;  // the exchanges of started sums, by workspace; last: it uses
                                       // the others
};

// The group of all processes that mpirun or srun has started together, also for a job of one; null
// for a process without a launcher. With SYSTOLE_MPI=1 a process without a launcher is a job of
// one; with SYSTOLE_MPI=0 there is no group. A process waits in a step for
// SYSTOLE_MPI_TIMEOUT_SECS (20), and ten minutes otherwise for one that is heard of at least every
// SYSTOLE_MPI_TIMEOUT_SECS. If another process is gone or does not answer, the error is logged and
// the job ends with kRestartExitCode (mpi_collective.h). The first
// call is made by all processes. Errors: those of make_mpi_collective(); INVALID_ARGUMENT for a
// timeout that is no positive number. Thread-safe.
ProcessGroup* process_group();

}  // namespace systole::runtime
