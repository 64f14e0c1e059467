// Images of Keras: generators that change them at random, files, pictures of models.
#include <array>

#include "bindings.h"
#include "functions.h"
#include "keras.h"

namespace systole::python {

namespace ki = keras::preprocessing::image;

template <>
struct From<ki::ShiftRange> {
  static ki::ShiftRange get(nb::handle value, const Arguments&) {
    if (PyLong_Check(value.ptr())) return ki::ShiftRange(nb::cast<int>(value));
    if (nb::hasattr(value, "__float__")) return ki::ShiftRange(nb::cast<double>(nb::float_(nb::borrow(value))));
    throw nb::type_error(fmt::format("{}, expected a number of pixels or a part of the size", nb::repr(value).c_str()).c_str());
  }
};
template <>
struct From<std::array<double, 2>> {
  static std::array<double, 2> get(nb::handle value, const Arguments&) {
    return {nb::cast<double>(nb::float_(nb::object(value[0]))), nb::cast<double>(nb::float_(nb::object(value[1])))};
  }
};
template <>
struct From<std::array<int64_t, 2>> {
  static std::array<int64_t, 2> get(nb::handle value, const Arguments&) {
    return {integer_of(nb::object(value[0])), integer_of(nb::object(value[1]))};
  }
};
template <>
struct From<ki::ZoomRange> {
  static ki::ZoomRange get(nb::handle value, const Arguments& a) {
    if (nb::hasattr(value, "__float__")) return {nb::cast<double>(nb::float_(nb::borrow(value)))};
    const auto [low, high] = From<std::array<double, 2>>::get(value, a);
    return {low, high};
  }
};
template <>
struct From<Tensor> {
  static Tensor get(nb::handle value, const Arguments&) { return tensor_of(value); }
};
template <>
struct From<std::vector<std::string>> {
  static std::vector<std::string> get(nb::handle value, const Arguments&) {
    std::vector<std::string> all;
    for (nb::handle text : nb::borrow<nb::object>(value)) all.push_back(nb::cast<std::string>(nb::str(text)));
    return all;
  }
};
// A function of an image, which is called under the GIL.
template <>
struct From<std::function<Tensor(const Tensor&)>> {
  static std::function<Tensor(const Tensor&)> get(nb::handle value, const Arguments&) {
    return [f = Held(nb::borrow(value))](const Tensor& image) {
      const nb::gil_scoped_acquire gil;
      return tensor_of(f.get()(array_of(image.clone())), DType::f32);
    };
  }
};

namespace {

template <class O, class... F>
O options_of(const char* function, nb::dict values, const F&... fields) {
  O options;
  const Arguments arguments{function, values};
  (fields.set(options, arguments), ...);
  return options;
}

ki::ImageDataGenerator make_generator(nb::dict values) {
  using O = ki::ImageDataGeneratorOptions;
  const auto options = options_of<O>(
      "ImageDataGenerator", values, field("featurewise_center", &O::featurewise_center),
      field("samplewise_center", &O::samplewise_center),
      field("featurewise_std_normalization", &O::featurewise_std_normalization),
      field("samplewise_std_normalization", &O::samplewise_std_normalization),
      field("zca_whitening", &O::zca_whitening), field("zca_epsilon", &O::zca_epsilon),
      field("rotation_range", &O::rotation_range), field("width_shift_range", &O::width_shift_range),
      field("height_shift_range", &O::height_shift_range), field("brightness_range", &O::brightness_range),
      field("shear_range", &O::shear_range), field("zoom_range", &O::zoom_range),
      field("channel_shift_range", &O::channel_shift_range), field("fill_mode", &O::fill_mode), field("cval", &O::cval),
      field("horizontal_flip", &O::horizontal_flip), field("vertical_flip", &O::vertical_flip),
      field("rescale", &O::rescale), field("preprocessing_function", &O::preprocessing_function),
      field("validation_split", &O::validation_split), field("interpolation_order", &O::interpolation_order));
  return building([&] { return ki::ImageDataGenerator(options); });
}

std::shared_ptr<ki::ImageIterator> flow(const ki::ImageDataGenerator& generator, nb::handle x, nb::handle y, nb::dict values) {
  using O = ki::FlowOptions;
  const auto options = options_of<O>("flow", values, field("batch_size", &O::batch_size), field("shuffle", &O::shuffle),
                                     field("sample_weight", &O::sample_weight), field("seed", &O::seed), field("subset", &O::subset));
  const Tensor images = tensor_of(x);
  const Tensor targets = y.is_none() ? Tensor() : tensor_of(y);
  return running([&] { return generator.flow(images, targets, options); });
}

std::shared_ptr<ki::DirectoryIterator> flow_from_directory(const ki::ImageDataGenerator& generator,
                                                           const std::string& directory, nb::dict values) {
  using O = ki::FlowFromDirectoryOptions;
  const auto options = options_of<O>(
      "flow_from_directory", values, field("target_size", &O::target_size), field("color_mode", &O::color_mode),
      field("classes", &O::classes), field("class_mode", &O::class_mode), field("batch_size", &O::batch_size),
      field("shuffle", &O::shuffle), field("seed", &O::seed), field("subset", &O::subset),
      field("interpolation", &O::interpolation));
  return running([&] { return generator.flow_from_directory(directory, options); });
}

nb::object batch_object(const keras::Arrays& batch) {
  return nb::make_tuple(arrays_object(batch.x), arrays_object(batch.y), arrays_object(batch.sample_weights));
}

void bind_iterators(nb::module_& m) {
  nb::class_<ki::ImageIterator>(m, "KerasImageIterator")
      .def("size", [](const ki::ImageIterator& i) { return i.size(); })
      .def("get", [](ki::ImageIterator& i, int64_t index) { return batch_object(running([&] { return i.get(index); })); })
      .def("next", [](ki::ImageIterator& i) { return batch_object(running([&] { return i.next(); })); })
      .def("on_epoch_end", [](ki::ImageIterator& i) { i.on_epoch_end(); })
      .def("reset", [](ki::ImageIterator& i) { i.reset(); })
      .def("samples", [](const ki::ImageIterator& i) { return i.samples(); });
  nb::class_<ki::DirectoryIterator, ki::ImageIterator>(m, "KerasDirectoryIterator")
      .def("class_names", [](const ki::DirectoryIterator& i) { return texts_object(i.class_names()); })
      .def("filenames", [](const ki::DirectoryIterator& i) { return texts_object(i.filenames()); })
      .def("classes", [](const ki::DirectoryIterator& i) { return nb::cast(i.classes()); });
}

void bind_generator(nb::module_& m) {
  nb::class_<ki::ImageDataGenerator>(m, "KerasImageDataGenerator")
      .def("fit",
           [](ki::ImageDataGenerator& g, nb::handle x, bool augment, int64_t rounds, uint32_t seed) {
             const Tensor images = tensor_of(x);
             running([&] { g.fit(images, {.augment = augment, .rounds = rounds, .seed = seed}); });
           })
      .def("flow", flow)
      .def("flow_from_directory", flow_from_directory)
      .def("random_transform",
           [](const ki::ImageDataGenerator& g, nb::handle x, uint32_t seed) {
             return array_of(building([&] {
               keras::NumpyRandom random(seed);
               return g.random_transform(tensor_of(x, DType::f32), random);
             }));
           })
      .def("standardize",
           [](const ki::ImageDataGenerator& g, nb::handle x) {
             return array_of(building([&] { return g.standardize(tensor_of(x, DType::f32)); }));
           })
      .def("mean", [](const ki::ImageDataGenerator& g) { return array_of(g.mean()); })
      .def("std", [](const ki::ImageDataGenerator& g) { return array_of(g.std()); });
  m.def("keras_image_generator", make_generator);
}

}  // namespace

void bind_keras_images(nb::module_& m) {
  bind_iterators(m);
  bind_generator(m);
  m.def("keras_load_img", [](const std::string& path, nb::dict values) {
    using O = ki::LoadImgOptions;
    const auto options = options_of<O>("load_img", values, field("color_mode", &O::color_mode),
                                       field("target_size", &O::target_size), field("interpolation", &O::interpolation));
    return array_of(running([&] { return ki::load_img(path, options); }));
  });
  m.def("keras_plot_model", [](const keras::Model& model, const std::string& to_file, bool show_shapes,
                               bool show_layer_names, const std::string& rankdir) {
    running([&] {
      keras::plot_model(model, {.to_file = to_file, .show_shapes = show_shapes, .show_layer_names = show_layer_names, .rankdir = rankdir});
    });
  });
}

}  // namespace systole::python
