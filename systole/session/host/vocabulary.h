// The words of a lookup table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/session/host/host_kernel.h"

namespace systole {

// Words by number and numbers by word. Immutable once made; thread-safe.
class Vocabulary {
 public:
  // Errors: INVALID_ARGUMENT for a word that is there twice, after `what`.
  Vocabulary(std::vector<std::string> words, std::string_view what);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // -1 when it is not there.
  int64_t find(std::string_view word) const {
    const auto it = numbers_.find(word);
    return it == numbers_.end() ? -1 : it->second;
  }
  // REQUIRES: 0 <= number < size().
  const std::string& word(int64_t number) const { return words_[static_cast<size_t>(number)]; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string_view, int64_t> numbers_;  // of words_'s strings
};

// The vocabulary of a lookup node, read once for all nodes of a session that have it: a line a word
// of the file `filename`, or the strings of `vocabulary`; the first `vocab_size` when that is above
// 0. Errors: those of the file; INVALID_ARGUMENT when there are fewer.
std::shared_ptr<const Vocabulary> vocabulary_of(KernelContext& context);

}  // namespace systole
