// Words of texts as numbers. (tf.keras.preprocessing.text) Texts are UTF-8.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"

// NOLINTBEGIN(readability-identifier-naming): Keras's names
namespace systole::keras::preprocessing::text {

// Keras's default: punctuation, tab and newline, but not the apostrophe.
inline constexpr const char* kDefaultFilters = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n";

struct TextOptions {
  std::string filters = kDefaultFilters;  // characters that become `split`
  bool lower = true;                      // as utf8_lower() of utf8.h
  std::string split = " ";
};
// The words of a text. Errors: INVALID_ARGUMENT for an empty `split`.
std::vector<std::string> text_to_word_sequence(std::string_view text,
                                               const TextOptions& options = {});

struct HashingTrickOptions {
  // nullptr: MD5 as one number, as Keras's 'md5'. Keras's default differs in each process.
  std::function<uint64_t(std::string_view word)> hash_function = nullptr;
  std::string filters = kDefaultFilters;
  bool lower = true;
  std::string split = " ";
};
// Splits the text into words and returns a number in [1, n - 1] for each: hash mod (n - 1) + 1.
// Different words can have the same number. Errors: INVALID_ARGUMENT unless 2 <= n <= 2^31.
std::vector<int32_t> hashing_trick(std::string_view text, int64_t n,
                                   const HashingTrickOptions& options = {});
// hashing_trick() with MD5 as the hash function.
std::vector<int32_t> one_hot(std::string_view text, int64_t n, const TextOptions& options = {});

struct TokenizerOptions {
  std::optional<int64_t> num_words = std::nullopt;  // keeps words with index < num_words
  std::string filters = kDefaultFilters;
  bool lower = true;
  std::string split = " ";
  bool char_level = false;  // characters are words
  // Stands for unknown words, which are dropped otherwise. Has index 1.
  std::optional<std::string> oov_token = std::nullopt;
};

using Texts = std::vector<std::string>;
// Texts that are lists of words already.
using WordLists = std::vector<std::vector<std::string>>;

// Numbers words by their count in texts: 1 is the most frequent, ties keep the order in which words
// were first seen. Not thread-safe.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerOptions options = {});

  // Counts the words of texts. Later calls add to the counts and number the words again.
  void fit_on_texts(const Texts& texts);
  void fit_on_texts(const WordLists& texts);
  // Counts in how many sequences each word occurs, which mode "tfidf" needs.
  void fit_on_sequences(const std::vector<std::vector<int32_t>>& sequences);

  std::vector<std::vector<int32_t>> texts_to_sequences(const Texts& texts) const;
  std::vector<std::vector<int32_t>> texts_to_sequences(const WordLists& texts) const;
  // Returns the words of each sequence, joined by blanks.
  Texts sequences_to_texts(const std::vector<std::vector<int32_t>>& sequences) const;
  // f64 [texts, num_words], or with as many columns as words + 1. `mode`: "binary", "count",
  // "freq", or "tfidf": (1 + ln count) ln(1 + documents / (1 + documents with the word)). Errors:
  // INVALID_ARGUMENT for another mode and negative numbers; FAILED_PRECONDITION where the tokenizer
  // was not fit.
  Tensor sequences_to_matrix(const std::vector<std::vector<int32_t>>& sequences,
                             const std::string& mode = "binary") const;
  Tensor texts_to_matrix(const Texts& texts, const std::string& mode = "binary") const;

  // Returns the indices of all words, whatever num_words is.
  const std::unordered_map<std::string, int32_t>& word_index() const { return word_index_; }
  const std::map<int32_t, std::string>& index_word() const { return index_word_; }
  // In the order in which words were first seen.
  const std::vector<std::pair<std::string, int64_t>>& word_counts() const { return word_counts_; }
  // How many texts contain a word, by word and by index.
  const std::unordered_map<std::string, int64_t>& word_docs() const { return word_docs_; }
  const std::map<int32_t, int64_t>& index_docs() const { return index_docs_; }
  int64_t document_count() const { return document_count_; }
  const TokenizerOptions& options() const { return options_; }

  // The configuration and all counts, as Keras writes them. Errors: INVALID_ARGUMENT for words that
  // are not UTF-8.
  std::string to_json() const;

 private:
  friend Tokenizer tokenizer_from_json(const std::string& json);

  std::vector<std::string> words_of(std::string_view text) const;
  std::vector<std::string> words_of(const std::vector<std::string>& text) const;
  void count(const std::vector<std::string>& words);
  void number_words();
  std::vector<int32_t> sequence_of(const std::vector<std::string>& words) const;
  std::optional<int32_t> oov_index() const;
  bool dropped(int32_t index) const;

  TokenizerOptions options_;
  std::vector<std::pair<std::string, int64_t>> word_counts_;
  std::unordered_map<std::string, size_t> place_;  // in word_counts_
  std::unordered_map<std::string, int64_t> word_docs_;
  std::map<int32_t, int64_t> index_docs_;
  std::unordered_map<std::string, int32_t> word_index_;
  std::map<int32_t, std::string> index_word_;
  int64_t document_count_ = 0;
};

// Reads what to_json() of Keras or of this class wrote. Errors: INVALID_ARGUMENT.
Tokenizer tokenizer_from_json(const std::string& json);

}  // namespace systole::keras::preprocessing::text
// NOLINTEND(readability-identifier-naming)
