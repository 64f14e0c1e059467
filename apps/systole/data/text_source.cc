// Converts text to sequences of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/systole/data/example_source.h"
#include "systole/base/escape.h"

namespace systole::app {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20U;

class TextSource final : public ExampleSource {
 public:
  TextSource(FileSystem& fs, const std::string& path, int64_t length)
      : source_(open_unzipped(fs, path)),
        length_(length),
        identity_(fmt::format("{} length {}", file_identity(fs, path), length)) {
    count_bytes();
    if (size() == 0) {
      throw invalid_argument("{}: bytes of text, got {}, expected at least {} for one sequence",
                             path, bytes_, length_ + 1);
    }
  }

  int64_t size() const override { return std::max<int64_t>(0, (bytes_ - 1) / length_); }
  std::string identity() const override { return identity_; }

  void read(int64_t index, ExampleBuilder& out) override {
    read_text(index);
    tokens_.clear();
    for (const char byte : text_) tokens_.push_back(token_of_[static_cast<unsigned char>(byte)]);
    out.int64("tokens", tokens_);
  }

  // A line for each token; control characters are escaped as in C.
  std::string vocabulary() const {
    std::string lines;
    for (size_t byte = 0; byte < 256; ++byte) {
      if (token_of_[byte] < 0) continue;
      const char c = static_cast<char>(byte);
      lines += escaped({&c, 1}, {.ascii = true}) + '\n';
    }
    return lines;
  }

 private:
  // Reads forwards if possible, because going back in a compressed file reads it from the start.
  void read_text(int64_t index) {
    size_t there = 0;
    if (index > 0 && index == next_) {
      text_[0] = text_.back();
      there = 1;
    } else {
      source_->seek(static_cast<uint64_t>(index * length_));
    }
    next_ = -1;
    text_.resize(static_cast<size_t>(length_) + 1);
    while (there < text_.size()) {
      const size_t got = source_->read(text_.size() - there, text_.data() + there);
      if (got == 0) {
        throw make_error(Code::data_loss, "{}: bytes of text, got {}, expected {}: it has changed",
                         source_->path(), index * length_ + static_cast<int64_t>(there), bytes_);
      }
      there += got;
    }
    next_ = index + 1;
  }

  void count_bytes() {
    std::array<bool, 256> seen{};
    std::string buffer(kBufferBytes, '\0');
    while (const size_t got = source_->read(buffer.size(), buffer.data())) {
      for (size_t i = 0; i < got; ++i) seen[static_cast<unsigned char>(buffer[i])] = true;
      bytes_ += static_cast<int64_t>(got);
    }
    int64_t next = 0;
    for (size_t byte = 0; byte < 256; ++byte) token_of_[byte] = seen[byte] ? next++ : -1;
  }

  std::unique_ptr<ByteSource> source_;
  int64_t length_;
  int64_t bytes_ = 0;
  std::string identity_;
  std::array<int64_t, 256> token_of_{};
  std::string text_;
  int64_t next_ = -1;  // the sequence that begins with the last byte of text_; -1: none
  std::vector<int64_t> tokens_;
};

}  // namespace

std::vector<Split> text_splits(FileSystem& fs, const SourceOptions& options) {
  const std::string& path = single_input(options, "text");
  if (options.sequence_length < 1) {
    throw invalid_argument("convert text: sequence length, got {}, expected at least 1",
                           options.sequence_length);
  }
  auto source = std::make_unique<TextSource>(fs, path, options.sequence_length);
  std::string vocabulary = source->vocabulary();
  std::vector<Split> splits;
  splits.push_back(
      {name_of_file(path), std::move(source), {{"vocabulary.txt", std::move(vocabulary)}}});
  return splits;
}

}  // namespace systole::app
