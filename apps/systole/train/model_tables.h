// The losses, metrics and optimizers that a configuration file may name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/systole/config/config_section.h"
#include "systole/train/losses/losses.h"
#include "systole/train/metrics/metrics.h"
#include "systole/train/optimizer.h"

namespace systole::app {

// The meaning of a model's last layer, decided by its loss.
using Head = LossHead;
// The outputs of a model: classes (s32), probabilities, logits or predictions.
struct HeadOutputs {
  Head head = Head::regression;
  Output output;         // of the last layer
  Output classes;        // not of a regression
  Output probabilities;  // the same
};
HeadOutputs head_outputs(Head head, const Output& output);
// The number of classes: the size of the last axis. Errors: a scalar for an example.
int64_t last_size(const Output& output);

struct Loss {
  Head head = Head::regression;
  std::function<Output(const Output& labels, const Output& output)> build;
};
std::span<const ConfigRow<Loss>> loss_table();

struct NamedMetric {
  std::string name;  // of the result
  bool needs_classes = false;
  std::function<Metric(const Output& labels, const HeadOutputs& outputs)> build;
};
std::span<const ConfigRow<NamedMetric>> metric_table();

// Called while a model is built, because the rate may depend on the global step.
using OptimizerMaker = std::function<std::shared_ptr<Optimizer>()>;
std::span<const ConfigRow<OptimizerMaker>> optimizer_table();
using RateMaker = std::function<Hyperparameter()>;
std::span<const ConfigRow<RateMaker>> schedule_table();

}  // namespace systole::app
