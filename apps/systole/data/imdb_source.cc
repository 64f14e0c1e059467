// The movie reviews of aclImdb.
#include <charconv>

#include "apps/systole/data/example_source.h"

namespace systole::app {
namespace {

class ReviewSource final : public ExampleSource {
 public:
  ReviewSource(FileSystem& fs, ClassFiles files) : fs_(fs), files_(std::move(files)) {}

  int64_t size() const override { return static_cast<int64_t>(files_.files.size()); }
  uint64_t bytes() override {
    constexpr uint64_t kOtherFeatures = 80;
    return files_.bytes + kOtherFeatures * files_.files.size();
  }
  std::string identity() const override { return files_.identity; }

  void read(int64_t index, ExampleBuilder& out) override {
    const ClassFile& file = files_.files[index];
    text_ = read_file(fs_, file.path);
    out.bytes("text", text_).int64("label", file.label);
    const std::string name = base_name(file.path);
    const size_t mark = name.find('_');
    if (mark == std::string::npos) return;
    add_number("id", std::string_view(name).substr(0, mark), out);
    add_number("rating", std::string_view(name).substr(mark + 1), out);
  }

 private:
  // The number at the start of a text.
  static void add_number(const char* key, std::string_view text, ExampleBuilder& out) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end != text.data()) out.int64(key, value);
  }

  FileSystem& fs_;
  ClassFiles files_;
  std::string text_;
};

}  // namespace

std::vector<Split> imdb_splits(FileSystem& fs, const SourceOptions& options) {
  const std::string& folder = single_input(options, "imdb");
  std::vector<Split> splits;
  for (const std::string name : {"train", "test"}) {
    const std::string part = join_path(folder, name);
    if (!fs.exists(part)) continue;
    splits.push_back(
        {name,
         std::make_unique<ReviewSource>(
             fs, list_class_files(fs, part, {"neg", "pos"}, {".txt"}, options.shuffle_seed)),
         {{"labels.txt", "neg\npos\n"}}});
  }
  if (splits.empty()) {
    throw not_found("{}: folders, got neither train nor test, expected those of aclImdb", folder);
  }
  return splits;
}

}  // namespace systole::app
