// Iterators of ImageDataGenerator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/keras/preprocessing/numpy_random.h"
#include "systole/keras/training/sequence.h"

namespace systole::keras::preprocessing::image {

class ImageDataGenerator;

// Where an ImageIterator has its images from.
struct ImageSource {
  int64_t count = 0;
  Shape shape;                                // of an image
  std::function<Tensor(int64_t)> image = {};  // f32; called on several threads at once
  Tensor targets = {};                        // [count, ...]; none if invalid
  bool images_are_targets = false;
  Tensor sample_weights = {};  // [count]; none if invalid
};

// Batches of images and their targets. Epoch e shuffles with the seed `seed` + e * size(), and
// batch i draws its transforms with `seed` + e * size() + i, as Keras's next() does: batches depend
// on nothing else, whatever thread asks for them and in which order.
class ImageIterator : public Sequence {
 public:
  ImageIterator(const ImageDataGenerator& generator, ImageSource source, int64_t batch_size,
                bool shuffle, std::optional<uint32_t> seed);
  ~ImageIterator() override;

  int64_t size() const override;
  // x: f32 [batch, height, width, channels]. Errors: OUT_OF_RANGE; those of reading images.
  Arrays get(int64_t index) override;
  void on_epoch_end() override;

  // The next batch, without end; calls on_epoch_end() after the last batch of an epoch. Not
  // thread-safe.
  Arrays next();
  // Starts over with the first epoch.
  void reset();
  // The number of images.
  int64_t samples() const { return source_.count; }

 private:
  void begin_epoch(int64_t epoch);
  Tensor rows_of(const Tensor& array, std::span<const int64_t> rows) const;

  std::unique_ptr<const ImageDataGenerator> generator_;
  ImageSource source_;
  int64_t batch_size_;
  bool shuffle_;
  uint32_t seed_;
  int64_t epoch_ = 0;
  int64_t next_batch_ = 0;
  std::vector<int64_t> order_;  // of the images in this epoch
  NumpyRandom after_order_{0};  // the generator of the first batch, once it has drawn the order
};

// What flow_from_directory() returns.
class DirectoryIterator : public ImageIterator {
 public:
  struct Listing {
    std::vector<std::string> class_names;
    std::vector<std::string> filenames;  // relative to the directory
    std::vector<int64_t> classes;        // of each file
  };
  DirectoryIterator(const ImageDataGenerator& generator, ImageSource source, int64_t batch_size,
                    bool shuffle, std::optional<uint32_t> seed, Listing listing)
      : ImageIterator(generator, std::move(source), batch_size, shuffle, seed),
        listing_(std::move(listing)) {}

  // The names of the classes, in the order of their numbers.
  const std::vector<std::string>& class_names() const { return listing_.class_names; }
  const std::vector<std::string>& filenames() const { return listing_.filenames; }
  const std::vector<int64_t>& classes() const { return listing_.classes; }

 private:
  Listing listing_;
};

// Lists the images of part [begin, end) of each class: fractions of its files, sorted by path.
DirectoryIterator::Listing list_image_folder(const std::string& directory,
                                             std::vector<std::string> classes, double begin,
                                             double end);

}  // namespace systole::keras::preprocessing::image
