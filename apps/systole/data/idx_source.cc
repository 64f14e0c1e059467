// MNIST and data sets in the same format.
#include <fmt/format.h>

#include "apps/systole/data/example_source.h"
#include "systole/io/tables/idx.h"

namespace systole::app {
namespace {

constexpr int64_t kRowsAtATime = 1000;

class IdxSource final : public ExampleSource {
 public:
  IdxSource(FileSystem& fs, const std::string& images, const std::string& labels)
      : images_(fs, images),
        labels_(read_idx(fs, labels)),
        identity_(file_identity(fs, images) + "; " + file_identity(fs, labels)) {
    const TensorType& type = images_.type();
    if (type.dtype != DType::u8 || type.shape.rank() < 3 || type.shape.rank() > 4) {
      throw invalid_argument(
          "{}: images, got {}, expected u8[count, height, width] or "
          "u8[count, height, width, depth]",
          images, type);
    }
    if (labels_.rank() != 1 || labels_.dim(0) != type.shape[0]) {
      throw invalid_argument("{}: labels, got {}, expected one for each of {} images", labels,
                             labels_.type(), type.shape[0]);
    }
    labels_ = labels_.cast(DType::s64);
  }

  int64_t size() const override { return images_.type().shape[0]; }
  std::string identity() const override { return identity_; }

  void read(int64_t index, ExampleBuilder& out) override {
    if (index < first_ || index >= first_ + rows_) load(index);
    const Shape& shape = images_.type().shape;
    const auto pixels = loaded_.data<uint8_t>();
    const size_t size = rows_ == 0 ? 0 : pixels.size() / static_cast<size_t>(rows_);
    const auto image = pixels.subspan(static_cast<size_t>(index - first_) * size, size);
    out.bytes("image_raw", std::string_view(reinterpret_cast<const char*>(image.data()), size));
    out.int64("label", labels_.data<int64_t>()[index]);
    out.int64("height", shape[1]).int64("width", shape[2]);
    out.int64("depth", shape.rank() == 4 ? shape[3] : 1);
  }

 private:
  void load(int64_t index) {
    if (images_.position() != index) images_.seek(index);
    loaded_ = images_.read(kRowsAtATime);
    first_ = index;
    rows_ = loaded_.dim(0);
  }

  IdxReader images_;
  Tensor labels_;
  std::string identity_;
  Tensor loaded_;
  int64_t first_ = 0;
  int64_t rows_ = 0;
};

// "train" of "train-images-idx3-ubyte.gz"; MNIST's own name of its test set is t10k.
std::string split_name(const std::string& images) {
  const std::string file = base_name(images);
  const size_t end = file.find("-images");
  const std::string name = end == std::string::npos || end == 0 ? "data" : file.substr(0, end);
  return name == "t10k" ? "test" : name;
}

// The file of labels that goes with a file of images; "" when the name is not one of images.
std::string labels_name(std::string name) {
  const size_t images = name.find("images");
  if (images == std::string::npos) return "";
  name.replace(images, 6, "labels");
  const size_t rank = name.find("idx", images);
  if (rank != std::string::npos && rank + 3 < name.size()) name[rank + 3] = '1';
  return name;
}

}  // namespace

std::vector<Split> idx_splits(FileSystem& fs, const SourceOptions& options) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (options.inputs.size() == 2) {
    pairs.emplace_back(options.inputs[0], options.inputs[1]);
  } else {
    const std::string& folder = single_input(options, "idx");
    if (!fs.stat(folder).is_directory) {
      throw invalid_argument(
          "convert idx: inputs, got the file {} alone, expected a file of images and that of its "
          "labels after it, or the folder of both",
          folder);
    }
    for (const std::string& name : fs.list(folder)) {
      const std::string labels = labels_name(name);
      if (labels.empty()) continue;
      pairs.emplace_back(join_path(folder, name), join_path(folder, labels));
    }
    if (pairs.empty()) {
      throw not_found(
          "{}: files, got none with 'images' in their names, expected IDX files such as "
          "train-images-idx3-ubyte.gz",
          folder);
    }
  }
  std::vector<Split> splits;
  splits.reserve(pairs.size());
  for (const auto& [images, labels] : pairs) {
    splits.push_back({split_name(images), std::make_unique<IdxSource>(fs, images, labels), {}});
  }
  check_split_names("idx", splits);
  return splits;
}

}  // namespace systole::app
