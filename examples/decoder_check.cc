// How much memory of a TPU's core bfloat16_scope and recompute_grad save a decoder of 12 layers
// (GPT-2's small one), before anything runs: by our model, and with --compile by Google's compiler.
// docs/prediction.md has the figures.
#include <cmath>

#include "systole/base/command_line.h"
#include "systole/systole.h"

namespace {

struct Flags {
  int64_t layers = 12;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t length = 512;
  int64_t vocabulary = 8192;
  int64_t batch_size = 8;
  std::string tpu = "v3-8";
  bool compile = false;
  std::string tpu_library;
};

st::Output normalized(const st::Output& x) {
  return st::layers::layer_norm(x, {.begin_norm_axis = -1});
}

// [batch, length, width] -> [batch, heads, length, width / heads]
st::Output heads_of(const st::Output& x, const Flags& flags) {
  const int64_t depth = flags.width / flags.heads;
  return st::transpose(st::reshape(x, {flags.batch_size, flags.length, flags.heads, depth}),
                       {0, 2, 1, 3});
}

// Each position looks at itself and those before it.
st::Output attention(const st::Output& x, const Flags& flags) {
  const st::Output q = heads_of(st::layers::dense(x, flags.width), flags);
  const st::Output k = heads_of(st::layers::dense(x, flags.width), flags);
  const st::Output v = heads_of(st::layers::dense(x, flags.width), flags);
  const st::Output place = st::range(flags.length);
  const st::Output later = st::less(st::expand_dims(place, 1), st::expand_dims(place, 0));
  const double depth = static_cast<double>(flags.width) / static_cast<double>(flags.heads);
  const st::Output scores =
      st::matmul(q, k, {.transpose_b = true}) / st::constant(std::sqrt(depth), x.dtype());
  const st::Output weights =
      st::nn::softmax(scores + st::constant(-1e9, x.dtype()) * st::cast(later, x.dtype()));
  const st::Output heads = st::transpose(st::matmul(weights, v), {0, 2, 1, 3});
  return st::layers::dense(st::reshape(heads, {flags.batch_size, flags.length, flags.width}),
                           flags.width);
}

st::Output block(const st::Output& x, const Flags& flags) {
  const st::Output seen = x + attention(normalized(x), flags);
  const st::Output hidden = st::layers::dense(normalized(seen), 4 * flags.width, st::nn::gelu);
  return seen + st::layers::dense(hidden, flags.width);
}

// [batch, length] -> [batch, length, vocabulary]
st::Output decoder(const st::Output& tokens, bool recompute, st::DType dtype, const Flags& flags) {
  const st::Variable table = st::get_variable("table", {flags.vocabulary, flags.width});
  const st::Variable places = st::get_variable("places", {flags.length, flags.width});
  st::Output x = st::cast(st::nn::embedding_lookup(table, tokens) + places, dtype);
  for (int64_t i = 0; i < flags.layers; ++i) {
    const st::VariableScope scope("layer_" + std::to_string(i));
    const auto of_layer = [&](const st::Output& in) { return block(in, flags); };
    x = recompute ? st::recompute_grad(of_layer)(x) : of_layer(x);
  }
  return st::layers::dense(normalized(x), flags.vocabulary);
}

st::CheckReport check(bool bfloat16, bool recompute, const Flags& flags) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const auto tokens = st::placeholder(st::int32, {flags.batch_size, flags.length}, "tokens");
  const auto next = st::placeholder(st::int32, {flags.batch_size, flags.length}, "next");
  st::Output logits;
  if (bfloat16) {
    const st::Bfloat16Scope rounded;
    logits = st::cast(decoder(tokens, recompute, st::DType::bf16, flags), st::float32);
  } else {
    logits = decoder(tokens, recompute, st::float32, flags);
  }
  const auto loss = st::losses::sparse_softmax_cross_entropy(next, logits);
  const auto train = st::train::AdamOptimizer(1e-4).minimize(loss);
  if (flags.compile)
    return st::check_run({train, loss}, {},
                         {.compile = flags.tpu, .tpu_library = flags.tpu_library});
  return st::check_run({train, loss});
}

void run(const Flags& flags) {
  for (const bool bfloat16 : {false, true}) {
    for (const bool recompute : {false, true}) {
      const st::CheckReport report = check(bfloat16, recompute, flags);
      constexpr double kMegabyte = 1e6;
      std::printf("%s%s: variables %.0f MB, a step %.0f MB",
                  bfloat16 ? "bfloat16_scope" : "float32", recompute ? ", recompute_grad" : "",
                  static_cast<double>(report.memory.variables) / kMegabyte,
                  static_cast<double>(report.memory.step) / kMegabyte);
      if (report.compiled) {
        std::printf("; libtpu: arguments %.0f MB, temporaries %.0f MB, %.0f ms, %s",
                    static_cast<double>(report.compiled->arguments) / kMegabyte,
                    static_cast<double>(report.compiled->temporaries) / kMegabyte,
                    1e3 * report.compiled->seconds(), report.compiled->message.c_str());
        std::printf("; ours %.0f ms", 1e3 * report.estimate->seconds);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  st::CommandLine line("decoder_check", "Tells the memory of a decoder's training step on a TPU.");
  Flags flags;
  line.option("--layers", flags.layers, "Layers").show_default().positive();
  line.option("--width", flags.width, "Features of a position").show_default().positive();
  line.option("--heads", flags.heads, "Heads of attention").show_default().positive();
  line.option("--length", flags.length, "Tokens of a sequence").show_default().positive();
  line.option("--vocabulary", flags.vocabulary, "Tokens that there are").show_default().positive();
  line.option("--batch_size", flags.batch_size, "Sequences of a core").show_default().positive();
  line.option("--tpu", flags.tpu, "The TPU of --compile").value_name("TPU").show_default();
  line.flag("--compile", flags.compile, "Asks Google's compiler too");
  line.option("--tpu_library", flags.tpu_library, "Its libtpu.so").value_name("FILE");
  line.on_run([&] { run(flags); });
  return line.run(argc, argv);
}
