#include "bench/mnist_model.h"

namespace bench {

st::TPUEstimatorSpec mnist_model_fn(const st::Nest<st::Output>& features,
                                    const st::Nest<st::Output>& labels, st::Mode mode,
                                    const st::Params&) {
  st::Output x = st::reshape(features, {-1, 28, 28, 1});
  for (const int64_t filters : {32, 64}) {
    x = st::layers::conv2d(x, {.filters = filters,
                               .kernel_size = {5, 5},
                               .padding = st::Padding::same,
                               .activation = st::relu});
    x = st::layers::max_pooling2d(x, {.pool_size = {2, 2}, .strides = 2});
  }
  x = st::layers::dense(st::reshape(x, {-1, 7 * 7 * 64}), {.units = 128, .activation = st::relu});
  x = st::layers::dropout(x, {.rate = 0.4, .training = true});
  const st::Output logits = st::layers::dense(x, {.units = 10});
  const st::Output loss =
      st::losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  auto optimizer = st::CrossShardOptimizer(st::GradientDescentOptimizer(0.05));
  return {.mode = mode,
          .loss = loss,
          .train_op = optimizer.minimize(loss, {.global_step = st::get_global_step()})};
}

}  // namespace bench
