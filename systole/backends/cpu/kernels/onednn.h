// What the oneDNN kernels share.
#pragma once

#include <atomic>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "systole/base/dtype.h"
#include "systole/base/shape.h"

namespace systole::cpu {

const dnnl::engine& onednn_engine();
// nullopt when oneDNN has no such type.
std::optional<dnnl::memory::data_type> onednn_type(DType dtype);
// Whether the host has instructions for dots of bf16; oneDNN emulates what it lacks.
bool host_multiplies_bf16();
// Every primitive is made with these: its scratch memory is the caller's, because the library's own
// belongs to the thread that made the primitive.
dnnl::primitive_attr onednn_attributes();
// What `make` returns; its errors become systole::Error INTERNAL, that there is no implementation
// nullopt.
std::optional<dnnl::primitive> try_make(const std::function<dnnl::primitive()>& make);

// A primitive with the memory objects that it is called with, and the copies between our layouts
// and those that it prefers. A call points the objects at the caller's memory; a second call at the
// same time makes objects of its own. Errors of the library: INTERNAL with its message.
class OnednnCall {
 public:
  struct Operand {
    int argument;                    // DNNL_ARG_SRC...
    dnnl::memory::desc layout;       // of the caller's memory
    dnnl::memory::desc wanted = {};  // the primitive's, where it is another
    bool is_output = false;

    bool copied() const { return wanted.data.ndims != 0 && !(wanted == layout); }
  };
  OnednnCall(dnnl::primitive primitive, std::vector<Operand> operands, int num_threads);
  ~OnednnCall();
  OnednnCall(const OnednnCall&) = delete;

  // Pointers in the order of the operands.
  void run(std::span<void* const> pointers) const;

 private:
  struct Frame;
  std::unique_ptr<Frame> make_frame() const;

  dnnl::primitive primitive_;
  std::vector<Operand> operands_;
  int num_threads_;
  mutable std::atomic<Frame*> idle_ = nullptr;
};

}  // namespace systole::cpu
