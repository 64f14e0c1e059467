#include "systole/keras_estimator/check_model.h"

#include <utility>
#include <vector>

#include "systole/data/sources.h"
#include "systole/keras/training/arrays.h"
#include "systole/keras_estimator/model_to_estimator.h"

namespace systole::keras::estimator {
namespace {

// One array, or a tuple of several.
Element part_of(const std::vector<Tensor>& arrays) {
  if (arrays.size() == 1) return Element(arrays[0]);
  std::vector<Element> elements(arrays.begin(), arrays.end());
  return Element::tuple(std::move(elements));
}

}  // namespace

CheckReport check(const Model& model, const ArrayList& x, const ArrayList& y,
                  const CheckModelOptions& options) {
  TPUEstimator estimator = model_to_estimator(
      model, {.model_dir = "mem://keras_check", .train_batch_size = options.batch_size});
  const Arrays arrays = prepare_arrays(*model.model(), {.x = x.all(), .y = y.all()},
                                       &model.model()->trainer->options());
  const Element examples = Element::tuple({part_of(arrays.x), part_of(arrays.y)});
  const InputFn input_fn = [&](const Params& params) -> InputFnResult {
    return Dataset::from_tensor_slices(examples).repeat().batch(params["batch_size"].as<int64_t>(),
                                                                /*drop_remainder=*/true);
  };
  return estimator.check(input_fn, {.compile = options.compile,
                                    .tpu_library = options.tpu_library,
                                    .low_effort = options.low_effort,
                                    .max_seconds = options.max_seconds,
                                    .save = options.save});
}

}  // namespace systole::keras::estimator
