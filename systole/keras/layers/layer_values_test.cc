// Every layer class against plain f64 loops: each argument at more than one value, masks, data
// formats. To cover a new class, add its rows in testing/.
#include "systole/keras/layers/testing/layer_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"
#include "systole/keras/testing/grid.h"

namespace systole::keras::layers::testing {
namespace {

LayerRows all_rows() {
  LayerRows rows;
  add_attention_rows(rows);
  add_convolutional_recurrent_rows(rows);
  add_core_rows(rows);
  add_merge_rows(rows);
  add_space_rows(rows);
  add_recurrent_rows(rows);
  return rows;
}

// Steps that count. The second row begins with masked steps, the third ends with them.
std::vector<std::vector<double>> mask_of(int64_t batch, int64_t time) {
  std::vector<std::vector<double>> mask;
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<double> row(static_cast<size_t>(time), 1);
    if (b == 1) row[0] = 0;
    if (b == 1 && time > 3) row[2] = 0;
    if (b == 2) row[static_cast<size_t>(time) - 1] = 0;
    mask.push_back(row);
  }
  return mask;
}

// Sets masked steps [batch, time, ...] to `value`.
void set_masked_steps(Tensor& x, const std::vector<std::vector<double>>& mask, float value) {
  const int64_t step = x.num_elements() / (x.dim(0) * x.dim(1));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const auto b = static_cast<size_t>(i / step / x.dim(1));
    const auto t = static_cast<size_t>(i / step % x.dim(1));
    if (mask[b][t] == 0) x.data<float>()[i] = value;
  }
}

LayerCallCase call_of(const LayerRow& row) {
  LayerCallCase call{.config = Json::parse(row.config)};
  for (const std::vector<int64_t>& shape : row.inputs) {
    Tensor x =
        keras::testing::noise(Shape(std::span<const int64_t>(shape)), 1 + call.inputs.size());
    for (float& v : x.data<float>()) v *= 2;
    if (row.class_name == "Embedding") {
      const auto ids = call.config.at("input_dim").get<int64_t>();
      for (float& v : x.data<float>()) v = std::floor(std::abs(v) / 2 * static_cast<float>(ids));
    }
    call.inputs.push_back(std::move(x));
  }
  if (!row.masked) return call;
  Tensor& x = call.inputs[0];
  const auto mask = mask_of(x.dim(0), x.dim(1));
  const bool masking = row.class_name == "Masking";
  set_masked_steps(x, mask, masking ? call.config.value("mask_value", 0.0F) : 0.0F);
  if (!masking) call.mask = mask;
  return call;
}

// Gives the layer weights of our own: variances above 0, other numbers between -1 and 1.
void set_weights_of_row(const Layer& layer, LayerCallCase& call) {
  for (const WeightPtr& weight : layer.weights()) {
    Tensor value = keras::testing::noise(weight->shape(), 10 + call.weights.size());
    if (weight->name() == "moving_variance") {
      for (float& v : value.data<float>()) v = 0.5F + std::abs(v);
    }
    call.weights.push_back(std::move(value));
  }
  layer.set_weights(call.weights);
}

void check_row(const LayerRow& row) {
  SCOPED_TRACE(row.class_name + " " + row.config + (row.masked ? " masked" : ""));
  LayerCallCase call = call_of(row);
  const Layer layer(find_layer_class(row.class_name).from_config(call.config));
  std::vector<KerasTensor> inputs;
  for (const Tensor& x : call.inputs) {
    inputs.push_back(Input(Shape(Dims(x.shape().begin() + 1, x.shape().end()))));
  }
  KerasTensors given = inputs;
  if (!call.mask.empty()) given = Masking()(inputs[0]);
  const KerasTensors outputs = row.training ? layer(given, {.training = true}) : layer(given);
  const Model model(inputs, outputs);
  set_weights_of_row(layer, call);
  const std::vector<Tensor> got =
      model.predict_all(call.inputs, {.batch_size = call.inputs[0].dim(0)});
  const std::vector<Values> want = row.formula(call);
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(Values(got[k]).shape, want[k].shape) << "output " << k;
    for (size_t i = 0; i < want[k].data.size(); ++i) {
      const double expected = want[k].data[i];
      ASSERT_NEAR(got[k].as_double(static_cast<int64_t>(i)), expected,
                  1e-5 * std::max(1.0, std::abs(expected)))
          << "output " << k << ", element " << i;
    }
  }
}

// The classes of the library, without those that other tests register.
std::vector<LayerClass> built_in_classes() {
  std::vector<LayerClass> classes;
  for (LayerClass (*const file)() : layer_class_files()) classes.push_back(file());
  return classes;
}

class LayerValuesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LayerValuesTest, AreThoseOfPlainLoops) {
  register_lambda("values_times", lambda_function([](const std::vector<Output>& x, const Json& a) {
                    return x.at(0) * a.at("factor").get<double>();
                  }));
  register_lambda("values_plus", lambda_function([](const std::vector<Output>& x, const Json& a) {
                    return x.at(0) + a.at("term").get<double>();
                  }));
  size_t count = 0;
  for (const LayerRow& row : all_rows()) {
    if (row.class_name != GetParam()) continue;
    check_row(row);
    ++count;
  }
  EXPECT_GT(count, 0) << "layer class '" << GetParam() << "' has no row in layers/testing";
}

// Functions on weights have tests of their own (functions/), states too (StatefulTest). A seed
// chooses random numbers.
bool needs_two_values(const ArgumentDoc& argument) {
  return argument.kind != ArgumentKind::object && argument.name != "seed" &&
         argument.name != "stateful";
}

TEST_P(LayerValuesTest, EachArgumentHasTwoValues) {
  const LayerClass& tested = find_layer_class(GetParam());
  for (const ArgumentDoc& argument : tested.arguments) {
    if (!needs_two_values(argument)) continue;
    std::set<std::string> values;
    for (const LayerRow& row : all_rows()) {
      if (row.class_name != tested.name) continue;
      const Json config = Json::parse(row.config);
      const auto it = config.find(argument.name);
      values.insert(it != config.end() ? it->dump() : argument.default_value.dump());
    }
    EXPECT_GE(values.size(), 2) << tested.name << ": rows with another " << argument.name;
  }
}

std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const LayerClass& known : built_in_classes()) names.push_back(known.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Classes, LayerValuesTest, ::testing::ValuesIn(built_in_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace systole::keras::layers::testing
