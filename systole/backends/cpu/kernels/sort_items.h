// Sorts keys with their positions. Keys are unsigned numbers in the same order as the elements they
// stand for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace systole::cpu {

// A key of up to 32 bits and a position below 2^32.
struct SmallItem {
  static constexpr int kKeyShift = 32;
  uint64_t bits;

  static SmallItem of(uint64_t key, uint64_t position) { return {key << kKeyShift | position}; }
  uint64_t key() const { return bits >> kKeyShift; }
  uint64_t position() const { return bits & 0xffffffffU; }
  // NOLINTNEXTLINE(modernize-use-nullptr): takes the 0 inside a default comparison for a pointer
  friend auto operator<=>(const SmallItem&, const SmallItem&) = default;
};

struct LargeItem {
  uint64_t number;
  uint64_t at;

  static LargeItem of(uint64_t key, uint64_t position) { return {key, position}; }
  uint64_t key() const { return number; }
  uint64_t position() const { return at; }
  // NOLINTNEXTLINE(modernize-use-nullptr): takes the 0 inside a default comparison for a pointer
  friend auto operator<=>(const LargeItem&, const LargeItem&) = default;
};

// Stable sort of n items in order of position, by keys below 2^(8 * key_bytes). Returns the array
// that holds the result: `items` or `other`, which has room for n. A radix sort by bytes that skips
// bytes shared by all keys.
template <class Item>
Item* sort_items(Item* items, Item* other, int64_t n, int key_bytes) {
  constexpr int64_t kFew = 96;
  if (n <= kFew) {
    std::sort(items, items + n);
    return items;
  }
  std::array<std::array<int64_t, 256>, 8> counts{};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = items[i].key();
    for (int d = 0; d < key_bytes; ++d) ++counts[d][key >> (8 * d) & 255];
  }
  for (int d = 0; d < key_bytes; ++d) {
    auto& places = counts[d];
    if (places[items[0].key() >> (8 * d) & 255] == n) continue;
    int64_t next = 0;
    for (int64_t& place : places) next += std::exchange(place, next);
    for (int64_t i = 0; i < n; ++i) other[places[items[i].key() >> (8 * d) & 255]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

// Stores the k smallest of the elements with keys key(0) to key(n - 1) in `best`, in order. `best`
// has room for `capacity` > k. REQUIRES: 0 < k <= n.
template <class Item, class Key>
void select_items(Item* best, int64_t n, int64_t k, int64_t capacity, Key&& key) {
  using Number = decltype(key(int64_t{0}));
  // Elements tested at once: few are among the k smallest.
  constexpr int64_t kPassedOver = 32;
  int64_t count = 0;
  Item limit = Item::of(~uint64_t{0}, ~uint64_t{0});
  const auto take = [&](int64_t i) {
    const Item x = Item::of(key(i), static_cast<uint64_t>(i));
    if (limit < x) return;
    best[count++] = x;
    if (count < capacity) return;
    std::nth_element(best, best + (k - 1), best + count);
    count = k;
    limit = best[k - 1];
  };
  const int64_t whole = n / kPassedOver * kPassedOver;
  for (int64_t first = 0; first < whole; first += kPassedOver) {
    const auto bound =
        static_cast<Number>(std::min<uint64_t>(limit.key(), std::numeric_limits<Number>::max()));
    Number some = 0;
    for (int64_t i = 0; i < kPassedOver; ++i)
      some = static_cast<Number>(some | (key(first + i) <= bound ? 1 : 0));
    if (some == 0) continue;
    for (int64_t i = first; i < first + kPassedOver; ++i) take(i);
  }
  for (int64_t i = whole; i < n; ++i) take(i);
  std::partial_sort(best, best + k, best + count);
}

}  // namespace systole::cpu
