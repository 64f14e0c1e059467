#include "systole/keras/datasets/cifar.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "systole/io/archives/archive_reader.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/pickle.h"
#include "systole/keras/datasets/data_folder.h"

namespace systole::keras::datasets {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPlane = kSide * kSide;
constexpr int64_t kImageBytes = 3 * kPlane;

// A form of a CIFAR data set.
struct CifarForm {
  DataSource source;
  std::vector<std::string> places;  // folders and archives, in order of preference
  // Names of the files without ".bin", in order.
  std::vector<std::string> train;
  std::vector<std::string> test;
  // The binary form: bytes before each image, and which of them is the label.
  int64_t label_bytes = 1;
  int64_t label_byte = 0;
  std::string label_key;  // of the Python form
};

// Files by the last part of their names.
using FileContents = std::map<std::string, std::string>;

FileContents read_place(const std::string& path, const std::vector<std::string>& names) {
  FileContents contents;
  const auto wanted = [&](const std::string& name) {
    const std::string stem = name.ends_with(".bin") ? name.substr(0, name.size() - 4) : name;
    return std::ranges::find(names, stem) != names.end();
  };
  FileSystem& files = default_file_system();
  if (files.stat(path).is_directory) {
    for (const std::string& name : files.list(path)) {
      if (wanted(name)) contents[name] = read_file(files, join_path(path, name));
    }
    return contents;
  }
  ArchiveReader archive(files, path);
  while (archive.next()) {
    const std::string name = base_name(archive.name());
    if (wanted(name)) contents[name] = archive.read();
  }
  return contents;
}

// Writes one image of three planes, row by row, as pixels.
void interleave(const char* planes, uint8_t* pixels) {
  for (int64_t i = 0; i < kPlane; ++i) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      *pixels++ = static_cast<uint8_t>(planes[channel * kPlane + i]);
    }
  }
}

struct CifarPart {
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> labels;

  void add(const char* planes, int64_t label) {
    pixels.resize(pixels.size() + kImageBytes);
    interleave(planes, pixels.data() + pixels.size() - kImageBytes);
    labels.push_back(static_cast<uint8_t>(label));
  }
  DataPart done() const {
    const auto count = static_cast<int64_t>(labels.size());
    return {.x = Tensor::of<uint8_t>({count, kSide, kSide, 3}, pixels),
            .y = Tensor::of<uint8_t>({count, 1}, labels)};
  }
};

void add_binary(CifarPart& part, const CifarForm& form, const std::string& path,
                const std::string& bytes) {
  const int64_t record = form.label_bytes + kImageBytes;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 0 || size % record != 0) {
    throw make_error(Code::data_loss, "{}: images, got {} bytes, expected a multiple of {}", path,
                     size, record);
  }
  for (int64_t at = 0; at < size; at += record) {
    const char* const image = bytes.data() + at;
    part.add(image + form.label_bytes, static_cast<unsigned char>(image[form.label_byte]));
  }
}

void add_pickled(CifarPart& part, const CifarForm& form, const std::string& path,
                 const std::string& bytes) {
  const Pickle pickle(path, bytes);
  const Tensor images = pickle.byte_array(pickle.at(pickle.root(), "data"));
  const std::vector<int32_t> labels = pickle.int_list(pickle.at(pickle.root(), form.label_key));
  const auto count = static_cast<int64_t>(labels.size());
  if (images.shape() != Shape{count, kImageBytes}) {
    throw invalid_argument("{}: images, got {} and {} labels, expected u8[n,{}] and n", path,
                           images.type(), count, kImageBytes);
  }
  const auto* planes = static_cast<const char*>(images.raw());
  for (const int32_t label : labels) {
    if (label < 0 || label > 99) {
      throw invalid_argument("{}: label, got {}, expected 0 to 99", path, label);
    }
    part.add(planes, label);
    planes += kImageBytes;
  }
}

DataPart part_of_files(const CifarForm& form, const std::string& place,
                       const FileContents& contents, const std::vector<std::string>& names) {
  CifarPart part;
  for (const std::string& name : names) {
    const auto binary = contents.find(name + ".bin");
    const auto pickled = contents.find(name);
    if (binary == contents.end() && pickled == contents.end()) {
      throw not_found("{}: data set {}, got no file '{}' or '{}.bin', expected one", place,
                      form.source.name, name, name);
    }
    const std::string path = join_path(place, name);
    if (binary != contents.end()) {
      add_binary(part, form, path, binary->second);
    } else {
      add_pickled(part, form, path, pickled->second);
    }
  }
  return part.done();
}

DataSet load_cifar(const CifarForm& form, const std::string& data_dir) {
  const std::vector<std::string> folders = data_folders(form.source, data_dir);
  const std::string place = find_data_file(folders, form.places);
  if (place.empty()) throw_no_data(form.source, folders, form.places);
  std::vector<std::string> names = form.train;
  names.insert(names.end(), form.test.begin(), form.test.end());
  const FileContents contents = read_place(place, names);
  DataPart train = part_of_files(form, place, contents, form.train);
  return {.train = std::move(train), .test = part_of_files(form, place, contents, form.test)};
}

}  // namespace

DataSet cifar10::load_data(const LoadOptions& options) {
  return load_cifar(
      {.source = {.name = "cifar10",
                  .folder = "cifar10",
                  .origin = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz or "
                            "cifar-10-binary.tar.gz there"},
       .places = {"cifar-10-batches-py/", "cifar-10-batches-bin/", "cifar-10-python.tar.gz",
                  "cifar-10-binary.tar.gz", "cifar-10-batches-py.tar.gz"},
       .train = {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
       .test = {"test_batch"},
       .label_bytes = 1,
       .label_byte = 0,
       .label_key = "labels"},
      options.data_dir);
}

DataSet cifar100::load_data(const LoadOptions& options) {
  const bool fine = options.label_mode == "fine";
  if (!fine && options.label_mode != "coarse") {
    throw invalid_argument(
        "cifar100: label_mode must be one of \"fine\", \"coarse\". Received \"{}\"",
        options.label_mode);
  }
  return load_cifar(
      {.source = {.name = "cifar100",
                  .folder = "cifar100",
                  .origin = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz or "
                            "cifar-100-binary.tar.gz there"},
       .places = {"cifar-100-python/", "cifar-100-binary/", "cifar-100-python.tar.gz",
                  "cifar-100-binary.tar.gz"},
       .train = {"train"},
       .test = {"test"},
       .label_bytes = 2,
       .label_byte = fine ? 1 : 0,
       .label_key = fine ? "fine_labels" : "coarse_labels"},
      options.data_dir);
}

}  // namespace systole::keras::datasets
