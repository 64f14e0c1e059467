#include "systole/profile/prediction/machine.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "systole/base/tensor.h"

namespace systole::profile {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Enough independent chains to cover the latency of a multiply-add on two ports, and no more than
// there are registers: 32 with AVX-512, 16 without.
constexpr int kWideChains = 16;
constexpr int kNarrowChains = 12;
constexpr int64_t kRounds = 1 << 16;
constexpr int64_t kAmxRounds = 1 << 12;

// Keeps the compiler from knowing or dropping a value.
template <class T>
void opaque(T& value) {
#ifdef __clang__
  // clang wants the instruction set of "v" from this template, which only its callers have.
  asm volatile("" : "+m"(value));
#else
  asm volatile("" : "+v"(value));
#endif
}

// Chains that begin alike stay apart, each in a register: loops over them must be unrolled.
template <class T, size_t kCount>
[[gnu::always_inline]] inline void opaque_all(T (&chains)[kCount]) {
#pragma GCC unroll 16
  for (T& chain : chains) opaque(chain);
}

template <class T>
using Wide [[gnu::vector_size(64)]] = T;
template <class T>
using Narrow [[gnu::vector_size(32)]] = T;

// s * x + x
[[gnu::target("avx512f")]] inline __m512 multiply_add(__m512 s, __m512 x) {
  return _mm512_fmadd_ps(s, x, x);
}
[[gnu::target("avx512f")]] inline __m512d multiply_add(__m512d s, __m512d x) {
  return _mm512_fmadd_pd(s, x, x);
}
[[gnu::target("avx2,fma")]] inline __m256 multiply_add(__m256 s, __m256 x) {
  return _mm256_fmadd_ps(s, x, x);
}
[[gnu::target("avx2,fma")]] inline __m256d multiply_add(__m256d s, __m256d x) {
  return _mm256_fmadd_pd(s, x, x);
}

// A function's instruction set is no template argument, so that each has a loop of its own.
template <class T>
[[gnu::target("avx512f")]] void fma_avx512() {
  using Vector = Wide<T>;
  Vector sum[kWideChains] = {};
  Vector x = Vector{} + T(0.999);
  opaque(x);
  opaque_all(sum);
  for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 16
    for (Vector& s : sum) s = multiply_add(s, x);
  }
  opaque_all(sum);
}

[[gnu::target("avx512f,avx512bf16")]] void fma_bf16_avx512() {
  __m512 sum[kWideChains] = {};
  auto x = (__m512bh)_mm512_set1_epi32(0x3f7f3f7f);
  opaque_all(sum);
  for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 16
    for (__m512& s : sum) s = _mm512_dpbf16_ps(s, x, x);
  }
  opaque_all(sum);
}

// Matrix products of bf16 in tiles (AMX): what oneDNN uses where there is AMX. Each instruction
// multiplies 16 x 32 by 32 x 16 elements. Four sums cover its latency.
[[gnu::target("amx-tile,amx-bf16")]] void fma_bf16_amx() {
  struct alignas(64) TileConfig {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (int64_t i = 0; i < kAmxRounds; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_release();
}

// Whether the CPU has AMX for bf16 and the kernel lets this process use it.
bool can_use_amx_bf16() {
  constexpr unsigned kTiles = 1U << 24U;
  constexpr unsigned kBf16 = 1U << 22U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kTiles) == 0 || (d & kBf16) == 0) return false;
  constexpr long kAskForComponent = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the system's own interface
  return ::syscall(SYS_arch_prctl, kAskForComponent, kTileData) == 0;
}

template <class T>
[[gnu::target("avx2,fma")]] void fma_avx2() {
  using Vector = Narrow<T>;
  Vector sum[kNarrowChains] = {};
  Vector x = Vector{} + T(0.999);
  opaque(x);
  opaque_all(sum);
  for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 16
    for (Vector& s : sum) s = multiply_add(s, x);
  }
  opaque_all(sum);
}

struct PeakLoop {
  void (*run)() = nullptr;
  double flops = 0;  // of one call
};

PeakLoop peak_loop(DType dtype) {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  const bool narrow = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const auto flops = [](int chains, int lanes) { return 2.0 * kRounds * chains * lanes; };
  switch (dtype) {
    case DType::f32:
      if (wide) return {fma_avx512<float>, flops(kWideChains, 16)};
      return narrow ? PeakLoop{fma_avx2<float>, flops(kNarrowChains, 8)} : PeakLoop{};
    case DType::f64:
      if (wide) return {fma_avx512<double>, flops(kWideChains, 8)};
      return narrow ? PeakLoop{fma_avx2<double>, flops(kNarrowChains, 4)} : PeakLoop{};
    case DType::bf16:
      if (can_use_amx_bf16()) return {fma_bf16_amx, 2.0 * kAmxRounds * 4 * 16 * 16 * 32};
      return __builtin_cpu_supports("avx512bf16") != 0
                 ? PeakLoop{fma_bf16_avx512, flops(kWideChains, 32)}
                 : PeakLoop{};
    default:
      return {};
  }
}

// Seconds until all of `threads` calls of body(thread) have ended.
double time_together(int threads, const std::function<void(int)>& body) {
  const auto start = Clock::now();
  std::vector<std::jthread> others;  // join if one cannot be started
  for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
  body(0);
  for (std::jthread& thread : others) thread.join();
  return seconds_since(start);
}

}  // namespace

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

std::vector<std::string> cpu_extensions() {
  std::vector<std::string> names;
  const auto add = [&](bool present, const char* name) {
    if (present) names.emplace_back(name);
  };
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512vnni") != 0, "avx512_vnni");
  add(__builtin_cpu_supports("avx512bf16") != 0, "avx512_bf16");
  add(can_use_amx_bf16(), "amx_bf16");
  return names;
}

int num_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

std::optional<double> measure_peak_flops(DType dtype, int threads) {
  const PeakLoop loop = peak_loop(dtype);
  if (loop.run == nullptr) return std::nullopt;
  constexpr int kCalls = 32;  // long against the start of a thread
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const double seconds = time_together(threads, [&](int) {
      for (int i = 0; i < kCalls; ++i) loop.run();
    });
    best = std::max(best, loop.flops * kCalls * threads / seconds);
  }
  return best;
}

double measure_triad_bandwidth(int64_t bytes, int threads) {
  const auto n = static_cast<int64_t>(bytes / static_cast<int64_t>(sizeof(float)));
  Tensor a = Tensor::full(DType::f32, {n}, 0);
  const Tensor b = Tensor::full(DType::f32, {n}, 1);
  const Tensor c = Tensor::full(DType::f32, {n}, 2);
  float* const out = a.data<float>().data();
  const float* const x = b.data<float>().data();
  const float* const y = c.data<float>().data();
  double best = 0;
  // Arrays that fit into caches are passed over often, so that the start of the threads is short.
  constexpr int64_t kBytesOfRound = int64_t{64} << 20;
  const int64_t passes = std::max<int64_t>(kBytesOfRound / std::max<int64_t>(bytes, 1), 1);
  for (int round = 0; round < 5; ++round) {
    const double seconds = time_together(threads, [&](int t) {
      const int64_t end = n * (t + 1) / threads;
      for (int64_t pass = 0; pass < passes; ++pass) {
        for (int64_t i = n * t / threads; i < end; ++i) out[i] = x[i] + 3.0F * y[i];
        asm volatile("" ::: "memory");
      }
    });
    best = std::max(best, 3.0 * static_cast<double>(bytes * passes) / seconds);
  }
  return best;
}

}  // namespace systole::profile
