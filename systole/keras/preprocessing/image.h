// Batches of images, changed at random. (tf.keras.preprocessing.image) Images are f32 [height,
// width, channels].
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/keras/preprocessing/image_file.h"
#include "systole/keras/preprocessing/image_iterator.h"
#include "systole/keras/preprocessing/image_transform.h"
#include "systole/keras/preprocessing/numpy_random.h"

// NOLINTBEGIN(readability-identifier-naming): Keras's names
namespace systole::keras::preprocessing::image {

// A range of shifts: an integer n draws from -(n - 1) to n - 1 pixels; a number below 1 draws that
// part of the size, a larger one that many pixels; a list draws one of its values or its negative.
class ShiftRange {
 public:
  ShiftRange() = default;
  ShiftRange(int pixels) : pixels_(pixels) {}                            // NOLINT
  ShiftRange(double range) : range_(range) {}                            // NOLINT
  ShiftRange(std::initializer_list<double> values) : values_(values) {}  // NOLINT
  // The shift of an axis of `size` pixels.
  double draw(NumpyRandom& random, int64_t size) const;

 private:
  int pixels_ = 0;
  double range_ = 0;
  std::vector<double> values_;
};

// Zooms: z draws from [1 - z, 1 + z]; or the two ends.
class ZoomRange {
 public:
  ZoomRange(double zoom = 0) : low(1 - zoom), high(1 + zoom) {}  // NOLINT
  ZoomRange(double from, double to) : low(from), high(to) {}
  double low;
  double high;
};

struct ImageDataGeneratorOptions {
  bool featurewise_center = false;             // subtracts the mean of each channel; needs fit()
  bool samplewise_center = false;              // subtracts the mean of the image
  bool featurewise_std_normalization = false;  // divides by the deviation of each channel + 1e-6
  bool samplewise_std_normalization = false;
  bool zca_whitening = false;  // needs fit()
  double zca_epsilon = 1e-6;
  double rotation_range = 0;  // draws from [-range, range), in degrees
  ShiftRange width_shift_range = 0;
  ShiftRange height_shift_range = 0;
  std::optional<std::array<double, 2>> brightness_range = std::nullopt;
  double shear_range = 0;  // in degrees
  ZoomRange zoom_range = 0.0;
  double channel_shift_range = 0;
  std::string fill_mode = "nearest";  // "constant", "reflect", "wrap"
  double cval = 0;
  bool horizontal_flip = false;
  bool vertical_flip = false;
  double rescale = 0;  // multiplies pixels; 0: does not
  // Called with each image after it was transformed, before all else; keeps its shape. Called on
  // several threads at once.
  std::function<Tensor(const Tensor& image)> preprocessing_function = nullptr;
  double validation_split = 0;  // in [0, 1): the first part of the data is subset "validation"
  int interpolation_order = 1;  // 0: nearest, 1: bilinear
};

struct FitImagesOptions {
  bool augment = false;  // takes transformed images
  int64_t rounds = 1;    // of transforms of each image
  uint32_t seed = 0;     // of augment
};

struct FlowOptions {
  int64_t batch_size = 32;
  bool shuffle = true;
  Tensor sample_weight = {};
  // nullopt: derived from set_random_seed(), else from the operating system.
  std::optional<uint32_t> seed = std::nullopt;
  std::string subset = {};  // "training" or "validation", by validation_split
};

struct FlowFromDirectoryOptions {
  std::array<int64_t, 2> target_size = {256, 256};  // height, width
  std::string color_mode = "rgb";                   // "grayscale", "rgba"
  std::vector<std::string> classes = {};            // names of subfolders; empty: all, sorted
  // Targets: "categorical" f32 [batch, classes], "binary" and "sparse" f32 [batch], "input" the
  // images, "" none.
  std::string class_mode = "categorical";
  int64_t batch_size = 32;
  bool shuffle = true;
  std::optional<uint32_t> seed = std::nullopt;
  std::string subset = {};
  std::string interpolation = "nearest";  // as LoadImgOptions
};

// Not thread-safe, but iterators take a copy and are.
class ImageDataGenerator {
 public:
  // Errors: INVALID_ARGUMENT for values out of range.
  explicit ImageDataGenerator(ImageDataGeneratorOptions options = {});

  // Computes the mean, deviation and whitening of x [examples, height, width, channels]. Whitening
  // takes time with the third power of the size of an image.
  void fit(const Tensor& x, const FitImagesOptions& options = {});

  // Batches of arrays: x [examples, height, width, channels] of any numeric dtype, y [examples,
  // ...] or none. Errors: INVALID_ARGUMENT for arrays that do not fit each other.
  std::shared_ptr<ImageIterator> flow(const Tensor& x, const Tensor& y = {},
                                      const FlowOptions& options = {}) const;
  // Batches of the JPEG and PNG files below `directory`, one subfolder a class. Errors: those of
  // the files; INVALID_ARGUMENT for unknown names; UNIMPLEMENTED for images of other formats.
  std::shared_ptr<DirectoryIterator> flow_from_directory(
      const std::string& directory, const FlowFromDirectoryOptions& options = {}) const;

  // Draws in Keras's order, so that equal seeds give equal transforms.
  ImageTransform get_random_transform(const Shape& image, NumpyRandom& random) const;
  Tensor apply_transform(const Tensor& image, const ImageTransform& transform) const;
  Tensor random_transform(const Tensor& image, NumpyRandom& random) const;
  // Applies preprocessing_function, rescaling, centring, normalization and whitening, as the
  // options say. Errors: FAILED_PRECONDITION if an option needs the statistics of fit(), which was
  // not called. (Keras warns and leaves that step out.)
  Tensor standardize(const Tensor& image) const;

  const ImageDataGeneratorOptions& options() const { return options_; }
  // f32 [channels]; invalid before fit().
  const Tensor& mean() const { return mean_; }
  const Tensor& std() const { return std_; }
  // f32 [pixels, pixels]
  const Tensor& principal_components() const { return principal_components_; }

 private:
  void standardize_sample(std::span<float> pixels) const;
  void standardize_features(std::span<float> pixels) const;

  ImageDataGeneratorOptions options_;
  FillMode fill_mode_ = FillMode::nearest;
  Tensor mean_;
  Tensor std_;
  Tensor principal_components_;
};

}  // namespace systole::keras::preprocessing::image
// NOLINTEND(readability-identifier-naming)
