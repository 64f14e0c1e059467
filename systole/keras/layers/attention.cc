#include "systole/keras/layers/attention.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/attention.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/masked_scores.h"

namespace systole::keras::layers {
namespace {

class AttentionLayer : public LayerOf<AttentionLayer, AttentionOptions> {
 public:
  static constexpr std::string_view kClassName = "Attention";
  static std::vector<Field<AttentionOptions>> fields() {
    using O = AttentionOptions;
    return {field("use_scale", &O::use_scale), field("score_mode", &O::score_mode),
            field("dropout", &O::dropout), field("causal", &O::causal), field("seed", &O::seed)};
  }
  static CallSignature signature() {
    return {.tensors = {"inputs", "mask"},
            .takes_list = true,
            .flags = {"return_attention_scores", "use_causal_mask"}};
  }

  explicit AttentionLayer(AttentionOptions options)
      : LayerOf(std::move(options)), seed_(options_.seed ? *options_.seed : next_seed()) {
    if (options_.score_mode != "dot" && options_.score_mode != "concat") {
      throw invalid_argument("Attention: score_mode, got \"{}\", expected \"dot\" or \"concat\"",
                             options_.score_mode);
    }
    check_dropout(kClassName, options_.dropout);
  }

  // Versions of Keras know one or none of these.
  Json config() const override {
    Json json = LayerOf::config();
    if (!options_.causal) json.erase("causal");
    if (!options_.seed) json.erase("seed");
    return json;
  }
  MaskSupport mask_support() const override { return MaskSupport::custom; }

  void build(const std::vector<Shape>& input_shapes) override {
    static_cast<void>(input_shapes);
    if (options_.use_scale) scale_ = add_weight("scale", {}, {.initializer = ones_like_keras()});
    if (options_.score_mode == "concat") {
      concat_score_weight_ =
          add_weight("concat_score_weight", {}, {.initializer = ones_like_keras()});
    }
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const CallArguments& arguments = context.arguments();
    const auto [own, masks] = split(context, inputs);
    const Output& query = own[0];
    const Output& value = own[1];
    const Output& key = own.back();
    Output scores = scores_of(context, query, key);
    Output seen = masks[1].valid() ? expand_dims(masks[1], 1) : Output();
    if (options_.causal || arguments.flag("use_causal_mask")) {
      seen = both(seen, expand_dims(causal_mask(size_along(query, 1), size_along(key, 1)), 0));
    }
    Output weights = softmax(masked_scores(scores, seen));
    if (context.training() && options_.dropout > 0)
      weights = dropout(weights, 1 - options_.dropout, {.seed = seed_});
    Output result = matmul(weights, value);
    if (masks[0].valid()) {
      result = result * cast(expand_dims(masks[0], -1), result.dtype());
      context.set_mask(result, masks[0]);
    }
    if (!arguments.flag("return_attention_scores")) return {result};
    return {result, weights};
  }

 private:
  struct Tensors {
    std::vector<Output> own;    // query, value and, where it is given, key
    std::vector<Output> masks;  // of query and value; invalid where there is none
  };

  static Initializer ones_like_keras() { return InitializerSpec("ones").for_weight(); }

  Tensors split(CallContext& context, const std::vector<Output>& inputs) const {
    const std::vector<std::string>& names = context.arguments().inputs;
    Tensors t;
    std::vector<Output> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      (i < names.size() && names[i] == "mask" ? given : t.own).push_back(inputs[i]);
    }
    if (t.own.size() < 2 || t.own.size() > 3) {
      throw invalid_argument(
          "Attention layer accepts inputs list of length 2 or 3, namely [query, value] or [query, "
          "value, key]. Received length: {}.",
          t.own.size());
    }
    for (const Output& x : t.own) {
      if (x.shape().rank() == 3) continue;
      throw invalid_argument("{}: got an input of shape {}, expected [batch, steps, size]", name(),
                             sizes_text(x.shape()));
    }
    if (!given.empty() && (given.size() < 2 || given.size() > t.own.size())) {
      throw invalid_argument(
          "Attention layer mask must be a list of length 2, namely [query_mask, value_mask]. "
          "Received length: {}.",
          given.size());
    }
    for (size_t i = 0; i < 2; ++i)
      t.masks.push_back(given.empty() ? context.mask(t.own[i]) : cast(given[i], DType::pred));
    return t;
  }

  // [batch, queries, keys]
  Output scores_of(CallContext& context, const Output& query, const Output& key) const {
    if (!concat_score_weight_) {
      const Output products = matmul(query, key, {.transpose_b = true});
      return scale_ ? products * context.value(scale_) : products;
    }
    Output sums = expand_dims(query, 2) + expand_dims(key, 1);
    if (scale_) sums = context.value(scale_) * sums;
    return context.value(concat_score_weight_) * reduce_sum(tanh(sums), {.axis = -1});
  }

  int64_t seed_;
  WeightPtr scale_;
  WeightPtr concat_score_weight_;
};

}  // namespace

LayerClass attention_class() { return layer_class<AttentionLayer, AttentionOptions>(); }

Attention::Attention(AttentionOptions options, Where where)
    : Layer(make_layer<AttentionLayer>(std::move(options), where)) {}

KerasTensors Attention::operator()(const KerasTensors& inputs,
                                   const AttentionCallOptions& options) const {
  CallArguments arguments;
  std::vector<KerasTensor> all = inputs.all();
  arguments.inputs.assign(all.size(), "inputs");
  for (const KerasTensor& mask : options.mask) {
    all.push_back(mask);
    arguments.inputs.emplace_back("mask");
  }
  if (options.return_attention_scores) arguments.flags["return_attention_scores"] = true;
  if (options.use_causal_mask) arguments.flags["use_causal_mask"] = true;
  return Layer::operator()(all, {.training = options.training, .arguments = std::move(arguments)});
}

}  // namespace systole::keras::layers
