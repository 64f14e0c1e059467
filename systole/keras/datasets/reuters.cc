#include "systole/keras/datasets/reuters.h"

#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npz.h"
#include "systole/keras/datasets/data_folder.h"
#include "systole/keras/datasets/word_lists.h"

namespace systole::keras::datasets::reuters {
namespace {

constexpr DataSource kReuters = {
    .name = "reuters",
    .folder = "reuters",
    .origin =
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/reuters.npz (and "
        "reuters_word_index.json)"};

}  // namespace

WordListDataSet load_data(const LoadOptions& options) {
  if (!(options.test_split >= 0 && options.test_split <= 1)) {
    throw invalid_argument("reuters: test_split, got {}, expected 0 to 1", options.test_split);
  }
  const NpzFile file(default_file_system(),
                     require_data_file(kReuters, options.path, options.data_dir, {}));
  const Tensor topics = file.array("y").cast(DType::s64);
  LabelledLists texts{.x = file.int_lists("x"),
                      .y = {topics.data<int64_t>().begin(), topics.data<int64_t>().end()}};
  if (texts.x.size() != texts.y.size()) {
    throw invalid_argument("reuters: texts, got {} and {} topics, expected equal numbers",
                           texts.x.size(), texts.y.size());
  }
  NumpyRandom random(options.seed);
  shuffle_lists(texts, random);
  apply_steps(texts, steps_of(options), "reuters");
  const double train = static_cast<double>(texts.x.size()) * (1 - options.test_split);
  return split_lists(std::move(texts), static_cast<size_t>(train));
}

WordIndex get_word_index(const WordIndexOptions& options) {
  return read_word_index(require_data_file(kReuters, options.path, options.data_dir, {}));
}

}  // namespace systole::keras::datasets::reuters
