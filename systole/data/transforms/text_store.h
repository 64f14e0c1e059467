// The strings of a shuffle buffer. Copies them into a few large blocks, which need fewer TLB
// entries than a heap allocation each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/block_cache.h"
#include "systole/base/error.h"
#include "systole/base/prefetch.h"
#include "systole/data/recycle.h"

namespace systole::data {

// Not thread-safe. Memory: that of the first fill and an eighth more, in whole cache lines, kept
// until the end. A string longer than the place that it takes, or one that is moved in, has its own
// memory.
class TextStore {
 public:
  // Makes a store for up to `most` strings.
  explicit TextStore(size_t most) : most_(most) {}
  ~TextStore() {
    for (const Block& block : blocks_) free_block(block.begin, block.bytes);
  }
  TextStore(const TextStore&) = delete;
  TextStore& operator=(const TextStore&) = delete;

  size_t size() const { return slots_.size(); }
  // Returns string `i`. Valid until it is changed, moved out or moved to another place.
  std::string_view text(size_t i) const {
    const Slot& slot = slots_[i];
    return slot.filled ? std::string_view(slot.begin, slot.size) : std::string_view(own_[i]);
  }

  void push(std::string text) {
    slots_.emplace_back();
    own_.push_back(std::move(text));
  }
  void push_copy(std::string_view text) {
    push({});
    set(size() - 1, text);
  }
  // REQUIRES: `text` does not lie in the store.
  void set(size_t i, std::string_view text) {
    Slot& slot = slots_[i];
    if (slot.begin == nullptr && text.size() <= kLongest) take_room(slot, text.size());
    if (text.size() > slot.capacity) {
      slot.filled = false;
      return assign_text(own_[i], text);
    }
    if (!slot.filled) own_[i] = std::string();
    slot.filled = true;
    slot.size = static_cast<uint32_t>(text.size());
    if (!text.empty()) std::memcpy(slot.begin, text.data(), text.size());
  }
  // Exchanges string `i` with `text`.
  void exchange(size_t i, std::string& text) {
    Slot& slot = slots_[i];
    if (slot.filled) own_[i].assign(slot.begin, slot.size);
    slot.filled = false;
    std::swap(own_[i], text);
  }
  // Moves string `i` out; the last string takes its place.
  std::string take(size_t i) {
    std::string result;
    exchange(i, result);
    drop(i);
    return result;
  }
  void drop(size_t i) {
    const bool in_blocks = slots_[i].filled && slots_.back().filled;
    if (!in_blocks) std::swap(own_[i], own_.back());
    slots_[i] = slots_.back();
    slots_.pop_back();
    own_.pop_back();
  }
  // Prefetches the place of string `i`.
  void touch(size_t i) const { __builtin_prefetch(&own_[i], 1); }
  // Prefetches string `i` for reading.
  void touch_text(size_t i) const {
    const std::string_view soon = text(i);
    prefetch_bytes(soon.data(), soon.size());
  }

 private:
  static constexpr size_t kLongest = 64U << 10U;  // longest string stored in a block
  static constexpr size_t kMinBlock = 4U << 10U;
  static constexpr size_t kMaxBlock = 4U << 20U;  // large enough for huge pages

  struct Block {
    char* begin;
    size_t bytes;
  };
  // A place in a block.
  struct Slot {
    char* begin = nullptr;  // null before the first string
    uint32_t capacity = 0;
    uint32_t size = 0;
    bool filled = false;  // the string is here, not in own_
  };

  // Returns the size of a place for this string, with some room for later ones.
  void take_room(Slot& slot, size_t size) {
    constexpr size_t kLine = 64;
    const size_t bytes = (std::max<size_t>(size + size / 8, 1) + kLine - 1) / kLine * kLine;
    if (left_ < bytes) add_block(bytes);
    slot.begin = next_;
    slot.capacity = static_cast<uint32_t>(bytes);
    next_ += bytes;
    left_ -= bytes;
  }
  // Allocates a block for the remaining strings of about `bytes`.
  void add_block(size_t bytes) {
    const size_t coming = std::min(most_ - std::min(most_, size()) + 1, kMaxBlock / bytes);
    const size_t wanted = std::clamp(coming * bytes, std::max(kMinBlock, bytes), kMaxBlock);
    auto* const begin = static_cast<char*>(allocate_block(wanted));
    if (begin == nullptr) {
      throw make_error(Code::resource_exhausted, "shuffle: no memory, got a request for {} bytes",
                       wanted);
    }
    blocks_.push_back({begin, wanted});
    next_ = begin;
    left_ = wanted;
  }

  const size_t most_;
  std::vector<Slot> slots_;
  std::vector<std::string> own_;
  std::vector<Block> blocks_;
  char* next_ = nullptr;  // the free part of the last block
  size_t left_ = 0;
};

}  // namespace systole::data
