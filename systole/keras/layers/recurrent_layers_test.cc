// Recurrent layers against plain loops, and their gradients against finite differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"
#include "systole/keras/layers/testing/recurrent_reference.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras::layers {
namespace {

using systole::testing::error_of;
using testing::Cube;
using testing::cube;
using ::testing::HasSubstr;
using testing::Matrix;
using testing::numbers;
using testing::random_like;
using testing::random_tensor;
using testing::ReferenceCell;
using testing::ReferenceRun;
using testing::run_reference;
using testing::Vector;

constexpr int64_t kRows = 3;
constexpr int64_t kSteps = 4;
constexpr int64_t kDepth = 2;
constexpr int64_t kUnits = 3;

struct RnnCase {
  std::string kind;
  bool use_bias = true;
  bool sigmoid = false;
  bool relu = false;
  int64_t implementation = 1;
  bool sequences = false;
  bool backwards = false;
  bool unroll = false;
  bool masked = false;
  bool initial = false;
  bool as_cell = false;  // RNN(cell) in place of the layer
};

void PrintTo(const RnnCase& c, std::ostream* out) {
  *out << c.kind << " bias " << c.use_bias << " sigmoid " << c.sigmoid << " relu " << c.relu
       << " implementation " << c.implementation << " sequences " << c.sequences << " backwards "
       << c.backwards << " unroll " << c.unroll << " masked " << c.masked << " initial "
       << c.initial << " as_cell " << c.as_cell;
}

template <class O>
O options_of(const RnnCase& c) {
  O o;
  o.use_bias = c.use_bias;
  if (c.relu) o.activation = "relu";
  if constexpr (requires { o.recurrent_activation; }) {
    if (c.sigmoid) o.recurrent_activation = "sigmoid";
    o.implementation = c.implementation;
  }
  if constexpr (requires { o.reset_after; }) o.reset_after = c.kind == "gru_after";
  o.return_sequences = c.sequences;
  o.return_state = true;
  o.go_backwards = c.backwards;
  o.unroll = c.unroll;
  return o;
}

Layer layer_of(const RnnCase& c) {
  if (c.as_cell) {
    const RNNOptions loop{.return_sequences = c.sequences,
                          .return_state = true,
                          .go_backwards = c.backwards,
                          .unroll = c.unroll};
    if (c.kind == "simple")
      return RNN(SimpleRNNCell(kUnits, options_of<SimpleRNNOptions>(c)), loop);
    if (c.kind == "lstm") return RNN(LSTMCell(kUnits, options_of<LSTMOptions>(c)), loop);
    return RNN(GRUCell(kUnits, options_of<GRUOptions>(c)), loop);
  }
  if (c.kind == "simple") return SimpleRNN(kUnits, options_of<SimpleRNNOptions>(c));
  if (c.kind == "lstm") return LSTM(kUnits, options_of<LSTMOptions>(c));
  return GRU(kUnits, options_of<GRUOptions>(c));
}

ReferenceCell reference_of(const std::string& kind, const std::vector<Tensor>& weights) {
  ReferenceCell cell{.kind = kind, .units = static_cast<size_t>(kUnits)};
  cell.kernel = numbers(weights[0]);
  cell.recurrent = numbers(weights[1]);
  if (weights.size() > 2) cell.bias = numbers(weights[2]);
  return cell;
}

void expect_near(const Tensor& got, const Vector& expected, double tolerance = 1e-5) {
  const Vector values = numbers(got);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

Vector flattened(const Cube& outputs, bool sequences) {
  Vector all;
  for (const Matrix& rows : outputs) {
    for (size_t t = sequences ? 0 : rows.size() - 1; t < rows.size(); ++t) {
      all.insert(all.end(), rows[t].begin(), rows[t].end());
    }
  }
  return all;
}

// The last row has no unmasked step at first, the second one at the end.
Matrix some_mask() { return {{1, 1, 1, 1}, {1, 0, 1, 0}, {0, 0, 1, 1}}; }

Tensor masked_input(bool masked) {
  Tensor x = random_tensor({kRows, kSteps, kDepth}, 11);
  for (size_t i = 0; masked && i < x.data<float>().size(); ++i) {
    const size_t step = i / static_cast<size_t>(kDepth);
    if (some_mask()[step / 4][step % 4] == 0) x.data<float>()[i] = 0;
  }
  return x;
}

class RnnTable : public ::testing::TestWithParam<RnnCase> {};

TEST_P(RnnTable, ComputesItsFormula) {
  const RnnCase& c = GetParam();
  const Layer layer = layer_of(c);
  const size_t states = c.kind == "lstm" ? 2 : 1;
  const KerasTensor input = Input({kSteps, kDepth});
  KerasTensors inputs = input;
  std::vector<Tensor> arrays = {masked_input(c.masked)};
  std::vector<Matrix> initial;
  if (c.initial) {
    initial.assign(kRows, Matrix(states));
    for (size_t s = 0; s < states; ++s) {
      inputs = {inputs, Input({kUnits})};
      arrays.push_back(random_tensor({kRows, kUnits}, 20 + s));
      const Vector flat = numbers(arrays.back());
      for (size_t n = 0; n < kRows; ++n) {
        initial[n][s] = Vector(flat.begin() + static_cast<ptrdiff_t>(n) * kUnits,
                               flat.begin() + static_cast<ptrdiff_t>(n + 1) * kUnits);
      }
    }
  }
  std::vector<KerasTensor> to_layer = inputs.all();
  if (c.masked) to_layer[0] = Masking()(input);
  const Model model(inputs, layer(to_layer));
  layer.set_weights(random_like(layer.get_weights(), 3));
  const std::vector<Tensor> got = model.predict_all(arrays);
  ReferenceCell cell = reference_of(c.kind, layer.get_weights());
  cell.sigmoid = c.sigmoid;
  cell.relu = c.relu;
  ReferenceRun run =
      run_reference(cell, cube(arrays[0]), c.masked ? some_mask() : Matrix{}, initial, c.backwards);
  if (c.unroll && c.masked && c.initial) {  // Keras: zeros before the first output
    run.outputs[2][0] = run.outputs[2][1] = Vector(kUnits);
  }
  expect_near(got[0], flattened(run.outputs, c.sequences));
  ASSERT_EQ(got.size(), 1 + states);
  for (size_t s = 0; s < states; ++s) {
    Vector expected;
    for (const Matrix& of_row : run.states) {
      expected.insert(expected.end(), of_row[s].begin(), of_row[s].end());
    }
    expect_near(got[1 + s], expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recurrent, RnnTable,
    ::testing::Values(
        RnnCase{.kind = "simple"},
        RnnCase{.kind = "simple", .use_bias = false, .sequences = true, .masked = true},
        RnnCase{.kind = "simple", .relu = true, .backwards = true, .initial = true},
        RnnCase{
            .kind = "simple", .sequences = true, .unroll = true, .masked = true, .initial = true},
        RnnCase{.kind = "gru"}, RnnCase{.kind = "gru", .sigmoid = true, .sequences = true},
        RnnCase{.kind = "gru", .implementation = 2, .backwards = true, .masked = true},
        RnnCase{.kind = "gru", .use_bias = false, .sequences = true, .unroll = true},
        RnnCase{.kind = "gru_after", .sequences = true, .masked = true, .initial = true},
        RnnCase{.kind = "gru_after", .use_bias = false, .sigmoid = true},
        RnnCase{.kind = "gru_after", .sequences = true, .backwards = true, .as_cell = true},
        RnnCase{.kind = "lstm", .sigmoid = true, .sequences = true, .backwards = true},
        RnnCase{.kind = "lstm", .use_bias = false, .implementation = 2, .initial = true},
        RnnCase{.kind = "lstm", .sequences = true, .masked = true, .initial = true},
        RnnCase{.kind = "lstm", .unroll = true, .masked = true, .as_cell = true},
        RnnCase{.kind = "simple", .sequences = true, .as_cell = true}));

// -- Cells as one, and of a program

TEST(RecurrentLayersTest, StackedCellsPassOutputsOnAndKeepOrder) {
  const RNN layer({LSTMCell(kUnits), GRUCell(kUnits)},
                  {.return_sequences = true, .return_state = true});
  const KerasTensor input = Input({kSteps, kDepth});
  const Model model(input, layer(input));
  layer.set_weights(random_like(layer.get_weights(), 5));
  const std::vector<Tensor> w = layer.get_weights();
  ASSERT_EQ(w.size(), 6U);
  EXPECT_THAT(layer.definition()->weight_names(),
              ::testing::ElementsAre("rnn/kernel:0", "rnn/recurrent_kernel:0", "rnn/bias:0",
                                     "rnn/kernel_1:0", "rnn/recurrent_kernel_1:0", "rnn/bias_1:0"));
  const Tensor x = random_tensor({kRows, kSteps, kDepth}, 6);
  const std::vector<Tensor> got = model.predict_all(x);
  const ReferenceRun first = run_reference(reference_of("lstm", {w[0], w[1], w[2]}), cube(x));
  const ReferenceRun second = run_reference(reference_of("gru", {w[3], w[4], w[5]}), first.outputs);
  expect_near(got[0], flattened(second.outputs, true));
  ASSERT_EQ(got.size(), 4U);
  expect_near(got[1], flattened(first.outputs, false));
  expect_near(got[3], flattened(second.outputs, false));
}

// A leaky sum: h' = decay * h + x, with a trained decay; its output is twice the state.
class LeakyCell : public RecurrentCell {
 public:
  std::string class_name() const override { return "LeakyCell"; }
  std::vector<int64_t> state_sizes() const override { return {kDepth}; }
  Json config() const override { return {{"name", name()}}; }
  void build(const std::vector<Shape>& shapes) override {
    decay_ = add_weight("decay", {shapes.at(0)[1]}, {.initializer = constant_initializer(0.5F)});
  }
  Step step(CallContext& context, const std::vector<Output>& inputs,
            const std::vector<Output>& states) override {
    const Output h = states.at(0) * context.value(decay_) + inputs.at(0);
    return {h * 2.0F, {h}};
  }

 private:
  WeightPtr decay_;
};

TEST(RecurrentLayersTest, CellsOfAProgram) {
  register_layer_class({.name = "LeakyCell", .from_config = [](const Json& config) {
                          auto cell = std::make_shared<LeakyCell>();
                          cell->set_name(config.at("name").get<std::string>());
                          return cell;
                        }});
  const Sequential model(
      {Bidirectional(RNN(std::make_shared<LeakyCell>(), {.return_sequences = true}),
                     {.merge_mode = "sum", .input_shape = Shape{3, kDepth}})});
  const Tensor x = Tensor::of<float>({1, 3, 2}, {1, 0, 0, 2, 4, 0});
  // Forward h: (1, 0) (.5, 2) (4.25, 1); backward, from the end: (4, 0) (2, 2) (2, 1).
  const Tensor expected = Tensor::of<float>({1, 3, 2}, {6, 2, 5, 8, 16.5, 2});
  EXPECT_TRUE(model.predict(x).identical(expected));
  const Model again = model_from_json(model.to_json());
  EXPECT_EQ(again.to_json(), model.to_json());
  EXPECT_TRUE(again.predict(x).identical(expected));
  EXPECT_THAT(error_of([] { RNN(Dense(3)); }), HasSubstr("expected a cell"));
}

// -- Weights of cuDNN

// The block of each gate, transposed in memory: w [rows, gates * units].
Tensor cudnn_layout(const Tensor& w, int64_t gates) {
  Tensor stored(DType::f32, w.shape());
  const int64_t rows = w.dim(0);
  const int64_t units = w.dim(1) / gates;
  for (int64_t g = 0; g < gates; ++g) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t u = 0; u < units; ++u) {
        const int64_t at = u * rows + r;  // in the matrix [units, rows]
        stored.data<float>()[static_cast<size_t>(at / units * gates * units + g * units +
                                                 at % units)] =
            w.data<float>()[(r * gates + g) * units + u];
      }
    }
  }
  return stored;
}

TEST(RecurrentLayersTest, CudnnLayersAreLstmAndGruWithOtherWeights) {
  const Tensor x = random_tensor({kRows, kSteps, kDepth}, 7);
  for (const bool lstm : {true, false}) {
    const int64_t gates = lstm ? 4 : 3;
    const KerasTensor input = Input({kSteps, kDepth});
    const Layer layer = lstm ? Layer(CuDNNLSTM(kUnits, {.return_sequences = true}))
                             : Layer(CuDNNGRU(kUnits, {.return_sequences = true}));
    const Model model(input, layer(input));
    const Tensor w = random_tensor({kDepth, gates * kUnits}, 1);
    const Tensor u = random_tensor({kUnits, gates * kUnits}, 2);
    const Tensor b = random_tensor({2 * gates * kUnits}, 3);
    if (lstm) {  // the forget gate's ones are in the half of the states
      const Vector initial = numbers(layer.get_weights()[2]);
      for (size_t i = 0; i < initial.size(); ++i) EXPECT_EQ(initial[i], i / 3 == 5 ? 1 : 0);
    }
    layer.set_weights({cudnn_layout(w, gates), cudnn_layout(u, gates), b});
    ReferenceCell cell = reference_of(lstm ? "lstm" : "gru_after", {w, u, b});
    cell.sigmoid = true;
    const auto half = static_cast<size_t>(gates * kUnits);
    for (size_t i = 0; lstm && i < half; ++i) cell.bias[i] += cell.bias[half + i];
    expect_near(model.predict(x), flattened(run_reference(cell, cube(x)).outputs, true));
  }
}

// -- Gradients

// The mean of squares of the layer's outputs less y, of weights as numbers.
using LossOf = std::function<double(const std::vector<Vector>& weights)>;

// One step of SGD with rate 1 moves each weight by its gradient.
void expect_gradients(const Layer& layer, const Tensor& x, const Tensor& y, const LossOf& loss) {
  Sequential model({layer});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mse"});
  model.predict(x);
  layer.set_weights(random_like(layer.get_weights(), 9));
  const std::vector<Tensor> before = layer.get_weights();
  EXPECT_NEAR(model.train_on_batch(x, y)[0], loss([&] {
                std::vector<Vector> all;
                for (const Tensor& w : before) all.push_back(numbers(w));
                return all;
              }()),
              1e-5);
  const std::vector<Tensor> after = layer.get_weights();
  std::vector<Vector> weights;
  for (const Tensor& w : before) weights.push_back(numbers(w));
  for (size_t k = 0; k < weights.size(); ++k) {
    for (size_t i = 0; i < weights[k].size(); ++i) {
      constexpr double kStep = 1e-5;
      const double value = weights[k][i];
      weights[k][i] = value + kStep;
      const double up = loss(weights);
      weights[k][i] = value - kStep;
      const double down = loss(weights);
      weights[k][i] = value;
      const double moved = value - static_cast<double>(after[k].data<float>()[i]);
      EXPECT_NEAR(moved, (up - down) / (2 * kStep), 2e-5) << "weight " << k << " element " << i;
    }
  }
}

double mean_square(const Vector& got, const Tensor& y) {
  const Vector expected = numbers(y);
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i) sum += std::pow(got[i] - expected[i], 2);
  return sum / static_cast<double>(got.size());
}

ReferenceCell smooth_cell(const std::string& kind, std::span<const Vector> weights) {
  return {.kind = kind,
          .units = kUnits,
          .kernel = weights[0],
          .recurrent = weights[1],
          .bias = weights[2],
          .sigmoid = true};
}

TEST(RecurrentLayersTest, GradientsAreThoseOfFiniteDifferences) {
  const Tensor x = random_tensor({kRows, kSteps, kDepth}, 12);
  const Tensor y = random_tensor({kRows, kUnits}, 13);
  const Shape shape{kSteps, kDepth};
  const auto loss_of = [&](const std::string& kind) {
    return [&, kind](const std::vector<Vector>& weights) {
      const ReferenceRun run = run_reference(smooth_cell(kind, weights), cube(x));
      return mean_square(flattened(run.outputs, false), y);
    };
  };
  expect_gradients(SimpleRNN(kUnits, {.input_shape = shape}), x, y, loss_of("simple"));
  expect_gradients(GRU(kUnits, {.recurrent_activation = "sigmoid", .input_shape = shape}), x, y,
                   loss_of("gru"));
  expect_gradients(
      GRU(kUnits, {.recurrent_activation = "sigmoid", .reset_after = true, .input_shape = shape}),
      x, y, loss_of("gru_after"));
}

TEST(RecurrentLayersTest, GradientsOfBidirectional) {
  const Tensor x = random_tensor({kRows, kSteps, kDepth}, 15);
  const Tensor y = random_tensor({kRows, kUnits}, 14);
  const Layer layer = Bidirectional(LSTM(kUnits, {.recurrent_activation = "sigmoid"}),
                                    {.merge_mode = "mul", .input_shape = Shape{kSteps, kDepth}});
  expect_gradients(layer, x, y, [&](const std::vector<Vector>& w) {
    const std::span<const Vector> all(w);
    const Vector forward =
        flattened(run_reference(smooth_cell("lstm", all.first(3)), cube(x)).outputs, false);
    const Vector backward = flattened(
        run_reference(smooth_cell("lstm", all.last(3)), cube(x), {}, {}, true).outputs, false);
    Vector product(forward.size());
    for (size_t i = 0; i < product.size(); ++i) product[i] = forward[i] * backward[i];
    return mean_square(product, y);
  });
}

// -- Dropout

TEST(RecurrentLayersTest, DropoutMasksAreDrawnOnceForAllSteps) {
  const KerasTensor input = Input({4, 2});
  const Tensor x = Tensor::full(DType::f32, {64, 4, 2}, 1);
  const SimpleRNN layer(2, {.activation = nullptr,
                            .use_bias = false,
                            .kernel_initializer = "identity",
                            .recurrent_initializer = "identity",
                            .dropout = 0.5,
                            .recurrent_dropout = 0.5,
                            .return_sequences = true});
  const Model model(input, layer(input, {.training = true}));
  const Tensor got = model.predict(x, {.batch_size = 64});
  // h' = a + b h with a and b each 0 or 2 for the whole sequence.
  std::map<std::pair<float, float>, int> seen;
  for (int64_t n = 0; n < 64; ++n) {
    for (int64_t u = 0; u < 2; ++u) {
      const auto at = [&](int64_t t) { return got.data<float>()[(n * 4 + t) * 2 + u]; };
      const float a = at(0);
      const float b = a == 0 ? 0 : (at(1) - a) / a;
      EXPECT_TRUE(a == 0 || a == 2) << a;
      EXPECT_TRUE(b == 0 || b == 2) << b;
      for (int64_t t = 1; t < 4; ++t) EXPECT_EQ(at(t), a + b * at(t - 1));
      ++seen[{a, b}];
    }
  }
  EXPECT_EQ(seen.size(), 3U);  // of 128: about 64, 32, 32
  for (const auto& [values, count] : seen) EXPECT_GT(count, 10);
  const Tensor plain = Model(input, layer(input)).predict(x);
  EXPECT_EQ(plain.data<float>()[6], 4);
}

// implementation 1 draws a mask for each gate, 2 one for all.
TEST(RecurrentLayersTest, ImplementationChoosesTheMasks) {
  const Tensor x = Tensor::full(DType::f32, {512, 1, 1}, 1);
  for (const int64_t implementation : {1, 2}) {
    const KerasTensor input = Input({1, 1});
    const LSTM layer(1, {.activation = nullptr,
                         .recurrent_activation = "linear",
                         .kernel_initializer = "ones",
                         .dropout = 0.5,
                         .implementation = implementation});
    const Tensor got =
        Model(input, layer(input, {.training = true})).predict(x, {.batch_size = 512});
    int64_t kept = 0;
    for (const float h : got.data<float>()) {  // i * g * o, each 0 or 2
      EXPECT_TRUE(h == 0 || h == 8);
      kept += h == 8 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(kept), implementation == 1 ? 64 : 256, 48);
  }
}

TEST(RecurrentLayersTest, ErrorsNameWhatIsWrong) {
  EXPECT_THAT(error_of([] { GRU(0); }), HasSubstr("GRU: "));
  EXPECT_THAT(error_of([] { LSTM(2, {.dropout = 1.5}); }), HasSubstr("got 1.5"));
  EXPECT_THAT(error_of([] {
                LSTM(2, {.unroll = true})(Input({-1, 3}));
              }),
              HasSubstr("Cannot unroll a RNN"));
  EXPECT_THAT(error_of([] {
                LSTM(2, {.stateful = true})(Input({4, 3}));
              }),
              HasSubstr("If a RNN is stateful, it needs to know its batch size."));
  const KerasTensor x = Input({4, 3});
  EXPECT_THAT(error_of([&] {
                LSTM(2)
                (x, {.initial_state = {Input({2})}});
              }),
              HasSubstr("not compatible with `cell.state_size`"));
  EXPECT_THAT(error_of([&] {
                LSTM(2)({x, Input({2}), Input({3})});
              }),
              HasSubstr("(None, 2), (None, 3)"));
  EXPECT_THAT(error_of([&] { Dense(2)(x, {.initial_state = {Input({2})}}); }),
              HasSubstr("initial_state, got 1 tensors, expected none"));
  EXPECT_THAT(error_of([] { LSTM(2).reset_states(); }), HasSubstr("Layer must be stateful"));
}

}  // namespace
}  // namespace systole::keras::layers
