// Loops over arrays larger than any cache, run by a Session. The limit is a hand-written loop over
// as many arrays of the same size, on all threads, with non-temporal stores.
#include <fmt/core.h>

#include <map>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/figures.h"
#include "systole/base/thread_pool.h"
#include "systole/systole.h"

namespace bench {
namespace {

constexpr int64_t kArrayBytes = int64_t{256} << 20;
constexpr int64_t kRows = 65536;
constexpr int64_t kColumns = 1024;  // of f32

// Returns an array of numbers between 0 and 1 whose pages are resident.
const st::Tensor& input(st::DType dtype, int number) {
  static std::map<std::pair<st::DType, int>, st::Tensor> arrays;
  st::Tensor& array = arrays[{dtype, number}];
  if (array.valid()) return array;
  const int64_t count = kArrayBytes / st::size_of(dtype);
  st::Tensor pattern(st::DType::f32, {count});
  const auto elements = pattern.data<float>();
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] =
        static_cast<float>((i * 2654435761U + static_cast<size_t>(number)) >> 8 & 0xffff) / 65536;
  }
  return array = pattern.cast(dtype);
}

// -- The limit

// Writes the sum of the arrays in `reads` to each array in `writes`.
struct Streams {
  const float* from[4];
  float* to[2];
};

#if defined(__x86_64__)

template <int kReads, int kWrites>
__attribute__((target("avx512f"))) float stream_wide(const Streams& s, int64_t begin, int64_t end) {
  __m512 totals[4] = {};
  for (int64_t i = begin; i < end; i += 64) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 4
      for (int k = 0; k < kReads; ++k)
        sum = _mm512_add_ps(sum, _mm512_load_ps(s.from[k] + i + 16 * part));
#pragma GCC unroll 2
      for (int k = 0; k < kWrites; ++k) _mm512_stream_ps(s.to[k] + i + 16 * part, sum);
      if (kWrites == 0) totals[part] = _mm512_add_ps(totals[part], sum);
    }
  }
  _mm_sfence();
  return _mm512_reduce_add_ps(totals[0] + totals[1] + totals[2] + totals[3]);
}

#endif

template <int kReads, int kWrites>
float stream(const Streams& s, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return stream_wide<kReads, kWrites>(s, begin, end);
#endif
  float total = 0;
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int k = 0; k < kReads; ++k) sum += s.from[k][i];
    for (int k = 0; k < kWrites; ++k) s.to[k][i] = sum;
    total += kWrites == 0 ? sum : 0;
  }
  return total;
}

using Stream = float (*)(const Streams&, int64_t, int64_t);
Stream stream_of(int reads, int writes) {
  static constexpr Stream kTable[5][2] = {{nullptr, stream<0, 1>},
                                          {stream<1, 0>, stream<1, 1>},
                                          {stream<2, 0>, stream<2, 1>},
                                          {stream<3, 0>, stream<3, 1>},
                                          {stream<4, 0>, stream<4, 1>}};
  return kTable[reads][writes];
}

// The limit of a row: reads and writes whole arrays of `bytes` once.
struct Floor {
  int reads = 1;
  int writes = 1;
  int64_t bytes = kArrayBytes;

  double gigabytes() const {
    return static_cast<double>(reads + writes) * static_cast<double>(bytes) * 1e-9;
  }
};

void by_hand(benchmark::State& state, const Floor& floor) {
  static st::Tensor target = st::Tensor::zeros(st::DType::f32, {kArrayBytes / 4});
  Streams streams{};
  for (int k = 0; k < 4; ++k) streams.from[k] = input(st::DType::f32, k % 3).data<float>().data();
  streams.to[0] = target.data<float>().data();
  const Stream run = stream_of(floor.reads, floor.writes);
  constexpr int64_t kPage = 1024;
  for (auto _ : state) {
    st::ThreadPool::global().parallel_for(
        floor.bytes / 4 / kPage, 1, [&](int64_t begin, int64_t end) {
          benchmark::DoNotOptimize(run(streams, begin * kPage, end * kPage));
        });
  }
}

// -- Ours

// Builds the fetches from placeholders with the types and shapes of the inputs.
struct Program {
  std::string name;
  Floor floor;
  std::vector<st::TensorType> inputs;
  std::function<std::vector<st::Output>(const std::vector<st::Output>&)> build;
};

st::Tensor argument(const st::TensorType& type, size_t number) {
  const st::Tensor& array = input(type.dtype, static_cast<int>(number));
  const int64_t count = type.shape.num_elements();
  return (count == array.num_elements() ? array : array.slice(0, count)).reshape(type.shape);
}

void compiled(benchmark::State& state, const Program& program) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  std::vector<st::Output> placeholders;
  std::vector<st::Tensor> arguments;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    placeholders.push_back(st::placeholder(program.inputs[i].dtype, program.inputs[i].shape));
    arguments.push_back(argument(program.inputs[i], i));
  }
  const auto outputs = program.build(placeholders);
  st::Session session("", {.graph = &graph});
  auto run = session.make_callable({outputs.begin(), outputs.end()}, placeholders);
  run(arguments);  // compiles and makes the pages of the results resident
  for (auto _ : state) run(arguments);
}

using Outputs = std::vector<st::Output>;

const st::TensorType kMatrix = {st::DType::f32, {kRows, kColumns}};
const st::TensorType kNarrow = {st::DType::bf16, {kRows, 2 * kColumns}};
const st::TensorType kRow = {st::DType::f32, {kColumns}};

std::vector<Program> elementwise() {
  const st::TensorType flat = {st::DType::f32, {kRows * kColumns}};
  const st::TensorType flat_narrow = {st::DType::bf16, {2 * kRows * kColumns}};
  return {
      {"map1", {1, 1}, {flat}, [](const Outputs& x) { return Outputs{x[0] * 2.0F + 1.0F}; }},
      {"map2", {2, 1}, {flat, flat}, [](const Outputs& x) { return Outputs{x[0] * 2.0F + x[1]}; }},
      {"map3",
       {3, 1},
       {flat, flat, flat},
       [](const Outputs& x) { return Outputs{x[0] * x[1] + x[2]}; }},
      {"map2.bf16",
       {2, 1},
       {flat_narrow, flat_narrow},
       [](const Outputs& x) { return Outputs{x[0] * x[1] + x[0]}; }},
      {"exp", {1, 1}, {flat}, [](const Outputs& x) { return Outputs{st::exp(x[0])}; }},
      {"tanh", {1, 1}, {flat}, [](const Outputs& x) { return Outputs{st::tanh(x[0])}; }},
      {"bias",
       {1, 1},
       {kMatrix, kRow},
       [](const Outputs& x) { return Outputs{st::relu(x[0] + x[1])}; }},
      {"dropout",
       {1, 1},
       {kMatrix},
       [](const Outputs& x) { return Outputs{st::dropout(x[0], 0.75F)}; }},
  };
}

std::vector<Program> reductions() {
  const st::TensorType cube = {st::DType::f32, {256, 256, kColumns}};
  return {
      {"sum", {1, 0}, {kMatrix}, [](const Outputs& x) { return Outputs{st::reduce_sum(x[0])}; }},
      {"max", {1, 0}, {kMatrix}, [](const Outputs& x) { return Outputs{st::reduce_max(x[0])}; }},
      {"sum.bf16",
       {1, 0},
       {kNarrow},
       [](const Outputs& x) { return Outputs{st::reduce_sum(x[0])}; }},
      {"squared_error",
       {2, 0},
       {kMatrix, kMatrix},
       [](const Outputs& x) { return Outputs{st::reduce_sum(st::square(x[0] - x[1]))}; }},
      {"sum.rows",
       {1, 0},
       {kMatrix},
       [](const Outputs& x) { return Outputs{st::reduce_sum(x[0], {.axis = {1}})}; }},
      {"sum.columns",
       {1, 0},
       {kMatrix},
       [](const Outputs& x) { return Outputs{st::reduce_sum(x[0], {.axis = {0}})}; }},
      {"sum.middle",
       {1, 0},
       {cube},
       [](const Outputs& x) { return Outputs{st::reduce_sum(x[0], {.axis = {1}})}; }},
      {"moments.columns",
       {1, 0},
       {kMatrix},
       [](const Outputs& x) {
         const st::Output mean = st::reduce_mean(x[0], {.axis = {0}});
         const st::Output square = st::reduce_mean(st::square(x[0]), {.axis = {0}});
         return Outputs{mean, square - st::square(mean)};
       }},
      {"argmax.rows",
       {1, 0},
       {kMatrix},
       [](const Outputs& x) {
         return Outputs{st::argmax(x[0], {.axis = 1, .output_type = st::DType::s32})};
       }},
  };
}

st::Output layer_norm(const st::Output& x, const st::Output& scale, const st::Output& offset) {
  const st::Output mean = st::reduce_mean(x, {.axis = {-1}, .keepdims = true});
  const st::Output variance =
      st::reduce_mean(st::square(x - mean), {.axis = {-1}, .keepdims = true});
  return (x - mean) * st::rsqrt(variance + 1e-5F) * scale + offset;
}

// The limit takes two passes: the first reads all, the second reads all again and writes the
// result.
std::vector<Program> rows() {
  return {
      {"softmax", {2, 1}, {kMatrix}, [](const Outputs& x) { return Outputs{st::softmax(x[0])}; }},
      {"softmax.gradient",
       {4, 1},
       {kMatrix, kMatrix},
       [](const Outputs& x) {
         return st::gradients({st::softmax(x[0])}, {x[0]}, {.grad_ys = {x[1]}});
       }},
      {"layer_norm",
       {2, 1},
       {kMatrix, kRow, kRow},
       [](const Outputs& x) { return Outputs{layer_norm(x[0], x[1], x[2])}; }},
      {"layer_norm.gradient",
       {4, 1},
       {kMatrix, kRow, kRow, kMatrix},
       [](const Outputs& x) {
         return st::gradients({layer_norm(x[0], x[1], x[2])}, {x[0], x[1], x[2]},
                              {.grad_ys = {x[3]}});
       }},
  };
}

std::vector<Program> transposes() {
  const st::TensorType square = {st::DType::f32, {8192, 8192}};
  const st::TensorType heads = {st::DType::f32, {64, 1024, 16, 64}};
  const st::TensorType images = {st::DType::f32, {64, 64, 128, 128}};
  const st::TensorType narrow = {st::DType::f32, {kRows * kColumns / 3, 3}};
  return {
      {"transpose",
       {1, 1},
       {square},
       [](const Outputs& x) { return Outputs{st::transpose(x[0])}; }},
      {"transpose.heads",
       {1, 1},
       {heads},
       [](const Outputs& x) {
         return Outputs{st::transpose(x[0], {.perm = {0, 2, 1, 3}})};
       }},
      {"transpose.bf16",
       {1, 1},
       {{st::DType::bf16, {8192, 16384}}},
       [](const Outputs& x) { return Outputs{st::transpose(x[0])}; }},
      {"transpose.channels",
       {1, 1},
       {images},
       [](const Outputs& x) {
         return Outputs{st::transpose(x[0], {.perm = {0, 2, 3, 1}})};
       }},
      {"transpose.narrow",
       {1, 1},
       {narrow},
       [](const Outputs& x) { return Outputs{st::transpose(x[0])}; }},
  };
}

std::vector<Program> conversions() {
  const st::TensorType wide = {st::DType::f32, {kRows * kColumns}};
  const st::TensorType bf16 = {st::DType::bf16, {kRows * kColumns}};
  // Three quarters of what is moved when an array is copied.
  const Floor converted = {1, 1, kArrayBytes / 4 * 3};
  return {
      {"convert.to_bf16",
       converted,
       {wide},
       [](const Outputs& x) { return Outputs{st::cast(x[0], st::DType::bf16)}; }},
      {"convert.from_bf16",
       converted,
       {bf16},
       [](const Outputs& x) { return Outputs{st::cast(x[0], st::DType::f32)}; }},
      {"convert.to_s32",
       {1, 1},
       {wide},
       [](const Outputs& x) { return Outputs{st::cast(x[0], st::DType::s32)}; }},
  };
}

std::vector<Program> copies() {
  const st::TensorType half = {st::DType::f32, {kRows, kColumns / 2}};
  const st::TensorType short_rows = {st::DType::f32, {kRows * kColumns / 16, 8}};
  const auto fraction = [](int64_t of_columns) {
    return Floor{1, 1, kArrayBytes / kColumns * of_columns};
  };
  return {
      {"concat",
       {1, 1},
       {half, half},
       [](const Outputs& x) {
         return Outputs{st::concat({x[0], x[1]}, 1)};
       }},
      {"concat.short",
       {1, 1},
       {short_rows, short_rows},
       [](const Outputs& x) {
         return Outputs{st::concat({x[0], x[1]}, 1)};
       }},
      {"slice",
       fraction(896),
       {kMatrix},
       [](const Outputs& x) {
         return Outputs{st::slice(x[0], {0, 64}, {kRows, 896})};
       }},
      {"pad",
       fraction(512 + 16),
       {half},
       [](const Outputs& x) {
         return Outputs{st::pad(x[0], {{0, 0}, {16, 16}})};
       }},
      {"pad.image",
       {1, 1},
       {{st::DType::f32, {64, 126, 126, 64}}},
       [](const Outputs& x) {
         return Outputs{st::pad(x[0], {{0, 0}, {1, 1}, {1, 1}, {0, 0}})};
       }},
  };
}

}  // namespace

void add_bandwidth_figures() {
  for (const auto& family :
       {elementwise(), reductions(), rows(), transposes(), conversions(), copies()}) {
    for (const Program& program : family) {
      add({.name = "bandwidth." + program.name,
           .unit = "GB/s",
           .work = program.floor.gigabytes(),
           .ours = [program](benchmark::State& state) { compiled(state, program); },
           .limit = [floor = program.floor](benchmark::State& state) { by_hand(state, floor); }});
    }
  }
}

}  // namespace bench
