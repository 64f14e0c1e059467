#include "systole/session/kernels/vocabulary.h"

#include "systole/session/kernels/node_files.h"

namespace systole {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool carriage = end > begin && text[end - 1] == '\r';
    lines.push_back(text.substr(begin, end - begin - (carriage ? 1 : 0)));
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> words_of(const Tensor& words) {
  const auto data = words.data<std::string>();
  return {data.begin(), data.end()};
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> words, std::string_view what)
    : words_(std::move(words)) {
  numbers_.reserve(words_.size());
  for (size_t i = 0; i < words_.size(); ++i) {
    const auto [it, added] = numbers_.emplace(words_[i], static_cast<int64_t>(i));
    if (!added) {
      throw invalid_argument("{}: word of line {}, got '{}', expected another than in line {}",
                             what, i + 1, words_[i], it->second + 1);
    }
  }
}

std::shared_ptr<const Vocabulary> vocabulary_of(KernelContext& context) {
  const auto& file = context.attr<std::string>("filename");
  const auto& list = context.attr<Tensor>("vocabulary");
  const auto limit = context.attr<int64_t>("vocab_size");
  NodeFiles files(context.node);
  const std::string key =
      fmt::format("vocabulary {} {} {} {}", file, list.raw(), limit, files.limit());
  return context.resources.get<Vocabulary>(key, [&] {
    const std::string what = file.empty() ? "vocabulary_list" : file;
    auto words = file.empty() ? words_of(list) : lines_of(read_file(files, file));
    if (limit > static_cast<int64_t>(words.size())) {
      throw invalid_argument("{}: words, got {}, expected vocab_size, {}", what, words.size(),
                             limit);
    }
    if (limit > 0) words.resize(static_cast<size_t>(limit));
    return std::make_shared<Vocabulary>(std::move(words), what);
  });
}

}  // namespace systole
