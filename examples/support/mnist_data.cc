#include "examples/support/mnist_data.h"

#include <filesystem>

#include "systole/io/file_systems/file_systems.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"

namespace examples {
namespace {

using systole::Tensor;

void convert(const std::string& images_path, const std::string& labels_path,
             const std::string& records_path) {
  systole::FileSystem& files = systole::default_file_system();
  // Says what the records were made of, so that those of another data set do not stand for them.
  const std::string source_path = records_path + ".source";
  const std::string source = std::filesystem::absolute(images_path).lexically_normal().string();
  if (files.exists(records_path) && files.exists(source_path) &&
      read_file(files, source_path) == source) {
    return;
  }
  const Tensor images = systole::read_idx(files, images_path);
  const Tensor labels = systole::read_idx(files, labels_path);
  if (images.dim(0) != labels.dim(0)) {
    throw systole::invalid_argument("{}: labels, got {}, expected one for each of {} images",
                                    labels_path, labels.dim(0), images.dim(0));
  }
  // The note goes first: a conversion that is cut off leaves records that are nobody's.
  if (files.exists(source_path)) files.remove(source_path);
  systole::RecordWriter writer(files, records_path, {.atomic = true});
  const auto pixels = static_cast<size_t>(images.dim(1) * images.dim(2));
  const auto* const bytes = static_cast<const char*>(images.raw());
  for (int64_t i = 0; i < images.dim(0); ++i) {
    const auto at = static_cast<size_t>(i);
    const std::string_view image(bytes + at * pixels, pixels);
    const int64_t label = labels.data<uint8_t>()[at];
    writer.write(
        systole::ExampleBuilder().int64("label", label).bytes("image_raw", image).serialize());
  }
  writer.close();
  write_file_atomically(files, source_path, source);
}

}  // namespace

std::string default_data_dir() {
  return (std::filesystem::path(EXAMPLES_DATA_DIR) / "../../../shared/data").lexically_normal();
}

MnistFiles mnist_records(const std::string& data_dir, const std::string& folder) {
  systole::default_file_system().make_directories(folder);
  const std::string mnist = data_dir + "/mnist/";
  MnistFiles files{folder + "/mnist_train.tfrecord", folder + "/mnist_test.tfrecord"};
  convert(mnist + "train-images-idx3-ubyte.gz", mnist + "train-labels-idx1-ubyte.gz", files.train);
  convert(mnist + "t10k-images-idx3-ubyte.gz", mnist + "t10k-labels-idx1-ubyte.gz", files.test);
  return files;
}

}  // namespace examples
