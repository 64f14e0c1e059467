#include <cmath>

#include "systole/graph/api/array_functions.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_functions.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/keras/layer_class.h"
#include "systole/keras/layers/recurrent.h"
#include "systole/keras/layers/recurrent_dropout.h"

namespace systole::keras::layers {
namespace {

// The bias with the forget gate's block of ones.
Initializer forget_bias(const Initializer& others, int64_t units) {
  return [others, units](const Shape&, DType dtype) {
    return concat({others({units}, dtype), ones({units}, dtype), others({2 * units}, dtype)}, 0);
  };
}

class LstmCell : public RecurrentCell {
 public:
  explicit LstmCell(const LSTMOptions& options) : o_(options) {
    if (o_.units < 1) {
      throw invalid_argument("LSTM: units, got {}, expected at least 1", o_.units);
    }
  }

  std::string class_name() const override { return "LSTMCell"; }
  std::vector<int64_t> state_sizes() const override { return {o_.units, o_.units}; }

  void build(const std::vector<Shape>& input_shapes) override {
    const int64_t depth = input_shapes.at(0)[1];
    kernel_ = add_weight("kernel", {depth, 4 * o_.units},
                         {.initializer = o_.kernel_initializer.for_weight(),
                          .regularizer = o_.kernel_regularizer.function(),
                          .constraint = o_.kernel_constraint.function()});
    recurrent_kernel_ = add_weight("recurrent_kernel", {o_.units, 4 * o_.units},
                                   {.initializer = o_.recurrent_initializer.for_weight(),
                                    .regularizer = o_.recurrent_regularizer.function(),
                                    .constraint = o_.recurrent_constraint.function()});
    if (!o_.use_bias) return;
    const Initializer bias = o_.bias_initializer.for_weight();
    bias_ = add_weight("bias", {4 * o_.units},
                       {.initializer = o_.unit_forget_bias ? forget_bias(bias, o_.units) : bias,
                        .regularizer = o_.bias_regularizer.function(),
                        .constraint = o_.bias_constraint.function()});
  }

  std::vector<Output> project(CallContext& context, const Output& inputs) override {
    recurrent_masks_.clear();
    if (context.training() && o_.recurrent_dropout > 0) {
      recurrent_masks_ =
          dropout_masks(gather(shape(inputs), 1), o_.units, o_.recurrent_dropout, gates());
    }
    const Output kernel = context.value(kernel_);
    Output projected;
    if (context.training() && o_.dropout > 0) {
      const std::vector<Output> masks =
          dropout_masks(gather(shape(inputs), 1), inputs.shape()[2], o_.dropout, gates());
      projected = project_with_masks(inputs, kernel, masks);
    } else {
      projected = tensordot(inputs, kernel, {{2}, {0}});
    }
    return {bias_ ? projected + context.value(bias_) : projected};
  }

  Step step(CallContext& context, const std::vector<Output>& inputs,
            const std::vector<Output>& states) override {
    const Output& h = states.at(0);
    const Output& c = states.at(1);
    const Output z =
        inputs.at(0) + recurrent_product(h, context.value(recurrent_kernel_), recurrent_masks_, 4);
    const std::vector<Output> gates = split(z, 4, {.axis = 1});
    const Output i = o_.recurrent_activation(gates[0]);
    const Output f = o_.recurrent_activation(gates[1]);
    const Output next_c = f * c + i * o_.activation(gates[2]);
    const Output o = o_.recurrent_activation(gates[3]);
    const Output next_h = o * o_.activation(next_c);
    return {next_h, {next_h, next_c}};
  }

 private:
  // implementation 2 uses one mask for all gates.
  int gates() const { return o_.implementation == 2 ? 1 : 4; }

  const LSTMOptions o_;
  WeightPtr kernel_;
  WeightPtr recurrent_kernel_;
  WeightPtr bias_;
  std::vector<Output> recurrent_masks_;
};

class LstmLayer : public RecurrentLayer {
 public:
  static constexpr std::string_view kClassName = "LSTM";
  static std::vector<Field<LSTMOptions>> fields() {
    using O = LSTMOptions;
    return {field("units", &O::units),
            field("activation", &O::activation),
            field("recurrent_activation", &O::recurrent_activation),
            field("use_bias", &O::use_bias),
            field("kernel_initializer", &O::kernel_initializer),
            field("recurrent_initializer", &O::recurrent_initializer),
            field("bias_initializer", &O::bias_initializer),
            field("unit_forget_bias", &O::unit_forget_bias),
            field("kernel_regularizer", &O::kernel_regularizer),
            field("recurrent_regularizer", &O::recurrent_regularizer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("kernel_constraint", &O::kernel_constraint),
            field("recurrent_constraint", &O::recurrent_constraint),
            field("bias_constraint", &O::bias_constraint),
            field("dropout", &O::dropout),
            field("recurrent_dropout", &O::recurrent_dropout),
            field("implementation", &O::implementation),
            field("return_sequences", &O::return_sequences),
            field("return_state", &O::return_state),
            field("go_backwards", &O::go_backwards),
            field("stateful", &O::stateful),
            field("unroll", &O::unroll)};
  }

  explicit LstmLayer(LSTMOptions options)
      : RecurrentLayer(std::make_shared<LstmCell>(options),
                       {.return_sequences = options.return_sequences,
                        .return_state = options.return_state,
                        .go_backwards = options.go_backwards,
                        .stateful = options.stateful,
                        .unroll = options.unroll}),
        options_(std::move(options)) {
    set_activity_regularizer(options_.activity_regularizer.function());
  }

  std::string class_name() const override { return std::string(kClassName); }
  Json config() const override {
    Json json = common_config(*this);
    for (const Field<LSTMOptions>& field : fields()) json[field.name] = field.get(options_);
    return json;
  }

 private:
  const LSTMOptions options_;
};

LSTMOptions lstm_options(int64_t units, LSTMOptions options) {
  options.units = units;
  return options;
}

}  // namespace

LayerClass lstm_class() { return layer_class<LstmLayer, LSTMOptions>(); }

LSTM::LSTM(int64_t units, LSTMOptions options, Where where)
    : Layer(make_layer<LstmLayer>(lstm_options(units, std::move(options)), where)) {}

}  // namespace systole::keras::layers
