// Recurrent networks, records of examples, tables, sampled losses: functions whose arguments are structures.
#include "bindings.h"
#include "functions.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/train/candidate_sampling.h"
#include "systole/train/rnn.h"

namespace systole::python {
namespace {

using nn::rnn_cell::RNNCell;
using nn::rnn_cell::State;

State state_of(nb::handle value) { return value.is_none() ? State() : outputs_of(value); }

nb::object sizes_object(const Nest<int64_t>& sizes) {
  return nest_object<int64_t>(sizes, [](const int64_t& size) { return nb::cast(size); });
}

void bind_cells(nb::module_& m) {
  nb::class_<RNNCell>(m, "RNNCell")
      .def_prop_ro("output_size", [](const RNNCell& cell) { return cell.output_size(); })
      .def_prop_ro("state_size", [](const RNNCell& cell) { return sizes_object(cell.state_size()); })
      .def("zero_state",
           [](const RNNCell& cell, nb::handle batch_size, nb::handle dtype) {
             return building([&] { return outputs_object(cell.zero_state(input_of(batch_size), dtype_of_object(dtype))); });
           })
      .def("_call", [](const RNNCell& cell, nb::handle inputs, nb::handle state) {
        return building([&] {
          const nn::rnn_cell::CellResult result = cell(output_of(inputs), state_of(state));
          return nb::make_tuple(wrap(result.output), outputs_object(result.state));
        });
      });
  m.def("make_cell", [](const std::string& kind, int64_t units, double forget_bias, nb::object activation,
                        nb::object initializer, const std::string& name) -> RNNCell {
    const nn::rnn_cell::LSTMCellOptions lstm{.forget_bias = forget_bias,
                                             .activation = activation_of(activation),
                                             .initializer = initializer_of(initializer),
                                             .name = name};
    if (kind == "lstm") return nn::rnn_cell::LSTMCell(units, lstm);
    if (kind == "basic_lstm") return nn::rnn_cell::BasicLSTMCell(units, lstm);
    if (kind == "gru") {
      return nn::rnn_cell::GRUCell(units, {.activation = activation_of(activation),
                                           .kernel_initializer = initializer_of(initializer),
                                           .name = name});
    }
    return nn::rnn_cell::BasicRNNCell(units, {.activation = activation_of(activation), .name = name});
  });
  m.def("stack_cells", [](nb::list cells) -> RNNCell {
    std::vector<RNNCell> all;
    for (nb::handle cell : cells) all.push_back(nb::cast<const RNNCell&>(cell));
    return nn::rnn_cell::MultiRNNCell(std::move(all));
  });
  m.def("dropout_cell", [](const RNNCell& cell, nb::handle input_keep, nb::handle output_keep, nb::object seed) -> RNNCell {
    nn::rnn_cell::DropoutWrapperOptions options{.input_keep_prob = input_of(input_keep),
                                                .output_keep_prob = input_of(output_keep)};
    if (!seed.is_none()) options.seed = nb::cast<int64_t>(seed);
    return nn::rnn_cell::DropoutWrapper(cell, options);
  });
}

nn::RnnOptions rnn_options(nb::handle initial, nb::handle lengths, nb::handle dtype, bool time_major,
                           const std::string& scope) {
  nn::RnnOptions options{.initial_state = state_of(initial), .dtype = dtype_of_object(dtype), .time_major = time_major};
  if (!lengths.is_none()) options.sequence_length = output_of(lengths);
  if (!scope.empty()) options.scope = scope;
  return options;
}

void bind_rnn(nb::module_& m) {
  m.def("static_rnn", [](const RNNCell& cell, nb::list inputs, nb::handle initial, nb::handle dtype, nb::handle lengths,
                         const std::string& scope) {
    return building([&] {
      std::vector<Output> steps;
      for (nb::handle input : inputs) steps.push_back(output_of(input));
      const nn::StaticRnn result = nn::static_rnn(cell, steps, rnn_options(initial, lengths, dtype, false, scope));
      return nb::make_tuple(wrap(result.outputs), outputs_object(result.state));
    });
  });
  m.def("dynamic_rnn", [](const RNNCell& cell, nb::handle inputs, nb::handle lengths, nb::handle initial, nb::handle dtype,
                          bool time_major, const std::string& scope) {
    return building([&] {
      const nn::DynamicRnn result =
          nn::dynamic_rnn(cell, output_of(inputs), rnn_options(initial, lengths, dtype, time_major, scope));
      return nb::make_tuple(wrap(result.outputs), outputs_object(result.state));
    });
  });
  m.def("bidirectional_rnn", [](const RNNCell& fw, const RNNCell& bw, nb::handle inputs, nb::handle lengths,
                                nb::handle dtype, bool time_major) {
    return building([&] {
      nn::BidirectionalRnnOptions options{.dtype = dtype_of_object(dtype), .time_major = time_major};
      if (!lengths.is_none()) options.sequence_length = output_of(lengths);
      const nn::BidirectionalRnn result = nn::bidirectional_dynamic_rnn(fw, bw, output_of(inputs), options);
      return nb::make_tuple(wrap(result.fw.outputs), wrap(result.bw.outputs), outputs_object(result.fw.state),
                            outputs_object(result.bw.state));
    });
  });
}

FeatureSpec feature_of(nb::handle value) {
  const DType dtype = dtype_of_object(value.attr("dtype"));
  if (!nb::hasattr(value, "shape")) return VarLenFeature{.dtype = dtype};
  const Shape shape = shape_of_object(value.attr("shape"));
  nb::object usual = value.attr("default_value");
  const auto fallback = usual.is_none() ? std::nullopt : std::optional(tensor_of(usual, dtype));
  if (nb::hasattr(value, "allow_missing")) {
    return FixedLenSequenceFeature{.shape = shape,
                                   .dtype = dtype,
                                   .allow_missing = nb::cast<bool>(value.attr("allow_missing")),
                                   .default_value = fallback};
  }
  return FixedLenFeature{.shape = shape, .dtype = dtype, .default_value = fallback};
}

FeatureSpecs features_of(nb::dict dict) {
  FeatureSpecs specs;
  for (auto [name, feature] : dict) specs.emplace(nb::cast<std::string>(name), feature_of(feature));
  return specs;
}

void bind_records(nb::module_& m) {
  m.def("parse_single_example", [](nb::handle serialized, nb::dict features) {
    return building([&] { return outputs_object(parse_single_example(input_of(serialized), features_of(features))); });
  });
  m.def("parse_example", [](nb::handle serialized, nb::dict features) {
    return building([&] { return outputs_object(parse_example(input_of(serialized), features_of(features))); });
  });
  m.def("decode_csv", [](nb::handle records, nb::list defaults, const std::string& delimiter, bool quotes,
                         const std::string& missing, nb::handle columns) {
    return building([&] {
      std::vector<Tensor> usual;
      for (nb::handle value : defaults) usual.push_back(tensor_of(value));
      const DecodeCsvOptions options{
          .field_delim = delimiter, .use_quote_delim = quotes, .na_value = missing, .select_cols = integers_of(columns)};
      return wrap(decode_csv(input_of(records), usual, options));
    });
  });
}

void bind_tables(nb::module_& m) {
  nb::class_<LookupTable>(m, "LookupTable")
      .def("lookup", [](const LookupTable& t, nb::handle keys) { return building([&] { return wrap(t.lookup(input_of(keys))); }); })
      .def("size", [](const LookupTable& t) { return building([&] { return wrap(t.size()); }); })
      .def_prop_ro("initializer", [](const LookupTable& t) { return wrap(t.initializer()); });
  // Of words in a list, else of the lines of a file.
  m.def("index_table", [](nb::handle words, const std::string& file, int64_t buckets, int64_t missing, int64_t size) {
    return building([&] {
      const IndexTableOptions options{.num_oov_buckets = buckets, .vocab_size = size, .default_value = missing};
      return words.is_none() ? index_table_from_file(file, options) : index_table_from_tensor(tensor_of(words), options);
    });
  });
  m.def("string_table", [](nb::handle words, const std::string& file, const std::string& missing, int64_t size) {
    return building([&] {
      const IndexToStringOptions options{.vocab_size = size, .default_value = missing};
      return words.is_none() ? index_to_string_table_from_file(file, options)
                             : index_to_string_table_from_tensor(tensor_of(words), options);
    });
  });
  m.def("crossed_buckets", [](nb::list columns, int64_t buckets, int64_t key) {
    return building([&] {
      std::vector<Output> values;
      for (nb::handle column : columns) values.push_back(output_of(column));
      return wrap(crossed_buckets(InputList(values), buckets, {.hash_key = key}));
    });
  });
  m.def("tables_initializer", [] { return building([&] { return wrap(tables_initializer()); }); });
}

}  // namespace

void define_candidate_sampling() {
  const auto sampled = [](const char* name, auto f) {
    function(name, f, {"weights", "biases", "labels", "inputs", "num_sampled", "num_classes", "num_true"});
  };
  sampled("nn.nce_loss", +[](const Input& weights, const Input& biases, const Input& labels, const Input& inputs,
                             int64_t num_sampled, int64_t num_classes, std::optional<int64_t> num_true) {
    return nce_loss({.weights = weights,
                     .biases = biases,
                     .labels = labels,
                     .inputs = inputs,
                     .num_sampled = num_sampled,
                     .num_classes = num_classes,
                     .num_true = num_true.value_or(1)});
  });
  sampled("nn.sampled_softmax_loss",
          +[](const Input& weights, const Input& biases, const Input& labels, const Input& inputs, int64_t num_sampled,
              int64_t num_classes, std::optional<int64_t> num_true) {
            return sampled_softmax_loss({.weights = weights,
                                         .biases = biases,
                                         .labels = labels,
                                         .inputs = inputs,
                                         .num_sampled = num_sampled,
                                         .num_classes = num_classes,
                                         .num_true = num_true.value_or(1)});
          });
}

void bind_models(nb::module_& m) {
  bind_cells(m);
  bind_rnn(m);
  bind_records(m);
  bind_tables(m);
}

}  // namespace systole::python
