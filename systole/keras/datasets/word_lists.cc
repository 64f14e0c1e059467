#include "systole/keras/datasets/word_lists.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/io/file_systems/file_systems.h"

namespace systole::keras::datasets {
namespace {

WordListPart part_of(LabelledLists& lists, size_t begin, size_t end) {
  WordListPart part;
  for (size_t i = begin; i < end; ++i) part.x.push_back(std::move(lists.x[i]));
  part.y = Tensor::of<int64_t>({static_cast<int64_t>(end - begin)},
                               std::span<const int64_t>(lists.y).subspan(begin, end - begin));
  return part;
}

void add_start(LabelledLists& lists, const WordListSteps& steps) {
  for (auto& text : lists.x) {
    for (int32_t& word : text) word += steps.index_from;
    if (steps.start_char) text.insert(text.begin(), *steps.start_char);
  }
}

void drop_long(LabelledLists& lists, const WordListSteps& steps, std::string_view op) {
  if (steps.maxlen.value_or(0) == 0) return;
  LabelledLists kept;
  for (size_t i = 0; i < lists.x.size(); ++i) {
    if (static_cast<int64_t>(lists.x[i].size()) >= *steps.maxlen) continue;
    kept.x.push_back(std::move(lists.x[i]));
    kept.y.push_back(lists.y[i]);
  }
  if (kept.x.empty()) {
    throw invalid_argument(
        "{}: After filtering for sequences shorter than maxlen={}, no sequence was kept. Increase "
        "maxlen.",
        op, *steps.maxlen);
  }
  lists = std::move(kept);
}

// The words that `word_of` finds, joined by blanks.
template <class F>
std::string joined(const std::vector<int32_t>& sequence, const F& word_of) {
  std::string text;
  for (const int32_t number : sequence) {
    const std::string* const word = word_of(number);
    if (!text.empty()) text += ' ';
    text += word == nullptr ? "?" : *word;
  }
  return text;
}

}  // namespace

void shuffle_lists(LabelledLists& lists, NumpyRandom& random) {
  LabelledLists shuffled;
  shuffled.x.reserve(lists.x.size());
  shuffled.y.reserve(lists.y.size());
  for (const int64_t i : random.permutation(static_cast<int64_t>(lists.x.size()))) {
    shuffled.x.push_back(std::move(lists.x[i]));
    shuffled.y.push_back(lists.y[i]);
  }
  lists = std::move(shuffled);
}

void apply_steps(LabelledLists& lists, const WordListSteps& steps, std::string_view op) {
  add_start(lists, steps);
  drop_long(lists, steps, op);
  int64_t num_words = steps.num_words.value_or(0);
  if (num_words == 0) {
    for (const auto& text : lists.x) {
      for (const int32_t word : text) num_words = std::max<int64_t>(num_words, word);
    }
  }
  const auto outside = [&](int32_t word) { return word < steps.skip_top || word >= num_words; };
  for (auto& text : lists.x) {
    if (steps.oov_char) {
      std::replace_if(text.begin(), text.end(), outside, *steps.oov_char);
    } else {
      std::erase_if(text, outside);
    }
  }
}

WordListDataSet split_lists(LabelledLists lists, size_t train) {
  const size_t all = lists.x.size();
  const size_t split = std::min(train, all);
  WordListPart first = part_of(lists, 0, split);
  return {.train = std::move(first), .test = part_of(lists, split, all)};
}

std::string decode_words(const std::vector<int32_t>& sequence, const WordIndex& word_index,
                         int32_t index_from) {
  // Looks up the numbers of this sequence only: a table of the whole index takes ten times as long.
  int32_t largest = -1;
  for (const int32_t number : sequence) largest = std::max(largest, number);
  std::vector<const std::string*> words(static_cast<size_t>(largest) + 1);
  for (const auto& [word, rank] : word_index) {
    const int64_t number = int64_t{rank} + index_from;
    if (number >= 0 && number <= largest) words[number] = &word;
  }
  return joined(sequence, [&](int32_t number) { return number < 0 ? nullptr : words[number]; });
}

std::string decode_words(const std::vector<int32_t>& sequence, const ReverseWordIndex& words,
                         int32_t index_from) {
  return joined(sequence, [&](int32_t number) { return words.find(number - index_from); });
}

ReverseWordIndex::ReverseWordIndex(const WordIndex& words) {
  for (const auto& [word, rank] : words) words_[rank] = word;
}

const std::string* ReverseWordIndex::find(int32_t rank) const {
  const auto found = words_.find(rank);
  return found == words_.end() ? nullptr : &found->second;
}

WordIndex read_word_index(const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(read_file(default_file_system(), path));
    return json.get<WordIndex>();
  } catch (const nlohmann::json::exception& error) {
    throw invalid_argument("{}: word index, got {}, expected a JSON object of words and ranks",
                           path, error.what());
  }
}

}  // namespace systole::keras::datasets
