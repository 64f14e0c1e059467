#include "systole/keras/preprocessing/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "systole/base/log.h"
#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/images/image.h"

namespace systole::keras::preprocessing::image {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor random_images(int64_t count, int64_t side = 6, int64_t channels = 3) {
  Tensor images(DType::f32, {count, side, side, channels});
  RandomStream random(11);
  for (float& pixel : images.data<float>()) pixel = static_cast<float>(random.next_below(256));
  return images;
}

Tensor numbers(int64_t count) {
  Tensor y(DType::s32, {count});
  for (int64_t i = 0; i < count; ++i) y.data<int32_t>()[i] = static_cast<int32_t>(i);
  return y;
}

std::vector<int32_t> ids_of(const Arrays& batch) {
  const auto ids = batch.y.at(0).data<int32_t>();
  return {ids.begin(), ids.end()};
}

TEST(ImageDataGeneratorTest, FlowGivesAllImagesOnceAnEpoch) {
  const Tensor x = random_images(10);
  const auto flow = ImageDataGenerator().flow(
      x, numbers(10), {.batch_size = 4, .sample_weight = numbers(10).cast(DType::f32), .seed = 3});
  ASSERT_EQ(flow->size(), 3);
  std::vector<std::vector<int32_t>> epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<int32_t> order;
    for (int64_t b = 0; b < 3; ++b) {
      const Arrays batch = flow->next();
      EXPECT_EQ(batch.x[0].dim(0), b == 2 ? 2 : 4);
      for (size_t i = 0; i < ids_of(batch).size(); ++i) {
        const auto row = static_cast<int64_t>(i);
        const int32_t id = ids_of(batch)[i];
        EXPECT_TRUE(batch.x[0].slice(row, row + 1).identical(x.slice(id, id + 1)));
        EXPECT_EQ(batch.sample_weights[0].as_double(row), id);
        order.push_back(id);
      }
    }
    epochs.push_back(order);
    std::ranges::sort(order);
    EXPECT_EQ(order, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  // numpy.random.seed(3); numpy.random.permutation(10): what Keras's next() gives.
  EXPECT_EQ(epochs[0], (std::vector<int32_t>{5, 4, 1, 2, 9, 6, 7, 0, 3, 8}));
  EXPECT_EQ(epochs[1], (std::vector<int32_t>{8, 1, 7, 0, 6, 5, 2, 4, 3, 9}));
}

TEST(ImageDataGeneratorTest, BatchesDependOnSeedEpochAndIndexOnly) {
  const ImageDataGenerator generator({.rotation_range = 40,
                                      .width_shift_range = 0.2,
                                      .height_shift_range = 2,
                                      .brightness_range = {{0.5, 1.5}},
                                      .shear_range = 10,
                                      .zoom_range = 0.3,
                                      .channel_shift_range = 20,
                                      .fill_mode = "reflect",
                                      .horizontal_flip = true,
                                      .vertical_flip = true});
  const Tensor x = random_images(20);
  const auto forward = generator.flow(x, {}, {.batch_size = 3, .seed = 8});
  const auto backward = generator.flow(x, {}, {.batch_size = 3, .seed = 8});
  std::vector<Tensor> batches;
  for (int64_t b = 0; b < forward->size(); ++b) batches.push_back(forward->next().x[0]);
  for (int64_t b = backward->size(); b-- > 0;) {
    EXPECT_TRUE(backward->get(b).x[0].identical(batches[b]));
  }
  const Tensor later = forward->next().x[0];
  EXPECT_FALSE(later.identical(batches[0]));
  backward->on_epoch_end();
  EXPECT_TRUE(backward->get(0).x[0].identical(later));
  forward->reset();
  EXPECT_TRUE(forward->next().x[0].identical(batches[0]));
  EXPECT_FALSE(
      generator.flow(x, {}, {.batch_size = 3, .seed = 9})->next().x[0].identical(batches[0]));
  EXPECT_TRUE(batches[0].type() == (TensorType{DType::f32, {3, 6, 6, 3}}));
}

// numpy.random.seed(1), then the draws of keras_preprocessing's get_random_transform().
TEST(ImageDataGeneratorTest, DrawsAsKeras) {
  const ImageDataGenerator generator({.rotation_range = 30,
                                      .width_shift_range = {0.1, 0.3},
                                      .height_shift_range = 0.25,
                                      .brightness_range = {{0.5, 2}},
                                      .shear_range = 5,
                                      .zoom_range = {0.8, 1.1},
                                      .channel_shift_range = 10,
                                      .horizontal_flip = true,
                                      .vertical_flip = true});
  NumpyRandom random(1);
  const ImageTransform t = generator.get_random_transform({20, 10, 3}, random);
  EXPECT_NEAR(t.theta, -4.9786797178, 1e-9);
  EXPECT_NEAR(t.tx, 2.2032449344, 1e-9);
  EXPECT_NEAR(t.ty, 3.0000000000, 1e-9);
  EXPECT_NEAR(t.shear, -1.9766742737, 1e-9);
  EXPECT_NEAR(t.zx, 0.8440267672, 1e-9);
  EXPECT_NEAR(t.zy, 0.8277015784, 1e-9);
  EXPECT_EQ(t.flip_horizontal, true);
  EXPECT_EQ(t.flip_vertical, true);
  EXPECT_NEAR(t.channel_shift_intensity.value(), -2.0646505154, 1e-9);
  EXPECT_NEAR(t.brightness.value(), 1.3082251010, 1e-9);
}

TEST(ImageDataGeneratorTest, StaysInTheRangesOfItsOptions) {
  const ImageDataGenerator generator({.rotation_range = 15,
                                      .width_shift_range = 3,
                                      .height_shift_range = 2.5,
                                      .zoom_range = 0.2,
                                      .horizontal_flip = true});
  NumpyRandom random(4);
  std::set<double> shifts;
  int flips = 0;
  for (int i = 0; i < 2000; ++i) {
    const ImageTransform t = generator.get_random_transform({8, 8, 1}, random);
    EXPECT_LE(std::abs(t.theta), 15);
    EXPECT_LE(std::abs(t.tx), 2.5);
    shifts.insert(t.ty);
    EXPECT_GE(std::min(t.zx, t.zy), 0.8);
    EXPECT_LE(std::max(t.zx, t.zy), 1.2);
    EXPECT_EQ(t.shear, 0);
    EXPECT_FALSE(t.flip_vertical);
    EXPECT_FALSE(t.brightness.has_value());
    flips += t.flip_horizontal ? 1 : 0;
  }
  EXPECT_THAT(shifts, ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_NEAR(flips, 1000, 100);
}

TEST(ImageDataGeneratorTest, Standardizes) {
  const Tensor image = Tensor::of<float>({1, 2, 2}, {1, 2, 3, 6});
  const auto values = [&](const ImageDataGeneratorOptions& options) {
    return ImageDataGenerator(options).standardize(image).to_string();
  };
  EXPECT_EQ(values({.rescale = 0.5}), "f32[1,2,2] {{{0.5, 1}, {1.5, 3}}}");
  EXPECT_EQ(values({.samplewise_center = true}), "f32[1,2,2] {{{-2, -1}, {0, 3}}}");
  const auto twice = [](const Tensor& x) {
    Tensor y = x.clone();
    for (float& pixel : y.data<float>()) pixel *= 2;
    return y;
  };
  EXPECT_EQ(values({.rescale = 10, .preprocessing_function = twice}),
            "f32[1,2,2] {{{20, 40}, {60, 120}}}");
  const Tensor normal =
      ImageDataGenerator({.samplewise_std_normalization = true}).standardize(image);
  const double deviation = std::sqrt((4.0 + 1 + 0 + 9) / 4) + 1e-6;
  EXPECT_NEAR(normal.as_double(0), -2 / deviation, 1e-6);
  EXPECT_NEAR(normal.as_double(3), 3 / deviation, 1e-6);
  EXPECT_EQ(image.to_string(), "f32[1,2,2] {{{1, 2}, {3, 6}}}");  // unchanged
  EXPECT_THAT(error_of([&] { values({.featurewise_center = true}); }),
              HasSubstr("hasn't been fit on any training data"));
}

// Mean and deviation of each channel against plain loops; all images together have mean 0 and
// deviation 1 then.
TEST(ImageDataGeneratorTest, FeaturewiseNormalization) {
  const Tensor x = random_images(12, 5, 2);
  ImageDataGenerator generator({.featurewise_std_normalization = true});
  generator.fit(x);
  for (int64_t c = 0; c < 2; ++c) {
    double sum = 0;
    double squares = 0;
    for (int64_t i = c; i < x.num_elements(); i += 2) {
      sum += x.as_double(i);
      squares += x.as_double(i) * x.as_double(i);
    }
    const double count = 12 * 25;
    EXPECT_NEAR(generator.mean().as_double(c), sum / count, 1e-4);
    EXPECT_NEAR(generator.std().as_double(c),
                std::sqrt(squares / count - sum * sum / count / count), 1e-4);
  }
  const Arrays all = generator.flow(x, {}, {.batch_size = 12})->next();
  double sum = 0;
  double squares = 0;
  for (const float value : all.x[0].data<float>()) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value * value);
  }
  EXPECT_NEAR(sum / 600, 0, 1e-5);
  EXPECT_NEAR(squares / 600, 1, 1e-5);
  EXPECT_THAT(error_of([&] {
                generator.standardize(Tensor::zeros(DType::f32, {5, 5, 3}));
              }),
              HasSubstr("expected one like those of fit()"));
}

// Whitened images have the identity as their covariance.
TEST(ImageDataGeneratorTest, ZcaWhitening) {
  const Tensor x = random_images(200, 3, 1);
  ImageDataGenerator generator({.zca_whitening = true});
  generator.fit(x);
  const Tensor white = generator.flow(x, {}, {.batch_size = 200})->next().x[0];
  for (int64_t i = 0; i < 9; ++i) {
    for (int64_t j = 0; j < 9; ++j) {
      double covariance = 0;
      for (int64_t n = 0; n < 200; ++n) {
        covariance += white.as_double(n * 9 + i) * white.as_double(n * 9 + j) / 200;
      }
      EXPECT_NEAR(covariance, i == j ? 1 : 0, 1e-3);
    }
  }
}

TEST(ImageDataGeneratorTest, FitOnTransformedImages) {
  ImageDataGenerator generator({.featurewise_center = true, .horizontal_flip = true});
  const Tensor x = random_images(3);
  generator.fit(x, {.augment = true, .rounds = 2, .seed = 1});
  double sum = 0;
  for (int64_t i = 0; i < x.num_elements(); i += 3) sum += x.as_double(i);
  EXPECT_NEAR(generator.mean().as_double(0), sum / (3 * 36), 1e-4);  // flips do not change it
}

TEST(ImageDataGeneratorTest, ValidationSplit) {
  const ImageDataGenerator generator({.validation_split = 0.3});
  const auto ids = [&](const std::string& subset) {
    const auto flow = generator.flow(random_images(10), numbers(10),
                                     {.batch_size = 10, .shuffle = false, .subset = subset});
    return ids_of(flow->next());
  };
  EXPECT_THAT(ids("validation"), ElementsAre(0, 1, 2));
  EXPECT_THAT(ids("training"), ElementsAre(3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(ids("").size(), 10U);
  EXPECT_THAT(error_of([&] { ids("test"); }), HasSubstr("Invalid subset name: 'test'"));
}

TEST(ImageDataGeneratorTest, WrongArguments) {
  const ImageDataGenerator generator;
  EXPECT_THAT(error_of([&] {
                generator.flow(Tensor::zeros(DType::u8, {4, 28, 28}));
              }),
              HasSubstr("should have rank 4"));
  EXPECT_THAT(error_of([&] { generator.flow(random_images(4), numbers(3)); }),
              HasSubstr("`x` (images tensor) and `y` (labels) should have the same length"));
  EXPECT_THAT(error_of([&] { generator.flow(random_images(4), {}, {.batch_size = 0}); }),
              HasSubstr("batch_size, got 0"));
  EXPECT_THAT(error_of([&] { generator.flow(random_images(4))->get(1); }),
              HasSubstr("OUT_OF_RANGE"));
  EXPECT_THAT(error_of([] { ImageDataGenerator({.fill_mode = "zero"}); }), HasSubstr("got 'zero'"));
  EXPECT_THAT(error_of([] { ImageDataGenerator({.validation_split = 2}); }),
              HasSubstr("validation_split, got 2"));
  EXPECT_THAT(error_of([] { ImageDataGenerator({.zoom_range = -2.0}); }),
              HasSubstr("zoom_range, got factors from 3 to -1, expected 0 <= from <= to"));
  EXPECT_THAT(error_of([] { ImageDataGenerator({.interpolation_order = 3}); }),
              HasSubstr("UNIMPLEMENTED"));
}

// Pictures of one colour, which tells which file they are of.
void put_picture(const std::string& path, int value, int64_t channels = 3) {
  default_file_system().make_directories(parent_path(path));
  const Tensor picture = Tensor::full(DType::u8, {5, 4, channels}, value);
  write_file_atomically(default_file_system(), path,
                        path.ends_with(".png") ? encode_png(picture) : encode_jpeg(picture, 100));
}

TEST(ImageDataGeneratorTest, FlowFromDirectory) {
  const TempFolder folder;
  put_picture(folder / "dog/b.png", 30);
  put_picture(folder / "dog/a.JPG", 20);
  put_picture(folder / "dog/deep/c.jpeg", 40, 1);
  put_picture(folder / "cat/z.png", 10, 4);
  put_picture(folder / "cat/y.png", 0);
  write_file_atomically(default_file_system(), folder / "cat/notes.txt", "no image");
  const ImageDataGenerator generator({.validation_split = 0.5});
  const auto flow = generator.flow_from_directory(
      folder.path(), {.target_size = {2, 3}, .batch_size = 8, .shuffle = false});
  EXPECT_THAT(flow->class_names(), ElementsAre("cat", "dog"));
  EXPECT_THAT(flow->filenames(),
              ElementsAre("cat/y.png", "cat/z.png", "dog/a.JPG", "dog/b.png", "dog/deep/c.jpeg"));
  EXPECT_THAT(flow->classes(), ElementsAre(0, 0, 1, 1, 1));
  const Arrays batch = flow->next();
  EXPECT_EQ(batch.x[0].type(), (TensorType{DType::f32, {5, 2, 3, 3}}));
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_NEAR(batch.x[0].as_double(i * 18), 10.0 * static_cast<double>(i), 1);
  EXPECT_EQ(batch.y[0].to_string(), "f32[5,2] {{1, 0}, {1, 0}, {0, 1}, {0, 1}, {0, 1}}");

  const auto part = [&](const std::string& subset, const std::string& mode) {
    return generator.flow_from_directory(folder.path(), {.target_size = {4, 4},
                                                         .color_mode = "grayscale",
                                                         .classes = {"dog", "cat"},
                                                         .class_mode = mode,
                                                         .shuffle = false,
                                                         .subset = subset,
                                                         .interpolation = "bilinear"});
  };
  EXPECT_THAT(part("validation", "binary")->filenames(), ElementsAre("dog/a.JPG", "cat/y.png"));
  EXPECT_THAT(part("training", "binary")->filenames(),
              ElementsAre("dog/b.png", "dog/deep/c.jpeg", "cat/z.png"));
  EXPECT_EQ(part("training", "sparse")->next().y[0].to_string(), "f32[3] {0, 0, 1}");
  const Arrays same = part("training", "input")->next();
  EXPECT_EQ(same.x[0].shape(), (Shape{3, 4, 4, 1}));
  EXPECT_TRUE(same.y[0].identical(same.x[0]));
  EXPECT_TRUE(part("training", "")->next().y.empty());
  EXPECT_THAT(error_of([&] { part("training", "onehot"); }),
              HasSubstr("Invalid class_mode: 'onehot'"));
  EXPECT_THAT(
      error_of([&] { generator.flow_from_directory(folder.path(), {.color_mode = "bgr"}); }),
      HasSubstr("Invalid color mode: 'bgr'"));
  EXPECT_THAT(error_of([&] { generator.flow_from_directory(folder / "none"); }),
              HasSubstr("NOT_FOUND"));
  write_file_atomically(default_file_system(), folder / "cat/x.png", "broken");
  EXPECT_THAT(error_of([&] { part("", "")->next(); }), HasSubstr("cat/x.png"));
  write_file_atomically(default_file_system(), folder / "cat/x.bmp", "BM");
  EXPECT_THAT(error_of([&] { part("", ""); }), HasSubstr("x.bmp: image, got another format"));
}

TEST(FlowFromDirectoryTest, AFolderWithoutClassesIsSaid) {
  const TempFolder folder;
  const LogCapture log;
  ImageDataGenerator().flow_from_directory(folder.path());
  EXPECT_THAT(log.messages(),
              ::testing::Contains(HasSubstr("got no folders, expected one for each class")));
}

TEST(LoadImgTest, ColorModes) {
  const TempFolder folder;
  put_picture(folder / "a.jpg", 50);
  EXPECT_EQ(load_img(folder / "a.jpg").shape(), (Shape{5, 4, 3}));
  EXPECT_EQ(load_img(folder / "a.jpg", {.color_mode = "grayscale"}).shape(), (Shape{5, 4, 1}));
  const Tensor rgba = load_img(folder / "a.jpg", {.color_mode = "rgba", .target_size = {{3, 2}}});
  EXPECT_EQ(rgba.shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(rgba.data<uint8_t>()[3], 255);
  EXPECT_EQ(img_to_array(rgba).dtype(), DType::f32);
}

}  // namespace
}  // namespace systole::keras::preprocessing::image
