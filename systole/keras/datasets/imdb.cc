#include "systole/keras/datasets/imdb.h"

#include "systole/base/mutex.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npz.h"
#include "systole/keras/datasets/acl_imdb.h"
#include "systole/keras/datasets/data_folder.h"

namespace systole::keras::datasets::imdb {
namespace {

const DataSource kImdb = {
    .name = "imdb",
    .folder = "imdb",
    .origin =
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/imdb.npz or "
        "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"};

const DataSource kImdbWords = {
    .name = "imdb",
    .folder = "imdb",
    .origin =
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/imdb_word_index.json or "
        "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"};

const std::vector<std::string>& acl_names() {
  static const std::vector<std::string> names = {"aclImdb/", "aclImdb_v1.tar.gz", "aclImdb*.tar*"};
  return names;
}

// The words of the reviews that were read last: get_word_index() follows load_data() as a rule.
struct LastWords {
  Mutex mutex;
  std::string path SYSTOLE_GUARDED_BY(mutex);
  int64_t modified_ns SYSTOLE_GUARDED_BY(mutex) = 0;
  std::vector<std::string> words SYSTOLE_GUARDED_BY(mutex);
};
LastWords& last_words() {
  static LastWords last;
  return last;
}

int64_t modified(const std::string& path) { return default_file_system().stat(path).modified_ns; }

AclImdb read_reviews_of(const std::string& path) {
  AclImdb reviews = read_acl_imdb(path);
  LastWords& last = last_words();
  const MutexLock lock(last.mutex);
  last.path = path;
  last.modified_ns = modified(path);
  last.words = reviews.words;
  return reviews;
}

WordIndex index_of_words(const std::vector<std::string>& words) {
  WordIndex index;
  for (size_t i = 0; i < words.size(); ++i) index[words[i]] = static_cast<int32_t>(i) + 1;
  return index;
}

LabelledLists lists_of(const NpzFile& file, const std::string& part) {
  const Tensor labels = file.array("y_" + part).cast(DType::s64);
  LabelledLists lists{.x = file.int_lists("x_" + part),
                      .y = {labels.data<int64_t>().begin(), labels.data<int64_t>().end()}};
  if (lists.x.size() != lists.y.size()) {
    throw invalid_argument("imdb: reviews, got {} and {} labels, expected equal numbers",
                           lists.x.size(), lists.y.size());
  }
  return lists;
}

}  // namespace

WordListDataSet load_data(const LoadOptions& options) {
  const std::string path = require_data_file(kImdb, options.path, options.data_dir, acl_names());
  LabelledLists train;
  LabelledLists test;
  if (path.ends_with(".npz")) {
    const NpzFile file(default_file_system(), path);
    train = lists_of(file, "train");
    test = lists_of(file, "test");
  } else {
    AclImdb reviews = read_reviews_of(path);
    train = std::move(reviews.train);
    test = std::move(reviews.test);
  }
  NumpyRandom random(options.seed);
  shuffle_lists(train, random);
  shuffle_lists(test, random);
  const size_t split = train.x.size();
  train.x.insert(train.x.end(), std::make_move_iterator(test.x.begin()),
                 std::make_move_iterator(test.x.end()));
  train.y.insert(train.y.end(), test.y.begin(), test.y.end());
  apply_steps(train, steps_of(options), "imdb");
  return split_lists(std::move(train), split);
}

WordIndex get_word_index(const WordIndexOptions& options) {
  const std::string path =
      require_data_file(kImdbWords, options.path, options.data_dir, acl_names());
  if (path.ends_with(".json")) return read_word_index(path);
  {
    LastWords& last = last_words();
    const MutexLock lock(last.mutex);
    if (last.path == path && last.modified_ns == modified(path)) return index_of_words(last.words);
  }
  return index_of_words(read_reviews_of(path).words);
}

std::string decode_review(const std::vector<int32_t>& review, const WordIndex& word_index,
                          int32_t index_from) {
  return decode_words(review, word_index, index_from);
}

std::string decode_review(const std::vector<int32_t>& review, const ReverseWordIndex& words,
                          int32_t index_from) {
  return decode_words(review, words, index_from);
}

}  // namespace systole::keras::datasets::imdb
