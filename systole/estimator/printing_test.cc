#include <gmock/gmock.h>

#include "systole/base/log.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/estimator/testing/line_examples.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/variable_scope.h"
#include "systole/graph/initializers/initializers.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/loop/print_hook.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of_print(const LogCapture& log) {
  std::vector<std::string> lines;
  for (const std::string& line : log.messages()) {
    if (line.starts_with("info: print")) lines.push_back(line.substr(6));
  }
  return lines;
}

TPUEstimatorSpec printing_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                                const Params&) {
  const Output step = get_global_step().value();
  print_op(features, {step}, {.message = "print of nothing "});
  const Output x = print_op(features, {step}, {.message = "print step "});
  const Output y = x * get_variable("w", {1}, {.initializer = ones_initializer()});
  if (mode == ModeKeys::PREDICT) return {.mode = mode, .predictions = y};
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  return {.mode = mode,
          .loss = loss,
          .train_op = CrossShardOptimizer(GradientDescentOptimizer(0.1))
                          .minimize(loss, {.global_step = get_global_step()})};
}

// A launch writes the prints of its last step.
TEST(PrintHook, WritesWhatTheLastStepOfALoopPrints) {
  const systole::testing::TempFolder folder;
  const LogCapture log;
  for (const bool use_tpu : {false, true}) {
    TPUEstimator estimator({.model_fn = printing_model,
                            .config = {.master = use_tpu ? "local:2" : "",
                                       .model_dir = folder.path() + (use_tpu ? "/tpu" : "/cpu"),
                                       .tpu_config = {.iterations_per_loop = 3}},
                            .use_tpu = use_tpu,
                            .train_batch_size = 4});
    estimator.train(
        [](const Params& params) {
          const int64_t batch = params["batch_size"];
          return Dataset::from_tensor_slices(
                     systole::testing::line_examples(
                         8, 2, [](int64_t i) { return static_cast<float>(i); }))
              .repeat()
              .batch(batch, true);
        },
        {.max_steps = 6});
  }
  EXPECT_THAT(lines_of_print(log),
              ElementsAre("print step [2]", "print step [5]", "print step [2]", "print step [5]"));
}

}  // namespace
}  // namespace systole
