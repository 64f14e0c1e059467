#include "systole/backends/cpu/kernels/sort.h"

#include <algorithm>
#include <cstring>

namespace systole::cpu {
namespace {

class SortKernel : public Kernel {
 public:
  explicit SortKernel(const hlo::Instruction& sort) {
    const Shape& shape = sort.shape();
    const int axis = normalize_axis("sort", sort.attrs<hlo::SortAttrs>().dimension, shape.rank());
    for (int d = 0; d < shape.rank(); ++d) {
      (d < axis ? outer_ : d > axis ? inner_ : length_) *= shape[d];
    }
    for (const TensorType& type : sort.results())
      sizes_.push_back(static_cast<size_t>(size_of(type.dtype)));
  }

  void run(std::span<void* const> buffers, RunContext&) const override {
    std::vector<int64_t> order(static_cast<size_t>(length_));
    std::vector<std::byte> copy;
    for (int64_t outer = 0; outer < outer_; ++outer) {
      for (int64_t inner = 0; inner < inner_; ++inner) {
        sort_slice(buffers, outer * length_ * inner_ + inner, order, copy);
      }
    }
  }

 private:
  void sort_slice(std::span<void* const> buffers, int64_t first, std::vector<int64_t>& order,
                  std::vector<std::byte>& copy) const {
    const auto compare = reinterpret_cast<Comparator>(buffers[0]);
    const auto element = [&](void* base, size_t k, int64_t i) {
      return static_cast<std::byte*>(base) + static_cast<size_t>(first + i * inner_) * sizes_[k];
    };
    const size_t n = sizes_.size();
    bool answer = false;
    std::vector<void*> arguments(2 * n + 1, &answer);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      for (size_t k = 0; k < n; ++k) {
        arguments[2 * k] = element(buffers[2 + k], k, a);
        arguments[2 * k + 1] = element(buffers[2 + k], k, b);
      }
      compare(buffers[1], arguments.data());
      return answer;
    });
    for (size_t k = 0; k < n; ++k) {
      // The result may lie where the operand does.
      copy.resize(order.size() * sizes_[k]);
      for (size_t i = 0; i < order.size(); ++i) {
        std::memcpy(&copy[i * sizes_[k]], element(buffers[2 + k], k, order[i]), sizes_[k]);
      }
      for (size_t i = 0; i < order.size(); ++i) {
        std::memcpy(element(buffers[2 + n + k], k, static_cast<int64_t>(i)), &copy[i * sizes_[k]],
                    sizes_[k]);
      }
    }
  }

  int64_t outer_ = 1;
  int64_t length_ = 1;
  int64_t inner_ = 1;
  std::vector<size_t> sizes_;  // bytes of an element
};

}  // namespace

std::unique_ptr<Kernel> make_sort_kernel(const hlo::Instruction& sort) {
  return std::make_unique<SortKernel>(sort);
}

}  // namespace systole::cpu
