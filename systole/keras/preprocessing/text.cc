#include "systole/keras/preprocessing/text.h"

#include <algorithm>

#include "systole/io/wire/crypto.h"
#include "systole/keras/preprocessing/utf8.h"

namespace systole::keras::preprocessing::text {
namespace {

// The text with each of the characters `filters` replaced by `split`.
std::string without_filters(std::string_view text, const std::string& filters,
                            const std::string& split) {
  const std::vector<std::string_view> filtered = utf8_characters(filters);
  std::string result;
  result.reserve(text.size());
  for (const std::string_view character : utf8_characters(text)) {
    const bool found = std::ranges::find(filtered, character) != filtered.end();
    result += found ? std::string_view(split) : character;
  }
  return result;
}

// MD5 as one number of 128 bits, modulo `divisor` < 2^32.
uint64_t md5_modulo(std::string_view word, uint64_t divisor) {
  uint64_t rest = 0;
  for (const char byte : crypto::md5(word)) {
    rest = (rest << 8U | static_cast<unsigned char>(byte)) % divisor;
  }
  return rest;
}

}  // namespace

std::vector<std::string> text_to_word_sequence(std::string_view text, const TextOptions& options) {
  if (options.split.empty()) {
    throw invalid_argument("text_to_word_sequence: split, got '', expected a separator");
  }
  const std::string plain = without_filters(options.lower ? utf8_lower(text) : std::string(text),
                                            options.filters, options.split);
  std::vector<std::string> words;
  size_t begin = 0;
  while (begin < plain.size()) {
    const size_t end = std::min(plain.find(options.split, begin), plain.size());
    if (end > begin) words.push_back(plain.substr(begin, end - begin));
    begin = end + options.split.size();
  }
  return words;
}

std::vector<int32_t> hashing_trick(std::string_view text, int64_t n,
                                   const HashingTrickOptions& options) {
  if (n < 2 || n > int64_t{1} << 31) {
    throw invalid_argument("hashing_trick: n, got {}, expected 2 to 2^31", n);
  }
  const auto divisor = static_cast<uint64_t>(n - 1);
  std::vector<int32_t> ids;
  for (const std::string& word :
       text_to_word_sequence(text, {options.filters, options.lower, options.split})) {
    const uint64_t rest =
        options.hash_function ? options.hash_function(word) % divisor : md5_modulo(word, divisor);
    ids.push_back(static_cast<int32_t>(rest + 1));
  }
  return ids;
}

std::vector<int32_t> one_hot(std::string_view text, int64_t n, const TextOptions& options) {
  return hashing_trick(
      text, n, {.filters = options.filters, .lower = options.lower, .split = options.split});
}

}  // namespace systole::keras::preprocessing::text
