#include "systole/keras/datasets/acl_imdb.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <thread>
#include <tuple>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/io/archives/archive_reader.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/datasets/python2_dict.h"
#include "systole/keras/preprocessing/text.h"

namespace systole::keras::datasets {
namespace {

constexpr int kUnranked = 0;
constexpr size_t kMaxTextsAhead = 512;
constexpr uint64_t kMaxReviewBytes = 16U << 20U;

struct ReviewText {
  bool train = false;
  bool positive = false;
  std::string file;  // "123_8.txt"
  std::string text;
};

struct Review {
  bool train = false;
  bool positive = false;
  std::string file;
  std::vector<int32_t> words;  // in the order in which the reader met them
};

// Fills in what a path says: .../train/pos/123_8.txt. Returns false for other files.
bool parse_review_path(std::string_view path, ReviewText& review) {
  std::array<std::string_view, 3> parts;  // the last ones
  for (size_t i = parts.size(); i-- > 0;) {
    const size_t slash = path.rfind('/');
    parts.at(i) = slash == path.npos ? path : path.substr(slash + 1);
    path = slash == path.npos ? std::string_view() : path.substr(0, slash);
  }
  review.train = parts[0] == "train";
  review.positive = parts[1] == "pos";
  review.file = parts[2];
  return (review.train || parts[0] == "test") && (review.positive || parts[1] == "neg") &&
         review.file.ends_with(".txt") && !review.file.starts_with('.');
}

// Hands texts from the thread that reads to the one that splits them into words.
class TextQueue {
 public:
  // Returns false if nobody wants more.
  bool put(ReviewText text) {
    MutexLock lock(mutex_);
    room_.wait(
        lock, [&]() SYSTOLE_REQUIRES(mutex_) { return texts_.size() < kMaxTextsAhead || closed_; });
    if (closed_) return false;
    texts_.push_back(std::move(text));
    filled_.notify_one();
    return true;
  }
  // Takes all texts there are; none at the end. Errors: that of the reader.
  std::deque<ReviewText> take() {
    MutexLock lock(mutex_);
    filled_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return !texts_.empty() || closed_; });
    if (texts_.empty() && error_ != nullptr) std::rethrow_exception(error_);
    room_.notify_one();
    return std::exchange(texts_, {});
  }
  void close(std::exception_ptr error = nullptr) {
    const MutexLock lock(mutex_);
    closed_ = true;
    error_ = std::move(error);
    filled_.notify_one();
    room_.notify_one();
  }

 private:
  Mutex mutex_;
  CondVar filled_;
  CondVar room_;
  std::deque<ReviewText> texts_ SYSTOLE_GUARDED_BY(mutex_);
  std::exception_ptr error_ SYSTOLE_GUARDED_BY(mutex_);
  bool closed_ SYSTOLE_GUARDED_BY(mutex_) = false;
};

void read_folder(const std::string& folder, TextQueue& queue) {
  FileSystem& files = default_file_system();
  for (const char* const part : {"train/pos", "train/neg", "test/pos", "test/neg"}) {
    const std::string inner = join_path(folder, part);
    for (const std::string& name : files.list(inner)) {
      ReviewText review;
      const std::string path = join_path(inner, name);
      if (!parse_review_path(path, review)) continue;
      review.text = read_file(files, path);
      if (!queue.put(std::move(review))) return;
    }
  }
}

void read_archive(const std::string& path, TextQueue& queue) {
  ArchiveReader archive(default_file_system(), path);
  while (archive.next()) {
    ReviewText review;
    if (!parse_review_path(archive.name(), review)) continue;
    review.text = archive.read(kMaxReviewBytes);
    if (!queue.put(std::move(review))) return;
  }
}

// Numbers words as it meets them.
class WordReader {
 public:
  WordReader() {
    for (size_t c = 0; c < lower_.size(); ++c) {
      lower_.at(c) = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    for (const char* c = preprocessing::text::kDefaultFilters; *c != '\0'; ++c) {
      lower_.at(static_cast<unsigned char>(*c)) = ' ';
    }
  }

  std::vector<int32_t> numbers_of(std::string& text) {
    for (char& c : text) c = lower_.at(static_cast<unsigned char>(c));
    std::vector<int32_t> numbers;
    std::string_view rest = text;
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      if (rest.empty()) return numbers;
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size());
      const absl::string_view key(word.data(), word.size());
      auto found = numbers_.find(key);
      if (found == numbers_.end()) {
        found = numbers_.emplace(key, static_cast<int32_t>(words_.size())).first;
        words_.emplace_back(word);
      }
      numbers.push_back(found->second);
    }
  }

  std::vector<std::string>& words() { return words_; }

 private:
  std::array<char, 256> lower_{};
  absl::flat_hash_map<std::string, int32_t> numbers_;
  std::vector<std::string> words_;
};

// Ranks of words from 1, by the order of WordReader; kUnranked for those of test reviews only.
std::vector<int32_t> ranks_of(const std::vector<Review>& reviews,
                              const std::vector<std::string>& words) {
  std::vector<int64_t> counts(words.size(), 0);
  Python2Dict dict;
  for (const Review& review : reviews) {
    if (!review.train) continue;
    for (const int32_t word : review.words) {
      const auto i = static_cast<size_t>(word);
      if (counts[i]++ == 0) dict.add(words[i], word);
    }
  }
  std::vector<int32_t> order = dict.values();
  std::ranges::stable_sort(order, std::greater(), [&](int32_t word) { return counts[word]; });
  std::vector<int32_t> ranks(words.size(), kUnranked);
  for (size_t i = 0; i < order.size(); ++i) {
    ranks[order[i]] = static_cast<int32_t>(i) + 1;
  }
  return ranks;
}

std::vector<Review> read_reviews(const std::string& path, WordReader& words) {
  TextQueue queue;
  std::thread reader([&] {
    try {
      if (default_file_system().stat(path).is_directory) {
        read_folder(path, queue);
      } else {
        read_archive(path, queue);
      }
      queue.close();
    } catch (...) {
      queue.close(std::current_exception());
    }
  });
  std::vector<Review> reviews;
  std::exception_ptr error;
  try {
    while (true) {
      std::deque<ReviewText> texts = queue.take();
      if (texts.empty()) break;
      for (ReviewText& text : texts) {
        reviews.push_back({.train = text.train,
                           .positive = text.positive,
                           .file = std::move(text.file),
                           .words = words.numbers_of(text.text)});
      }
    }
  } catch (...) {
    error = std::current_exception();
    queue.close();
  }
  reader.join();
  if (error != nullptr) std::rethrow_exception(error);
  return reviews;
}

}  // namespace

AclImdb read_acl_imdb(const std::string& path) {
  WordReader reader;
  std::vector<Review> reviews = read_reviews(path, reader);
  std::ranges::sort(reviews, [](const Review& a, const Review& b) {
    return std::tie(b.train, b.positive, a.file) < std::tie(a.train, a.positive, b.file);
  });
  const std::vector<int32_t> ranks = ranks_of(reviews, reader.words());
  AclImdb result;
  for (Review& review : reviews) {
    std::vector<int32_t> words;
    for (const int32_t word : review.words) {
      const int32_t rank = ranks[word];
      if (rank != kUnranked) words.push_back(rank);
    }
    LabelledLists& part = review.train ? result.train : result.test;
    part.x.push_back(std::move(words));
    part.y.push_back(review.positive ? 1 : 0);
  }
  if (result.train.x.empty() || result.test.x.empty()) {
    throw invalid_argument(
        "{}: reviews, got {} for training and {} for testing, expected some of both in "
        "train/pos/*.txt, train/neg, test/pos and test/neg",
        path, result.train.x.size(), result.test.x.size());
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == kUnranked) continue;
    const auto place = static_cast<size_t>(ranks[i]) - 1;
    if (result.words.size() <= place) result.words.resize(place + 1);
    result.words[place] = std::move(reader.words()[i]);
  }
  return result;
}

}  // namespace systole::keras::datasets
