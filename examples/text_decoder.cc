// A decoder of the shape of SmolLM2-135M that learns to continue a text, byte by byte: RMSNorm,
// rotary positions, grouped causal attention, SwiGLU.
//
//   text_decoder --text FILE                         the whole model, 30 layers of width 576
//   text_decoder --text FILE --recompute_grad        the same with less memory: each layer's values
//                                                    are computed again for its gradient
//   text_decoder --text FILE --layers 2 --width 96 --heads 3 --groups 1 --hidden 256 --length 64
//                                                    a small one: after 300 steps its loss on
//                                                    Shakespeare's plays is below 2.6 nats a byte
//
// Prints the loss, the memory of a step and, at the end, how the model continues a line.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "examples/support/mnist_data.h"
#include "examples/support/stopwatch.h"
#include "systole/base/command_line.h"
#include "systole/base/random.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/systole.h"

namespace {

constexpr int64_t kBytes = 256;
constexpr double kRopeBase = 1e5;
constexpr double kEpsilon = 1e-5;

struct Flags {
  std::string text = examples::default_data_dir() + "/tinyshakespeare/input.txt";
  int64_t layers = 30;
  int64_t width = 576;
  int64_t heads = 9;
  int64_t groups = 3;  // of heads that share a key and a value
  int64_t hidden = 1536;
  int64_t length = 256;
  int64_t batch_size = 8;
  int64_t steps = 300;
  double learning_rate = 1e-3;
  bool recompute_grad = false;
  int64_t continue_for = 200;
};

st::Output weight(const char* name, const st::Shape& shape) {
  return st::get_variable(name, shape,
                          {.initializer = st::random_normal_initializer({.stddev = 0.02})})
      .value();
}

// x / sqrt(mean(x^2)), scaled by a trained vector.
st::Output rms_norm(const st::Output& x, const char* name) {
  const auto scale =
      st::get_variable(name, {x.shape()[-1]}, {.initializer = st::ones_initializer()});
  const auto mean = st::reduce_mean(st::square(x), {.axis = -1, .keepdims = true});
  return x * st::rsqrt(mean + kEpsilon) * scale.value();
}

// Rotary positions: turns the pair (x[i], x[i + size / 2]) of each head by position / base^(2i /
// size). x: [batch, length, heads, size].
st::Output rotate(const st::Output& x) {
  const int64_t length = x.shape()[1];
  const int64_t half = x.shape()[3] / 2;
  st::Tensor angles(st::DType::f32, {length, 1, half});
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double turns = std::pow(kRopeBase, -static_cast<double>(i) / static_cast<double>(half));
      angles.data<float>()[t * half + i] = static_cast<float>(static_cast<double>(t) * turns);
    }
  }
  const auto cosine = st::cos(st::constant(angles));
  const auto sine = st::sin(st::constant(angles));
  const auto parts = st::split(x, 2, {.axis = 3});
  return st::concat({parts[0] * cosine - parts[1] * sine, parts[1] * cosine + parts[0] * sine}, 3);
}

// A product of x [batch, length, in] with a matrix: [batch, length, out].
st::Output linear(const st::Output& x, const char* name, int64_t out) {
  return st::tensordot(x, weight(name, {x.shape()[2], out}), 1);
}

st::Output attention(const st::Output& x, const Flags& flags) {
  const int64_t size = flags.width / flags.heads;
  const auto heads = [&](const char* name, int64_t count) {
    return st::reshape(linear(x, name, count * size), {x.shape()[0], x.shape()[1], count, size});
  };
  const auto mixed =
      st::nn::attention(rotate(heads("query", flags.heads)), rotate(heads("key", flags.groups)),
                        heads("value", flags.groups), {.causal = true});
  return linear(st::reshape(mixed, {x.shape()[0], x.shape()[1], flags.width}), "out", flags.width);
}

// SwiGLU: swish(x gate) * (x up), projected back.
st::Output mlp(const st::Output& x, const Flags& flags) {
  const auto gate = linear(x, "gate", flags.hidden);
  return linear(st::nn::swish(gate) * linear(x, "up", flags.hidden), "down", flags.width);
}

// The scores of the next byte after each of `bytes`, [batch, length]: [batch, length, 256].
st::Output decoder(const st::Output& bytes, const Flags& flags) {
  const st::variable_scope model("decoder", {.reuse = st::Reuse::auto_reuse});
  const auto table = weight("embedding", {kBytes, flags.width});
  auto x = st::nn::embedding_lookup(table, bytes);
  for (int64_t i = 0; i < flags.layers; ++i) {
    const auto block = [&](const st::Output& in) {
      const st::variable_scope scope("layer_" + std::to_string(i));
      const auto y = in + attention(rms_norm(in, "attention_norm"), flags);
      return y + mlp(rms_norm(y, "mlp_norm"), flags);
    };
    x = flags.recompute_grad ? st::recompute_grad(block)(x) : block(x);
  }
  // The table of bytes is that of the result, too.
  return st::tensordot(rms_norm(x, "norm"), table, {{2}, {1}});
}

// Returns a batch of pieces of the text from random places, of a launch of one step on one core:
// [1, 1, batch_size, length + 1] bytes.
st::Tensor batch_of(const std::string& text, const Flags& flags, st::RandomStream& random) {
  st::Tensor batch(st::DType::s32, {1, 1, flags.batch_size, flags.length + 1});
  auto bytes = batch.data<int32_t>();
  const auto stretch = static_cast<size_t>(flags.length) + 1;
  for (size_t row = 0; row < static_cast<size_t>(flags.batch_size); ++row) {
    const size_t from = random.next_below(text.size() - stretch + 1);
    for (size_t i = 0; i < stretch; ++i)
      bytes[row * stretch + i] = static_cast<unsigned char>(text[from + i]);
  }
  return batch;
}

// Appends the likeliest bytes, one after the other.
std::string continued(st::Session& session, const st::Output& window, const st::Output& scores,
                      std::string text, int64_t count) {
  const int64_t length = window.shape()[1];
  for (int64_t n = 0; n < count; ++n) {
    const auto kept = std::min<int64_t>(length, static_cast<int64_t>(text.size()));
    st::Tensor seen = st::Tensor::full(st::DType::s32, {1, length}, 0);
    for (int64_t i = 0; i < kept; ++i) {
      seen.data<int32_t>()[i] = static_cast<unsigned char>(
          text[text.size() - static_cast<size_t>(kept) + static_cast<size_t>(i)]);
    }
    const auto all = session.run(scores, {{window, seen}});
    const auto last = all.data<float>().subspan(static_cast<size_t>((kept - 1) * kBytes), kBytes);
    text += static_cast<char>(std::ranges::max_element(last) - last.begin());
  }
  return text;
}

void check(const Flags& flags, const std::string& text) {
  if (flags.width % flags.heads != 0 || flags.width / flags.heads % 2 != 0) {
    throw st::invalid_argument("--width: got {}, expected an even multiple of {} heads",
                               flags.width, flags.heads);
  }
  if (flags.heads % flags.groups != 0) {
    throw st::invalid_argument("--heads: got {}, expected a multiple of {} groups", flags.heads,
                               flags.groups);
  }
  if (static_cast<int64_t>(text.size()) <= flags.length) {
    throw st::invalid_argument("{}: got {} bytes, expected more than --length {}", flags.text,
                               text.size(), flags.length);
  }
}

void train(const Flags& flags) {
  const std::string text = st::read_file(st::default_file_system(), flags.text);
  check(flags, text);
  st::set_random_seed(1);
  examples::Stopwatch watch;

  auto batch = st::placeholder(st::int32, {flags.batch_size, flags.length + 1}, "batch");
  auto bytes = st::slice(batch, {0, 0}, {flags.batch_size, flags.length});
  auto next = st::slice(batch, {0, 1}, {flags.batch_size, flags.length});
  auto loss =
      st::losses::sparse_softmax_cross_entropy({.labels = next, .logits = decoder(bytes, flags)});
  auto train_op = st::train::AdamWOptimizer({.learning_rate = flags.learning_rate}).minimize(loss);
  auto window = st::placeholder(st::int32, {1, flags.length}, "window");
  auto scores = decoder(window, flags);

  st::Session session;
  session.run(st::global_variables_initializer());
  st::StepLoop loop(session, {.inputs = {batch},
                              .input_types = {{st::DType::s32, batch.shape()}},
                              .fetches = {loss},
                              .targets = {train_op}});
  int64_t parameters = 0;
  for (const st::Variable& variable : st::trainable_variables())
    parameters += variable.shape().num_elements();
  std::printf("%.1f million parameters; a step holds %.1f MiB beside them; compiled in %.1f s\n",
              static_cast<double>(parameters) / 1e6,
              static_cast<double>(loop.stats().temp_bytes) / (1 << 20), loop.compile_seconds());
  watch.lap("start");

  st::RandomStream random(1);
  double sum = 0;
  int64_t summed = 0;
  for (int64_t step = 1; step <= flags.steps; ++step) {
    loop.run(std::vector{batch_of(text, flags, random)}, 1);
    sum += static_cast<double>(loop.results()[0].data<float>()[0]);
    ++summed;
    if (step % 50 != 0 && step != flags.steps) continue;
    std::printf("step %lld: loss %.3f\n", static_cast<long long>(step),
                sum / static_cast<double>(summed));
    std::fflush(stdout);
    sum = 0;
    summed = 0;
  }
  watch.lap("training");
  if (flags.continue_for > 0) {
    std::printf("%s\n", continued(session, window, scores, "ROMEO:", flags.continue_for).c_str());
    watch.lap("text");
  }
  std::printf("Took %s\n", watch.report().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("text_decoder", "Trains a decoder to continue a text, byte by byte.");
  line.option("--text", flags.text, "The text to learn").value_name("FILE").show_default();
  line.option("--layers", flags.layers, "Decoder layers").positive().show_default();
  line.option("--width", flags.width, "Features of a byte").positive().show_default();
  line.option("--heads", flags.heads, "Heads of attention").positive().show_default();
  line.option("--groups", flags.groups, "Heads of keys and values").positive().show_default();
  line.option("--hidden", flags.hidden, "Features inside of SwiGLU").positive().show_default();
  line.option("--length", flags.length, "Bytes that the model sees").positive().show_default();
  line.option("--batch_size", flags.batch_size, "Stretches of text in a step")
      .positive()
      .show_default();
  line.option("--steps", flags.steps, "Training steps").positive().show_default();
  line.option("--learning_rate", flags.learning_rate).show_default();
  line.flag("--recompute_grad", flags.recompute_grad,
            "Compute each layer again for its gradient: less memory, more time");
  line.option("--continue_for", flags.continue_for, "Bytes to write at the end").show_default();
  line.on_run([&flags] { train(flags); });
  return line.run(argc, argv);
}
