// An operation of oneDNN that the threads of the pool share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/backends/cpu/kernels/scratch_cache.h"

namespace systole::cpu {

// The address of an operand: `offset` bytes from the start of the kernel's buffer number `buffer`,
// or of the kernel's scratch memory.
struct PartOperand {
  static constexpr int kScratch = -1;
  int buffer = kScratch;
  int64_t offset = 0;
};

// A call on one thread. Several parts may have one call.
struct OnednnPart {
  std::shared_ptr<const OnednnCall> call;
  std::vector<PartOperand> operands;  // in the order of the call's
};

// Arrays of f32 that lie one behind the other from `first` on, and become one array of their sums.
struct PartialSums {
  PartOperand first;
  PartOperand result;  // may be `first`
  int64_t count = 0;   // of arrays
  int64_t elements = 0;
};

// What a kernel does, in this order. The parts of one list are independent of each other.
struct OnednnWork {
  std::vector<OnednnPart> before;  // copies of operands that all parts read
  std::vector<OnednnPart> parts;
  std::optional<PartialSums> sums;
  std::vector<OnednnPart> after;  // copies of the sums
  int64_t scratch_bytes = 0;
  // The buffer that all of `before` reads, where the scratch memory holds nothing else than what
  // `before` makes of it: it is kept while the buffer stays the same.
  std::optional<int> kept_operand = std::nullopt;
};

// With `otherwise`, which computes the same bits, the work is done only where the copy of the kept
// operand is.
std::unique_ptr<Kernel> make_parts_kernel(OnednnWork work, int num_threads,
                                          std::unique_ptr<Kernel> otherwise = nullptr);

// Returns the calls that copy an array from the layout `from` to the layout `to`, in independent
// pieces along the first axis. Both have the same sizes; the element types may differ.
std::vector<OnednnPart> copy_parts(const dnnl::memory::desc& from, PartOperand source,
                                   const dnnl::memory::desc& to, PartOperand target,
                                   int num_threads);

// The fewest floating-point operations of a part. Waking a thread costs microseconds, and more
// where the machine is busy.
inline constexpr double kMinOperations = 1e6;

// Returns into how many parts so many floating-point operations are split for these threads.
int64_t max_parts(double operations, int num_threads);

}  // namespace systole::cpu
