// The ops of map functions in a pipeline's YAML.
#include <algorithm>

#include "apps/systole/data/pipeline_spec.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/image_ops.h"
#include "systole/graph/lookup_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/parsing_ops.h"

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

using Change = std::function<Output(const Output&)>;

// -- What an op does to one feature.

Change decode_raw_op(const ConfigNode& argument, const std::string& op) {
  const DType dtype = config_dtype(argument, op);
  return [dtype](const Output& x) { return decode_raw(x, dtype); };
}

Change cast_op(const ConfigNode& argument, const std::string& op) {
  const DType dtype = config_dtype(argument, op);
  return [dtype](const Output& x) { return cast(x, dtype); };
}

Change reshape_op(const ConfigNode& argument, const std::string& op) {
  const Shape shape = shape_of(argument, op);
  return [shape](const Output& x) { return reshape(x, shape); };
}

Change scale_op(const ConfigNode& argument, const std::string& op) {
  const std::string wanted = "[factor, offset]";
  if (!argument.is_list()) throw argument.error(op, argument.shown(), wanted);
  const auto items = argument.items(op, wanted);
  if (items.size() != 2) {
    throw argument.error(op, fmt::format("{} numbers", items.size()), wanted);
  }
  const auto factor = static_cast<float>(items[0].as<double>(op, "a number"));
  const auto offset = static_cast<float>(items[1].as<double>(op, "a number"));
  return [factor, offset](const Output& x) { return x * factor + offset; };
}

Change one_hot_op(const ConfigNode& argument, const std::string& op) {
  const auto depth = argument.as<int64_t>(op, "the number of classes");
  return [depth](const Output& x) { return one_hot(x, depth); };
}

Change vocabulary_op(const ConfigNode& argument, const std::string& op) {
  std::vector<std::string> words;
  for (const ConfigNode& item : argument.items(op, "a list of words")) {
    words.push_back(item.as<std::string>(op, "a word"));
  }
  const Tensor list = Tensor::of<std::string>({static_cast<int64_t>(words.size())}, words);
  return
      [list](const Output& x) { return cast(index_table_from_tensor(list).lookup(x), DType::s32); };
}

Change resize_bilinear_op(const ConfigNode& argument, const std::string& op) {
  const std::string wanted = "[height, width]";
  const std::vector<int64_t> sizes = integers_of(argument, op, wanted);
  if (sizes.size() != 2) throw argument.error(op, fmt::format("{} sizes", sizes.size()), wanted);
  return [size = image::Size{.height = sizes[0], .width = sizes[1]}](const Output& x) {
    return image::resize_bilinear(x, size, {.half_pixel_centers = true});
  };
}

using ParseChange = Change (*)(const ConfigNode& argument, const std::string& op);

// In the order of kOps, after the parsers.
constexpr ParseChange kChanges[] = {&decode_raw_op,      &cast_op,       &reshape_op, &scale_op,
                                    &resize_bilinear_op, &vocabulary_op, &one_hot_op};
constexpr size_t kParsers = 2;
constexpr PipelineOp kOps[] = {
    {"parse_single_example", "{feature: dtype, or {dtype, shape}, or {var_len: dtype}}",
     "A serialized tf.Example becomes features."},
    {"parse_example", "the same", "The same for a batch of them."},
    {"decode_raw", "dtype", "Bytes as numbers."},
    {"cast", "dtype", "Another dtype."},
    {"reshape", "sizes", "Another shape."},
    {"scale", "[factor, offset]", "x * factor + offset."},
    {"resize_bilinear", "[height, width]",
     "Images [height, width, channels] in another size, as float32."},
    {"vocabulary", "list of words", "The number of a word in the list, -1 for others; int32."},
    {"one_hot", "number of classes", "1 at the place of the number, 0 elsewhere."}};
static_assert(std::size(kOps) == kParsers + std::size(kChanges));

// Changes the features that `changes` names; the rest stays.
Nest<Output> changed(const Nest<Output>& element, const std::map<std::string, Change>& changes) {
  std::vector<Nest<Output>::Entry> entries;
  for (const std::string& name : element.names()) {
    const auto change = changes.find(name);
    const Nest<Output>& value = element[name];
    entries.emplace_back(
        name, change == changes.end() ? value : Nest<Output>(change->second(value.leaf())));
  }
  for (const auto& [name, change] : changes) (void)element[name];  // names what is there
  return Nest<Output>::dict(std::move(entries));
}

GraphOp feature_op(const std::string& name, ParseChange parse, const ConfigNode& argument) {
  if (!argument.is_map()) {
    const Change change = parse(argument, name);
    return [change](const Nest<Output>& element) -> Nest<Output> { return change(element.leaf()); };
  }
  std::map<std::string, Change> changes;
  for (const auto& [feature, value] : argument.entries(name)) {
    changes[feature] = parse(value, name);
  }
  return [changes](const Nest<Output>& element) { return changed(element, changes); };
}

}  // namespace

std::span<const PipelineOp> pipeline_ops() { return kOps; }

std::vector<std::string> pipeline_op_names() { return names_of(kOps); }

bool is_pipeline_op(const std::string& name) {
  return std::ranges::any_of(kOps, [&](const PipelineOp& op) { return name == op.name; });
}

GraphOp parse_pipeline_op(const std::string& name, const ConfigNode& argument) {
  for (size_t i = 0; i < std::size(kOps); ++i) {
    if (name != kOps[i].name) continue;
    return i < kParsers ? parse_op(name, argument)
                        : feature_op(name, kChanges[i - kParsers], argument);
  }
  throw argument.error("op", "'" + name + "'", expected_names(name, pipeline_op_names()));
}

}  // namespace systole::app
