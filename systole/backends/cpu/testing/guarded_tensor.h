// Memory with an end that programs cannot cross unseen.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "systole/base/tensor.h"

namespace systole::cpu::testing {

// A copy of a tensor's elements that ends where pages without access begin, and that begins behind
// such a page by less than a page: a kernel that reads or writes behind its operand ends the
// process, whatever instructions it uses.
class GuardedTensor {
 public:
  explicit GuardedTensor(const Tensor& tensor) : bytes_(static_cast<size_t>(tensor.byte_size())) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    size_ = (bytes_ + page - 1) / page * page + 2 * page;
    void* const memory =
        ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    if (::mprotect(memory_ + page, size_ - 2 * page, PROT_READ | PROT_WRITE) != 0)
      throw std::bad_alloc();
    elements_ = memory_ + size_ - page - bytes_;
    std::memcpy(elements_, tensor.raw(), bytes_);
  }
  ~GuardedTensor() { ::munmap(memory_, size_); }
  GuardedTensor(const GuardedTensor&) = delete;

  void* data() const { return elements_; }
  // Whether the elements are those of the tensor, bit by bit.
  bool same(const Tensor& tensor) const {
    return static_cast<size_t>(tensor.byte_size()) == bytes_ &&
           std::memcmp(elements_, tensor.raw(), bytes_) == 0;
  }

 private:
  size_t bytes_;
  size_t size_ = 0;
  char* memory_ = nullptr;
  char* elements_ = nullptr;
};

}  // namespace systole::cpu::testing
