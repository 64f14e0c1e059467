// 50,000 film reviews with their sentiment. (tf.keras.datasets.imdb) Source: Maas et al., "Learning
// Word Vectors for Sentiment Analysis", ACL 2011.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/keras/datasets/data_set.h"

namespace systole::keras::datasets::imdb {

struct LoadOptions {
  // Keras's imdb.npz, the original archive (aclImdb_v1.tar.gz, or any tar of its folder), or the
  // unpacked folder aclImdb: a path, or a name that is searched for. All give the same arrays.
  std::string path = "imdb.npz";
  std::optional<int64_t> num_words = std::nullopt;  // words with number < num_words; nullopt: all
  int64_t skip_top = 0;                             // the most frequent words that are left out
  std::optional<int64_t> maxlen = std::nullopt;     // keeps reviews with fewer words
  uint32_t seed = 113;                              // of the shuffle
  std::optional<int32_t> start_char = 1;            // nullopt: none
  std::optional<int32_t> oov_char = 2;  // stands for words that are left out; nullopt: they vanish
  int32_t index_from = 3;               // word numbers are rank + index_from
  // Holds the files, or imdb/ with them. Searched before $KERAS_HOME/datasets and
  // ~/.keras/datasets.
  std::string data_dir = {};
};
// Returns the reviews as word numbers and labels: 1 is positive. x: 25,000 lists each, y: s64
// [25000]. 0 is for padding, 1 the start, 2 a word that is left out, 3 unused. As in Keras, with
// maxlen the first 25,000 reviews that are left are the training part. Errors: NOT_FOUND, with
// where to get the files; those of reading them.
WordListDataSet load_data(const LoadOptions& options = {});

struct WordIndexOptions {
  std::string path = "imdb_word_index.json";
  std::string data_dir = {};
};
// Returns the rank of each word, from 1: of Keras's file, or counted in the original reviews.
// Errors: as load_data().
WordIndex get_word_index(const WordIndexOptions& options = {});

// The text of a review of load_data(): "?" for numbers below index_from + 1.
std::string decode_review(const std::vector<int32_t>& review, const WordIndex& word_index,
                          int32_t index_from = 3);
// As above. For many reviews: ReverseWordIndex words(get_word_index()).
std::string decode_review(const std::vector<int32_t>& review, const ReverseWordIndex& words,
                          int32_t index_from = 3);

}  // namespace systole::keras::datasets::imdb
