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

// Maps words to their indices and back. Immutable; thread-safe.
class Vocabulary {
 public:
  // Errors: INVALID_ARGUMENT, beginning with `what`, for a repeated word.
  Vocabulary(std::vector<std::string> words, std::string_view what);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // The index of `word`; -1 if it is not in the vocabulary.
  int64_t find(std::string_view word) const {
    const auto it = numbers_.find(word);
    return it == numbers_.end() ? -1 : it->second;
  }
  // REQUIRES: 0 <= number < size().
  const std::string& word(int64_t number) const { return words_[number]; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string_view, int64_t> numbers_;  // keys view words_
};

// Returns the vocabulary of a lookup node, which all nodes of a session share: the lines of the
// file `filename`, or the strings of `vocabulary`. A positive `vocab_size` takes the first so many
// words. Errors: those of the file; INVALID_ARGUMENT for fewer words than `vocab_size`.
std::shared_ptr<const Vocabulary> vocabulary_of(KernelContext& context);

}  // namespace systole
