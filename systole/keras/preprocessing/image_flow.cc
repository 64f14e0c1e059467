#include <algorithm>
#include <cstdio>
#include <utility>

#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/preprocessing/image.h"
#include "systole/keras/preprocessing/utils.h"

namespace systole::keras::preprocessing::image {
namespace {

// The part of the data that a subset is.
struct SubsetRange {
  double begin = 0;
  double end = 1;
};

SubsetRange subset_range(const std::string& subset, double validation_split) {
  if (subset.empty()) return {};
  if (subset == "validation") return {.begin = 0, .end = validation_split};
  if (subset == "training") return {.begin = validation_split, .end = 1};
  throw invalid_argument(
      "ImageDataGenerator: Invalid subset name: '{}'; expected \"training\" or \"validation\"",
      subset);
}

int64_t part_of_count(double part, int64_t count) {
  return static_cast<int64_t>(part * static_cast<double>(count));
}

bool has_suffix(const std::string& name, std::initializer_list<std::string_view> suffixes) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return std::ranges::any_of(suffixes, [&](std::string_view s) { return lower.ends_with(s); });
}

// The folder and all below it, sorted.
void list_folders(const std::string& folder, std::vector<std::string>& all) {
  FileSystem& files = default_file_system();
  all.push_back(folder);
  for (const std::string& name : files.list(folder)) {
    const std::string path = join_path(folder, name);
    if (files.stat(path).is_directory) list_folders(path, all);
  }
}

std::vector<std::string> list_images(const std::string& directory, const std::string& class_name) {
  FileSystem& files = default_file_system();
  std::vector<std::string> folders;
  list_folders(join_path(directory, class_name), folders);
  std::ranges::sort(folders);
  std::vector<std::string> images;
  for (const std::string& folder : folders) {
    for (const std::string& name : files.list(folder)) {
      const std::string path = join_path(folder, name);
      if (has_suffix(name, {".bmp", ".ppm", ".tif", ".tiff", ".gif"})) {
        throw unimplemented("{}: image, got another format, expected JPEG or PNG", path);
      }
      if (!has_suffix(name, {".png", ".jpg", ".jpeg"})) continue;
      images.push_back(path.substr(join_path(directory, "x").size() - 1));
    }
  }
  return images;
}

Tensor class_targets(const std::string& mode, const DirectoryIterator::Listing& listing) {
  const auto count = static_cast<int64_t>(listing.classes.size());
  const auto classes = static_cast<int64_t>(listing.class_names.size());
  if (mode == "categorical") return utils::to_categorical(listing.classes, classes);
  if (mode == "binary" || mode == "sparse") {
    return Tensor::of<int64_t>({count}, listing.classes).cast(DType::f32);
  }
  if (mode == "input" || mode.empty()) return {};
  throw invalid_argument(
      "ImageDataGenerator: Invalid class_mode: '{}'; expected one of \"categorical\", \"binary\", "
      "\"sparse\", \"input\", or \"\"",
      mode);
}

void check_flow_arrays(const Tensor& x, const Tensor& y, const FlowOptions& options) {
  if (x.rank() != 4 || !is_numeric(x.dtype())) {
    throw invalid_argument(
        "ImageDataGenerator: Input data in `flow` should have rank 4. You passed an array {}",
        x.type());
  }
  if (y.valid() && (y.rank() < 1 || y.dim(0) != x.dim(0) || !is_numeric(y.dtype()))) {
    throw invalid_argument(
        "ImageDataGenerator: `x` (images tensor) and `y` (labels) should have the same length. "
        "Found: x = {}, y = {}",
        x.type(), y.type());
  }
  const Tensor& weights = options.sample_weight;
  if (weights.valid() && (weights.rank() != 1 || weights.dim(0) != x.dim(0))) {
    throw invalid_argument(
        "ImageDataGenerator: `x` (images tensor) and `sample_weight` should have the same length. "
        "Found: x = {}, sample_weight = {}",
        x.type(), weights.type());
  }
}

}  // namespace

DirectoryIterator::Listing list_image_folder(const std::string& directory,
                                             std::vector<std::string> classes, double begin,
                                             double end) {
  FileSystem& files = default_file_system();
  if (classes.empty()) {
    for (const std::string& name : files.list(directory)) {
      if (files.stat(join_path(directory, name)).is_directory) classes.push_back(name);
    }
  }
  if (classes.empty()) {
    log_warning(
        "{}: got no folders, expected one for each class with its images: <class>/<image>.png",
        directory);
  }
  DirectoryIterator::Listing listing;
  for (size_t i = 0; i < classes.size(); ++i) {
    const std::vector<std::string> images = list_images(directory, classes[i]);
    const auto count = static_cast<int64_t>(images.size());
    for (int64_t k = part_of_count(begin, count); k < part_of_count(end, count); ++k) {
      listing.filenames.push_back(images[k]);
      listing.classes.push_back(static_cast<int64_t>(i));
    }
  }
  listing.class_names = std::move(classes);
  return listing;
}

std::shared_ptr<ImageIterator> ImageDataGenerator::flow(const Tensor& x, const Tensor& y,
                                                        const FlowOptions& options) const {
  check_flow_arrays(x, y, options);
  const SubsetRange range = subset_range(options.subset, options_.validation_split);
  const int64_t begin = part_of_count(range.begin, x.dim(0));
  const int64_t end = range.end == 1 ? x.dim(0) : part_of_count(range.end, x.dim(0));
  const auto part = [&](const Tensor& array) {
    return array.valid() ? array.slice(begin, end) : array;
  };
  const Shape shape(Dims(x.shape().begin() + 1, x.shape().end()));
  ImageSource source{
      .count = end - begin,
      .shape = shape,
      .image = [images = part(x), shape](
                   int64_t i) { return images.slice(i, i + 1).reshape(shape).cast(DType::f32); },
      .targets = part(y),
      .sample_weights = part(options.sample_weight)};
  return std::make_shared<ImageIterator>(*this, std::move(source), options.batch_size,
                                         options.shuffle, options.seed);
}

std::shared_ptr<DirectoryIterator> ImageDataGenerator::flow_from_directory(
    const std::string& directory, const FlowFromDirectoryOptions& options) const {
  const SubsetRange range = subset_range(options.subset, options_.validation_split);
  DirectoryIterator::Listing listing =
      list_image_folder(directory, options.classes, range.begin, range.end);
  const auto [height, width] = options.target_size;
  const int channels = channels_of(options.color_mode);
  std::printf("Found %zu images belonging to %zu classes.\n", listing.filenames.size(),
              listing.class_names.size());
  const LoadImgOptions load = {.color_mode = options.color_mode,
                               .target_size = options.target_size,
                               .interpolation = options.interpolation};
  ImageSource source{.count = static_cast<int64_t>(listing.filenames.size()),
                     .shape = {height, width, channels},
                     .image =
                         [directory, names = listing.filenames, load](int64_t i) {
                           const std::string& name = names[i];
                           return img_to_array(load_img(join_path(directory, name), load));
                         },
                     .targets = class_targets(options.class_mode, listing),
                     .images_are_targets = options.class_mode == "input"};
  return std::make_shared<DirectoryIterator>(*this, std::move(source), options.batch_size,
                                             options.shuffle, options.seed, std::move(listing));
}

}  // namespace systole::keras::preprocessing::image
