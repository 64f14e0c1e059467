// Calls of oneDNN primitives.
#pragma once

#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/base/dtype.h"
#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/base/shape.h"

namespace systole::cpu {

const dnnl::engine& onednn_engine();
// Returns nullopt if oneDNN has no such type.
std::optional<dnnl::memory::data_type> onednn_type(DType dtype);
// Returns whether the host has instructions for bf16 products. oneDNN emulates missing ones.
bool host_multiplies_bf16();
// Returns whether the host has instructions for 8-bit products (VNNI). Without them oneDNN adds
// pairs of products in 16 bits, which may saturate, and halves the elements of kernels.
bool host_multiplies_s8();
// Attributes of every primitive: the caller provides scratch memory. The library's own scratch
// memory belongs to the thread that created the primitive.
dnnl::primitive_attr onednn_attributes();
// Returns oneDNN's error as ours: RESOURCE_EXHAUSTED if memory was missing, else INTERNAL.
Error error_of_onednn(const dnnl::error& error);
// Goes on to the next implementation while that of a primitive's description is one of oneDNN's
// "brgemm" ones, if there is another. Those take dense arrays alone: where parts of an operation
// have gaps between rows, oneDNN computes parts and whole by different code, and sums that depend
// on the number of threads.
template <class Description>
void avoid_brgemm(Description& description) {
  const auto is = [&](std::string_view part) {
    return std::string_view(description.impl_info_str()).find(part) != std::string_view::npos;
  };
  Description first = description;
  while (is("brg")) {
    if (!description.next_impl() || is("ref")) {
      description = first;
      return;
    }
  }
}

// Returns the result of `make`, or nullopt if oneDNN has no implementation. Errors:
// error_of_onednn().
std::optional<dnnl::primitive> try_make(const std::function<dnnl::primitive()>& make);

// Limits oneDNN to the calling thread while this object lives: primitives that are created or
// executed on this thread use no other. The destructor restores the thread's OpenMP thread count.
// oneDNN's own threads are OpenMP's, which spin while they wait and take processor time from other
// processes. Several threads share a primitive's work by onednn_parts.h instead.
class OnOneThread {
 public:
  OnOneThread();
  ~OnOneThread();
  OnOneThread(const OnOneThread&) = delete;

 private:
  int before_;
};

// A primitive for one thread, its memory objects, and the copies between the caller's layouts and
// those that the primitive prefers. Concurrent calls use separate memory objects. Errors:
// error_of_onednn().
class OnednnCall {
 public:
  struct Operand {
    int argument;                    // DNNL_ARG_SRC...
    dnnl::memory::desc layout;       // of the caller's memory
    dnnl::memory::desc wanted = {};  // the primitive's, if different
    bool is_output = false;

    bool copied() const { return rank_of(wanted) != 0 && !(wanted == layout); }
  };
  // REQUIRES: OnOneThread lives, and lived when the primitive was created.
  OnednnCall(dnnl::primitive primitive, std::vector<Operand> operands);
  ~OnednnCall();
  OnednnCall(const OnednnCall&) = delete;

  // Makes the memory objects of so many concurrent calls, so that those allocate nothing.
  void prepare(int concurrent_calls) const;

  // Takes one pointer per operand, in order. Thread-safe.
  void run(std::span<void* const> pointers) const;

 private:
  struct Frame;
  std::unique_ptr<Frame> make_frame() const;
  std::unique_ptr<Frame> take_frame() const;

  dnnl::primitive primitive_;
  std::vector<Operand> operands_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> idle_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::cpu
