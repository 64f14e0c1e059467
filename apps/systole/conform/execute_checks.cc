// Checks of running programs.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

bool is_deleted(const Client& client, const Buffer& buffer) {
  return client.host()
      .call<PJRT_Buffer_IsDeleted_Args>([&](auto& args) { args.buffer = buffer.get(); })
      .is_deleted;
}

void check_many_times(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  Buffer x = client.put(floats({0, 0, 0, 0}));
  const Buffer one = client.put(floats({1, 2, 3, 4}));
  for (int i = 0; i < 200; ++i) {
    PJRT_Buffer* const arguments[] = {x.get(), one.get()};
    x = std::move(client.run(sum, arguments)[0]);
  }
  expect(client.get_floats(x.get()) == std::vector<float>({200, 400, 600, 800}),
         "a sum of 200 results");
}

// A caller may destroy arguments and read results before the program has ended.
void check_without_waiting(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  Buffer x = client.put(floats({0, 0, 0, 0}));
  const Buffer one = client.put(floats({1, 2, 3, 4}));
  for (int i = 0; i < 200; ++i) {
    PJRT_Buffer* const arguments[] = {x.get(), one.get()};
    x = std::move(client.run(sum, arguments, 1, {.waits = false})[0]);  // destroys the argument
  }
  expect(client.get_floats(x.get()) == std::vector<float>({200, 400, 600, 800}),
         "a sum of 200 results that nobody waited for");
}

void check_results(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  PJRT_Buffer* const arguments[] = {x.get(), x.get()};
  const auto results = client.run(sum, arguments);
  expect(client.get(results[0].get()).dims == std::vector<int64_t>({4}), "dimensions of a result");
  expect(host.call<PJRT_Buffer_Device_Args>([&](auto& args) {
               args.buffer = results[0].get();
             }).device == client.device(),
         "device of a result");
  expect(client.get_floats(results[0].get()) == std::vector<float>({2, 4, 6, 8}),
         "an array given as both arguments");
  expect(!is_deleted(client, x), "an argument that is not donated was deleted");
}

void check_wrong_arguments(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer other = client.put(floats({1, 2, 3}));
  HostArray integers{.type = PJRT_Buffer_Type_S32, .dims = {4}};
  integers.bytes.resize(16);
  const Buffer numbers = client.put(integers);
  const Buffer gone = client.put(floats({1, 2, 3, 4}));
  host.call<PJRT_Buffer_Delete_Args>([&](auto& args) { args.buffer = gone.get(); });
  const auto refuse = [&](std::string_view why, std::vector<PJRT_Buffer*> arguments) {
    client.refuses_to_run(why, sum, arguments);
  };
  refuse("one argument of two", {x.get()});
  refuse("three arguments of two", {x.get(), x.get(), x.get()});
  refuse("an array of another shape", {x.get(), other.get()});
  refuse("an array of another type", {x.get(), numbers.get()});
  refuse("a deleted array", {x.get(), gone.get()});
  PJRT_Buffer* const arguments[] = {x.get(), x.get()};
  expect(client.get_floats(client.run(sum, arguments)[0].get())[3] == 8,
         "a result after calls that were refused");
}

void check_donation(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSumInPlace);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer y = client.put(floats({10, 20, 30, 40}));
  PJRT_Buffer* const arguments[] = {x.get(), y.get()};
  const auto results = client.run(sum, arguments);
  expect(client.get_floats(results[0].get()) == std::vector<float>({11, 22, 33, 44}),
         "a sum in place");
  expect(is_deleted(client, x), "a donated argument was kept");
  expect(!is_deleted(client, y), "an argument that is not donated was deleted");
  client.refuses_to_run("an argument that was donated before", sum, arguments);
}

void check_no_donation(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSumInPlace);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer y = client.put(floats({10, 20, 30, 40}));
  PJRT_Buffer* const arguments[] = {x.get(), y.get()};
  const int64_t kept[] = {0};
  const auto results = client.run(sum, arguments, 1, {.kept = kept, .waits = false});
  expect(client.get_floats(results[0].get()) == std::vector<float>({11, 22, 33, 44}), "a sum");
  expect(!is_deleted(client, x), "an argument that must not be donated was deleted");
  expect(client.get_floats(x.get()) == std::vector<float>({1, 2, 3, 4}),
         "an argument that must not be donated was written over");
}

// With a donated argument given twice either the call is refused or the result is right.
void check_donated_twice(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSumInPlace);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  PJRT_Buffer* const arguments[] = {x.get(), x.get()};
  try {
    const auto results = client.run(sum, arguments);
    expect(client.get_floats(results[0].get()) == std::vector<float>({2, 4, 6, 8}),
           "a donated array that another argument reads, too");
  } catch (const Failure& refused) {
    if (refused.what.find("PJRT_LoadedExecutable_Execute") == std::string::npos) throw;
  }
}

void check_portable(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum, {.portable = true});
  for (PJRT_Device* device : client.devices()) {
    const Buffer x = client.put(floats({1, 2, 3, 4}), device);
    PJRT_Buffer* const arguments[] = {x.get(), x.get()};
    const auto results = client.run(sum, arguments, 1, {.device = device, .waits = false});
    PJRT_Buffer* const result = results[0].get();
    expect(client.get_floats(result)[3] == 8, "a sum on a device that the call names");
    expect(host.call<PJRT_Buffer_Device_Args>([&](auto& args) { args.buffer = result; }).device ==
               device,
           "a result is on another device than the one that the call names");
  }
}

constexpr std::string_view kSumOfReplicas = R"(module @replicas {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
})";

void check_replicas(const Host& host) {
  const Client client(host);
  if (client.devices().size() < 2) throw Absent{"a second device"};
  const Loaded sum = client.compile(kSumOfReplicas, {.num_replicas = 2});
  const auto devices = host.call<PJRT_LoadedExecutable_AddressableDevices_Args>(
      [&](auto& args) { args.executable = sum.get(); });
  expect(devices.num_addressable_devices == 2, "number of devices of two replicas, got {}",
         devices.num_addressable_devices);
  const Buffer x = client.put(floats({1, 2, 3, 4}), devices.addressable_devices[0]);
  const Buffer y = client.put(floats({10, 20, 30, 40}), devices.addressable_devices[1]);
  const auto results = client.run_on_all(sum, {{x.get()}, {y.get()}});
  for (size_t i = 0; i < 2; ++i) {
    expect(client.get_floats(results[i][0].get()) == std::vector<float>({11, 22, 33, 44}),
           "the sum of two replicas on replica {}", i);
  }
}

void check_execute_context(const Host& host) {
  const Client client(host);
  const auto told = host.call<PJRT_ExecuteContext_Create_Args>([](auto&) {});
  expect(told.context != nullptr, "PJRT_ExecuteContext_Create gave no context");
  host.call<PJRT_ExecuteContext_Destroy_Args>([&](auto& args) { args.context = told.context; });
}

// -- Programs with known results.

struct Program {
  std::string_view what;
  std::string_view text;
  std::vector<float> argument;  // of the type of the only parameter
  std::vector<int64_t> dims;
  std::vector<float> expected;
};

std::vector<Program> programs() {
  return {
      {"a product of matrices",
       R"(func.func public @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32> })",
       {1, 2, 3, 4},
       {2, 2},
       {7, 10, 15, 22}},
      {"a sum over an axis",
       R"(func.func public @main(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32> })",
       {1, 2, 3, 4, 5, 6},
       {2, 3},
       {6, 15}},
      {"a loop",
       R"(func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%n = %i, %v = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %end = stablehlo.constant dense<5> : tensor<i32>
      %c = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %m = stablehlo.add %n, %one : tensor<i32>
      %w = stablehlo.add %v, %v : tensor<2xf32>
      stablehlo.return %m, %w : tensor<i32>, tensor<2xf32>
    }
  return %r#1 : tensor<2xf32> })",
       {1, 3},
       {2},
       {32, 96}},
      {"functions of numbers",
       R"(func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.exponential %x : tensor<3xf32>
  %1 = stablehlo.log %0 : tensor<3xf32>
  %2 = stablehlo.tanh %1 : tensor<3xf32>
  return %2 : tensor<3xf32> })",
       {0, 1, -2},
       {3},
       {0, std::tanh(1.0F), std::tanh(-2.0F)}},
  };
}

std::vector<Program> more_programs() {
  return {
      {"a convolution",
       R"(func.func public @main(%x: tensor<1x3x3x1xf32>) -> tensor<1x2x2x1xf32> {
  %k = stablehlo.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  return %0 : tensor<1x2x2x1xf32> })",
       {1, 2, 3, 4, 5, 6, 7, 8, 9},
       {1, 3, 3, 1},
       {12, 16, 24, 28}},
      {"two branches",
       R"(func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.if"(%t) ({
    %a = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32> })",
       {1, 3},
       {2},
       {-1, -3}},
  };
}

void check_programs(const Host& host) {
  const Client client(host);
  std::vector<Program> all = programs();
  for (Program& program : more_programs()) all.push_back(std::move(program));
  for (const Program& program : all) {
    const Loaded loaded = client.compile(program.text);
    HostArray array = floats(program.argument);
    array.dims = program.dims;
    const Buffer x = client.put(array);
    PJRT_Buffer* const arguments[] = {x.get()};
    const auto got = client.get_floats(client.run(loaded, arguments)[0].get());
    expect(got.size() == program.expected.size(), "size of the result of {}", program.what);
    for (size_t i = 0; i < got.size(); ++i) {
      expect(std::abs(got[i] - program.expected[i]) <= 1e-5F * (1 + std::abs(program.expected[i])),
             "{}: element {}, got {}, expected {}", program.what, i, got[i], program.expected[i]);
    }
  }
}

void check_many_results(const Host& host) {
  const Client client(host);
  constexpr int kCount = 64;
  std::string body;
  std::string names;
  std::string types;
  for (int i = 0; i < kCount; ++i) {
    body += fmt::format("  %r{} = stablehlo.constant dense<{}.0> : tensor<2xf32>\n", i, i);
    names += fmt::format("{}%r{}", i == 0 ? "" : ", ", i);
    types += i == 0 ? "tensor<2xf32>" : ", tensor<2xf32>";
  }
  const Loaded loaded = client.compile(fmt::format(
      "func.func public @main() -> ({}) {{\n{}  return {} : {}\n}}", types, body, names, types));
  const auto results = client.run(loaded, {}, kCount);
  for (int i = 0; i < kCount; ++i) {
    expect(client.get_floats(results[static_cast<size_t>(i)].get())[1] == static_cast<float>(i),
           "result {} of {}", i, kCount);
  }
}

void check_empty_arrays(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(
      "func.func public @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> {\n"
      "  %0 = stablehlo.add %x, %x : tensor<0x3xf32>\n  return %0 : tensor<0x3xf32>\n}");
  HostArray empty{.dims = {0, 3}};
  const Buffer x = client.put(empty);
  PJRT_Buffer* const arguments[] = {x.get()};
  expect(client.get(client.run(loaded, arguments)[0].get()).dims == std::vector<int64_t>({0, 3}),
         "dimensions of an empty result");
}

void check_identity(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(
      "func.func public @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "  return %x, %x : tensor<4xf32>, tensor<4xf32>\n}");
  Buffer x = client.put(floats({1, 2, 3, 4}));
  PJRT_Buffer* const arguments[] = {x.get()};
  const auto results = client.run(loaded, arguments, 2);
  x.reset();
  host.call<PJRT_Buffer_Delete_Args>([&](auto& args) { args.buffer = results[0].get(); });
  expect(client.get_floats(results[1].get()) == std::vector<float>({1, 2, 3, 4}),
         "a result that is an argument, after the argument's and the other result's end");
}

constexpr Check kChecks[] = {
    {"run a program many times", "PJRT_LoadedExecutable_Execute", check_many_times},
    {"destroy arguments before the program ends", "PJRT_LoadedExecutable_Execute",
     check_without_waiting},
    {"shape and device of results", "PJRT_LoadedExecutable_Execute", check_results},
    {"wrong arguments are refused", "PJRT_LoadedExecutable_Execute", check_wrong_arguments},
    {"a donated argument is written over and gone", "PJRT_LoadedExecutable_Execute",
     check_donation},
    {"an argument that must not be donated stays", "PJRT_LoadedExecutable_Execute",
     check_no_donation},
    {"a donated argument given twice", "PJRT_LoadedExecutable_Execute", check_donated_twice},
    {"run on a device that the call names", "PJRT_LoadedExecutable_Execute", check_portable},
    {"two replicas add up", "PJRT_LoadedExecutable_Execute", check_replicas},
    {"contexts of executions", "PJRT_ExecuteContext_Create PJRT_ExecuteContext_Destroy",
     check_execute_context},
    {"programs with known results", "PJRT_LoadedExecutable_Execute", check_programs},
    {"64 results", "PJRT_LoadedExecutable_Execute", check_many_results},
    {"empty arrays", "PJRT_LoadedExecutable_Execute", check_empty_arrays},
    {"results that are arguments", "PJRT_LoadedExecutable_Execute", check_identity},
};

}  // namespace

std::span<const Check> execute_checks() { return kChecks; }

}  // namespace systole::app::conform
