#include "systole/backends/cpu/kernels/rng.h"

#include <algorithm>

#include "systole/base/random.h"

namespace systole::cpu {
namespace {

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// The bits of a word as an element of the dtype, whose type in memory is T.
template <class T>
T element_of(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::s4:
      return static_cast<T>(static_cast<int8_t>(bits << 4) >> 4);
    case DType::u4:
      return static_cast<T>(bits & 15);
    default:
      return static_cast<T>(bits);
  }
}

// Threefry's two words lie side by side along the first axis of even size, or the longest one.
struct ThreefryLayout {
  explicit ThreefryLayout(const Shape& shape) {
    if (shape.rank() == 0) return;
    const auto even = std::ranges::find_if(shape, [](int64_t n) { return n % 2 == 0; });
    const auto axis = even != shape.end() ? even : std::ranges::max_element(shape);
    size = *axis;
    for (auto it = axis + 1; it != shape.end(); ++it) inner *= *it;
  }
  int64_t size = 1;   // of the axis that is split
  int64_t inner = 1;  // elements behind it
};

class RngKernel : public Kernel {
 public:
  explicit RngKernel(const hlo::Instruction& rng)
      : threefry_(rng.attrs<hlo::RngBitGeneratorAttrs>().rng_algorithm ==
                  hlo::RngAlgorithm::three_fry),
        state_words_(static_cast<size_t>(rng.results()[0].shape[0])),
        dtype_(rng.results()[1].dtype),
        count_(rng.results()[1].shape.num_elements()),
        layout_(rng.results()[1].shape) {}

  void run(std::span<void* const> buffers, RunContext&) const override {
    const auto* from = static_cast<const uint64_t*>(buffers[0]);
    auto* state = static_cast<uint64_t*>(buffers[1]);
    std::copy_n(from, state_words_, state);
    switch (size_of(dtype_)) {
      case 1:
        generate(state, static_cast<uint8_t*>(buffers[2]));
        break;
      case 2:
        generate(state, static_cast<uint16_t*>(buffers[2]));
        break;
      case 4:
        generate(state, static_cast<uint32_t*>(buffers[2]));
        break;
      default:
        generate(state, static_cast<uint64_t*>(buffers[2]));
        break;
    }
  }

 private:
  template <class T>
  void generate(uint64_t* state, T* out) const {
    if (!threefry_) {
      philox(state, out);
    } else if (sizeof(T) == 8) {
      for (int64_t i = 0; i < count_; ++i) {
        const auto words = threefry_block(state, i);
        out[i] = static_cast<T>(words[0] | uint64_t{words[1]} << 32);
      }
      state[1] += static_cast<uint64_t>(count_);
    } else {
      threefry_pairs(state, out);
    }
  }

  static std::array<uint32_t, 2> threefry_block(const uint64_t* state, int64_t number) {
    const uint64_t counter = state[1] + static_cast<uint64_t>(number);
    return threefry2x32({low(state[0]), high(state[0])}, {low(counter), high(counter)});
  }

  template <class T>
  void threefry_pairs(uint64_t* state, T* out) const {
    if (count_ == 0) return;
    const int64_t outer = count_ / (layout_.size * layout_.inner);
    int64_t block = 0;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t pair = 0; pair < (layout_.size + 1) / 2; ++pair) {
        T* first = out + (o * layout_.size + 2 * pair) * layout_.inner;
        const bool both = 2 * pair + 1 < layout_.size;
        for (int64_t i = 0; i < layout_.inner; ++i) {
          const auto words = threefry_block(state, block++);
          first[i] = element_of<T>(dtype_, words[0]);
          if (both) first[layout_.inner + i] = element_of<T>(dtype_, words[1]);
        }
      }
    }
    state[1] += static_cast<uint64_t>(block);
  }

  // State: key, counter (low half first) for three words; of two the key is the counter's high
  // half, too.
  template <class T>
  void philox(uint64_t* state, T* out) const {
    constexpr int64_t kPerBlock = sizeof(T) == 8 ? 2 : 4;
    const std::array<uint32_t, 2> key = {low(state[0]), high(state[0])};
    uint64_t counter = state[1];
    uint64_t upper = state_words_ == 3 ? state[2] : state[0];
    for (int64_t i = 0; i < count_; i += kPerBlock) {
      const auto words = philox4x32(key, {low(counter), high(counter), low(upper), high(upper)});
      const int64_t n = std::min(kPerBlock, count_ - i);
      for (int64_t k = 0; k < n; ++k) {
        const auto w = static_cast<size_t>(k);
        if constexpr (sizeof(T) == 8) {
          out[i + k] = words[2 * w] | uint64_t{words[2 * w + 1]} << 32;
        } else {
          out[i + k] = element_of<T>(dtype_, words[w]);
        }
      }
      upper += ++counter == 0 ? 1 : 0;
    }
    state[1] = counter;
    if (state_words_ == 3) state[2] = upper;
  }

  bool threefry_;
  size_t state_words_;
  DType dtype_;
  int64_t count_;
  ThreefryLayout layout_;
};

}  // namespace

std::unique_ptr<Kernel> make_rng_kernel(const hlo::Instruction& rng) {
  return std::make_unique<RngKernel>(rng);
}

}  // namespace systole::cpu
