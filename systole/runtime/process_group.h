// The processes of a job that train one model together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "systole/base/error.h"
#include "systole/runtime/collective.h"

namespace systole::runtime {

// The operations that programs and training loops need among processes. Each process has as many
// replicas of a program as the others; replica r of process p is replica p * replicas + r of all.
// Every process calls the same operations in the same order. Calls of several threads of a process
// exclude each other.
//
// Errors: those of Collective. `on_failure` is called first where another process is gone or does
// not answer.
class ProcessGroup {
 public:
  using OnFailure = std::function<void(const Error&)>;

  // A group of one process.
  ProcessGroup() = default;
  // `steps` is for operations of each step, which wait for a process shortly; `rare` for the start,
  // the end and checkpoints, which may take long on one process.
  ProcessGroup(std::unique_ptr<Collective> steps, std::unique_ptr<Collective> rare,
               OnFailure on_failure);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // How long a process waits for the others.
  enum class Wait : uint8_t { step, rare };

  // Adds up `num_lanes` arrays of `count` elements, one behind another, and those of all other
  // processes. Elements are added in pairs of replicas (reduce_in_pairs), so that the sum depends
  // on the number of all replicas only, and not on how processes share them. It costs a process the
  // traffic of one array if its number of replicas is a power of two and the elements have 32 bits
  // or more, and of all its arrays otherwise.
  void sum_replicas(DType dtype, const void* lanes, int64_t num_lanes, int64_t count, void* sum);
  // The bytes of all processes, by rank.
  void gather_bytes(const void* own, int64_t bytes, void* all);
  // Replaces each number by the least of all processes.
  void take_least(std::span<int64_t> numbers, Wait wait = Wait::step);
  int64_t sum_of(int64_t number, Wait wait = Wait::step);
  // The value of rank 0.
  void broadcast(Tensor& value);
  std::string broadcast(const std::string& bytes);
  // The texts of all processes, by rank.
  std::vector<std::string> gather(const std::string& text);
  void barrier();

 private:
  template <class Work>
  void guarded(Wait wait, Work&& work);

  int rank_ = 0;
  int size_ = 1;
  std::mutex mutex_;
  std::unique_ptr<Collective> steps_;
  std::unique_ptr<Collective> rare_;
  OnFailure on_failure_;
};

// The group of all processes that mpirun or srun has started together, also for a job of one; null
// for a process without a launcher. With SYSTOLE_MPI=1 a process without a launcher is a job of
// one; with SYSTOLE_MPI=0 there is no group. A process waits in a step for
// SYSTOLE_MPI_TIMEOUT_SECS (20), and ten minutes otherwise. If another process is gone or does not
// answer, the error is logged and the job ends with kRestartExitCode (mpi_collective.h). The first
// call is made by all processes. Errors: those of make_mpi_collective(); INVALID_ARGUMENT for a
// timeout that is no positive number. Thread-safe.
ProcessGroup* process_group();

}  // namespace systole::runtime
