// 11,228 news wires of 46 topics. (tf.keras.datasets.reuters)
#pragma once

#include <optional>
#include <string>

#include "systole/keras/datasets/data_set.h"

namespace systole::keras::datasets::reuters {

struct LoadOptions {
  std::string path = "reuters.npz";                 // Keras's file: a path, or a name
  std::optional<int64_t> num_words = std::nullopt;  // words with number < num_words; nullopt: all
  int64_t skip_top = 0;                             // the most frequent words that are left out
  std::optional<int64_t> maxlen = std::nullopt;     // keeps texts with fewer words
  double test_split = 0.2;                          // the last part is for testing
  uint32_t seed = 113;                              // of the shuffle
  std::optional<int32_t> start_char = 1;            // nullopt: none
  std::optional<int32_t> oov_char = 2;  // stands for words that are left out; nullopt: they vanish
  int32_t index_from = 3;               // word numbers are rank + index_from
  std::string data_dir = {};  // searched before $KERAS_HOME/datasets and ~/.keras/datasets
};
// Returns the texts as word numbers, and their topics. y: s64 [texts]. Errors: NOT_FOUND, with
// where to get the file; INVALID_ARGUMENT for a test_split outside [0, 1]; those of reading it.
WordListDataSet load_data(const LoadOptions& options = {});

struct WordIndexOptions {
  std::string path = "reuters_word_index.json";
  std::string data_dir = {};
};
// Returns the rank of each word, from 1. Errors: as load_data().
WordIndex get_word_index(const WordIndexOptions& options = {});

}  // namespace systole::keras::datasets::reuters
