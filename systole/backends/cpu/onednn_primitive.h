// One oneDNN primitive with the copies between our layouts and those that it prefers.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "systole/base/shape.h"

namespace systole::cpu {

// The one CPU engine of the process.
dnnl::engine& onednn_engine();

// nullopt for dtypes that oneDNN does not compute with.
std::optional<dnnl::memory::data_type> onednn_dtype(DType dtype);

// A logical order of axes of a row-major array: dims and strides of `axes` of `shape`, as a memory descriptor.
dnnl::memory::desc onednn_desc(DType dtype, const Shape& shape, std::span<const int64_t> axes);

// While it lives, oneDNN uses this many threads for what this thread creates and executes.
class OnednnThreads {
 public:
  explicit OnednnThreads(int threads);
  ~OnednnThreads();
  OnednnThreads(const OnednnThreads&) = delete;
  OnednnThreads& operator=(const OnednnThreads&) = delete;

 private:
  int previous_;
};

// Executes a primitive on pointers of ours. `execute` may be called from several threads at once: each call takes a
// workspace of its own from a list that grows to the number of threads.
class OnednnPrimitive {
 public:
  struct Operand {
    int argument;               // DNNL_ARG_SRC...
    dnnl::memory::desc ours;    // the layout of the pointer
    dnnl::memory::desc wanted;  // the layout that the primitive was made for
    bool is_output = false;
  };

  OnednnPrimitive(dnnl::primitive primitive, std::vector<Operand> operands, int threads);
  ~OnednnPrimitive();

  // One pointer an operand, in their order.
  void execute(std::span<void* const> pointers);
  int threads() const { return threads_; }

 private:
  struct Workspace;
  std::unique_ptr<Workspace> make_workspace() const;
  std::unique_ptr<Workspace> take_workspace();

  dnnl::primitive primitive_;
  std::vector<Operand> operands_;
  int threads_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace systole::cpu
