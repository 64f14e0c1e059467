// The ops of map functions in a pipeline's YAML.
#include <algorithm>
#include <source_location>

#include "apps/systole/data/pipeline_spec.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/string_ops.h"

namespace systole::app {

DType config_dtype(const ConfigNode& node, const std::string& what) {
  const std::string wanted = "a dtype such as float32";
  const auto name = node.as<std::string>(what, wanted);
  try {
    return dtype_from_tf(name);
  } catch (const Error&) {
    throw node.error(what, "'" + name + "'", wanted);
  }
}

namespace {

std::vector<int64_t> integers_of(const ConfigNode& node, const std::string& op,
                                 const std::string& wanted) {
  std::vector<int64_t> values;
  for (const ConfigNode& item : node.items(op, wanted)) {
    values.push_back(item.as<int64_t>(op, "an integer"));
  }
  return values;
}

Shape shape_of(const ConfigNode& node, const std::string& op) {
  const std::vector<int64_t> sizes = integers_of(node, op, "the sizes of a shape");
  return Shape(Dims(sizes.begin(), sizes.end()));
}

FeatureSpec feature_spec(const ConfigNode& node, const std::string& op) {
  if (node.is_scalar()) return FixedLenFeature{.dtype = config_dtype(node, op)};
  if (node["var_len"].present()) {
    return VarLenFeature{.dtype = config_dtype(node["var_len"], op)};
  }
  if (!node["dtype"].present()) {
    throw node.error(op, node.shown(), "a dtype, {dtype, shape} or {var_len: dtype}");
  }
  FixedLenFeature feature{.dtype = config_dtype(node["dtype"], op)};
  if (node["shape"].present()) feature.shape = shape_of(node["shape"], op);
  return feature;
}

GraphOp parse_op(const std::string& name, const ConfigNode& argument) {
  if (!argument.is_map()) throw argument.error(name, argument.shown(), "{feature: dtype}");
  FeatureSpecs features;
  for (const auto& [feature, spec] : argument.entries(name)) {
    features.emplace(feature, feature_spec(spec, name));
  }
  const bool batched = name == "parse_example";
  return [features, batched](const Nest<Output>& element) {
    return batched ? parse_example(element.leaf(), features)
                   : parse_single_example(element.leaf(), features);
  };
}

// -- Functions of one feature.

Change decode_raw_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const DType dtype = config_dtype(argument, op);
  return [dtype](const Output& x) { return decode_raw(x, dtype); };
}

Change cast_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const DType dtype = config_dtype(argument, op);
  return [dtype](const Output& x) { return cast(x, dtype); };
}

Change reshape_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const Shape shape = shape_of(argument, op);
  return [shape](const Output& x) { return reshape(x, shape); };
}

std::pair<double, double> two_numbers(const ConfigNode& node, const std::string& op,
                                      const std::string& wanted) {
  if (!node.is_list()) throw node.error(op, node.shown(), wanted);
  const auto items = node.items(op, wanted);
  if (items.size() != 2) throw node.error(op, fmt::format("{} numbers", items.size()), wanted);
  return {items[0].as<double>(op, "a number"), items[1].as<double>(op, "a number")};
}

Change scale_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const auto [factor, offset] = two_numbers(argument, op, "[factor, offset]");
  return [factor = static_cast<float>(factor),
          offset = static_cast<float>(offset)](const Output& x) { return x * factor + offset; };
}

Change one_hot_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const auto depth = argument.as<int64_t>(op, "the number of classes");
  return [depth](const Output& x) { return one_hot(x, depth); };
}

constexpr ConfigKey kVocabularyKeys[] = {
    {"file", "text", "required", "A word a line."},
    {"num_oov_buckets", "integer", "0", "Numbers for words outside."},
    {"default_value", "integer", "-1", "The number of all words outside, without buckets."}};

Change vocabulary_op(const ConfigNode& argument, const std::string& op,
                     const PipelineScope& scope) {
  std::function<LookupTable()> table;
  if (argument.is_list()) {
    std::vector<std::string> words;
    for (const ConfigNode& item : argument.items(op, "a list of words")) {
      words.push_back(item.as<std::string>(op, "a word"));
    }
    const Tensor list = Tensor::of<std::string>({static_cast<int64_t>(words.size())}, words);
    table = [list] { return index_table_from_tensor(list); };
  } else {
    const ConfigSection section(op, argument, kVocabularyKeys);
    section.require("file", "a file of words, or a list of them");
    table = [file = scope.path_of(section.text("file")),
             options = IndexTableOptions{.num_oov_buckets = section.integer("num_oov_buckets", 0),
                                         .default_value = section.integer("default_value", -1)}] {
      return index_table_from_file(file, options);
    };
  }
  return [table](const Output& x) {
    const Output number = table().lookup(x);
    // A conversion on the device would be compiled for each number of words.
    return number.shape().is_static() ? cast(number, DType::s32) : number;
  };
}

image::Size size_of_image(const ConfigNode& argument, const std::string& op) {
  const std::string wanted = "[height, width]";
  const std::vector<int64_t> sizes = integers_of(argument, op, wanted);
  if (sizes.size() != 2) throw argument.error(op, fmt::format("{} sizes", sizes.size()), wanted);
  return {.height = sizes[0], .width = sizes[1]};
}

using Resize = Output (*)(const Input&, image::Size, const image::ResizeOptions&);
template <Resize Function>
Change resize_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  return [size = size_of_image(argument, op)](const Output& x) {
    return Function(x, size, {.half_pixel_centers = true});
  };
}

// Decoders; the number of channels is optional.
template <class Options, Output (*Function)(const Input&, const Options&)>
Change decode_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  Options options;
  if (argument.present() && !argument.is_null()) {
    options.channels = argument.as<int64_t>(op, "the number of channels");
  }
  return [options](const Output& x) { return Function(x, options); };
}

Change crop_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const std::string wanted = "[top, left, height, width]";
  const std::vector<int64_t> at = integers_of(argument, op, wanted);
  if (at.size() != 4) throw argument.error(op, fmt::format("{} numbers", at.size()), wanted);
  return
      [at](const Output& x) { return image::crop_to_bounding_box(x, at[0], at[1], at[2], at[3]); };
}

Change random_contrast_op(const ConfigNode& argument, const std::string& op, const PipelineScope&) {
  const auto bounds = two_numbers(argument, op, "[lower, upper]");
  return
      [bounds](const Output& x) { return image::random_contrast(x, bounds.first, bounds.second); };
}

// Ops without an argument, with default options.
template <auto Function>
Change plain_op(const ConfigNode&, const std::string&, const PipelineScope&) {
  return [](const Output& x) {
    if constexpr (std::is_invocable_v<decltype(Function), Input>) {
      return Function(x);
    } else {
      return Function(x, {});
    }
  };
}

// Ops with one number.
template <class Function>
Change number_op(const ConfigNode& argument, const std::string& op, const Function& function) {
  const auto number = argument.as<double>(op, "a number");
  return [=](const Output& x) { return function(x, number); };
}

using Node = const ConfigNode&;
using Name = const std::string&;
using Scope = const PipelineScope&;

constexpr PipelineOp kOps[] = {
    {"parse_single_example", "{feature: dtype, or {dtype, shape}, or {var_len: dtype}}",
     "Parses a serialized tf.Example."},
    {"parse_example", "the same", "Parses a batch of them."},
    {"decode_raw", "dtype", "Reinterprets bytes as numbers.", &decode_raw_op},
    {"decode_jpeg", "channels: 1 or 3; 0: as in the file",
     "Decodes JPEG to uint8 [height, width, channels].",
     &decode_op<image::DecodeJpegOptions, &image::decode_jpeg>},
    {"decode_png", "channels: 1 to 4; 0: as in the file", "Decodes PNG.",
     &decode_op<image::DecodePngOptions, &image::decode_png>},
    {"decode_image", "channels: 1 or 3; 0: as in the file", "Decodes JPEG or PNG.",
     &decode_op<image::DecodeImageOptions, &image::decode_image>},
    {"cast", "dtype", "Converts to another dtype.", &cast_op},
    {"reshape", "sizes", "Changes the shape.", &reshape_op},
    {"scale", "[factor, offset]", "x * factor + offset.", &scale_op},
    {"resize_bilinear", "[height, width]", "Resizes images [height, width, channels] to float32.",
     &resize_op<&image::resize_bilinear>},
    {"resize_nearest_neighbor", "[height, width]",
     "Resizes with the nearest pixels; keeps the dtype.",
     &resize_op<&image::resize_nearest_neighbor>},
    {"resize_with_crop_or_pad", "[height, width]",
     "Crops the centre of larger images, pads smaller ones with 0.",
     [](Node argument, Name op, Scope) -> Change {
       const image::Size size = size_of_image(argument, op);
       return [=](const Output& x) {
         return image::resize_with_crop_or_pad(x, size.height, size.width);
       };
     }},
    {"crop", "[top, left, height, width]", "Crops a rectangle.", &crop_op},
    {"central_crop", "fraction", "Crops the centre to this fraction of each side.",
     [](Node argument, Name op, Scope) -> Change {
       return number_op(argument, op,
                        [](const Output& x, double part) { return image::central_crop(x, part); });
     }},
    {"random_crop", "sizes", "Crops a random part of this shape.",
     [](Node argument, Name op, Scope) -> Change {
       return [shape = shape_of(argument, op)](const Output& x) {
         return image::random_crop(x, shape);
       };
     }},
    {"flip_left_right", "", "Mirrors left and right.", &plain_op<&image::flip_left_right>},
    {"flip_up_down", "", "Mirrors top and bottom.", &plain_op<&image::flip_up_down>},
    {"random_flip_left_right", "", "Mirrors half of the elements, left and right.",
     &plain_op<&image::random_flip_left_right>},
    {"random_flip_up_down", "", "Mirrors half of the elements, top and bottom.",
     &plain_op<&image::random_flip_up_down>},
    {"adjust_brightness", "delta", "Adds delta; integers are fractions of their maximum.",
     [](Node argument, Name op, Scope) -> Change {
       return number_op(argument, op, [](const Output& x, double delta) {
         return image::adjust_brightness(x, static_cast<float>(delta));
       });
     }},
    {"adjust_contrast", "factor", "Scales the distance from the mean of each channel.",
     [](Node argument, Name op, Scope) -> Change {
       return number_op(argument, op, [](const Output& x, double factor) {
         return image::adjust_contrast(x, static_cast<float>(factor));
       });
     }},
    {"random_brightness", "largest delta", "Adds a random delta within +-this.",
     [](Node argument, Name op, Scope) -> Change {
       return number_op(argument, op, [](const Output& x, double delta) {
         return image::random_brightness(x, delta);
       });
     }},
    {"random_contrast", "[lower, upper]", "Adjusts contrast by a random factor between these.",
     &random_contrast_op},
    {"convert_image_dtype", "dtype",
     "Converts the dtype; integers become fractions of their maximum.",
     [](Node argument, Name op, Scope) -> Change {
       return [dtype = config_dtype(argument, op)](const Output& x) {
         return image::convert_image_dtype(x, dtype);
       };
     }},
    {"per_image_standardization", "", "Scales each image to mean 0 and variance 1.",
     &plain_op<&image::per_image_standardization>},
    {"rgb_to_grayscale", "", "Converts three channels to one.",
     &plain_op<&image::rgb_to_grayscale>},
    {"string_lower", "", "Converts ASCII letters to lower case.", &plain_op<&string_lower>},
    {"string_split", "characters", "Splits a text at any of these characters.",
     [](Node argument, Name op, Scope) -> Change {
       return [delimiter = argument.as<std::string>(op, "characters")](const Output& x) {
         return string_split_scalar(x, {.delimiter = delimiter});
       };
     }},
    {"string_to_number", "dtype", "Parses a number.",
     [](Node argument, Name op, Scope) -> Change {
       return [dtype = config_dtype(argument, op)](const Output& x) {
         return string_to_number(x, {.out_type = dtype});
       };
     }},
    {"string_to_hash_bucket_fast", "number of buckets", "Hashes a text to an int64 below this.",
     [](Node argument, Name op, Scope) -> Change {
       return [buckets = argument.as<int64_t>(op, "the number of buckets")](const Output& x) {
         return string_to_hash_bucket_fast(x, buckets);
       };
     }},
    {"vocabulary", "list of words, file, or {file, num_oov_buckets, default_value}",
     "The number of a word in the list, or of its line; -1 for others. int32; int64 where the "
     "number of words is not known.",
     &vocabulary_op},
    {"one_hot", "number of classes", "1 at the place of the number, 0 elsewhere.", &one_hot_op}};

// Replaces the features that `changes` names; keeps the others.
Nest<Output> changed(const Nest<Output>& element, const std::map<std::string, Change>& changes) {
  std::vector<Nest<Output>::Entry> entries;
  for (const std::string& name : element.names()) {
    const auto change = changes.find(name);
    const Nest<Output>& value = *element.find(name);
    entries.emplace_back(
        name, change == changes.end() ? value : Nest<Output>(change->second(value.leaf())));
  }
  for (const auto& [name, change] : changes)
    (void)element[{name, std::source_location()}];  // names what is there
  return Nest<Output>::dict(std::move(entries));
}

// The features that an op without argument names: one, a list, or none.
std::vector<std::string> features_named(const std::string& name, const ConfigNode& argument) {
  if (!argument.present() || argument.is_null()) return {};
  const std::string wanted = "the names of features, or nothing for an element without names";
  if (argument.is_scalar()) return {argument.as<std::string>(name, wanted)};
  std::vector<std::string> names;
  for (const ConfigNode& item : argument.items(name, wanted)) {
    names.push_back(item.as<std::string>(name, wanted));
  }
  return names;
}

// A map assigns arguments to features, unless the op itself takes a map, such as the file of a
// vocabulary.
bool is_own_map(const std::string& name, const ConfigNode& argument) {
  return name == "vocabulary" && std::ranges::any_of(argument.entries(name), [](const auto& entry) {
           return entry.first == "file";
         });
}

GraphOp feature_op(const PipelineOp& op, const ConfigNode& argument, const PipelineScope& scope) {
  const std::string name = op.name;
  std::map<std::string, Change> changes;
  if (*op.argument == '\0') {
    for (const std::string& feature : features_named(name, argument)) {
      changes[feature] = op.change(argument, name, scope);
    }
  } else if (argument.is_map() && !is_own_map(name, argument)) {
    for (const auto& [feature, value] : argument.entries(name)) {
      changes[feature] = op.change(value, name, scope);
    }
  }
  if (changes.empty()) {
    const Change change = op.change(argument, name, scope);
    return [change](const Nest<Output>& element) -> Nest<Output> { return change(element.leaf()); };
  }
  return [changes](const Nest<Output>& element) { return changed(element, changes); };
}

}  // namespace

std::span<const PipelineOp> pipeline_ops() { return kOps; }

std::vector<std::string> pipeline_op_names() { return names_of(kOps); }

bool is_pipeline_op(const std::string& name) {
  return std::ranges::any_of(kOps, [&](const PipelineOp& op) { return name == op.name; });
}

GraphOp parse_pipeline_op(const std::string& name, const ConfigNode& argument,
                          const PipelineScope& scope) {
  for (const PipelineOp& op : kOps) {
    if (name != op.name) continue;
    return op.change == nullptr ? parse_op(name, argument) : feature_op(op, argument, scope);
  }
  throw argument.error("op", "'" + name + "'", expected_names(name, pipeline_op_names()));
}

}  // namespace systole::app
