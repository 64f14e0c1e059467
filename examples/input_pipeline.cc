// The input pipeline of "Using the Estimator API with TPUs" (2018): MNIST from TFRecord files,
// parsed, cached, repeated and batched, read in a Session.
//
//   input_pipeline --data_dir DATA                        converts the IDX files of DATA/mnist
//
//   systole data convert idx DATA/mnist -o DIR            converts them once, then
//   input_pipeline --train_file 'DIR/train-*'             reads the records
//
// Prints the shape, the range and the first labels of a few batches.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "examples/support/mnist_data.h"
#include "systole/base/command_line.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"
#include "systole/systole.h"

namespace {

struct Flags {
  std::string data_dir = examples::default_data_dir();
  std::string train_file;
  int64_t batch_size = 1024;
  int64_t buffer_size = 256 << 10;
  int64_t steps = 3;
};

// Parses a single tf.Example into image and label tensors.
st::Nest<st::Output> parser(const st::Nest<st::Output>& serialized_example) {
  auto features = st::parse_single_example(
      serialized_example, {{"image_raw", st::FixedLenFeature{{}, st::DType::string}},
                           {"label", st::FixedLenFeature{{}, st::DType::s64}}});
  auto image = st::decode_raw(features["image_raw"], st::DType::u8);
  image = st::set_shape(image, {28 * 28});
  // Normalize the values of the image from the range [0, 255] to [-0.5, 0.5]
  image = st::cast(image, st::DType::f32) * (1. / 255) - 0.5;
  auto label = st::cast(features["label"], st::DType::s32);
  return st::Nest<st::Output>::tuple({image, label});
}

// An input_fn to parse 28x28 images from filename using tf.data.
std::pair<st::Output, st::Output> input_fn(const st::Dataset& filenames, const Flags& flags) {
  st::Dataset dataset = st::TFRecordDataset(filenames, {.buffer_size = flags.buffer_size});
  dataset = dataset.map(parser).cache().repeat().batch(flags.batch_size);
  auto next = dataset.make_one_shot_iterator().get_next();
  // set_shape to give inputs statically known shapes.
  return {st::set_shape(next[0], {flags.batch_size, 28 * 28}),
          st::set_shape(next[1], {flags.batch_size})};
}

// Writes the IDX files of <data_dir>/mnist as one TFRecord file and returns its path.
std::string convert(const std::string& data_dir) {
  st::FileSystem& fs = st::default_file_system();
  const st::Dataset images = st::IdxDataset(data_dir + "/mnist/train-images-idx3-ubyte.gz");
  const st::Dataset labels = st::IdxDataset(data_dir + "/mnist/train-labels-idx1-ubyte.gz");
  std::string path = std::filesystem::temp_directory_path() / "input_pipeline.tfrecords";
  st::RecordWriter writer(fs, path);
  for (const st::Element& pair : st::Dataset::zip(st::Nest<st::Dataset>::tuple({images, labels}))) {
    const st::Tensor& image = pair[0];
    const std::string_view pixels(static_cast<const char*>(image.raw()),
                                  static_cast<size_t>(image.byte_size()));
    const int64_t label = pair[1].leaf().item<uint8_t>();
    writer.write(
        st::ExampleBuilder().bytes("image_raw", {pixels}).int64("label", {label}).serialize());
  }
  writer.close();
  return path;
}

void run(const Flags& flags) {
  const std::string files = flags.train_file.empty() ? convert(flags.data_dir) : flags.train_file;
  const auto [images, labels] = input_fn(st::Dataset::list_files(files, {.shuffle = false}), flags);
  st::Session session;
  for (int64_t step = 0; step < flags.steps; ++step) {
    const auto batch = session.run({images, labels});
    const auto pixels = batch[0].data<float>();
    const auto [least, most] = std::ranges::minmax_element(pixels);
    std::printf("batch %ld: images %s in [%.1f, %.1f], labels %s\n", static_cast<long>(step),
                batch[0].type().to_string().c_str(), static_cast<double>(*least),
                static_cast<double>(*most), batch[1].slice(0, 10).to_string().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("input_pipeline", "Reads MNIST from TFRecord files through a Dataset");
  const auto data_dir = line.option("--data_dir", flags.data_dir, "Holds mnist/*.gz")
                            .value_name("FOLDER")
                            .show_default();
  line.option("--train_file", flags.train_file, "TFRecord files, a pattern")
      .value_name("FILES")
      .excludes(data_dir);
  line.option("--batch_size", flags.batch_size, "Images of a batch").show_default();
  line.option("--dataset_reader_buffer_size", flags.buffer_size, "Bytes read at a time")
      .show_default();
  line.option("--steps", flags.steps, "Batches to print").show_default();
  line.on_run([&] { run(flags); });
  return line.run(argc, argv);
}
