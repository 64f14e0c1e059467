#include "systole/keras/training/step_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/keras/engine/mean_of_batch.h"
#include "systole/train/replicas.h"

namespace systole::keras {
namespace {

// Adds axes at the end.
Output with_rank(const Output& x, int rank) {
  Output result = x;
  while (result.shape().rank() < rank) result = expand_dims(result, -1);
  return result;
}

// This replica's part of sum(values * weights) / total, where the total is that of all replicas; 0
// without weights.
Output part_of_mean(const Output& weighted, const Output& total) {
  const Output all = stop_gradient(replica_sum(reduce_sum(total)));
  return reduce_sum(weighted) / maximum(all, 1e-30);
}

// `weights` of each of `values`, which may have axes after those of `weights`.
Output spread_over(const Output& values, const Output& weights) {
  return with_rank(weights, values.shape().rank()) * ones_like(values);
}

// sum(values * weights) / sum(weights).
Output weighted_mean(const Output& values, const Output& weights) {
  const Output spread = spread_over(values, weights);
  return part_of_mean(values * spread, spread);
}

// Weights of examples times the mask of steps, which has the axis of time.
Output with_mask(const Output& weights, const Output& mask, const Output& values) {
  if (!mask.valid() || values.shape().rank() < 2) return weights;
  return with_rank(weights, 2) * cast(mask, DType::f32);
}

std::string loss_text(const LossSpec& loss, const std::string& output) {
  return loss.name().empty() ? fmt::format("loss of output '{}'", output)
                             : fmt::format("loss '{}' of output '{}'", loss.name(), output);
}

// What `function` returns for the examples of a batch, or the values whose mean it returns; `what`
// names it in errors.
template <class F>
Output value_of_each(const F& function, const Output& target, const Output& output,
                     const Output& example_mask, const std::string& what) {
  Output each;
  try {
    each = function(target, output);
  } catch (const Error& error) {
    throw error.with_context(fmt::format("in the {} with targets {} and predictions {}", what,
                                         target.type(), output.type()));
  }
  const int64_t batch = example_mask.shape()[0];
  if (const Output elements = elements_of_mean(each, batch); elements.valid()) return elements;
  const Shape& shape = each.shape();
  if (shape.rank() > 0 && (shape[0] == batch || shape[0] < 0 || batch < 0)) return each;
  throw invalid_argument(
      "{}: got a result of shape {} for a batch of {} examples, expected a value for each example: "
      "reduce over the last axis only, as reduce_mean(x, {{.axis = {{-1}}}}) does",
      what, sizes_text(shape), batch);
}

class ValuesBuilder {
 public:
  ValuesBuilder(ModelDefinition& model, const CompileOptions& options, CallContext& context,
                const StepTensors& tensors, const RunningMetricFn& running)
      : names_(model.output_names()),
        options_(options),
        context_(context),
        tensors_(tensors),
        running_(running) {}

  StepValues build() {
    values_.add("loss", Output());
    for (size_t i = 0; i < names_.size(); ++i) add_loss(i);
    if (!loss_.valid()) {
      if (context_.losses().empty() && !context_.abstract()) {
        throw failed_precondition(
            "The model was compiled without a loss: compile it with `.loss` for one of its outputs "
            "({}), or call add_loss(), to train or evaluate it.",
            fmt::join(names_, ", "));
      }
      loss_ = constant(0.0F);
    }
    for (size_t i = 0; i < names_.size(); ++i) add_metrics(i);
    values_.values[0] = loss_;
    return std::move(values_);
  }

 private:
  std::optional<LossSpec> loss_of(size_t i) const {
    std::optional<LossSpec> loss = options_.loss.of(i, names_.size(), names_[i]);
    if (!loss || !*loss) return std::nullopt;
    return loss;
  }

  // The examples that count, with their sample weights if `weighted`.
  Output weights_of(size_t i, bool weighted) const {
    const Output& real = tensors_.example_mask;
    if (!weighted || tensors_.sample_weights.empty()) return real;
    const Output& given = tensors_.sample_weights.at(i);
    return given * with_rank(real, given.shape().rank());
  }

  Output loss_value(size_t i, const LossSpec& loss) {
    const Output each = value_of_each(loss, tensors_.targets.at(i), tensors_.outputs[i],
                                      tensors_.example_mask, loss_text(loss, names_[i]));
    const Output weights = weights_of(i, true);
    const Output mask = context_.mask(tensors_.outputs[i]);
    if (options_.weight_rule == WeightRule::sum_of_weights) {
      return weighted_mean(each, with_mask(weights, mask, each));
    }
    Output values = each;
    if (mask.valid() && values.shape().rank() >= 2) {
      const Output real = with_rank(tensors_.example_mask, 2) * ones_like(cast(mask, DType::f32));
      const Output kept = real * cast(mask, DType::f32);
      const Output share = stop_gradient(replica_sum(reduce_sum(kept)) /
                                         maximum(replica_sum(reduce_sum(real)), 1e-30));
      values = values * cast(mask, DType::f32) / maximum(share, 1e-30);
    }
    while (values.shape().rank() > weights.shape().rank()) {
      values = reduce_mean(values, {.axis = -1});
    }
    return part_of_mean(values * weights, cast(not_equal(weights, 0.0F), DType::f32));
  }

  void add_loss(size_t i) {
    const std::optional<LossSpec> loss = loss_of(i);
    if (!loss) return;
    const Output value = loss_value(i, *loss);
    if (names_.size() > 1) values_.add(names_[i] + "_loss", value);
    const Output term = value * options_.loss_weights.of(i, names_.size(), names_[i]).value_or(1.0);
    loss_ = loss_.valid() ? loss_ + term : term;
  }

  void add_metric(size_t i, const LossSpec& loss, const MetricSpec& metric, bool weighted) {
    const Output& output = tensors_.outputs[i];
    const Output& target = tensors_.targets.at(i);
    const MetricSpec::Resolved resolved = metric.resolve(output.shape(), target.shape(), loss);
    const Output each =
        value_of_each(resolved.function, target, output, tensors_.example_mask,
                      fmt::format("metric '{}' of output '{}'", resolved.name, names_[i]));
    const std::string of_metric = (weighted ? "weighted_" : "") + resolved.name;
    const std::string name = names_.size() > 1 ? names_[i] + "_" + of_metric : of_metric;
    const Output weights = with_mask(weights_of(i, weighted), context_.mask(output), each);
    if (!resolved.running || !running_) {
      values_.add(name, weighted_mean(each, weights));
      return;
    }
    const Output spread = spread_over(each, weights);
    const std::string unique = fmt::format("{}_{}", name, values_.names.size());
    values_.add(name,
                running_(unique, reduce_sum(cast(each, DType::f32) * spread), reduce_sum(spread)),
                true);
  }

  void add_metrics(size_t i) {
    const std::optional<LossSpec> loss = loss_of(i);
    if (!loss) return;
    for (const MetricSpec& metric : options_.metrics) add_metric(i, *loss, metric, false);
    if (const auto it = options_.output_metrics.find(names_[i]);
        it != options_.output_metrics.end()) {
      for (const MetricSpec& metric : it->second) add_metric(i, *loss, metric, false);
    }
    for (const MetricSpec& metric : options_.weighted_metrics) add_metric(i, *loss, metric, true);
  }

  const std::vector<std::string> names_;
  const CompileOptions& options_;
  CallContext& context_;
  const StepTensors& tensors_;
  const RunningMetricFn& running_;
  StepValues values_;
  Output loss_;
};

// This replica's part of a loss of CallContext::add_loss().
Output added_loss(const Output& added, const Output& example_mask) {
  const Shape& shape = added.shape();
  if (shape.rank() == 0) return added;
  const int64_t batch = example_mask.shape()[0];
  if (shape[0] > batch && batch > 0 && shape.rank() == 1 && shape[0] % batch == 0) {
    // For each step of each example, of a layer within TimeDistributed.
    return weighted_mean(reshape(added, {batch, shape[0] / batch}), example_mask);
  }
  if (shape[0] != batch && shape[0] >= 0 && batch >= 0) {
    throw invalid_argument(
        "add_loss: got a loss of shape {} for a batch of {} examples, expected a scalar or a value "
        "for each example",
        sizes_text(shape), batch);
  }
  return weighted_mean(added, example_mask);
}

Output penalties(const ModelDefinition& model, CallContext& context) {
  Output total;
  for (const WeightPtr& weight : model.weights()) {
    const RegularizerFn& penalty = weight->options().regularizer;
    if (!penalty) continue;
    const Output term = penalty(context.value(weight));
    total = total.valid() ? total + term : term;
  }
  return total;
}

}  // namespace

void StepValues::add(const std::string& name, const Output& value, bool is_running) {
  std::string unique = name;
  for (int n = 1; std::ranges::find(names, unique) != names.end(); ++n) {
    unique = fmt::format("{}_{}", name, n);
  }
  names.push_back(std::move(unique));
  values.push_back(value);
  running.push_back(is_running);
}

StepValues make_step_values(ModelDefinition& model, const CompileOptions& options,
                            CallContext& context, const StepTensors& tensors, int64_t replicas,
                            const RunningMetricFn& running) {
  StepValues values = ValuesBuilder(model, options, context, tensors, running).build();
  Output& loss = values.values[0];
  // What does not depend on the examples is divided among the replicas, so that their sum is right.
  if (const Output penalty = penalties(model, context); penalty.valid()) {
    loss = loss + penalty * (1.0 / static_cast<double>(replicas));
  }
  for (const Output& added : context.losses()) {
    loss = loss + added_loss(added, tensors.example_mask);
  }
  return values;
}

}  // namespace systole::keras
