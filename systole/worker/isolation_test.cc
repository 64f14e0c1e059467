// Sessions whose operations run in processes of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/testing/processes.h"
#include "systole/worker/testing/proxy.h"
#include "systole/worker/worker_status.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;
using testing::Proxy;
using testing::session_processes;
using ::testing::StartsWith;

constexpr const char* kEndless = R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.while(%v = %x) : tensor<f32>
    cond {
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %n = stablehlo.add %v, %v : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }
  return %y : tensor<f32>
})";

// A sort in memory: 96 MiB of temporaries.
constexpr const char* kTemporaries = R"(func.func @main(%x: tensor<4194304xf32>) -> tensor<f32> {
  %s = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4194304xf32>) -> tensor<4194304xf32>
  %e = stablehlo.slice %s [7:8] : (tensor<4194304xf32>) -> tensor<1xf32>
  %r = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
  return %r : tensor<f32>
})";

std::unique_ptr<hlo::Module> program(const std::string& text) {
  return std::move(hlo::read_modules(text, "test").front());
}

std::string negate(int64_t size) {
  return fmt::format(
      "func.func @main(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{\n  %y = stablehlo.negate %x : "
      "tensor<{0}xf32>\n  return %y : tensor<{0}xf32>\n}}\n",
      size);
}

WorkerOptions isolated_options() {
  return {.listen = "127.0.0.1:0",
          .lease_seconds = 1,
          .stall_seconds = 10,
          .processes = &session_processes()};
}

std::unique_ptr<WorkerServer> serve(const WorkerOptions& options = isolated_options()) {
  return std::make_unique<WorkerServer>(runtime::client("cpu"), options);
}

runtime::Client& client_of(const std::string& address) {
  return runtime::client("remote", {{"address", address},
                                    {"reconnect_seconds", 1.0},
                                    {"silence_seconds", 2.0},
                                    {"lease_seconds", 1.0}});
}

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// The processes that the template has forked.
std::vector<pid_t> processes_of_sessions() {
  const pid_t parent = session_processes().process();
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent));
  std::vector<pid_t> found;
  for (pid_t process = 0; file >> process;) found.push_back(process);
  return found;
}

void expect_works(runtime::Client& client) {
  const auto executable = client.compile(*program(negate(3)));
  const Tensor x = Tensor::of<float>({3}, {1, 2, 3});
  EXPECT_EQ(runtime::run(*executable, {&x, 1})[0].to_string(), "f32[3] {-1, -2, -3}");
}

TEST(Isolation, CarriesArraysOfAllSizes) {
  const auto worker = serve();
  runtime::Client& client = client_of(worker->address());
  for (const int64_t size :
       {int64_t{0}, int64_t{1}, int64_t{16384}, int64_t{16385}, int64_t{3'000'000}}) {
    const auto executable = client.compile(*program(negate(size)));
    Tensor x(DType::f32, {size});
    for (int64_t i = 0; i < size; ++i) x.data<float>()[i] = static_cast<float>(i) + 0.5F;
    Tensor expected = x.clone();
    for (float& value : expected.data<float>()) value = -value;
    for (int run = 0; run < 3; ++run) {
      EXPECT_TRUE(runtime::run(*executable, {&x, 1})[0].identical(expected)) << size;
    }
    EXPECT_TRUE(client.buffer_from_host(x)->to_host().identical(x)) << size;
  }
  EXPECT_EQ(processes_of_sessions().size(), 1U);
}

TEST(Isolation, FreesTheSlotOfAnEndlessProgramAfterItsLease) {
  WorkerOptions options = isolated_options();
  options.limits.max_sessions = 1;
  const auto worker = serve(options);
  const auto proxy = std::make_unique<Proxy>(worker->address());
  runtime::Client& endless = client_of(proxy->address());
  const auto executable = endless.compile(*program(kEndless));
  const Tensor x(1.0F);
  Tensor result;
  const runtime::Argument argument = {.host = &x};
  const runtime::Result place = {.host = &result};
  const runtime::Event event = executable->execute({&argument, 1}, {&place, 1});
  EXPECT_EQ(processes_of_sessions().size(), 1U);
  proxy->cut();
  EXPECT_TRUE(becomes_true([&] {
    return worker_status(worker->address()).find("sessions  0 of 1") != std::string::npos;
  }));
  EXPECT_TRUE(processes_of_sessions().empty());
  expect_works(client_of(worker->address()));
  EXPECT_NE(error_of([&] { event.wait(); }), "no error");
}

TEST(Isolation, EndsWithAnEndlessProgram) {
  auto worker = serve();
  runtime::Client& client = client_of(worker->address());
  const auto executable = client.compile(*program(kEndless));
  const Tensor x(1.0F);
  Tensor result;
  const runtime::Argument argument = {.host = &x};
  const runtime::Result place = {.host = &result};
  const runtime::Event event = executable->execute({&argument, 1}, {&place, 1});
  worker.reset();
  EXPECT_TRUE(processes_of_sessions().empty());
  EXPECT_THAT(error_of([&] { event.wait(); }), StartsWith("UNAVAILABLE"));
}

TEST(Isolation, EndsALaunchThatTakesTooLong) {
  WorkerOptions options = isolated_options();
  options.limits.max_launch_seconds = 0.5;
  const auto worker = serve(options);
  runtime::Client& client = client_of(worker->address());
  const auto executable = client.compile(*program(kEndless));
  const Tensor x(1.0F);
  EXPECT_THAT(
      error_of([&] {
        runtime::run(*executable, {&x, 1});
      }),
      StartsWith("RESOURCE_EXHAUSTED: worker: process of the session, which was ended after "
                 "0.5 s within 'execute': what the session held is lost"));
}

TEST(Isolation, LosesTheSessionOfAProcessThatDiesAndNoOther) {
  const auto worker = serve();
  const auto proxy =
      std::make_unique<Proxy>(worker->address());  // another address: another session
  runtime::Client& victim = client_of(worker->address());
  expect_works(victim);
  const std::vector<pid_t> first = processes_of_sessions();
  ASSERT_EQ(first.size(), 1U);
  runtime::Client& other = client_of(proxy->address());
  expect_works(other);
  const auto buffer = victim.buffer_from_host(Tensor(1.0F));
  buffer->ready().wait();
  ::kill(first[0], SIGABRT);  // sanitizers take SIGSEGV for themselves
  EXPECT_THAT(error_of([&] { victim.buffer_from_host(Tensor(1.0F))->ready().wait(); }),
              HasSubstr("process of the session, which was ended by SIGABRT within 'put'"));
  EXPECT_NE(error_of([&] { buffer->to_host(); }), "no error");
  expect_works(other);
}

TEST(Isolation, CountsTemporaries) {
  WorkerOptions options = isolated_options();
  options.limits.max_bytes = int64_t{256} << 20;
  const auto worker = serve(options);
  runtime::Client& client = client_of(worker->address());
  const auto first = client.compile(*program(kTemporaries));
  EXPECT_GE(first->stats().temp_bytes, int64_t{16} << 20);
  EXPECT_THAT(error_of([&] {
                std::vector<std::unique_ptr<runtime::Executable>> more;
                for (int i = 0; i < 2; ++i) more.push_back(client.compile(*program(kTemporaries)));
              }),
              HasSubstr("RESOURCE_EXHAUSTED: worker: compiled program, got"));
}

TEST(Isolation, CountsAgainAfterAProcessHasDied) {
  WorkerOptions options = isolated_options();
  options.limits.max_bytes = int64_t{48} << 20;
  const auto worker = serve(options);
  for (int round = 0; round < 3; ++round) {
    const auto proxy = std::make_unique<Proxy>(worker->address());
    runtime::Client& client = client_of(proxy->address());
    const auto buffer = client.buffer_from_host(Tensor::zeros(DType::u8, {int64_t{40} << 20}));
    buffer->ready().wait();
    for (const pid_t process : processes_of_sessions()) ::kill(process, SIGKILL);
    EXPECT_NE(error_of([&] { buffer->to_host(); }), "no error");
  }
  EXPECT_THAT(worker_status(worker->address()), ::testing::Not(HasSubstr("MiB of 48.0 MiB")));
}

}  // namespace
}  // namespace systole::worker
