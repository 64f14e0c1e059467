// Images in class folders.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/systole/data/example_source.h"
#include "systole/io/images/image.h"

namespace systole::app {
namespace {

constexpr std::array<std::string_view, 5> kSplitNames = {"train", "test", "val", "valid",
                                                         "validation"};

class ImageSource final : public ExampleSource {
 public:
  ImageSource(FileSystem& fs, ClassFiles files, bool raw)
      : fs_(fs), files_(std::move(files)), raw_(raw) {}

  int64_t size() const override { return static_cast<int64_t>(files_.files.size()); }
  uint64_t bytes() override {
    constexpr uint64_t kOtherFeatures = 300;
    return raw_ ? ExampleSource::bytes() : files_.bytes + kOtherFeatures * files_.files.size();
  }
  std::string identity() const override {
    return fmt::format("{}{}", files_.identity, raw_ ? " raw" : "");
  }

  void read(int64_t index, ExampleBuilder& out) override {
    const ClassFile& file = files_.files[index];
    bytes_ = read_file(fs_, file.path);
    try {
      raw_ ? add_pixels(file, out) : add_file(file, out);
    } catch (const Error& error) {
      throw error.with_context(file.path);
    }
  }

 private:
  void add_pixels(const ClassFile& file, ExampleBuilder& out) {
    pixels_ = decode_image(bytes_);
    out.bytes("image_raw", std::string_view(static_cast<const char*>(pixels_.raw()),
                                            static_cast<size_t>(pixels_.byte_size())));
    out.int64("label", file.label).int64("height", pixels_.dim(0));
    out.int64("width", pixels_.dim(1)).int64("depth", pixels_.dim(2));
  }

  void add_file(const ClassFile& file, ExampleBuilder& out) {
    const ImageInfo info = read_image_info(bytes_);
    if (info.height == 0) {
      throw invalid_argument("image: first bytes, got {}, expected JPEG or PNG",
                             image_format_name(info.format));
    }
    pixels_ = decode_image(bytes_);  // what training could not decode is found here
    out.bytes("image/encoded", bytes_);
    out.bytes("image/format", info.format == ImageFormat::png ? "png" : "jpeg");
    out.int64("image/height", info.height).int64("image/width", info.width);
    out.int64("image/channels", info.channels);
    out.bytes("image/filename", base_name(file.path));
    out.int64("image/class/label", file.label);
    out.bytes("image/class/text", files_.classes[file.label]);
  }

  FileSystem& fs_;
  ClassFiles files_;
  bool raw_;
  std::string bytes_;
  Tensor pixels_;
};

std::string lines_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

}  // namespace

std::vector<Split> image_splits(FileSystem& fs, const SourceOptions& options) {
  const std::string& folder = single_input(options, "images");
  std::vector<std::string> names = folders_in(fs, folder);
  const bool split = !names.empty() && std::ranges::all_of(names, [](const std::string& name) {
    return std::ranges::find(kSplitNames, name) != kSplitNames.end();
  });
  if (!split) names = {""};
  std::vector<Split> splits;
  for (const std::string& name : names) {
    const std::string part = split ? join_path(folder, name) : folder;
    ClassFiles files = list_class_files(fs, part, folders_in(fs, part), {".jpg", ".jpeg", ".png"},
                                        options.shuffle_seed);
    std::string labels = lines_of(files.classes);
    splits.push_back({split ? name : "data",
                      std::make_unique<ImageSource>(fs, std::move(files), options.raw_images),
                      {{"labels.txt", std::move(labels)}}});
  }
  const bool same = std::ranges::all_of(
      splits, [&](const Split& part) { return part.notes == splits.front().notes; });
  if (!same) {
    throw invalid_argument("{}: class folders, got different ones in {}, expected the same", folder,
                           fmt::join(names, " and "));
  }
  return splits;
}

}  // namespace systole::app
