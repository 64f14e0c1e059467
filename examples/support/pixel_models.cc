#include "examples/support/pixel_models.h"

#include <algorithm>

namespace examples {
namespace {

namespace layers = st::keras::layers;

void compile_for_classes(const st::keras::Sequential& model) {
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
}

}  // namespace

st::Tensor pixels_of(const st::Tensor& images) {
  auto x = images.reshape({images.dim(0), 28, 28, 1}).cast(st::DType::f32).clone();
  for (float& pixel : x.data<float>()) pixel /= 255;
  return x;
}

st::keras::Sequential pixel_cnn() {
  st::keras::Sequential model;
  model.add(layers::Conv2D(
      32, {5, 5}, {.padding = "same", .activation = "relu", .input_shape = {{28, 28, 1}}}));
  model.add(layers::MaxPooling2D({2, 2}));
  model.add(layers::Conv2D(64, {5, 5}, {.padding = "same", .activation = "relu"}));
  model.add(layers::MaxPooling2D({2, 2}));
  model.add(layers::Flatten());
  model.add(layers::Dense(128, {.activation = "relu"}));
  model.add(layers::Dense(10, {.activation = "softmax"}));
  compile_for_classes(model);
  return model;
}

st::keras::Sequential pixel_mlp() {
  st::keras::Sequential model;
  model.add(layers::Flatten({.input_shape = {{28, 28, 1}}}));
  model.add(layers::Dense(256, {.activation = "relu"}));
  model.add(layers::Dense(128, {.activation = "relu"}));
  model.add(layers::Dense(10, {.activation = "softmax"}));
  compile_for_classes(model);
  return model;
}

double percent_right(const st::Tensor& outputs, const st::Tensor& labels) {
  const auto classes = static_cast<size_t>(outputs.dim(1));
  int64_t right = 0;
  for (int64_t i = 0; i < labels.dim(0); ++i) {
    const auto row = outputs.data<float>().subspan(static_cast<size_t>(i) * classes, classes);
    const int64_t guess = classes == 1 ? static_cast<int64_t>(row[0] > 0.5F)
                                       : std::ranges::max_element(row) - row.begin();
    right += guess == static_cast<int64_t>(labels.as_double(i)) ? 1 : 0;
  }
  return 100 * static_cast<double>(right) / static_cast<double>(labels.dim(0));
}

}  // namespace examples
