#include "bench/mnist_files.h"

#include <unistd.h>

#include <filesystem>

#include "systole/base/random.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"

namespace bench {
namespace {

const std::string kReal = "../shared/data/mnist/train-";

st::Tensor images() {
  st::FileSystem& fs = st::local_file_system();
  const std::string path = kReal + "images-idx3-ubyte.gz";
  if (fs.exists(path)) return st::read_idx(fs, path);
  st::Tensor result(st::DType::u8, {kMnistImages, 28, 28});
  st::RandomStream random(1);
  for (uint8_t& x : result.data<uint8_t>()) x = static_cast<uint8_t>(random.next_u32());
  return result;
}

st::Tensor labels() {
  st::FileSystem& fs = st::local_file_system();
  const std::string path = kReal + "labels-idx1-ubyte.gz";
  if (fs.exists(path)) return st::read_idx(fs, path);
  st::Tensor result(st::DType::u8, {kMnistImages});
  int i = 0;
  for (uint8_t& x : result.data<uint8_t>()) x = static_cast<uint8_t>(i++ % 10);
  return result;
}

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / fmt::format("mnist-{}", getpid())) {
    st::FileSystem& fs = st::local_file_system();
    fs.make_directories(path);
    const st::Tensor x = images();
    const st::Tensor y = labels();
    st::RecordWriter writer(fs, path + "/train.tfrecords");
    for (int64_t i = 0; i < x.dim(0); ++i) {
      const st::Tensor pixels = x.slice(i, i + 1);
      st::ExampleBuilder example;
      example.bytes("image_raw", {std::string_view(static_cast<const char*>(pixels.raw()),
                                                   static_cast<size_t>(pixels.byte_size()))});
      example.int64("label", {int64_t{y.data<uint8_t>()[i]}});
      writer.write(example.serialize());
    }
    writer.close();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string path;
};

}  // namespace

const std::string& mnist_folder() {
  static const Folder folder;
  return folder.path;
}

st::Nest<st::Output> parse_mnist(const st::Nest<st::Output>& serialized) {
  const st::Nest<st::Output> features = st::parse_single_example(
      serialized, {{"image_raw", st::FixedLenFeature{{}, st::DType::string}},
                   {"label", st::FixedLenFeature{{}, st::DType::s64}}});
  const st::Output image =
      st::set_shape(st::decode_raw(features["image_raw"], st::DType::u8), {784});
  return st::Nest<st::Output>::tuple({st::cast(image, st::DType::f32) * (1.0 / 255) - 0.5,
                                      st::cast(features["label"], st::DType::s32)});
}

}  // namespace bench
