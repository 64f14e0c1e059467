#include "systole/keras/preprocessing/image.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "systole/base/lapack.h"

namespace systole::keras::preprocessing::image {
namespace {

constexpr double kStdEpsilon = 1e-6;

void check_range(std::string_view name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw invalid_argument("ImageDataGenerator: {}, got {}, expected {} to {}", name, value, low,
                           high);
  }
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

// Returns the moments of every `stride`-th of `pixels`, from `first` on.
Moments moments_of(std::span<const float> pixels, size_t first, size_t stride) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = first; i < pixels.size(); i += stride, ++count) {
    sum += static_cast<double>(pixels[i]);
  }
  Moments moments{.mean = count == 0 ? 0 : sum / static_cast<double>(count)};
  double squares = 0;
  for (size_t i = first; i < pixels.size(); i += stride) {
    const double difference = static_cast<double>(pixels[i]) - moments.mean;
    squares += difference * difference;
  }
  moments.deviation = count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
  return moments;
}

// Sum over vectors e of a symmetric matrix: e e^T / sqrt(value + epsilon).
Tensor whitening_of(std::span<const float> images, int64_t features, double epsilon) {
  const auto n = static_cast<size_t>(features);
  const size_t examples = images.size() / n;
  std::vector<double> sigma(n * n, 0.0);
  for (size_t k = 0; k < examples; ++k) {
    const float* const x = images.data() + k * n;
    for (size_t i = 0; i < n; ++i) {
      const double scaled = static_cast<double>(x[i]) / static_cast<double>(examples);
      for (size_t j = 0; j < n; ++j) sigma[i * n + j] += scaled * static_cast<double>(x[j]);
    }
  }
  // Makes the columns of `sigma` its eigenvectors.
  std::vector<double> values(n);
  const int order = static_cast<int>(features);
  if (call_lapack<double>("syevd", 'V', 'L', order, sigma.data(), order, values.data()) != 0) {
    throw internal_error("ImageDataGenerator: zca_whitening, got no eigenvalues of the covariance");
  }
  std::vector<double> whitening(n * n, 0.0);
  for (size_t k = 0; k < n; ++k) {
    const double scale = 1 / std::sqrt(std::max(values[k], 0.0) + epsilon);
    for (size_t i = 0; i < n; ++i) {
      const double scaled = scale * sigma[i * n + k];
      for (size_t j = 0; j < n; ++j) whitening[i * n + j] += scaled * sigma[j * n + k];
    }
  }
  return Tensor::of<double>({features, features}, whitening).cast(DType::f32);
}

}  // namespace

double ShiftRange::draw(NumpyRandom& random, int64_t size) const {
  const auto sign = [&] { return random.below_or_equal(1) == 0 ? -1.0 : 1.0; };
  double shift = 0;
  bool fraction = false;
  if (!values_.empty()) {
    shift = values_[random.below_or_equal(values_.size() - 1)];
    shift *= sign();
    fraction = *std::max_element(values_.begin(), values_.end()) < 1;
  } else if (pixels_ > 0) {
    shift = static_cast<double>(random.below_or_equal(static_cast<uint64_t>(pixels_) - 1));
    shift *= sign();
  } else if (range_ != 0) {
    shift = random.uniform(-range_, range_);
    fraction = range_ < 1;
  }
  return fraction ? shift * static_cast<double>(size) : shift;
}

ImageDataGenerator::ImageDataGenerator(ImageDataGeneratorOptions options)
    : options_(std::move(options)), fill_mode_(fill_mode_from_name(options_.fill_mode)) {
  check_range("validation_split", options_.validation_split, 0, 1);
  if (const auto& [low, high] = options_.zoom_range; !(low >= 0 && low <= high)) {
    throw invalid_argument(
        "ImageDataGenerator: zoom_range, got factors from {} to {}, expected 0 <= from <= to, or a "
        "number z from 0 to 1 for factors from 1 - z to 1 + z",
        low, high);
  }
  if (options_.interpolation_order < 0 || options_.interpolation_order > 1) {
    throw unimplemented("ImageDataGenerator: interpolation_order, got {}, expected 0 or 1",
                        options_.interpolation_order);
  }
  // As in Keras, normalizing implies centring.
  if (options_.featurewise_std_normalization || options_.zca_whitening) {
    options_.featurewise_center = true;
  }
  if (options_.samplewise_std_normalization) options_.samplewise_center = true;
}

ImageTransform ImageDataGenerator::get_random_transform(const Shape& image,
                                                        NumpyRandom& random) const {
  ImageTransform t;
  const auto symmetric = [&](double range) {
    return range == 0 ? 0 : random.uniform(-range, range);
  };
  t.theta = symmetric(options_.rotation_range);
  t.tx = options_.height_shift_range.draw(random, image[0]);
  t.ty = options_.width_shift_range.draw(random, image[1]);
  t.shear = symmetric(options_.shear_range);
  const ZoomRange& zoom = options_.zoom_range;
  if (zoom.low != 1 || zoom.high != 1) {
    t.zx = random.uniform(zoom.low, zoom.high);
    t.zy = random.uniform(zoom.low, zoom.high);
  }
  t.flip_horizontal = random.random() < 0.5 && options_.horizontal_flip;
  t.flip_vertical = random.random() < 0.5 && options_.vertical_flip;
  if (options_.channel_shift_range != 0) {
    t.channel_shift_intensity = symmetric(options_.channel_shift_range);
  }
  if (options_.brightness_range) {
    const auto [low, high] = *options_.brightness_range;
    t.brightness = random.uniform(low, high);
  }
  return t;
}

Tensor ImageDataGenerator::apply_transform(const Tensor& image,
                                           const ImageTransform& transform) const {
  Tensor x = apply_affine_transform(image, {.theta = transform.theta,
                                            .tx = transform.tx,
                                            .ty = transform.ty,
                                            .shear = transform.shear,
                                            .zx = transform.zx,
                                            .zy = transform.zy,
                                            .fill_mode = fill_mode_,
                                            .cval = options_.cval,
                                            .order = options_.interpolation_order});
  if (transform.channel_shift_intensity) {
    x = apply_channel_shift(x, *transform.channel_shift_intensity);
  }
  if (transform.flip_horizontal) x = flip_axis(x, 1);
  if (transform.flip_vertical) x = flip_axis(x, 0);
  if (transform.brightness) x = apply_brightness_shift(x, *transform.brightness);
  return x;
}

Tensor ImageDataGenerator::random_transform(const Tensor& image, NumpyRandom& random) const {
  return apply_transform(image, get_random_transform(image.shape(), random));
}

void ImageDataGenerator::standardize_sample(std::span<float> pixels) const {
  if (options_.rescale != 0) {
    for (float& pixel : pixels) {
      pixel = static_cast<float>(static_cast<double>(pixel) * options_.rescale);
    }
  }
  if (!options_.samplewise_center) return;
  const Moments moments = moments_of(pixels, 0, 1);
  const double divisor =
      options_.samplewise_std_normalization ? moments.deviation + kStdEpsilon : 1;
  for (float& pixel : pixels) {
    pixel = static_cast<float>((static_cast<double>(pixel) - moments.mean) / divisor);
  }
}

void ImageDataGenerator::standardize_features(std::span<float> pixels) const {
  const auto mean = mean_.data<float>();
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] -= mean[i % mean.size()];
    if (options_.featurewise_std_normalization) {
      const float deviation = std_.data<float>()[i % mean.size()];
      pixels[i] /= deviation + static_cast<float>(kStdEpsilon);
    }
  }
  if (!options_.zca_whitening) return;
  const auto components = principal_components_.data<float>();
  std::vector<double> white(pixels.size(), 0.0);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const auto value = static_cast<double>(pixels[i]);
    const float* const row = components.data() + i * pixels.size();
    for (size_t j = 0; j < pixels.size(); ++j) white[j] += value * static_cast<double>(row[j]);
  }
  std::ranges::transform(white, pixels.begin(), [](double v) { return static_cast<float>(v); });
}

Tensor ImageDataGenerator::standardize(const Tensor& image) const {
  Tensor x = options_.preprocessing_function ? options_.preprocessing_function(image) : image;
  if (x.shape() != image.shape() || !is_numeric(x.dtype())) {
    throw invalid_argument("ImageDataGenerator: preprocessing_function, got {}, expected {}",
                           x.type(), image.type());
  }
  x = x.cast(DType::f32).clone();
  standardize_sample(x.data<float>());
  if (!options_.featurewise_center) return x;
  if (!mean_.valid()) {
    throw failed_precondition(
        "This ImageDataGenerator specifies `featurewise_center`, `featurewise_std_normalization` "
        "or `zca_whitening`, but it hasn't been fit on any training data. Fit it first by calling "
        "`.fit(images)`.");
  }
  const bool fits = x.dim(2) == mean_.dim(0) &&
                    (!options_.zca_whitening || x.num_elements() == principal_components_.dim(0));
  if (!fits) {
    throw invalid_argument("ImageDataGenerator: image, got {}, expected one like those of fit()",
                           x.type());
  }
  standardize_features(x.data<float>());
  return x;
}

void ImageDataGenerator::fit(const Tensor& x, const FitImagesOptions& options) {
  if (x.rank() != 4 || !is_numeric(x.dtype()) || x.num_elements() == 0 || options.rounds < 1) {
    throw invalid_argument(
        "ImageDataGenerator: Input to `.fit()` should have rank 4 and at least one round. Got {} "
        "and {} rounds",
        x.type(), options.rounds);
  }
  Tensor images = x.cast(DType::f32);
  if (options.augment) {
    NumpyRandom random(options.seed);
    const int64_t examples = x.dim(0);
    Dims dims(x.shape().begin(), x.shape().end());
    dims[0] *= options.rounds;
    const Shape image_shape(Dims(x.shape().begin() + 1, x.shape().end()));
    Tensor augmented(DType::f32, Shape(dims));
    for (int64_t i = 0; i < dims[0]; ++i) {
      const Tensor image = images.slice(i % examples, i % examples + 1).reshape(image_shape);
      const Tensor changed = random_transform(image, random);
      std::ranges::copy(changed.data<float>(), augmented.slice(i, i + 1).data<float>().begin());
    }
    images = augmented;
  } else {
    images = images.clone();
  }
  const auto pixels = images.data<float>();
  const auto channels = static_cast<size_t>(x.dim(3));
  std::vector<float> mean;
  std::vector<float> deviation;
  for (size_t c = 0; c < channels; ++c) {
    const Moments moments = moments_of(pixels, c, channels);
    mean.push_back(static_cast<float>(moments.mean));
    deviation.push_back(static_cast<float>(moments.deviation));
  }
  mean_ = Tensor::of<float>({x.dim(3)}, mean);
  std_ = Tensor::of<float>({x.dim(3)}, deviation);
  if (!options_.zca_whitening) return;
  const float epsilon = static_cast<float>(kStdEpsilon);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] -= mean[i % channels];
    if (options_.featurewise_std_normalization) pixels[i] /= deviation[i % channels] + epsilon;
  }
  principal_components_ =
      whitening_of(pixels, images.num_elements() / images.dim(0), options_.zca_epsilon);
}

}  // namespace systole::keras::preprocessing::image
