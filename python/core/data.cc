// Data sets.
#include "systole/data/dataset.h"

#include "bindings.h"
#include "systole/data/sources.h"
#include "values.h"

namespace systole::python {
namespace {

Nest<Tensor> tensors_of(nb::handle value) {
  return nest_of<Tensor>(value, [](nb::handle leaf) { return tensor_of(leaf); });
}
nb::object arrays_object(const Nest<Tensor>& nest) {
  return nest_object<Tensor>(nest, [](const Tensor& leaf) { return array_of(leaf); });
}
// Leaves are (dtype, shape) in a tuple subclass of ours: see _values.Spec.
ElementSpec spec_of(nb::handle value) {
  if (nb::hasattr(value, "_spec")) {
    nb::object spec = value.attr("_spec");
    return ElementSpec(TensorType{dtype_of_object(spec[0]), shape_of_object(spec[1])});
  }
  if (PyDict_Check(value.ptr())) {
    std::vector<std::pair<std::string, ElementSpec>> entries;
    for (auto [key, element] : nb::borrow<nb::dict>(value)) {
      entries.emplace_back(nb::cast<std::string>(nb::str(key)), spec_of(element));
    }
    return ElementSpec::dict(std::move(entries));
  }
  std::vector<ElementSpec> elements;
  for (nb::handle element : nb::borrow<nb::object>(value)) elements.push_back(spec_of(element));
  return ElementSpec::tuple(std::move(elements));
}

nb::object spec_object(const ElementSpec& spec) {
  return nest_object<TensorType>(spec, [](const TensorType& type) {
    return nb::module_::import_("systole_tpu.tensorflow._values")
        .attr("Spec")(dtype_name(type.dtype), shape_object(type.shape));
  });
}

bool has_tensor(nb::handle value) {
  if (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) {
    for (nb::handle element : nb::borrow<nb::object>(value)) {
      if (has_tensor(element)) return true;
    }
    return false;
  }
  if (PyDict_Check(value.ptr())) {
    for (auto [key, element] : nb::borrow<nb::dict>(value)) {
      if (has_tensor(element)) return true;
    }
    return false;
  }
  return symbolic_dtype(value) != DType::invalid;
}

// A function of Python, traced once: takes the element's nest.
Dataset::GraphFunction traced(nb::object f) {
  return [f](const Nest<Output>& element) { return outputs_of(f(outputs_object(element))); };
}

// A count: a number, or a tensor of the graph. `argument`: "batch: batch_size", for errors.
template <class Number, class Tensor_>
Dataset counted(const char* argument, nb::handle count, Number number, Tensor_ tensor) {
  if (symbolic_dtype(count) != DType::invalid) return tensor(input_of(count));
  PyObject* const index = PyNumber_Index(count.ptr());
  if (index == nullptr) {
    PyErr_Clear();
    throw nb::type_error(
        fmt::format("tf.data.Dataset.{}, got {}, expected an integer", argument, nb::repr(count).c_str()).c_str());
  }
  return number(nb::cast<int64_t>(nb::steal(index)));
}

FileNames files_of(nb::handle value) {
  if (nb::isinstance<Dataset>(value)) return nb::cast<const Dataset&>(value);
  if (symbolic_dtype(value) != DType::invalid) return output_of(value);
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  std::vector<std::string> names;
  for (nb::handle name : nb::borrow<nb::object>(value)) names.push_back(nb::cast<std::string>(nb::str(name)));
  return names;
}

std::optional<int64_t> seed_of(nb::handle seed) {
  return seed.is_none() ? std::nullopt : std::optional(nb::cast<int64_t>(nb::int_(nb::borrow(seed))));
}

Dataset from_generator(nb::object make, nb::handle spec) {
  auto start = [held = Held(make)]() -> Dataset::Generator {
    const nb::gil_scoped_acquire gil;
    return [next = Held(nb::object(held.get()()))]() -> std::optional<Element> {
      const nb::gil_scoped_acquire locked;
      nb::object element = next.get()();
      if (element.is_none()) return std::nullopt;
      return tensors_of(element[0]);
    };
  };
  return Dataset::from_generator(start, spec_of(spec));
}

Dataset padded(const Dataset& dataset, int64_t batch_size, nb::handle shapes, nb::handle values, bool drop) {
  PaddedBatchOptions options{.drop_remainder = drop};
  if (!shapes.is_none()) {
    options.padded_shapes =
        pack_like(dataset.element_spec(), [&] {
          std::vector<Shape> all;
          for (nb::handle shape : nb::borrow<nb::object>(shapes)) all.push_back(shape_of_object(shape));
          return all;
        }());
  }
  if (!values.is_none()) {
    std::vector<Tensor> all;
    const std::vector<TensorType> types = dataset.element_spec().flatten();
    for (nb::handle value : nb::borrow<nb::object>(values)) all.push_back(tensor_of(value, types.at(all.size()).dtype));
    options.padding_values = pack_like(dataset.element_spec(), std::move(all));
  }
  return dataset.padded_batch(batch_size, options);
}

void bind_sources(nb::class_<Dataset>& c) {
  c.def_static("from_tensors",
               [](nb::handle value) {
                 return building([&] {
                   return has_tensor(value) ? Dataset::from_tensors(outputs_of(value))
                                            : Dataset::from_tensors(tensors_of(value));
                 });
               })
      .def_static("from_tensor_slices",
                  [](nb::handle value) {
                    return building([&] {
                      return has_tensor(value) ? Dataset::from_tensor_slices(outputs_of(value))
                                               : Dataset::from_tensor_slices(tensors_of(value));
                    });
                  })
      .def_static("range", [](int64_t start, int64_t stop, int64_t step) { return Dataset::range(start, stop, step); })
      .def_static("from_generator", from_generator)
      .def_static("list_files",
                  [](nb::handle patterns, bool shuffle, nb::handle seed) {
                    return building([&] {
                      const ListFilesOptions options{.shuffle = shuffle, .seed = seed_of(seed)};
                      if (symbolic_dtype(patterns) != DType::invalid) return Dataset::list_files(output_of(patterns), options);
                      std::vector<std::string> all;
                      if (PyUnicode_Check(patterns.ptr())) {
                        all.push_back(nb::cast<std::string>(patterns));
                      } else {
                        for (nb::handle text : nb::borrow<nb::object>(patterns)) all.push_back(nb::cast<std::string>(text));
                      }
                      return Dataset::list_files(all, options);
                    });
                  })
      .def_static("zip",
                  [](nb::handle datasets) {
                    return Dataset::zip(
                        nest_of<Dataset>(datasets, [](nb::handle leaf) { return nb::cast<Dataset>(leaf); }));
                  })
      .def_static("tfrecords",
                  [](nb::handle files, const std::string& compression, nb::object buffer, nb::object parallel) {
                    return building([&] {
                      TFRecordDatasetOptions options{.compression_type = compression};
                      if (!buffer.is_none()) options.buffer_size = nb::cast<int64_t>(buffer);
                      if (!parallel.is_none()) options.num_parallel_reads = nb::cast<int64_t>(parallel);
                      return Dataset(TFRecordDataset(files_of(files), options));
                    });
                  })
      .def_static("text_lines",
                  [](nb::handle files, const std::string& compression) {
                    return building([&] {
                      return Dataset(TextLineDataset(files_of(files), {.compression_type = compression}));
                    });
                  })
      .def_static("fixed_length_records", [](nb::handle files, int64_t bytes, int64_t header, int64_t footer) {
        return building([&] {
          return Dataset(FixedLengthRecordDataset(files_of(files), bytes, {.header_bytes = header, .footer_bytes = footer}));
        });
      });
}

void bind_transformations(nb::class_<Dataset>& c) {
  using D = const Dataset&;
  c.def("map",
        [](D d, nb::object f, int64_t parallel) {
          return building([&] { return d.map(traced(f), {.num_parallel_calls = parallel}); });
        })
      .def("filter", [](D d, nb::object f) { return building([&] { return d.filter(traced(f)); }); })
      .def("flat_map",
           [](D d, nb::object f) {
             return building([&] {
               const Dataset::TracedFunction call = [f](const Dataset& element) { return nb::cast<Dataset>(f(element)); };
               return d.flat_map(call);
             });
           })
      .def("interleave",
           [](D d, nb::object f, int64_t cycle, int64_t block, int64_t parallel, bool deterministic) {
             return building([&] {
               const Dataset::TracedFunction call = [f](const Dataset& element) { return nb::cast<Dataset>(f(element)); };
               return d.interleave(call, {.cycle_length = cycle,
                                          .block_length = block,
                                          .num_parallel_calls = parallel,
                                          .deterministic = deterministic});
             });
           })
      .def("concatenate", [](D d, D other) { return building([&] { return d.concatenate(other); }); })
      .def("enumerate", [](D d, int64_t start) { return d.enumerate(start); })
      .def("take",
           [](D d, nb::handle n) {
             return building([&] {
               return counted("take: count", n, [&](int64_t k) { return d.take(k); }, [&](const Input& k) { return d.take(k); });
             });
           })
      .def("skip",
           [](D d, nb::handle n) {
             return building([&] {
               return counted("skip: count", n, [&](int64_t k) { return d.skip(k); }, [&](const Input& k) { return d.skip(k); });
             });
           })
      .def("repeat",
           [](D d, nb::handle n) {
             return building([&] {
               return counted("repeat: count", n, [&](int64_t k) { return d.repeat(k); }, [&](const Input& k) { return d.repeat(k); });
             });
           })
      .def("shard", [](D d, int64_t n, int64_t i) { return building([&] { return d.shard(n, i); }); })
      .def("shuffle",
           [](D d, nb::handle buffer, nb::handle seed, bool reshuffle) {
             return building([&] {
               const ShuffleOptions options{.seed = seed_of(seed), .reshuffle_each_iteration = reshuffle};
               return counted("shuffle: buffer_size", buffer, [&](int64_t k) { return d.shuffle(k, options); },
                              [&](const Input& k) { return d.shuffle(k, options); });
             });
           })
      .def("batch",
           [](D d, nb::handle size, bool drop) {
             return building([&] {
               return counted("batch: batch_size", size, [&](int64_t k) { return d.batch(k, drop); },
                              [&](const Input& k) { return d.batch(k, drop); });
             });
           })
      .def("padded_batch",
           [](D d, int64_t size, nb::handle shapes, nb::handle values, bool drop) {
             return building([&] { return padded(d, size, shapes, values, drop); });
           })
      .def("unbatch", [](D d) { return building([&] { return d.unbatch(); }); })
      .def("cache", [](D d, const std::string& path) { return path.empty() ? d.cache() : d.cache(path); })
      .def("prefetch", [](D d, int64_t n) { return building([&] { return d.prefetch(n); }); })
      .def("ignore_errors", [](D d) { return d.ignore_errors(); });
}

}  // namespace

void bind_data(nb::module_& m) {
  nb::class_<Dataset> c(m, "Dataset");
  bind_sources(c);
  bind_transformations(c);
  c.def_prop_ro("_element_spec", [](const Dataset& d) { return spec_object(d.element_spec()); })
      .def("_one_shot", [](const Dataset& d) { return building([&] { return d.make_one_shot_iterator(); }); })
      .def("_initializable", [](const Dataset& d) { return building([&] { return d.make_initializable_iterator(); }); })
      .def("_iterator", [](const Dataset& d) { return std::make_unique<Iterator>(d); })
      .def("__repr__", [](const Dataset& d) { return "<Dataset " + d.to_string() + ">"; });
  nb::class_<OneShotIterator>(m, "OneShotIterator").def("get_next", [](const OneShotIterator& it) {
    return building([&] { return outputs_object(it.get_next()); });
  });
  nb::class_<InitializableIterator>(m, "InitializableIterator")
      .def_prop_ro("initializer", [](const InitializableIterator& it) { return building([&] { return wrap(it.initializer()); }); })
      .def("get_next", [](const InitializableIterator& it) { return building([&] { return outputs_object(it.get_next()); }); });
  // The elements as arrays, without a session. (None,): the end.
  nb::class_<Iterator>(m, "Iterator").def("next", [](Iterator& it) -> nb::object {
    std::optional<Element> element;
    {
      const nb::gil_scoped_release unlocked;
      element = it.next();
    }
    return element ? nb::object(nb::make_tuple(arrays_object(*element))) : nb::none();
  });
}

}  // namespace systole::python
