#include "systole/backends/cpu/kernels/sort.h"

#include <absl/container/inlined_vector.h>

#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "systole/backends/cpu/kernels/flush_denormals.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/sort_items.h"

namespace systole::cpu {
namespace {

// In how many ways the bits of an element become a key.
enum class KeyKind { unsigned_, signed_, number, total };
KeyKind kind_of(const SortKeys& keys) {
  const DTypeInfo& info = dtype_info(keys.dtype);
  if (info.floating) return keys.total ? KeyKind::total : KeyKind::number;
  return info.is_signed ? KeyKind::signed_ : KeyKind::unsigned_;
}

uint64_t infinity_bits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x7c00;
    case DType::bf16:
      return 0x7f80;
    case DType::f32:
      return 0x7f800000;
    default:
      return 0x7ff0000000000000;
  }
}

// From the bits of an element, an unsigned T, to its key.
template <class T, KeyKind kind>
struct KeyForm {
  explicit KeyForm(const SortKeys& keys)
      : flip(keys.descending ? T(~T{0}) : T{0}), infinity(T(infinity_bits(keys.dtype))) {}
  T flip;  // all bits of a descending order
  T infinity;

  static constexpr T kSign = T(T{1} << (8 * sizeof(T) - 1));

  T operator()(T bits) const { return T(ascending(bits) ^ flip); }

 private:
  T ascending(T bits) const {
    if constexpr (kind == KeyKind::unsigned_) return bits;
    if constexpr (kind == KeyKind::signed_) return T(bits ^ kSign);
    const T ordered = (bits & kSign) != 0 ? T(~bits) : T(bits | kSign);
    if constexpr (kind == KeyKind::total) return ordered;
    const T magnitude = T(bits & ~kSign);
    if (magnitude > infinity) return T(~T{0});
    return magnitude == 0 ? kSign : ordered;
  }
};

template <class F>
void visit_kind(KeyKind kind, F&& f) {
  switch (kind) {
    case KeyKind::unsigned_:
      return f.template operator()<KeyKind::unsigned_>();
    case KeyKind::signed_:
      return f.template operator()<KeyKind::signed_>();
    case KeyKind::number:
      return f.template operator()<KeyKind::number>();
    case KeyKind::total:
      return f.template operator()<KeyKind::total>();
  }
}

// One part's scratch memory: both lists of items (or of positions), keys, copies of the operands'
// slices.
struct Scratch {
  std::byte* items;
  std::byte* others;
  std::byte* keys;
  absl::InlinedVector<std::byte*, 4> copies;
};
// Where slices lie, by operand.
using Slices = absl::InlinedVector<const std::byte*, 4>;
using SortWords = absl::InlinedVector<uint64_t, 8>;

bool is_small_sort(const SortProblem& p) {
  return p.keys && size_of(p.keys->dtype) <= 4 &&
         p.length <= int64_t{std::numeric_limits<uint32_t>::max()};
}
int64_t item_bytes(const SortProblem& p) {
  return is_small_sort(p) || !p.keys ? sizeof(SmallItem) : sizeof(LargeItem);
}
bool computes_keys(const SortProblem& p) { return p.keys && p.keys->operand < 0; }

int64_t part_bytes(const SortProblem& p) {
  int64_t total = 2 * aligned(p.length * item_bytes(p));
  if (computes_keys(p)) total += aligned(p.length * size_of(p.keys->dtype));
  for (const int64_t size : p.sizes) total += aligned(p.length * size);
  return total;
}

class SortKernel : public Kernel {
 public:
  explicit SortKernel(SortProblem problem)
      : p_(std::move(problem)), part_bytes_(part_bytes(p_)), operands_(p_.sizes.size()) {}

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const int64_t slices = p_.outer * p_.inner;
    const int64_t parts = std::min<int64_t>(p_.parts, slices);
    const auto body = [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;  // the comparator is compiled code
      for (int64_t part = begin; part < end; ++part) {
        const Scratch scratch = scratch_of(buffers, part);
        for (int64_t s = slices * part / parts; s < slices * (part + 1) / parts; ++s) {
          sort_slice(buffers, s / p_.inner * p_.length * p_.inner + s % p_.inner, scratch);
        }
      }
    };
    if (context.pool == nullptr || parts == 1) {
      body(0, parts);
    } else {
      context.pool->parallel_for(parts, 1, body);
    }
  }

 private:
  Scratch scratch_of(std::span<void* const> buffers, int64_t part) const {
    auto* next = static_cast<std::byte*>(buffers[2]) + part * part_bytes_;
    const auto take = [&](int64_t bytes) { return std::exchange(next, next + aligned(bytes)); };
    Scratch scratch;
    scratch.items = take(p_.length * item_bytes(p_));
    scratch.others = take(p_.length * item_bytes(p_));
    scratch.keys = take(computes_keys(p_) ? p_.length * size_of(p_.keys->dtype) : 0);
    for (const int64_t size : p_.sizes) scratch.copies.push_back(take(p_.length * size));
    return scratch;
  }

  // `first` is the slice's first element.
  void sort_slice(std::span<void* const> buffers, int64_t first, const Scratch& scratch) const {
    Slices from;
    for (size_t k = 0; k < operands_; ++k) from.push_back(gather(buffers, k, first, scratch));
    const auto put = [&](const auto* order) {
      for (size_t k = 0; k < operands_; ++k) scatter(buffers, k, first, from[k], order);
    };
    if (!p_.keys) {
      put(merged(buffers, from, scratch));
    } else if (is_small_sort(p_)) {
      put(keyed<SmallItem>(buffers, from, scratch));
    } else {
      put(keyed<LargeItem>(buffers, from, scratch));
    }
  }

  // A slice of an operand, its elements side by side and not where the result goes.
  const std::byte* gather(std::span<void* const> buffers, size_t k, int64_t first,
                          const Scratch& scratch) const {
    const auto* operand = static_cast<const std::byte*>(buffers[3 + k]) + first * p_.sizes[k];
    if (p_.inner == 1 && buffers[3 + k] != buffers[3 + operands_ + k]) return operand;
    visit_size(p_.sizes[k], [&]<class T>() {
      auto* copy = reinterpret_cast<T*>(scratch.copies[k]);
      const auto* elements = reinterpret_cast<const T*>(operand);
      for (int64_t i = 0; i < p_.length; ++i) copy[i] = elements[i * p_.inner];
    });
    return scratch.copies[k];
  }

  template <class Item>
  void scatter(std::span<void* const> buffers, size_t k, int64_t first, const std::byte* from,
               const Item* order) const {
    auto* result = static_cast<std::byte*>(buffers[3 + operands_ + k]) + first * p_.sizes[k];
    visit_size(p_.sizes[k], [&]<class T>() {
      auto* to = reinterpret_cast<T*>(result);
      const auto* elements = reinterpret_cast<const T*>(from);
      for (int64_t i = 0; i < p_.wanted; ++i) to[i * p_.inner] = elements[order[i].position()];
    });
  }

  struct Pair {
    uint64_t words[2];
  };
  template <class F>
  static void visit_size(int64_t size, F&& f) {
    switch (size) {
      case 1:
        return f.template operator()<uint8_t>();
      case 2:
        return f.template operator()<uint16_t>();
      case 4:
        return f.template operator()<uint32_t>();
      case 8:
        return f.template operator()<uint64_t>();
      default:
        return f.template operator()<Pair>();
    }
  }

  // Calls the compiled function with these words and where the slices lie.
  static void call(std::span<void* const> buffers, SortWords words, const Slices& from) {
    for (const std::byte* slice : from) words.push_back(std::bit_cast<uint64_t>(slice));
    reinterpret_cast<SortFunction>(buffers[0])(buffers[1], words.data());
  }

  template <class Item>
  const Item* keyed(std::span<void* const> buffers, const Slices& from,
                    const Scratch& scratch) const {
    const std::byte* keys = scratch.keys;
    if (computes_keys(p_)) {
      call(buffers, {static_cast<uint64_t>(p_.length), std::bit_cast<uint64_t>(keys)}, from);
    } else {
      keys = from[u(p_.keys->operand)];
    }
    const Item* order = nullptr;
    visit_size(size_of(p_.keys->dtype), [&]<class T>() {
      visit_kind(kind_of(*p_.keys), [&]<KeyKind kind>() {
        if constexpr (!std::is_same_v<T, Pair>)
          order =
              ordered<Item>(reinterpret_cast<const T*>(keys), KeyForm<T, kind>(*p_.keys), scratch);
      });
    });
    return order;
  }

  // As many as are wanted.
  template <class Item, class T, class Form>
  const Item* ordered(const T* bits, const Form& form, const Scratch& scratch) const {
    auto* items = reinterpret_cast<Item*>(scratch.items);
    const auto key = [&](int64_t i) { return form(bits[i]); };
    const int64_t capacity = 4 * p_.wanted + 64;
    if (p_.wanted == 0) return items;
    if (2 * capacity < p_.length) {
      select_items(items, p_.length, p_.wanted, capacity, key);
      return items;
    }
    for (int64_t i = 0; i < p_.length; ++i) items[i] = Item::of(key(i), static_cast<uint64_t>(i));
    return sort_items(items, reinterpret_cast<Item*>(scratch.others), p_.length, sizeof(T));
  }

  struct Position {
    uint64_t at;
    uint64_t position() const { return at; }
  };
  // From runs of one element upwards.
  const Position* merged(std::span<void* const> buffers, const Slices& from,
                         const Scratch& scratch) const {
    auto* order = reinterpret_cast<Position*>(scratch.items);
    auto* other = reinterpret_cast<Position*>(scratch.others);
    for (int64_t i = 0; i < p_.length; ++i) order[i].at = static_cast<uint64_t>(i);
    for (int64_t width = 1; width < p_.length; width *= 2) {
      call(buffers,
           {static_cast<uint64_t>(p_.length), static_cast<uint64_t>(width),
            std::bit_cast<uint64_t>(order), std::bit_cast<uint64_t>(other)},
           from);
      std::swap(order, other);
    }
    return order;
  }

  SortProblem p_;
  int64_t part_bytes_;
  size_t operands_;
};

}  // namespace

int64_t SortProblem::scratch_bytes() const {
  return std::min<int64_t>(parts, outer * inner) * part_bytes(*this);
}

std::unique_ptr<Kernel> make_sort_kernel(SortProblem problem) {
  return std::make_unique<SortKernel>(std::move(problem));
}

}  // namespace systole::cpu
