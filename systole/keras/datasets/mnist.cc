#include "systole/keras/datasets/mnist.h"

#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/idx.h"
#include "systole/io/tables/npz.h"
#include "systole/keras/datasets/data_folder.h"

namespace systole::keras::datasets {
namespace {

constexpr DataSource kMnist = {
    .name = "mnist",
    .folder = "mnist",
    .origin =
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz or the four "
        "files of https://storage.googleapis.com/cvdf-datasets/mnist/"};
constexpr DataSource kFashionMnist = {
    .name = "fashion_mnist",
    .folder = "fashion-mnist",
    .origin =
        "the four files of https://storage.googleapis.com/tensorflow/tf-keras-datasets/ "
        "(train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, "
        "t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz)"};

// As the files are called with and without gzip, and by some browsers.
std::vector<std::string> idx_names(const std::string& what, const std::string& rank) {
  return {what + "-idx" + rank + "-ubyte.gz", what + "-idx" + rank + "-ubyte",
          what + ".idx" + rank + "-ubyte.gz", what + ".idx" + rank + "-ubyte"};
}

// The folders that belong to this data set: both have files of the same names.
std::vector<std::string> own_folders(const DataSource& source, const std::string& data_dir) {
  std::vector<std::string> folders;
  for (const std::string& folder : data_folders(source, data_dir)) {
    if (base_name(folder) == source.folder) folders.push_back(folder);
  }
  return folders;
}

DataPart checked_part(const std::string& path, Tensor images, Tensor labels) {
  const bool fits = images.rank() == 3 && images.dtype() == DType::u8 && labels.rank() == 1 &&
                    labels.dtype() == DType::u8 && images.dim(0) == labels.dim(0);
  if (!fits) {
    throw invalid_argument("{}: images and labels, got {} and {}, expected u8[n,28,28] and u8[n]",
                           path, images.type(), labels.type());
  }
  return {.x = std::move(images), .y = std::move(labels)};
}

// `others`: names of files with the whole data set, which were searched for before.
DataPart read_idx_part(const DataSource& source, const std::vector<std::string>& folders,
                       const std::string& part, const std::vector<std::string>& others) {
  const auto find = [&](const std::vector<std::string>& names) {
    std::string found = find_data_file(folders, names);
    if (!found.empty()) return found;
    std::vector<std::string> all = others;
    all.insert(all.end(), names.begin(), names.end());
    throw_no_data(source, folders, all);
  };
  const std::string images = find(idx_names(part + "-images", "3"));
  const std::string labels = find(idx_names(part + "-labels", "1"));
  FileSystem& files = default_file_system();
  return checked_part(images, read_idx(files, images), read_idx(files, labels));
}

DataSet read_idx_files(const DataSource& source, const std::string& data_dir,
                       const std::vector<std::string>& others = {}) {
  const std::vector<std::string> folders = own_folders(source, data_dir);
  DataPart train = read_idx_part(source, folders, "train", others);
  return {.train = std::move(train), .test = read_idx_part(source, folders, "t10k", others)};
}

}  // namespace

DataSet mnist::load_data(const LoadOptions& options) {
  std::string path = options.path;
  if (!default_file_system().exists(path)) {
    if (path.find('/') != path.npos) {
      throw_no_data(kMnist, {parent_path(path)}, {base_name(path)});
    }
    path = find_data_file(data_folders(kMnist, options.data_dir), {options.path});
    if (path.empty()) return read_idx_files(kMnist, options.data_dir, {options.path});
  }
  const NpzFile file(default_file_system(), path);
  DataPart train = checked_part(path, file.array("x_train"), file.array("y_train"));
  return {.train = std::move(train),
          .test = checked_part(path, file.array("x_test"), file.array("y_test"))};
}

DataSet fashion_mnist::load_data(const LoadOptions& options) {
  return read_idx_files(kFashionMnist, options.data_dir);
}

const std::vector<std::string>& fashion_mnist::class_names() {
  static const std::vector<std::string> names = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                                 "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                                 "Bag",         "Ankle boot"};
  return names;
}

}  // namespace systole::keras::datasets
