#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/idx.h"
#include "systole/io/testing/archive_builder.h"
#include "systole/keras/datasets/acl_imdb.h"
#include "systole/keras/datasets/boston_housing.h"
#include "systole/keras/datasets/cifar.h"
#include "systole/keras/datasets/imdb.h"
#include "systole/keras/datasets/mnist.h"
#include "systole/keras/datasets/python2_dict.h"
#include "systole/keras/datasets/reuters.h"
#include "systole/keras/preprocessing/numpy_random.h"

namespace systole::keras::datasets {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Lists = std::vector<std::vector<int32_t>>;

void put_file(const std::string& path, const std::string& bytes) {
  default_file_system().make_directories(parent_path(path));
  write_file_atomically(default_file_system(), path, bytes);
}

// Points HOME and KERAS_HOME elsewhere while it lives.
class KerasHome {
 public:
  KerasHome(const std::string& home, const std::string& keras_home)
      : home_(value("HOME")), keras_home_(value("KERAS_HOME")) {
    set("HOME", home);
    set("KERAS_HOME", keras_home);
  }
  ~KerasHome() {
    set("HOME", home_);
    set("KERAS_HOME", keras_home_);
  }
  KerasHome(const KerasHome&) = delete;
  KerasHome& operator=(const KerasHome&) = delete;

 private:
  static std::string value(const char* name) {
    const char* const text = std::getenv(name);
    return text == nullptr ? "" : text;
  }
  static void set(const char* name, const std::string& text) {
    text.empty() ? ::unsetenv(name) : ::setenv(name, text.c_str(), 1);
  }
  std::string home_;
  std::string keras_home_;
};

const Lists kTrain = {{1, 2, 3, 4}, {5, 1}, {2, 9, 9}, {7}, {1, 8, 3, 2, 6}};
const Lists kTest = {{4, 4}, {1, 10, 2}, {3}};

std::string small_imdb() {
  return testing::zip_of(
      {{"x_train.npy", testing::npy_of_lists(kTrain)},
       {"y_train.npy", testing::npy_of(Tensor::of<int64_t>({5}, {1, 0, 1, 0, 1}))},
       {"x_test.npy", testing::npy_of_lists(kTest)},
       {"y_test.npy", testing::npy_of(Tensor::of<int64_t>({3}, {0, 1, 1}))}});
}

// Keras's load_data() on `kTrain` and `kTest`, one step after the other.
Lists expected_lists(const imdb::LoadOptions& o, std::vector<int64_t>& labels) {
  NumpyRandom random(o.seed);
  Lists lists;
  const auto train = random.permutation(5);
  const auto test = random.permutation(3);
  for (const int64_t i : train) {
    lists.push_back(kTrain[i]);
    labels.push_back(1 - i % 2);
  }
  for (const int64_t i : test) {
    lists.push_back(kTest[i]);
    labels.push_back(i == 0 ? 0 : 1);
  }
  for (auto& list : lists) {
    for (int32_t& word : list) word += o.index_from;
    if (o.start_char) list.insert(list.begin(), *o.start_char);
  }
  if (o.maxlen) {
    for (size_t i = lists.size(); i-- > 0;) {
      if (static_cast<int64_t>(lists[i].size()) < *o.maxlen) continue;
      lists.erase(lists.begin() + static_cast<int64_t>(i));
      labels.erase(labels.begin() + static_cast<int64_t>(i));
    }
  }
  int64_t num_words = o.num_words.value_or(0);
  for (const auto& list : lists) {
    if (!o.num_words) num_words = std::max<int64_t>(num_words, *std::ranges::max_element(list));
  }
  for (auto& list : lists) {
    std::vector<int32_t> kept;
    for (const int32_t word : list) {
      if (word >= o.skip_top && word < num_words) {
        kept.push_back(word);
      } else if (o.oov_char) {
        kept.push_back(*o.oov_char);
      }
    }
    list = kept;
  }
  return lists;
}

TEST(DataSetsTest, ImdbOptions) {
  const TempFolder folder;
  put_file(folder / "imdb.npz", small_imdb());
  std::vector<imdb::LoadOptions> all(9);
  all[1].num_words = 8;
  all[2].skip_top = 5;
  all[3].maxlen = 4;
  all[4].start_char = std::nullopt;
  all[5].oov_char = std::nullopt;
  all[5].num_words = 9;
  all[6].index_from = 0;
  all[7].seed = 5;
  all[8].maxlen = 3;
  all[8].num_words = 8;
  all[8].skip_top = 2;
  for (imdb::LoadOptions& options : all) {
    options.data_dir = folder.path();
    std::vector<int64_t> labels;
    const Lists lists = expected_lists(options, labels);
    const auto [train, test] = imdb::load_data(options);
    const auto& [x_train, y_train] = train;
    // With maxlen the split stays where it was.
    const size_t split = std::min<size_t>(5, lists.size());
    const auto middle = static_cast<int64_t>(split);
    EXPECT_EQ(x_train, Lists(lists.begin(), lists.begin() + middle));
    EXPECT_EQ(test.x, Lists(lists.begin() + middle, lists.end()));
    EXPECT_TRUE(std::ranges::equal(y_train.data<int64_t>(), std::span(labels).first(split)));
    EXPECT_TRUE(std::ranges::equal(test.y.data<int64_t>(), std::span(labels).subspan(split)));
  }
  EXPECT_THAT(
      error_of([&] { imdb::load_data({.maxlen = 1, .data_dir = folder.path()}); }),
      HasSubstr("After filtering for sequences shorter than maxlen=1, no sequence was kept"));
}

TEST(DataSetsTest, WordIndexAndDecode) {
  const TempFolder folder;
  const KerasHome home(folder / "home", "");
  EXPECT_THAT(error_of([&] { imdb::get_word_index({.data_dir = folder.path()}); }),
              AllOf(HasSubstr("got none of the files imdb_word_index.json, aclImdb/"),
                    HasSubstr("fetch https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
                              "imdb_word_index.json")));
  put_file(folder / "imdb/imdb_word_index.json", R"({"film": 1, "a": 2, "good": 3})");
  const WordIndex index = imdb::get_word_index({.data_dir = folder.path()});
  EXPECT_EQ(index.at("good"), 3);
  EXPECT_EQ(imdb::decode_review({1, 5, 6, 2, 4, 99}, index), "? a good ? film ?");
  EXPECT_EQ(imdb::decode_review({1, 2}, index, 0), "film a");
  EXPECT_EQ(imdb::decode_review({}, index), "");
  const ReverseWordIndex words(index);
  EXPECT_EQ(imdb::decode_review({1, 5, 6, -2, 4, 99}, words), "? a good ? film ?");
  EXPECT_EQ(imdb::decode_review({1, 5, 6, -2, 4, 99}, index), "? a good ? film ?");
  put_file(folder / "broken.json", R"({"film": "one"})");
  EXPECT_THAT(error_of([&] { imdb::get_word_index({.path = folder / "broken.json"}); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("broken.json: word index")));
}

TEST(DataSetsTest, SearchesFoldersInOrder) {
  const TempFolder folder;
  const KerasHome home(folder / "home", folder / "keras");
  const std::string error = error_of([&] { imdb::load_data({.data_dir = folder / "data"}); });
  EXPECT_THAT(error,
              AllOf(StartsWith("NOT_FOUND: imdb: data set"), HasSubstr("imdb.npz, aclImdb/"),
                    HasSubstr(folder / "data/imdb"), HasSubstr(folder / "keras/datasets/imdb"),
                    HasSubstr(folder / "home/.keras/datasets/imdb"),
                    HasSubstr("https://ai.stanford.edu/")));
  put_file(folder / "home/.keras/datasets/imdb.npz", small_imdb());
  EXPECT_THAT(imdb::load_data().train.x, SizeIs(5));
  put_file(folder / "keras/datasets/imdb.npz", "broken");
  EXPECT_THAT(error_of([] { imdb::load_data(); }), HasSubstr(folder / "keras/datasets/imdb.npz"));
  put_file(folder / "data/imdb/imdb.npz", small_imdb());
  EXPECT_THAT(imdb::load_data({.data_dir = folder / "data"}).test.x, SizeIs(3));
  EXPECT_THAT(imdb::load_data({.path = folder / "data/imdb/imdb.npz"}).test.x, SizeIs(3));
  EXPECT_THAT(error_of([&] { imdb::load_data({.path = folder / "no/imdb.npz"}); }),
              AllOf(StartsWith("NOT_FOUND"), HasSubstr(folder / "no")));
}

// The order of `dict.keys()` in Python 2.7 without hash randomization.
TEST(DataSetsTest, Python2DictOrder) {
  Python2Dict dict;
  const std::vector<std::string> words = {"the", "and", "a",   "of",   "to",    "is",
                                          "br",  "in",  "it",  "i",    "this",  "that",
                                          "was", "as",  "for", "with", "movie", "but"};
  for (size_t i = 0; i < words.size(); ++i) dict.add(words[i], static_cast<int32_t>(i));
  std::vector<std::string> order;
  for (const int32_t i : dict.values()) order.push_back(words[i]);
  EXPECT_THAT(order, ElementsAre("and", "a", "for", "that", "i", "of", "is", "this", "it", "but",
                                 "to", "as", "br", "in", "movie", "the", "was", "with"));
}

const testing::ArchiveFiles& acl_files() {
  static const testing::ArchiveFiles files = {
      {"aclImdb/imdb.vocab", "the\n"},
      {"aclImdb/test/neg/0_1.txt", "A bad, BAD film<br />and unknown"},
      {"aclImdb/test/pos/0_9.txt", "good"},
      {"aclImdb/train/neg/0_2.txt", "bad film. It's bad!"},
      {"aclImdb/train/neg/10_2.txt", "a film"},
      {"aclImdb/train/neg/9_2.txt", "a bad \xc3\x89toile"},
      {"aclImdb/train/pos/0_9.txt", "Good GOOD good film and"},
      {"aclImdb/train/unsup/0_0.txt", "good good good good"},
      {"aclImdb/train/pos/._0_9.txt", "not a review"},
  };
  return files;
}

void check_acl(const AclImdb& acl) {
  // good, film, bad: 3 each; a: 2; and, it's, \xc3\x89toile: 1 each.
  std::map<std::string, int32_t> rank;
  for (size_t i = 0; i < acl.words.size(); ++i) rank[acl.words[i]] = static_cast<int32_t>(i) + 1;
  EXPECT_THAT(acl.words, SizeIs(7));
  EXPECT_LE(std::max({rank.at("good"), rank.at("film"), rank.at("bad")}), 3);
  EXPECT_EQ(rank.at("a"), 4);
  const auto ids = [&](const std::vector<std::string>& words) {
    std::vector<int32_t> list;
    for (const std::string& word : words) list.push_back(rank.at(word));
    return list;
  };
  // Positive ones first, then by name as text: 0_2, 10_2, 9_2.
  EXPECT_EQ(acl.train.x, (Lists{ids({"good", "good", "good", "film", "and"}),
                                ids({"bad", "film", "it's", "bad"}), ids({"a", "film"}),
                                ids({"a", "bad", "\xc3\x89toile"})}));
  EXPECT_THAT(acl.train.y, ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(acl.test.x, (Lists{ids({"good"}), ids({"a", "bad", "bad", "film", "and"})}));
  EXPECT_THAT(acl.test.y, ElementsAre(1, 0));
}

TEST(DataSetsTest, OriginalReviewsAsArchiveAndFolder) {
  const TempFolder folder;
  const std::string tar = testing::tar_of(acl_files());
  put_file(folder / "imdb/aclImdb_v1.tar.gz", testing::gzip_of(tar));
  check_acl(read_acl_imdb(folder / "imdb/aclImdb_v1.tar.gz"));
  for (const auto& [name, text] : acl_files()) put_file(folder / ("unpacked/" + name), text);
  check_acl(read_acl_imdb(folder / "unpacked/aclImdb"));
  const auto [train, test] = imdb::load_data({.data_dir = folder.path()});
  EXPECT_THAT(train.x, SizeIs(4));
  EXPECT_THAT(test.x, SizeIs(2));
  const WordIndex index = imdb::get_word_index({.data_dir = folder.path()});
  EXPECT_EQ(index.size(), 7U);
  EXPECT_EQ(index, imdb::get_word_index({.path = folder / "unpacked/aclImdb"}));
  const std::string gzip = testing::gzip_of(tar);
  put_file(folder / "cut.tar.gz", gzip.substr(0, gzip.size() / 2));
  EXPECT_THAT(error_of([&] { read_acl_imdb(folder / "cut.tar.gz"); }), HasSubstr("cut.tar.gz"));
  put_file(folder / "empty.tar", testing::tar_of({{"a.txt", "a"}}));
  EXPECT_THAT(error_of([&] { read_acl_imdb(folder / "empty.tar"); }),
              HasSubstr("reviews, got 0 for training and 0 for testing"));
}

TEST(DataSetsTest, Reuters) {
  const TempFolder folder;
  const Lists texts = {{1}, {2, 2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}};
  Tensor topics(DType::s64, {10});
  for (int64_t i = 0; i < 10; ++i) topics.data<int64_t>()[i] = 30 + i;
  put_file(folder / "reuters.npz", testing::zip_of({{"x.npy", testing::npy_of_lists(texts)},
                                                    {"y.npy", testing::npy_of(topics)}}));
  const auto [train, test] =
      reuters::load_data({.num_words = 100, .seed = 0, .data_dir = folder.path()});
  // numpy.random.seed(0); shuffle: 2 8 4 9 1 6 7 3 | 0 5
  EXPECT_EQ(train.x,
            (Lists{{1, 6}, {1, 12}, {1, 8}, {1, 13}, {1, 5, 5}, {1, 10}, {1, 11}, {1, 7}}));
  EXPECT_THAT(train.y.data<int64_t>(), ElementsAre(32, 38, 34, 39, 31, 36, 37, 33));
  EXPECT_EQ(test.x, (Lists{{1, 4}, {1, 9}}));
  EXPECT_THAT(test.y.data<int64_t>(), ElementsAre(30, 35));
  EXPECT_THAT(reuters::load_data({.test_split = 0.5, .data_dir = folder.path()}).test.x, SizeIs(5));
  EXPECT_THAT(error_of([&] { reuters::load_data({.test_split = 1.5, .data_dir = folder.path()}); }),
              HasSubstr("test_split, got 1.5"));
}

TEST(DataSetsTest, BostonHousing) {
  const TempFolder folder;
  Tensor x(DType::f64, {10, 13});
  Tensor y(DType::f64, {10});
  for (size_t i = 0; i < 130; ++i) x.data<double>()[i] = static_cast<double>(i);
  for (size_t i = 0; i < 10; ++i) y.data<double>()[i] = static_cast<double>(i);
  put_file(folder / "boston_housing.npz",
           testing::zip_of({{"x.npy", testing::npy_of(x)}, {"y.npy", testing::npy_of(y)}}));
  const auto [train, test] = boston_housing::load_data({.seed = 0, .data_dir = folder.path()});
  EXPECT_THAT(train.y.data<double>(), ElementsAre(2, 8, 4, 9, 1, 6, 7, 3));
  EXPECT_THAT(test.y.data<double>(), ElementsAre(0, 5));
  EXPECT_EQ(train.x.shape(), (Shape{8, 13}));
  EXPECT_EQ(test.x.data<double>()[13], 65);
}

std::string idx_of(const Tensor& array) {
  const TempFolder folder;
  write_idx(default_file_system(), folder / "f", array, Compression::gzip);
  return read_file(default_file_system(), folder / "f");
}

TEST(DataSetsTest, MnistAsNpzAndIdx) {
  const TempFolder folder;
  const KerasHome home(folder / "home", "");
  const auto images = [](int64_t n, double value) {
    return Tensor::full(DType::u8, {n, 28, 28}, value);
  };
  const auto labels = [](int64_t n, double value) { return Tensor::full(DType::u8, {n}, value); };
  const std::string npz = testing::zip_of({{"x_train.npy", testing::npy_of(images(3, 1))},
                                           {"y_train.npy", testing::npy_of(labels(3, 2))},
                                           {"x_test.npy", testing::npy_of(images(2, 3))},
                                           {"y_test.npy", testing::npy_of(labels(2, 4))}});
  put_file(folder / "a/mnist.npz", npz);
  const auto [train, test] = mnist::load_data({.data_dir = folder / "a"});
  EXPECT_TRUE(train.x.identical(images(3, 1)));
  EXPECT_TRUE(test.y.identical(labels(2, 4)));
  const std::string fashion = folder / "b/fashion-mnist/";
  put_file(fashion + "train-images-idx3-ubyte.gz", idx_of(images(4, 5)));
  put_file(fashion + "train-labels-idx1-ubyte.gz", idx_of(labels(4, 6)));
  put_file(fashion + "t10k-images-idx3-ubyte.gz", idx_of(images(1, 7)));
  EXPECT_THAT(
      error_of([&] { fashion_mnist::load_data({.data_dir = folder / "b"}); }),
      AllOf(StartsWith("NOT_FOUND: fashion_mnist"), HasSubstr("t10k-labels-idx1-ubyte.gz")));
  put_file(fashion + "t10k-labels-idx1-ubyte.gz", idx_of(labels(1, 8)));
  for (const std::string& data_dir : {folder / "b", folder / "b/fashion-mnist"}) {
    const DataSet set = fashion_mnist::load_data({.data_dir = data_dir});
    EXPECT_TRUE(set.train.x.identical(images(4, 5)));
    EXPECT_TRUE(set.test.y.identical(labels(1, 8)));
  }
  // Files of one are not taken for the other.
  EXPECT_THAT(
      error_of([&] { mnist::load_data({.data_dir = folder / "b/fashion-mnist"}); }),
      AllOf(StartsWith("NOT_FOUND: mnist"), HasSubstr("mnist.npz, train-images-idx3-ubyte.gz")));
  put_file(fashion + "train-labels-idx1-ubyte.gz", idx_of(labels(3, 6)));
  EXPECT_THAT(error_of([&] { fashion_mnist::load_data({.data_dir = folder / "b"}); }),
              HasSubstr("got u8[4,28,28] and u8[3], expected"));
  EXPECT_EQ(fashion_mnist::class_names().at(9), "Ankle boot");
}

// A record of image `i` of a file: planes of 10, 20 and 30 more than `i`.
std::string cifar_planes(int i) {
  return std::string(1024, static_cast<char>(10 + i)) +
         std::string(1024, static_cast<char>(20 + i)) +
         std::string(1024, static_cast<char>(30 + i));
}

void check_cifar(const DataSet& set, int64_t train, int first_label) {
  ASSERT_EQ(set.train.x.type(), (TensorType{DType::u8, {train, 32, 32, 3}}));
  ASSERT_EQ(set.train.y.type(), (TensorType{DType::u8, {train, 1}}));
  const auto pixels = set.train.x.data<uint8_t>();
  for (int64_t i = 0; i < train; ++i) {
    const auto at = static_cast<size_t>(i * 3072);
    EXPECT_THAT(pixels.subspan(at, 3), ElementsAre(10 + i, 20 + i, 30 + i));
    EXPECT_THAT(pixels.subspan(at + 3069, 3), ElementsAre(10 + i, 20 + i, 30 + i));
    EXPECT_EQ(set.train.y.data<uint8_t>()[i], first_label + i);
  }
  EXPECT_EQ(set.test.x.dim(0), 1);
}

TEST(DataSetsTest, CifarBinary) {
  const TempFolder folder;
  const KerasHome home(folder / "home", "");
  testing::ArchiveFiles files;
  for (int i = 0; i < 5; ++i) {
    files.emplace_back(fmt::format("cifar-10-batches-bin/data_batch_{}.bin", i + 1),
                       std::string(1, static_cast<char>(i)) + cifar_planes(i));
  }
  files.emplace_back("cifar-10-batches-bin/test_batch.bin", std::string(1, '\7') + cifar_planes(9));
  for (const auto& [name, bytes] : files) put_file(folder / name, bytes);
  check_cifar(cifar10::load_data({.data_dir = folder.path()}), 5, 0);
  put_file(folder / "packed/cifar10/cifar-10-binary.tar.gz",
           testing::gzip_of(testing::tar_of(files)));
  check_cifar(cifar10::load_data({.data_dir = folder / "packed"}), 5, 0);
  put_file(folder / "cifar-10-batches-bin/data_batch_3.bin", "short");
  EXPECT_THAT(error_of([&] { cifar10::load_data({.data_dir = folder.path()}); }),
              AllOf(StartsWith("DATA_LOSS"), HasSubstr("data_batch_3"), HasSubstr("got 5 bytes")));
  std::filesystem::remove(folder / "cifar-10-batches-bin/data_batch_3.bin");
  EXPECT_THAT(error_of([&] { cifar10::load_data({.data_dir = folder.path()}); }),
              HasSubstr("got no file 'data_batch_3' or 'data_batch_3.bin'"));
  EXPECT_THAT(error_of([&] { cifar100::load_data({.data_dir = folder.path()}); }),
              AllOf(StartsWith("NOT_FOUND: cifar100"), HasSubstr("cifar-100-python")));

  const std::string hundred = folder / "cifar-100-binary/";
  put_file(hundred + "train.bin", std::string("\x05\x2a", 2) + cifar_planes(0) +
                                      std::string("\x06\x2b", 2) + cifar_planes(1));
  put_file(hundred + "test.bin", std::string("\x01\x02", 2) + cifar_planes(0));
  check_cifar(cifar100::load_data({.data_dir = folder.path()}), 2, 42);
  check_cifar(cifar100::load_data({.label_mode = "coarse", .data_dir = folder.path()}), 2, 5);
  EXPECT_THAT(error_of([&] { cifar100::load_data({.label_mode = "all"}); }),
              HasSubstr("label_mode must be one of"));
}

// A text with the zeros in it.
template <size_t Size>
std::string bytes(const char (&text)[Size]) {
  return {text, Size - 1};
}

// As Python 2 pickled the batches: strings of bytes, protocol 2.
std::string cifar_pickle(int images, int first) {
  std::string data;
  std::string labels;
  for (int i = first; i < first + images; ++i) {
    data += cifar_planes(i);
    labels += std::string("K") + static_cast<char>(i);
  }
  const std::string size = {static_cast<char>(data.size()), static_cast<char>(data.size() >> 8),
                            static_cast<char>(data.size() >> 16), 0};
  return bytes("\x80\x02}q\x01(U\x06labelsq\x02](") + labels +
         bytes(
             "eU\x04"
             "datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01"
             "b\x87R(K\x01K") +
         static_cast<char>(images) +
         bytes(
             "M\0\x0c\x86"
             "cnumpy\ndtype\nU\x02u1K\0K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff"
             "\xffK\0tb\x89T") +
         size + data + "tbu.";
}

TEST(DataSetsTest, CifarPython) {
  const TempFolder folder;
  for (int i = 0; i < 5; ++i) {
    put_file(folder / fmt::format("cifar-10-batches-py/data_batch_{}", i + 1), cifar_pickle(1, i));
  }
  put_file(folder / "cifar-10-batches-py/test_batch", cifar_pickle(1, 0));
  check_cifar(cifar10::load_data({.data_dir = folder.path()}), 5, 0);
  put_file(folder / "cifar-10-batches-py/test_batch", cifar_pickle(1, 0).substr(0, 2000));
  EXPECT_THAT(error_of([&] { cifar10::load_data({.data_dir = folder.path()}); }),
              AllOf(StartsWith("DATA_LOSS"), HasSubstr("test_batch: pickle ends early")));
}

}  // namespace
}  // namespace systole::keras::datasets
