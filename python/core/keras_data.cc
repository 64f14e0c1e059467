// Data sets and preprocessing of Keras.
#include <algorithm>

#include "bindings.h"
#include "functions.h"
#include "keras.h"

namespace systole::python {

namespace {

namespace kd = keras::datasets;
namespace kp = keras::preprocessing;

nb::object texts_as_numbers(const kd::WordListPart& part) {
  nb::list x;
  for (const std::vector<int32_t>& text : part.x) x.append(nb::cast(text));
  return nb::make_tuple(x, array_of(part.y));
}
nb::object part_object(const kd::DataPart& part) { return nb::make_tuple(array_of(part.x), array_of(part.y)); }
nb::object part_object(const kd::WordListPart& part) { return texts_as_numbers(part); }

// A data set: its name, the arguments of load_data() in their order, and what loads it.
struct DataSetClass {
  std::string name;
  std::vector<std::string> arguments;
  std::function<nb::object(const Arguments&)> load;
};

template <class O, class R, class... F>
DataSetClass data_set(const char* name, R (*load)(const O&), const F&... fields) {
  DataSetClass made{name, {fields.name...}, nullptr};
  made.load = [=](const Arguments& a) -> nb::object {
    O options;
    (fields.set(options, a), ...);
    // start_char and oov_char of None mean none, where an argument that is left out means its default.
    if constexpr (requires { options.start_char; options.oov_char; }) {
      for (auto [key, member] : {std::pair("start_char", &O::start_char), std::pair("oov_char", &O::oov_char)}) {
        if (a.values.contains(key) && nb::object(a.values[key]).is_none()) options.*member = std::nullopt;
      }
    }
    const R data = running([&] { return load(options); });
    return nb::make_tuple(part_object(data.train), part_object(data.test));
  };
  return made;
}

const std::vector<DataSetClass>& data_sets() {
  using Images = kd::mnist::LoadOptions;
  using Clothes = kd::fashion_mnist::LoadOptions;
  using Colours = kd::cifar10::LoadOptions;
  using Hundred = kd::cifar100::LoadOptions;
  using Houses = kd::boston_housing::LoadOptions;
  using Films = kd::imdb::LoadOptions;
  using News = kd::reuters::LoadOptions;
  static const auto* all = new std::vector<DataSetClass>{
      data_set<Images>("mnist", kd::mnist::load_data, field("path", &Images::path), field("data_dir", &Images::data_dir)),
      data_set<Clothes>("fashion_mnist", kd::fashion_mnist::load_data, field("data_dir", &Clothes::data_dir)),
      data_set<Colours>("cifar10", kd::cifar10::load_data, field("data_dir", &Colours::data_dir)),
      data_set<Hundred>("cifar100", kd::cifar100::load_data, field("label_mode", &Hundred::label_mode),
                        field("data_dir", &Hundred::data_dir)),
      data_set<Houses>("boston_housing", kd::boston_housing::load_data, field("path", &Houses::path),
                       field("test_split", &Houses::test_split), field("seed", &Houses::seed),
                       field("data_dir", &Houses::data_dir)),
      data_set<Films>("imdb", kd::imdb::load_data, field("path", &Films::path), field("num_words", &Films::num_words),
                      field("skip_top", &Films::skip_top), field("maxlen", &Films::maxlen), field("seed", &Films::seed),
                      field("start_char", &Films::start_char), field("oov_char", &Films::oov_char),
                      field("index_from", &Films::index_from), field("data_dir", &Films::data_dir)),
      data_set<News>("reuters", kd::reuters::load_data, field("path", &News::path), field("num_words", &News::num_words),
                     field("skip_top", &News::skip_top), field("maxlen", &News::maxlen),
                     field("test_split", &News::test_split), field("seed", &News::seed),
                     field("start_char", &News::start_char), field("oov_char", &News::oov_char),
                     field("index_from", &News::index_from), field("data_dir", &News::data_dir))};
  return *all;
}

nb::dict words_object(const kd::WordIndex& words) {
  nb::dict all;
  for (const auto& [word, rank] : words) all[word.c_str()] = rank;
  return all;
}

void bind_data_sets(nb::module_& m) {
  m.def("keras_datasets", [] {
    nb::list all;
    for (const DataSetClass& made : data_sets()) all.append(nb::make_tuple(made.name, texts_object(made.arguments)));
    return all;
  });
  m.def("keras_load_data", [](const std::string& name, nb::dict values) {
    const auto found = std::ranges::find(data_sets(), name, &DataSetClass::name);
    return found->load({name, values});
  });
  m.def("keras_word_index", [](const std::string& name, const std::string& path) {
    return words_object(running([&] {
      if (name == "reuters") return path.empty() ? kd::reuters::get_word_index() : kd::reuters::get_word_index({.path = path});
      return path.empty() ? kd::imdb::get_word_index() : kd::imdb::get_word_index({.path = path});
    }));
  });
}

std::vector<std::vector<int32_t>> sequences_of(nb::handle value) {
  std::vector<std::vector<int32_t>> all;
  for (nb::handle sequence : nb::borrow<nb::object>(value)) {
    std::vector<int32_t> numbers;
    for (nb::handle number : nb::borrow<nb::object>(sequence)) numbers.push_back(static_cast<int32_t>(integer_of(number)));
    all.push_back(std::move(numbers));
  }
  return all;
}

std::vector<std::string> texts_of(nb::handle value) {
  std::vector<std::string> all;
  for (nb::handle text : nb::borrow<nb::object>(value)) all.push_back(nb::cast<std::string>(nb::str(text)));
  return all;
}

void bind_text(nb::module_& m) {
  using kp::text::Tokenizer;
  nb::class_<Tokenizer>(m, "KerasTokenizer")
      .def("fit_on_texts", [](Tokenizer& t, nb::handle texts) { t.fit_on_texts(texts_of(texts)); })
      .def("fit_on_sequences", [](Tokenizer& t, nb::handle list) { t.fit_on_sequences(sequences_of(list)); })
      .def("texts_to_sequences",
           [](const Tokenizer& t, nb::handle texts) { return nb::cast(t.texts_to_sequences(texts_of(texts))); })
      .def("sequences_to_texts",
           [](const Tokenizer& t, nb::handle list) { return texts_object(t.sequences_to_texts(sequences_of(list))); })
      .def("sequences_to_matrix",
           [](const Tokenizer& t, nb::handle list, const std::string& mode) {
             return array_of(building([&] { return t.sequences_to_matrix(sequences_of(list), mode); }));
           })
      .def("texts_to_matrix",
           [](const Tokenizer& t, nb::handle texts, const std::string& mode) {
             return array_of(building([&] { return t.texts_to_matrix(texts_of(texts), mode); }));
           })
      .def_prop_ro("word_index",
                   [](const Tokenizer& t) {
                     // In the order of the numbers.
                     nb::dict all;
                     for (const auto& [index, word] : t.index_word()) all[word.c_str()] = index;
                     return all;
                   })
      .def_prop_ro("word_counts",
                   [](const Tokenizer& t) {
                     nb::dict all;
                     for (const auto& [word, count] : t.word_counts()) all[word.c_str()] = count;
                     return all;
                   })
      .def_prop_ro("document_count", [](const Tokenizer& t) { return t.document_count(); })
      .def("to_json", [](const Tokenizer& t) { return t.to_json(); });
  m.def("keras_tokenizer", [](nb::handle num_words, const std::string& filters, bool lower, const std::string& split,
                              bool char_level, nb::handle oov) {
    kp::text::TokenizerOptions options{.filters = filters, .lower = lower, .split = split, .char_level = char_level};
    if (!num_words.is_none()) options.num_words = integer_of(num_words);
    if (!oov.is_none()) options.oov_token = nb::cast<std::string>(oov);
    return building([&] { return Tokenizer(options); });
  });
  m.def("keras_words", [](const std::string& text, const std::string& filters, bool lower, const std::string& split) {
    return texts_object(building([&] {
      return kp::text::text_to_word_sequence(text, {.filters = filters, .lower = lower, .split = split});
    }));
  });
  m.def("keras_one_hot", [](const std::string& text, int64_t n, const std::string& filters, bool lower, const std::string& split) {
    return building([&] { return kp::text::one_hot(text, n, {.filters = filters, .lower = lower, .split = split}); });
  });
}

void bind_arrays(nb::module_& m) {
  m.def("keras_pad_sequences", [](nb::list sequences, nb::handle maxlen, nb::handle dtype, const std::string& padding,
                                  const std::string& truncating, double value) {
    kp::sequence::PadSequencesOptions options{
        .dtype = dtype_of_object(dtype), .padding = padding, .truncating = truncating, .value = value};
    if (!maxlen.is_none()) options.maxlen = integer_of(maxlen);
    return array_of(building([&] {
      const std::vector<Tensor> tensors = tensors_of_list(sequences);
      return kp::sequence::pad_sequences(tensors, options);
    }));
  });
  m.def("keras_to_categorical", [](nb::handle y, nb::handle classes) {
    return array_of(building([&] {
      return keras::utils::to_categorical(tensor_of(y), classes.is_none() ? std::nullopt : std::optional(integer_of(classes)));
    }));
  });
  m.def("keras_normalize", [](nb::handle x, int64_t axis, int64_t order) {
    return array_of(building([&] { return keras::utils::normalize(tensor_of(x), axis, order); }));
  });
}

}  // namespace

void bind_keras_data(nb::module_& m) {
  bind_data_sets(m);
  bind_text(m);
  bind_arrays(m);
}

}  // namespace systole::python
