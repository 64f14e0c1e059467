#include <algorithm>
#include <cmath>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/attention.h"
#include "systole/graph/functions/math_functions.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/attention.h"
#include "systole/keras/layers/masked_scores.h"

namespace systole::keras::layers {
namespace {

// Keras's EinsumDense inside of the layer: a product over the last axes of the input, which become
// others.
class Projection : public LayerDefinition {
 public:
  Projection(std::string name, int summed_axes, MultiHeadAttentionOptions options)
      : summed_axes_(summed_axes), options_(std::move(options)) {
    set_name(std::move(name));
    set_activity_regularizer(options_.activity_regularizer.function());
  }
  std::string class_name() const override { return "EinsumDense"; }
  // Before it is built: the sizes of the axes that it makes.
  void set_sizes(Dims sizes) { sizes_ = std::move(sizes); }

  void build(const std::vector<Shape>& input_shapes) override {
    const Shape& input = input_shapes.at(0);
    Dims sizes;
    for (int axis = input.rank() - summed_axes_; axis < input.rank(); ++axis) {
      if (input[axis] < 0) {
        throw invalid_argument(
            "{}: axis {} of the input, got an unknown size, expected a known one", name(), axis);
      }
      sizes.push_back(input[axis]);
    }
    for (const int64_t size : sizes_) sizes.push_back(size);
    kernel_ = add_weight("kernel", Shape(sizes),
                         {.initializer = options_.kernel_initializer.for_weight(),
                          .regularizer = options_.kernel_regularizer.function(),
                          .constraint = options_.kernel_constraint.function()});
    if (!options_.use_bias) return;
    bias_ = add_weight("bias", Shape(sizes_),
                       {.initializer = options_.bias_initializer.for_weight(),
                        .regularizer = options_.bias_regularizer.function(),
                        .constraint = options_.bias_constraint.function()});
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output y = tensordot(inputs.at(0), context.value(kernel_), summed_axes_);
    return {bias_ ? y + context.value(bias_) : y};
  }
  MaskSupport mask_support() const override { return MaskSupport::custom; }

 private:
  int summed_axes_;
  MultiHeadAttentionOptions options_;
  Dims sizes_;
  WeightPtr kernel_;
  WeightPtr bias_;
};

// The equations of einsum for tensors [batch.., heads, size] whose axes `over` are attended to.
struct Equations {
  std::string scores;  // of key and query: [batch.., heads, queries.., keys..]
  std::string mixed;   // of these and value
};

Equations equations(int rank, const Dims& over) {
  std::string target;
  std::string source;
  char next = 'a';
  for (int axis = 0; axis < rank; ++axis) target += next++;
  const auto attended = [&](int axis) { return std::ranges::find(over, axis) != over.end(); };
  for (int axis = 0; axis < rank; ++axis) {
    source += attended(axis) ? next++ : target[static_cast<size_t>(axis)];
  }
  std::string scores;
  for (int axis = 0; axis + 1 < rank; ++axis) {
    if (!attended(axis)) scores += target[static_cast<size_t>(axis)];
  }
  for (const std::string& text : {target, source}) {
    for (const int64_t axis : over) scores += text[static_cast<size_t>(axis)];
  }
  return {source + "," + target + "->" + scores, scores + "," + source + "->" + target};
}

// The softmax over the last `axes` axes.
Output softmax_over(const Output& scores, int axes) {
  if (axes == 1) return softmax(scores);
  Dims last;
  for (int axis = 0; axis < axes; ++axis) last.push_back(scores.shape().rank() - axes + axis);
  return exp(scores - reduce_logsumexp(scores, {.axis = last, .keepdims = true}));
}

class MultiHeadAttentionLayer : public LayerOf<MultiHeadAttentionLayer, MultiHeadAttentionOptions> {
 public:
  static constexpr std::string_view kClassName = "MultiHeadAttention";
  static std::vector<Field<MultiHeadAttentionOptions>> fields() {
    using O = MultiHeadAttentionOptions;
    return {required("num_heads", &O::num_heads),
            required("key_dim", &O::key_dim),
            field("value_dim", &O::value_dim),
            field("dropout", &O::dropout),
            field("use_bias", &O::use_bias),
            field("output_shape", &O::output_shape),
            field("attention_axes", &O::attention_axes),
            field("kernel_initializer", &O::kernel_initializer),
            field("bias_initializer", &O::bias_initializer),
            field("kernel_regularizer", &O::kernel_regularizer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("kernel_constraint", &O::kernel_constraint),
            field("bias_constraint", &O::bias_constraint)};
  }
  static CallSignature signature() {
    return {.tensors = {"query", "value", "key", "attention_mask"},
            .flags = {"return_attention_scores", "use_causal_mask"}};
  }

  explicit MultiHeadAttentionLayer(MultiHeadAttentionOptions options)
      : LayerOf(std::move(options)), seed_(next_seed()) {
    check_layer_size(kClassName, "num_heads", options_.num_heads);
    check_layer_size(kClassName, "key_dim", options_.key_dim);
    check_layer_size(kClassName, "value_dim", value_dim());
    if (options_.output_shape) {
      for (const int64_t size : options_.output_shape->values)
        check_layer_size(kClassName, "output_shape", size);
    }
    check_dropout(kClassName, options_.dropout);
    set_activity_regularizer(options_.activity_regularizer.function());
    for (const char* part : {"query", "key", "value"}) add_projection(part, 1);
    add_projection("attention_output", 2);
    query().set_sizes({options_.num_heads, options_.key_dim});
    key().set_sizes({options_.num_heads, options_.key_dim});
    value().set_sizes({options_.num_heads, value_dim()});
  }

  // With the shapes that Keras 2 builds the layer of a file by.
  Json config() const override {
    Json json = LayerOf::config();
    for (const auto& [name, shape] : shapes_) json[name] = shape;
    return json;
  }
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override {
    return {projections_.begin(), projections_.end()};
  }
  std::string attribute_of(const LayerDefinition& sublayer) const override {
    return sublayer.name() == "attention_output" ? "_output_dense"
                                                 : "_" + sublayer.name() + "_dense";
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const CallArguments arguments = context.arguments();
    const Tensors t = tensors_of(arguments, inputs);
    check_shapes(t);
    build_projections(t);
    const Output mask = mask_of(context, arguments, t);
    const Output q = query().apply(context, {t.query})[0] * (1 / std::sqrt(options_.key_dim));
    const Output k = key().apply(context, {t.key})[0];
    const Output v = value().apply(context, {t.value})[0];
    const Dims over = attention_axes(q.shape().rank());
    const Equations sums = equations(q.shape().rank(), over);
    const auto axes = static_cast<int>(over.size());
    const Output weights = softmax_over(masked_scores(einsum(sums.scores, {k, q}), mask), axes);
    const bool drops = context.training() && options_.dropout > 0;
    const Output kept = drops ? dropout(weights, 1 - options_.dropout, {.seed = seed_}) : weights;
    const Output result = projections_[3]->apply(context, {einsum(sums.mixed, {kept, v})})[0];
    if (const Output of_query = context.mask(t.query); of_query.valid())
      context.set_mask(result, of_query);
    if (!arguments.flag("return_attention_scores")) return {result};
    return {result, weights};
  }

 private:
  struct Tensors {
    Output query;
    Output value;
    Output key;
    Output mask;  // invalid when not given
  };

  Projection& query() const { return *projections_[0]; }
  Projection& key() const { return *projections_[1]; }
  Projection& value() const { return *projections_[2]; }
  int64_t value_dim() const { return options_.value_dim.value_or(options_.key_dim); }

  void add_projection(const char* name, int summed_axes) {
    projections_.push_back(std::make_shared<Projection>(name, summed_axes, options_));
  }

  Tensors tensors_of(const CallArguments& arguments, const std::vector<Output>& inputs) const {
    Tensors t;
    const std::vector<std::string> names =
        arguments.inputs.empty() ? signature().tensors : arguments.inputs;
    for (size_t i = 0; i < std::min(inputs.size(), names.size()); ++i) {
      (names[i] == "query"   ? t.query
       : names[i] == "value" ? t.value
       : names[i] == "key"   ? t.key
                             : t.mask) = inputs[i];
    }
    if (!t.query.valid() || !t.value.valid()) {
      throw invalid_argument("{}: got {} tensors, expected query and value", name(), inputs.size());
    }
    if (!t.key.valid()) t.key = t.value;
    return t;
  }

  void check_shapes(const Tensors& t) const {
    const Shape& v = t.value.shape();
    const Shape& k = t.key.shape();
    bool equal = v.rank() == k.rank() && v.rank() == t.query.shape().rank() && v.rank() >= 3;
    for (int axis = 1; equal && axis + 1 < v.rank(); ++axis)
      equal = v[axis] == k[axis] || v[axis] < 0 || k[axis] < 0;
    if (equal) return;
    throw invalid_argument(
        "{}: got query {}, value {} and key {}, expected three of one rank, at least 3, value and "
        "key of equal dimensions except the last one",
        name(), sizes_text(t.query.shape()), sizes_text(v), sizes_text(k));
  }

  void build_projections(const Tensors& t) {
    if (query().built()) return;
    const Shape& q = t.query.shape();
    const bool given = options_.output_shape && !options_.output_shape->values.empty();
    projections_[3]->set_sizes(
        given ? Dims(options_.output_shape->values.begin(), options_.output_shape->values.end())
              : Dims{q[q.rank() - 1]});
    for (const auto& projection : projections_)
      projection->set_activity_regularizer_mean(activity_regularizer_mean());
    for (const auto& [part, shape] :
         {std::pair{"query", q}, {"key", t.key.shape()}, {"value", t.value.shape()}}) {
      shapes_.emplace_back(std::string(part) + "_shape",
                           Json{{"class_name", "TensorShape"}, {"items", shape_to_json(shape)}});
    }
  }

  // The axes of projected tensors: all between the batch and the heads, as in Keras.
  Dims attention_axes(int rank) const {
    if (options_.attention_axes) return options_.attention_axes->of_rank(rank - 1);
    Dims axes;
    for (int axis = 1; axis < rank - 2; ++axis) axes.push_back(axis);
    return axes;
  }

  // pred, broadcast to the scores; invalid where all is seen.
  Output mask_of(CallContext& context, const CallArguments& arguments, const Tensors& t) const {
    Output seen = t.mask.valid() ? cast(t.mask, DType::pred) : Output();
    if (const Output mask = context.mask(t.query); mask.valid())
      seen = both(seen, expand_dims(mask, 2));
    for (const Output& of : {t.value, t.key}) {
      const Output mask = context.mask(of);
      if (mask.valid()) seen = both(seen, expand_dims(mask, 1));
    }
    if (arguments.flag("use_causal_mask")) {
      const Output causal = causal_mask(size_along(t.query, 1), size_along(t.value, 1));
      seen = both(seen, expand_dims(causal, 0));
    }
    if (!seen.valid()) return seen;
    // Scores are [batch, heads, ..., queries, keys]: the mask gets axes of size 1 where it lacks
    // the heads and what lies between them and the queries.
    const int rank = t.query.shape().rank() + 1;
    const auto axes = static_cast<int>(attention_axes(rank).size());
    const int scores_rank = rank - 1 + axes;
    while (seen.shape().rank() < scores_rank) seen = expand_dims(seen, -2 * axes - 1);
    return seen;
  }

  int64_t seed_;
  std::vector<std::shared_ptr<Projection>> projections_;
  std::vector<std::pair<std::string, Json>> shapes_ = {
      {"query_shape", nullptr}, {"key_shape", nullptr}, {"value_shape", nullptr}};
};

// {"class_name": "__tuple__", "items": [...]} -> [...]
Json plain_list(const Json& json) {
  return json.is_object() && json.contains("items") ? json.at("items") : json;
}

}  // namespace

LayerClass multi_head_attention_class() {
  LayerClass made = layer_class<MultiHeadAttentionLayer, MultiHeadAttentionOptions>();
  made.from_config = [make = made.from_config](const Json& given) {
    Json config = given;
    for (const char* key : {"query_shape", "key_shape", "value_shape"}) config.erase(key);
    for (const char* key : {"output_shape", "attention_axes"}) {
      if (config.contains(key)) config[key] = plain_list(config[key]);
    }
    return make(config);
  };
  return made;
}

MultiHeadAttention::MultiHeadAttention(int64_t num_heads, int64_t key_dim,
                                       MultiHeadAttentionOptions options, Where where)
    : Layer([&] {
        options.num_heads = num_heads;
        options.key_dim = key_dim;
        return make_layer<MultiHeadAttentionLayer>(std::move(options), where);
      }()) {}

KerasTensors MultiHeadAttention::operator()(const KerasTensors& query, const KerasTensors& value,
                                            const MultiHeadAttentionCallOptions& options) const {
  CallArguments arguments{.inputs = {"query", "value"}};
  std::vector<KerasTensor> all = {query.only(), value.only()};
  const auto add = [&](const char* name, const KerasTensors& tensor) {
    if (tensor.size() == 0) return;
    all.push_back(tensor.only());
    arguments.inputs.emplace_back(name);
  };
  add("key", options.key);
  add("attention_mask", options.attention_mask);
  if (options.return_attention_scores) arguments.flags["return_attention_scores"] = true;
  if (options.use_causal_mask) arguments.flags["use_causal_mask"] = true;
  return Layer::operator()(all, {.training = options.training, .arguments = std::move(arguments)});
}

}  // namespace systole::keras::layers
