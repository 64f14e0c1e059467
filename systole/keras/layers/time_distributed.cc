#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/wrappers.h"
#include "systole/train/example_mask.h"

namespace systole::keras::layers {
namespace {

// The size of axis i, as a number where it is known.
SizeInput size_of_axis(const Output& x, int i) {
  if (x.shape()[i] >= 0) return x.shape()[i];
  return gather(shape(x), static_cast<int32_t>(i));
}

// [batch, time, ...] -> [batch * time, ...].
Output fold_time(const Output& x) {
  const int64_t batch = x.shape()[0];
  const int64_t time = x.shape()[1];
  std::vector<SizeInput> sizes{batch < 0 || time < 0 ? int64_t{-1} : batch * time};
  for (int i = 2; i < x.shape().rank(); ++i) sizes.push_back(size_of_axis(x, i));
  return reshape(x, ShapeInput(sizes, ShapeInput::Where::current()));
}

// [batch * time, ...] -> [batch, time, ...], the first two as those of x.
Output unfold_time(const Output& y, const Output& x) {
  std::vector<SizeInput> sizes{x.shape()[0], size_of_axis(x, 1)};  // batch: -1 where not known
  for (int i = 1; i < y.shape().rank(); ++i) sizes.push_back(size_of_axis(y, i));
  return reshape(y, ShapeInput(sizes, ShapeInput::Where::current()));
}

// While it lives, the mask of examples has an element for each row of a folded batch.
class FoldedExampleMask {
 public:
  explicit FoldedExampleMask(const Output& x) : before_(example_mask()) {
    if (!before_ || before_->shape() != Shape{x.shape()[0]}) {
      before_.reset();
      return;
    }
    set_example_mask(
        reshape(tile(expand_dims(*before_, 1), {1, x.shape()[1]}), {x.shape()[0] * x.shape()[1]}));
  }
  ~FoldedExampleMask() {
    if (before_) set_example_mask(*before_);
  }
  FoldedExampleMask(const FoldedExampleMask&) = delete;
  FoldedExampleMask& operator=(const FoldedExampleMask&) = delete;

 private:
  std::optional<Output> before_;
};

class TimeDistributedLayer : public LayerOf<TimeDistributedLayer, TimeDistributedOptions> {
 public:
  static constexpr std::string_view kClassName = "TimeDistributed";
  static std::vector<Field<TimeDistributedOptions>> fields() {
    return {required("layer", &TimeDistributedOptions::layer)};
  }

  explicit TimeDistributedLayer(TimeDistributedOptions options) : LayerOf(std::move(options)) {
    if (!options_.layer) {
      throw invalid_argument(
          "Please initialize `TimeDistributed` layer with a `Layer` instance. You passed: none");
    }
    inner_ = options_.layer->definition();
    input_specs_ = {{.min_ndim = 3}};
  }

  MaskSupport mask_support() const override { return MaskSupport::custom; }
  DType input_dtype() const override { return inner_->input_dtype(); }
  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override { return {inner_}; }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const Output mask = context.mask(x);
    const FoldedExampleMask examples(x);
    std::vector<Output> folded;
    for (const Output& input : inputs) folded.push_back(fold_time(input));
    // A mask of more than the steps belongs to the layer, too.
    const bool inner_mask = mask.valid() && mask.shape().rank() > 2;
    if (inner_mask) context.set_mask(folded[0], fold_time(mask));
    std::vector<Output> results;
    for (const Output& y : inner_->apply(context, folded)) {
      results.push_back(unfold_time(y, x));
      if (const Output made = context.mask(y); made.valid()) {
        context.set_mask(results.back(), unfold_time(made, x));
      } else if (mask.valid()) {
        context.set_mask(results.back(), inner_mask ? any_per_step(mask) : mask);
      }
    }
    return results;
  }

 protected:
  // As in Keras the layer's weights are named by the wrapper.
  std::string sublayer_scope(const std::string& scope, const LayerDefinition&) const override {
    return scope;
  }

 private:
  static Output any_per_step(const Output& mask) {
    std::vector<int64_t> axes;
    for (int i = 2; i < mask.shape().rank(); ++i) axes.push_back(i);
    return reduce_any(mask, {.axis = axes});
  }

  std::shared_ptr<LayerDefinition> inner_;
};

}  // namespace

LayerClass time_distributed_class() {
  return layer_class<TimeDistributedLayer, TimeDistributedOptions>();
}

TimeDistributed::TimeDistributed(const Layer& layer, TimeDistributedOptions options, Where where)
    : Layer([&] {
        options.layer = layer;
        return make_layer<TimeDistributedLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
