// Training of Keras models on a TPU. (tf.contrib.tpu.keras_to_tpu_model)
//
//   auto tpu_model = st::keras::tpu::keras_to_tpu_model(
//       model, {.strategy = {st::TPUClusterResolver("local:v3-8")}});
//   tpu_model.fit(x, y, {.batch_size = 1024});
//   auto cpu_model = tpu_model.sync_to_cpu();
#pragma once

#include <optional>

#include "systole/cluster/tpu_cluster_resolver.h"
#include "systole/keras/models/model.h"

namespace systole::keras::tpu {

struct TPUDistributionStrategyOptions {
  bool using_single_core = false;
};

// The cores that a model is copied to: all of a TPU, or one.
class TPUDistributionStrategy {
 public:
  // Without a resolver: the TPU of the environment variable TPU_NAME. Errors: those of
  // TPUClusterResolver and of connecting; NOT_FOUND `No TPU found on given worker.`
  TPUDistributionStrategy();
  TPUDistributionStrategy(const TPUClusterResolver& tpu_cluster_resolver,  // NOLINT
                          const TPUDistributionStrategyOptions& options = {});

  const std::string& master() const { return master_; }
  // 1 with using_single_core.
  int64_t num_towers() const { return cores_; }

 private:
  std::string master_;
  int64_t cores_;
};

// A handle on a model whose fit(), evaluate() and predict() run on a TPU. It shares the layers,
// weights, compile options and the optimizer, with its slots, iterations and learning rate, with
// the model that it was made of. Both can be used in turn: each sees what the other trained, and
// values move between the devices only when they are needed.
//
// `batch_size` is that of all cores together. It need not be a multiple of their number, and
// neither does the number of examples: a short batch is filled up with examples that count for
// nothing, and runs in the same program.
class KerasTPUModel : public Model {
 public:
  KerasTPUModel(const Model& model, const TPUDistributionStrategy& strategy);

  // Copies all weights to this machine's memory. Returns the model that the handle was made of.
  Model sync_to_cpu() const;
  int64_t num_cores() const;
  // Programs compiled for the TPU since compile().
  int64_t num_compilations() const;

 private:
  Model cpu_model_;
};

struct KerasToTpuModelOptions {
  // nullopt: all cores of the TPU that TPU_NAME names.
  std::optional<TPUDistributionStrategy> strategy = std::nullopt;
};

// The model may be compiled before or after. Errors: those of TPUDistributionStrategy;
// INVALID_ARGUMENT for a model that is no graph of layers.
KerasTPUModel keras_to_tpu_model(const Model& model, const KerasToTpuModelOptions& options = {});

}  // namespace systole::keras::tpu
