// The time that the PJRT API adds to a call: from the pjrt backend through Systole's plugin to the
// cpu backend, beside the cpu backend itself.
#include <algorithm>
#include <chrono>
#include <memory>

#include "bench/figures.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace bench {
namespace {

constexpr const char* kStep = R"(
func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>)
    -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
})";

// A step that updates a variable in place.
class Step {
 public:
  explicit Step(const char* backend)
      : client_(systole::runtime::client(backend)),
        program_(client_.compile(*systole::hlo::parse(kStep))),
        x_(client_.buffer_from_host(systole::Tensor::zeros(systole::DType::f32, {4}))),
        y_(client_.buffer_from_host(systole::Tensor::full(systole::DType::f32, {4}, 1))) {}

  double seconds(int runs) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) {
      program_->execute({{{.buffer = x_.get(), .donate = true}, {.buffer = y_.get()}}}, {{{}}})
          .wait();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  systole::runtime::Client& client_;
  std::unique_ptr<systole::runtime::Executable> program_;
  std::unique_ptr<systole::runtime::Buffer> x_;
  std::unique_ptr<systole::runtime::Buffer> y_;
};

}  // namespace

void add_plugin_figures() {
  constexpr int kRuns = 1000;
  add({.name = "plugin.overhead",
       .unit = "us",
       .per = kRuns,
       .ours =
           [](benchmark::State& state) {
             Step plugin("pjrt:systole");
             Step cpu("cpu");
             plugin.seconds(kRuns);
             cpu.seconds(kRuns);
             for (auto _ : state) {
               state.SetIterationTime(std::max(plugin.seconds(kRuns) - cpu.seconds(kRuns), 1e-9));
             }
           },
       .manual_time = true});
}

}  // namespace bench
