// The steps that imdb and reuters share.
#pragma once

#include <optional>
#include <vector>

#include "systole/keras/datasets/data_set.h"
#include "systole/keras/preprocessing/numpy_random.h"

namespace systole::keras::datasets {

struct WordListSteps {
  std::optional<int64_t> num_words;
  int64_t skip_top = 0;
  std::optional<int64_t> maxlen;
  std::optional<int32_t> start_char;
  std::optional<int32_t> oov_char;
  int32_t index_from = 0;
};

// The steps that the options of a load_data() ask for.
template <class LoadOptions>
WordListSteps steps_of(const LoadOptions& options) {
  return {.num_words = options.num_words,
          .skip_top = options.skip_top,
          .maxlen = options.maxlen,
          .start_char = options.start_char,
          .oov_char = options.oov_char,
          .index_from = options.index_from};
}

// Texts and their classes.
struct LabelledLists {
  std::vector<std::vector<int32_t>> x;
  std::vector<int64_t> y;
};

// Shuffles texts and classes alike, as numpy.random.shuffle() of their indices does.
void shuffle_lists(LabelledLists& lists, NumpyRandom& random);

// Adds start_char and index_from, drops texts of maxlen words or more, and replaces or drops the
// words outside [skip_top, num_words). Errors: INVALID_ARGUMENT, with Keras's text, if no text is
// left.
void apply_steps(LabelledLists& lists, const WordListSteps& steps, std::string_view op);

// The first `train` texts, or all, and the others.
WordListDataSet split_lists(LabelledLists lists, size_t train);

// The words of a sequence joined by blanks: "?" for 0 to index_from - 1 and for unknown numbers.
std::string decode_words(const std::vector<int32_t>& sequence, const WordIndex& word_index,
                         int32_t index_from);
std::string decode_words(const std::vector<int32_t>& sequence, const ReverseWordIndex& words,
                         int32_t index_from);

// Reads Keras's <name>_word_index.json. Errors: INVALID_ARGUMENT.
WordIndex read_word_index(const std::string& path);

}  // namespace systole::keras::datasets
