// The threads that programs run on: their number, their floating-point mode, after a fork.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "systole/backends/cpu/kernels/flush_denormals.h"
#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/base/testing/sanitized.h"
#include "systole/stablehlo/text/text.h"

extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned num_threads,
                              unsigned flags);

namespace systole::cpu {
namespace {

Tensor full(const Shape& shape, float value) { return Tensor::full(DType::f32, shape, value); }

// Whether all elements are this one.
bool all_are(const Tensor& tensor, float value) {
  return std::ranges::all_of(tensor.data<float>(), [&](float x) { return x == value; });
}

std::unique_ptr<hlo::Module> products(int64_t rows) {
  return hlo::parse(fmt::format(R"(
    func.func public @main(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>) -> tensor<{0}xf32> {{
      %r = stablehlo.multiply %a, %b : tensor<{0}xf32>
      return %r : tensor<{0}xf32>
    }})",
                                rows));
}

std::unique_ptr<hlo::Module> matrix_product(int64_t m, int64_t k, int64_t n) {
  return hlo::parse(fmt::format(R"(
    func.func public @main(%a: tensor<{0}x{1}xf32>, %b: tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32> {{
      %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32>
      return %r : tensor<{0}x{2}xf32>
    }})",
                                m, k, n));
}

TEST(Denormals, AreZeroOnAllThreads) {
  const int64_t n = int64_t{1} << 20;
  ASSERT_EQ(floating_point_mode() & kFlushDenormals, 0U);
  for (const bool optimize : {false, true}) {
    const runtime::CompileOptions options = {.optimize = optimize, .num_threads = 4};
    EXPECT_TRUE(all_are(
        testing::run(*products(n), {{full({n}, 1e-20F), full({n}, 1e-20F)}}, options)[0], 0));
    EXPECT_TRUE(all_are(
        testing::run(*products(n), {{full({n}, 1e-39F), full({n}, 1e20F)}}, options)[0], 0));
    EXPECT_EQ(floating_point_mode() & kFlushDenormals, 0U) << "the caller's mode";
  }
}

// The terms are denormal, their sum would not be.
TEST(Denormals, AreZeroInLibraryProducts) {
  const auto module = matrix_product(256, 4096, 256);
  const std::vector<Tensor> arguments = {full({256, 4096}, 1e-25F), full({4096, 256}, 1e-15F)};
  for (const int threads : {1, 2, 4}) {
    EXPECT_TRUE(all_are(testing::run(*module, arguments, {.num_threads = threads})[0], 0));
  }
}

// Adam's moment of a weight without gradient. Without flushing it stays at the least denormal.
TEST(Denormals, MomentsDecayToZero) {
  const auto module = hlo::parse(R"(
    func.func public @main(%m: tensor<1000xf32>) -> tensor<1000xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %limit = stablehlo.constant dense<2000> : tensor<i32>
      %beta = stablehlo.constant dense<0.9> : tensor<1000xf32>
      %r:2 = stablehlo.while(%i = %zero, %now = %m) : tensor<i32>, tensor<1000xf32>
        cond {
          %more = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %next = stablehlo.add %i, %one : tensor<i32>
          %less = stablehlo.multiply %now, %beta : tensor<1000xf32>
          stablehlo.return %next, %less : tensor<i32>, tensor<1000xf32>
        }
      return %r#1 : tensor<1000xf32>
    })");
  for (const int threads : {1, 4}) {
    EXPECT_TRUE(
        all_are(testing::run(*module, {{full({1000}, 1)}}, {.num_threads = threads})[0], 0));
  }
}

TEST(Openmp, ThreadsOfTheCallerKeepTheirNumberAndMode) {
  omp_set_num_threads(3);
  testing::run(*matrix_product(256, 256, 256), {{full({256, 256}, 1), full({256, 256}, 1)}},
               {.num_threads = 4});
  EXPECT_EQ(omp_get_max_threads(), 3);
  std::array<std::atomic<bool>, 4> sees_denormals{};
  GOMP_parallel(
      [](void* data) {
        volatile float x = 1e-39F;
        auto& sees = *static_cast<std::array<std::atomic<bool>, 4>*>(data);
        sees[omp_get_thread_num()] = x * 0.5F > 0;
      },
      &sees_denormals, 4, 0);
  for (const auto& sees : sees_denormals) EXPECT_TRUE(sees);
}

// OpenMP's and the pool's threads do not exist in a forked process.
TEST(Fork, ChildRunsPrograms) {
  if (systole::testing::kThreadSanitized)
    GTEST_SKIP() << "the thread sanitizer ends a forked process that starts threads";
  const auto module = matrix_product(256, 256, 256);
  const std::vector<Tensor> arguments = {full({256, 256}, 1), full({256, 256}, 2)};
  const auto executable = testing::client().compile(*module, {.num_threads = 4});
  const auto works = [&] {
    const std::vector<runtime::Argument> inputs = {{.host = &arguments[0]},
                                                   {.host = &arguments[1]}};
    Tensor output;
    const std::vector<runtime::Result> results = {{.host = &output}};
    executable->execute(inputs, results).wait();
    return all_are(output, 512) &&
           all_are(testing::run(*products(1 << 20), {{full({1 << 20}, 2), full({1 << 20}, 3)}})[0],
                   6);
  };
  ASSERT_TRUE(works());
  const pid_t child = fork();
  if (child == 0) _exit(works() ? 0 : 1);
  ASSERT_GT(child, 0);
  int status = -1;
  pid_t ended = 0;
  for (int i = 0; i < 6000 && ended == 0; ++i) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  EXPECT_EQ(ended, child) << "hangs";
  EXPECT_EQ(status, 0);
}

// A child runs an endless loop; only a signal ends it.
TEST(ControlFlow, EndlessLoopsEndBySignalsAlone) {
  const auto module = hlo::parse(R"(
    func.func public @main() -> tensor<i32> {
      %seven = stablehlo.constant dense<7> : tensor<i32>
      %true = stablehlo.constant dense<true> : tensor<i1>
      %r = stablehlo.while(%i = %seven) : tensor<i32>
        cond {
          stablehlo.return %true : tensor<i1>
        } do {
          stablehlo.return %i : tensor<i32>
        }
      return %r : tensor<i32>
    })");
  const auto executable = testing::client().compile(*module);
  const pid_t child = fork();
  if (child == 0) {
    alarm(1);
    Tensor output;
    const std::vector<runtime::Result> results = {{.host = &output}};
    executable->execute({}, results).wait();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << status;
}

// [k,m] by [k,n], as in the gradient of a dense layer's weights.
std::unique_ptr<hlo::Module> product_of_columns(int64_t m, int64_t k, int64_t n) {
  return hlo::parse(fmt::format(R"(
    func.func public @main(%a: tensor<{1}x{0}xf32>, %b: tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32> {{
      %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<{1}x{0}xf32>, tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32>
      return %r : tensor<{0}x{2}xf32>
    }})",
                                m, k, n));
}

// Products with few rows and columns have long sums.
TEST(Products, DoNotDependOnTheNumberOfThreads) {
  RandomStream random(81);
  struct Sizes {
    int64_t m, k, n;
  };
  for (const auto [m, k, n] :
       {Sizes{1, 50000, 64}, Sizes{4, 100000, 4}, Sizes{16, 30000, 16}, Sizes{32, 8192, 10},
        Sizes{64, 20000, 64}, Sizes{128, 784, 1024}, Sizes{784, 1024, 128}, Sizes{10, 1024, 1024},
        Sizes{250, 3000, 130}, Sizes{256, 256, 256}, Sizes{64, 256, 400}, Sizes{384, 1024, 384}}) {
    for (const bool columns : {false, true}) {
      const auto module = columns ? product_of_columns(m, k, n) : matrix_product(m, k, n);
      const Shape lhs = columns ? Shape{k, m} : Shape{m, k};
      const std::vector<Tensor> arguments = {
          testing::random_tensor(random, {DType::f32, lhs}, -1, 1),
          testing::random_tensor(random, {DType::f32, {k, n}}, -1, 1)};
      const Tensor want = testing::run(*module, arguments, {.num_threads = 1})[0];
      for (const int threads : {2, 3, 4, 8}) {
        const Tensor got = testing::run(*module, arguments, {.num_threads = threads})[0];
        EXPECT_TRUE(got.identical(want)) << testing::words(m, k, n, columns, threads, "threads");
      }
    }
  }
}

}  // namespace
}  // namespace systole::cpu
