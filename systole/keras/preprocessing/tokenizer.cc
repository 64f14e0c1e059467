#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "systole/keras/preprocessing/text.h"
#include "systole/keras/preprocessing/utf8.h"

namespace systole::keras::preprocessing::text {
namespace {

enum class MatrixMode : uint8_t { binary, count, freq, tfidf };

MatrixMode matrix_mode(const std::string& name) {
  if (name == "binary") return MatrixMode::binary;
  if (name == "count") return MatrixMode::count;
  if (name == "freq") return MatrixMode::freq;
  if (name == "tfidf") return MatrixMode::tfidf;
  throw invalid_argument(
      "Tokenizer: Unknown vectorization mode: '{}', expected binary, count, freq or tfidf", name);
}

}  // namespace

Tokenizer::Tokenizer(TokenizerOptions options) : options_(std::move(options)) {
  if (options_.split.empty()) {
    throw invalid_argument("Tokenizer: split, got '', expected a separator");
  }
}

std::vector<std::string> Tokenizer::words_of(std::string_view text) const {
  if (!options_.char_level) {
    return text_to_word_sequence(text, {options_.filters, options_.lower, options_.split});
  }
  const std::string lower = options_.lower ? utf8_lower(text) : std::string(text);
  const auto characters = utf8_characters(lower);
  return {characters.begin(), characters.end()};
}

std::vector<std::string> Tokenizer::words_of(const std::vector<std::string>& text) const {
  std::vector<std::string> words = text;
  if (options_.lower) {
    for (std::string& word : words) word = utf8_lower(word);
  }
  return words;
}

void Tokenizer::count(const std::vector<std::string>& words) {
  ++document_count_;
  for (const std::string& word : words) {
    const auto [place, added] = place_.try_emplace(word, word_counts_.size());
    if (added) word_counts_.emplace_back(word, 0);
    ++word_counts_[place->second].second;
  }
  for (const std::string& word : std::unordered_set<std::string>(words.begin(), words.end())) {
    ++word_docs_[word];
  }
}

void Tokenizer::number_words() {
  std::vector<const std::pair<std::string, int64_t>*> by_count;
  for (const auto& word : word_counts_) by_count.push_back(&word);
  std::ranges::stable_sort(by_count, std::greater(), [](const auto* word) { return word->second; });
  word_index_.clear();
  index_word_.clear();
  int32_t next = 1;
  if (options_.oov_token) word_index_[*options_.oov_token] = next++;
  for (const auto* word : by_count) word_index_[word->first] = next++;
  for (const auto& [word, index] : word_index_) index_word_[index] = word;
  for (const auto& [word, documents] : word_docs_) index_docs_[word_index_[word]] = documents;
}

void Tokenizer::fit_on_texts(const Texts& texts) {
  for (const std::string& text : texts) count(words_of(text));
  number_words();
}

void Tokenizer::fit_on_texts(const WordLists& texts) {
  for (const auto& text : texts) count(words_of(text));
  number_words();
}

void Tokenizer::fit_on_sequences(const std::vector<std::vector<int32_t>>& sequences) {
  document_count_ += static_cast<int64_t>(sequences.size());
  for (const auto& sequence : sequences) {
    for (const int32_t index : std::unordered_set<int32_t>(sequence.begin(), sequence.end())) {
      ++index_docs_[index];
    }
  }
}

std::optional<int32_t> Tokenizer::oov_index() const {
  if (!options_.oov_token) return std::nullopt;
  const auto found = word_index_.find(*options_.oov_token);
  return found == word_index_.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::dropped(int32_t index) const {
  return options_.num_words.value_or(0) != 0 && index >= *options_.num_words;
}

std::vector<int32_t> Tokenizer::sequence_of(const std::vector<std::string>& words) const {
  const std::optional<int32_t> oov = oov_index();
  std::vector<int32_t> sequence;
  for (const std::string& word : words) {
    const auto found = word_index_.find(word);
    if (found != word_index_.end() && !dropped(found->second)) {
      sequence.push_back(found->second);
    } else if (oov) {
      sequence.push_back(*oov);
    }
  }
  return sequence;
}

std::vector<std::vector<int32_t>> Tokenizer::texts_to_sequences(const Texts& texts) const {
  std::vector<std::vector<int32_t>> sequences;
  for (const std::string& text : texts) sequences.push_back(sequence_of(words_of(text)));
  return sequences;
}

std::vector<std::vector<int32_t>> Tokenizer::texts_to_sequences(const WordLists& texts) const {
  std::vector<std::vector<int32_t>> sequences;
  for (const auto& text : texts) sequences.push_back(sequence_of(words_of(text)));
  return sequences;
}

Texts Tokenizer::sequences_to_texts(const std::vector<std::vector<int32_t>>& sequences) const {
  Texts texts;
  for (const auto& sequence : sequences) {
    std::string& text = texts.emplace_back();
    for (const int32_t index : sequence) {
      const auto found = index_word_.find(index);
      const bool known = found != index_word_.end() && !dropped(index);
      if (!known && !oov_index()) continue;
      if (!text.empty()) text += ' ';
      text += known ? found->second : *options_.oov_token;
    }
  }
  return texts;
}

Tensor Tokenizer::sequences_to_matrix(const std::vector<std::vector<int32_t>>& sequences,
                                      const std::string& mode) const {
  const MatrixMode kind = matrix_mode(mode);
  int64_t columns = options_.num_words.value_or(0);
  if (columns == 0) {
    if (word_index_.empty()) {
      throw failed_precondition(
          "Tokenizer: Specify a dimension (`num_words` argument), or fit on some text data first.");
    }
    columns = static_cast<int64_t>(word_index_.size()) + 1;
  }
  if (kind == MatrixMode::tfidf && document_count_ == 0) {
    throw failed_precondition("Tokenizer: Fit the Tokenizer on some data before using tfidf mode.");
  }
  Tensor matrix = Tensor::zeros(DType::f64, {static_cast<int64_t>(sequences.size()), columns});
  double* row = matrix.data<double>().data();
  for (const auto& sequence : sequences) {
    std::map<int32_t, double> counts;
    for (const int32_t index : sequence) {
      if (index < 0)
        throw invalid_argument("Tokenizer: index, got {}, expected none below 0", index);
      if (index < columns) ++counts[index];
    }
    for (const auto& [index, count] : counts) {
      double value = 1;
      if (kind == MatrixMode::count) value = count;
      if (kind == MatrixMode::freq) value = count / static_cast<double>(sequence.size());
      if (kind == MatrixMode::tfidf) {
        const auto documents = index_docs_.find(index);
        const auto with = documents == index_docs_.end() ? 0 : documents->second;
        value = (1 + std::log(count)) * std::log(1 + static_cast<double>(document_count_) /
                                                         (1 + static_cast<double>(with)));
      }
      row[index] = value;
    }
    row += columns;
  }
  return matrix;
}

Tensor Tokenizer::texts_to_matrix(const Texts& texts, const std::string& mode) const {
  return sequences_to_matrix(texts_to_sequences(texts), mode);
}

}  // namespace systole::keras::preprocessing::text
