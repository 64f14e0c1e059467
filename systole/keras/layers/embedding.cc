#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class EmbeddingLayer : public LayerOf<EmbeddingLayer, EmbeddingOptions> {
 public:
  static constexpr std::string_view kClassName = "Embedding";
  static std::vector<Field<EmbeddingOptions>> fields() {
    using O = EmbeddingOptions;
    return {required("input_dim", &O::input_dim),
            required("output_dim", &O::output_dim),
            field("embeddings_initializer", &O::embeddings_initializer),
            field("embeddings_regularizer", &O::embeddings_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("embeddings_constraint", &O::embeddings_constraint),
            field("mask_zero", &O::mask_zero),
            field("input_length", &O::input_length)};
  }

  explicit EmbeddingLayer(EmbeddingOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    check_layer_size(kClassName, "input_dim", options_.input_dim);
    check_layer_size(kClassName, "output_dim", options_.output_dim);
    set_activity_regularizer(options_.activity_regularizer.function());
  }

  MaskSupport mask_support() const override { return MaskSupport::custom; }

  void build(const std::vector<Shape>&) override {
    embeddings_ = add_weight("embeddings", {options_.input_dim, options_.output_dim},
                             {.initializer = options_.embeddings_initializer.for_weight(),
                              .regularizer = options_.embeddings_regularizer.function(),
                              .constraint = options_.embeddings_constraint.function()});
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const Output ids = is_integer(x.dtype()) ? x : cast(x, DType::s32);
    const Output y = gather(context.value(embeddings_), ids);
    if (options_.mask_zero) context.set_mask(y, not_equal(ids, 0));
    return {y};
  }

 private:
  WeightPtr embeddings_;
};

EmbeddingOptions embedding_options(int64_t input_dim, int64_t output_dim,
                                   EmbeddingOptions options) {
  options.input_dim = input_dim;
  options.output_dim = output_dim;
  // The layer says its own input: ids of input_length steps, or of any number.
  if (!options.input_shape && !options.batch_input_shape) {
    options.input_shape = Shape{options.input_length.value_or(-1)};
  }
  return options;
}

}  // namespace

LayerClass embedding_class() { return layer_class<EmbeddingLayer, EmbeddingOptions>(); }

Embedding::Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options, Where where)
    : Layer(make_layer<EmbeddingLayer>(embedding_options(input_dim, output_dim, std::move(options)),
                                       where)) {}

}  // namespace systole::keras::layers
