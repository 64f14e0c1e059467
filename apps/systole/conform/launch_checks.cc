// Checks of programs that have not ended when the call returns: order, lifetimes, donation,
// threads.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

using Values = std::vector<float>;

// main(x) = x + kSteps, by as many steps: long enough for the caller to be there before its end.
constexpr float kSteps = 50'000;
constexpr std::string_view kLong = R"(module @long {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%n = %i, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %end = stablehlo.constant dense<50000> : tensor<i32>
        %c = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %m = stablehlo.add %n, %one : tensor<i32>
        %f = stablehlo.constant dense<1.0> : tensor<4xf32>
        %w = stablehlo.add %v, %f : tensor<4xf32>
        stablehlo.return %m, %w : tensor<i32>, tensor<4xf32>
      }
    return %r#1 : tensor<4xf32>
  }
})";

Buffer start(const Client& client, const Loaded& program, std::vector<PJRT_Buffer*> arguments) {
  return std::move(client.run(program, arguments, 1, {.waits = false})[0]);
}

Values plus(Values values, float more) {
  for (float& value : values) value += more;
  return values;
}

// The program has run before: some plugins learn how long it takes.
Loaded long_program(const Client& client) {
  Loaded program = client.compile(kLong);
  const Buffer x = client.put(floats({0, 0, 0, 0}));
  client.get_floats(start(client, program, {x.get()}).get());
  return program;
}

void delete_buffer(const Host& host, PJRT_Buffer* buffer) {
  host.call<PJRT_Buffer_Delete_Args>([&](auto& args) { args.buffer = buffer; });
}

bool is_deleted(const Host& host, PJRT_Buffer* buffer) {
  return host.call<PJRT_Buffer_IsDeleted_Args>([&](auto& args) { args.buffer = buffer; })
      .is_deleted;
}

void check_chain(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Loaded sum = client.compile(kSum);
  const Buffer one = client.put(floats({1, 2, 3, 4}));
  Buffer x = client.put(floats({0, 0, 0, 0}));
  for (int i = 0; i < 5; ++i) {
    x = start(client, program, {x.get()});  // destroys the argument
    x = start(client, sum, {x.get(), one.get()});
  }
  expect(client.get_floats(x.get()) == plus({5, 10, 15, 20}, 5 * kSteps),
         "a chain of long and short programs");
}

void check_order(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Loaded sum = client.compile(kSum);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  std::vector<Buffer> results;
  for (int i = 0; i < 8; ++i) {
    results.push_back(start(client, program, {x.get()}));
    results.push_back(start(client, sum, {x.get(), results.back().get()}));
    results.push_back(start(client, sum, {x.get(), x.get()}));
  }
  for (size_t i = 0; i < results.size(); i += 3) {
    expect(client.get_floats(results[i].get()) == plus({1, 2, 3, 4}, kSteps), "long result {}", i);
    expect(client.get_floats(results[i + 1].get()) == plus({2, 4, 6, 8}, kSteps),
           "a sum of long result {}", i);
    expect(client.get_floats(results[i + 2].get()) == Values({2, 4, 6, 8}), "short result {}", i);
  }
}

void check_arguments_end(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Loaded sum = client.compile(kSum);
  Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer first = start(client, program, {x.get()});
  const Buffer second = start(client, sum, {first.get(), x.get()});
  delete_buffer(host, x.get());
  x.reset();
  delete_buffer(host, first.get());
  for (int i = 0; i < 20; ++i) client.put(floats({9, 9, 9, 9}));
  expect(client.get_floats(second.get()) == plus({2, 4, 6, 8}, kSteps),
         "a program whose arguments were deleted while it waited");
}

void check_program_ends(const Host& host) {
  const Client client(host);
  Loaded program = long_program(client);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  std::vector<Buffer> results;
  for (int i = 0; i < 4; ++i) results.push_back(start(client, program, {x.get()}));
  host.call<PJRT_LoadedExecutable_Delete_Args>(
      [&](auto& args) { args.executable = program.get(); });
  program.reset();
  for (const Buffer& result : results) {
    expect(client.get_floats(result.get()) == plus({1, 2, 3, 4}, kSteps),
           "a result of a program that was destroyed while it ran");
  }
}

void check_results_end(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const auto in_use = [&] {
    return host
        .call<PJRT_Device_MemoryStats_Args>([&](auto& args) { args.device = client.device(); })
        .bytes_in_use;
  };
  const int64_t before = in_use();
  for (int i = 0; i < 10; ++i) start(client, program, {x.get()});  // nobody keeps the result
  expect(client.get_floats(start(client, program, {x.get()}).get())[0] == 1 + kSteps,
         "a result after others that nobody kept");
  // The last of them may end a moment after its result is there.
  for (int i = 0; i < 1000 && in_use() > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  expect(in_use() <= before, "results that nobody kept take {} bytes", in_use() - before);
}

void check_donation(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Loaded sum = client.compile(kSum);
  const Loaded in_place = client.compile(kSumInPlace);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer pending = start(client, program, {x.get()});
  const Buffer before = start(client, sum, {pending.get(), x.get()});
  const Buffer after = start(client, in_place, {pending.get(), x.get()});
  expect(is_deleted(host, pending.get()), "a donated array of a program that runs was kept");
  expect(client.get_floats(before.get()) == plus({2, 4, 6, 8}, kSteps),
         "a program before a donation of its argument");
  expect(client.get_floats(after.get()) == plus({2, 4, 6, 8}, kSteps),
         "a donation of an array of a program that runs");
}

struct Calls {
  std::atomic<int> count = 0;
  std::atomic<int> errors = 0;
};
void note(PJRT_Error* error, void* calls) {
  auto& noted = *static_cast<Calls*>(calls);
  if (error != nullptr) ++noted.errors;
  ++noted.count;
}

void check_events(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer result = start(client, program, {x.get()});
  Calls calls;
  const Event event = ready_event(host, result.get());
  for (int i = 0; i < 3; ++i) {
    host.call<PJRT_Event_OnReady_Args>([&](auto& args) {
      args.event = event.get();
      args.callback = note;
      args.user_arg = &calls;
    });
  }
  host.call<PJRT_Event_Await_Args>([&](auto& args) { args.event = event.get(); });
  expect(is_ready(host, event), "an event that was awaited is not ready");
  expect(is_ready(host, ready_event(host, result.get())), "an array is not ready after its event");
  for (int i = 0; i < 100'000 && calls.count < 3; ++i) std::this_thread::yield();
  expect(calls.count == 3 && calls.errors == 0, "3 callbacks ran {} times, {} with an error",
         calls.count.load(), calls.errors.load());
}

// A launch's own event is not ready before its results are.
void check_launch_event(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  for (int i = 0; i < 5; ++i) {
    PJRT_Buffer* const arguments[] = {x.get()};
    const auto results = client.run(program, arguments);
    expect(is_ready(host, ready_event(host, results[0].get())),
           "a result is not ready after the event of its launch");
  }
}

void check_reads(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer result = start(client, program, {x.get()});
  float part[2] = {};
  const auto raw = host.call<PJRT_Buffer_CopyRawToHost_Args>([&](auto& args) {
    args.buffer = result.get();
    args.dst = part;
    args.offset = 8;
    args.transfer_size = 8;
  });
  host.await(raw.event, "a copy of a part of a result");
  expect(part[0] == 3 + kSteps && part[1] == 4 + kSteps,
         "a part of a result of a program that ran");
  const auto devices = client.devices();
  if (devices.size() < 2) return;
  const Buffer other = start(client, program, {x.get()});
  const Buffer copy(host, host.call<PJRT_Buffer_CopyToDevice_Args>([&](auto& args) {
                                args.buffer = other.get();
                                args.dst_device = devices[1];
                              })
                              .dst_buffer);
  expect(client.get_floats(copy.get()) == plus({1, 2, 3, 4}, kSteps),
         "a copy of a result that was not there yet");
}

// The memory that others read stays as it is.
void check_external_reference(const Host& host) {
  const Client client(host);
  const Loaded in_place = client.compile(kSumInPlace);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer y = client.put(floats({10, 10, 10, 10}));
  if (!host.call<PJRT_Buffer_IsOnCpu_Args>([&](auto& args) { args.buffer = x.get(); }).is_on_cpu)
    throw Absent{"memory that the host can read"};
  const auto set = [&](auto& args) { args.buffer = x.get(); };
  host.call<PJRT_Buffer_IncreaseExternalReferenceCount_Args>(set);
  const auto* const data = static_cast<const float*>(
      host.call<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>(set).device_memory_ptr);
  const Buffer result = start(client, in_place, {x.get(), y.get()});
  expect(client.get_floats(result.get()) == Values({11, 12, 13, 14}), "a sum in place");
  expect(data[0] == 1 && data[3] == 4, "memory with an external reference was written over");
  host.call<PJRT_Buffer_DecreaseExternalReferenceCount_Args>(set);
}

void check_donor(const Host& host) {
  const Client client(host);
  const Loaded program = client.compile(R"(module @donor {
  func.func public @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})");
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer y = client.put(floats({1, 1, 1, 1}));
  expect(
      client.get_floats(start(client, program, {x.get(), y.get()}).get()) == Values({2, 3, 4, 5}),
      "a sum of an array that was given up");
  expect(is_deleted(host, x.get()), "an argument that was given up was kept");
  expect(!is_deleted(host, y.get()), "an argument that was not given up was deleted");
}

void check_bad_calls(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  PJRT_Buffer* const first[] = {x.get(), x.get()};
  PJRT_Buffer* const none[] = {x.get(), nullptr};
  PJRT_Buffer* result = nullptr;
  PJRT_Buffer** const outputs[] = {&result, &result};
  auto options = make<PJRT_ExecuteOptions>();
  const auto call = [&](PJRT_Buffer* const* arguments, size_t devices) {
    return [&, arguments, devices](auto& args) {
      static thread_local PJRT_Buffer* const* lists[2];
      lists[0] = lists[1] = arguments;
      args.executable = sum.get();
      args.options = &options;
      args.argument_lists = lists;
      args.num_devices = devices;
      args.num_args = 2;
      args.output_lists = outputs;
    };
  };
  host.refuses<PJRT_LoadedExecutable_Execute_Args>("two devices for a program of one",
                                                   call(first, 2));
  host.refuses<PJRT_LoadedExecutable_Execute_Args>("an argument that is NULL", call(none, 1));
  expect(result == nullptr, "a call that was refused has a result");
}

constexpr std::string_view kReplicaSum = R"(module @replicas_in_place {
  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
})";

// Results of replicas as arguments of the next call: all of one call, and of two.
void check_replica_results(const Host& host) {
  const Client client(host);
  const auto devices = client.devices();
  if (devices.size() < 2) throw Absent{"a second device"};
  const Loaded sum = client.compile(kReplicaSum, {.num_replicas = 2});
  const auto put = [&](float value) {
    std::vector<Buffer> parts;
    parts.push_back(client.put(floats({value, 0, 1, 2}), devices[0]));
    parts.push_back(client.put(floats({10 * value, 0, 3, 4}), devices[1]));
    return parts;
  };
  const auto call = [&](const Buffer& a, const Buffer& b) {
    auto results = client.run_on_all(sum, {{a.get()}, {b.get()}}, 1, false);
    std::vector<Buffer> flat;
    for (auto& list : results) flat.push_back(std::move(list[0]));
    return flat;
  };
  const auto first = put(1);
  const auto second = put(2);
  const auto one = call(first[0], first[1]);    // 11, 0, 4, 6
  const auto two = call(second[0], second[1]);  // 22, 0, 4, 6
  const auto mixed = call(one[0], two[1]);      // 33, 0, 8, 12
  const auto twice = call(mixed[0], mixed[1]);  // 66, 0, 16, 24
  for (const Buffer& result : twice) {
    expect(client.get_floats(result.get()) == Values({66, 0, 16, 24}), "a sum of sums of replicas");
  }
  for (size_t d = 0; d < 2; ++d) {
    expect(host.call<PJRT_Buffer_Device_Args>([&](auto& args) {
                 args.buffer = twice[d].get();
               }).device == devices[d],
           "the result of replica {} is on another device", d);
  }
  expect(is_deleted(host, mixed[0].get()), "a donated array of replicas was kept");
}

void check_threads(const Host& host) {
  const Client client(host);
  const Loaded program = long_program(client);
  const Loaded sum = client.compile(kSum);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto value = static_cast<float>(i);
        const Buffer one = client.put(floats({value, value, value, value}));
        Buffer x = client.put(floats({0, 1, 2, 3}));
        for (int turn = 0; turn < 3; ++turn) {
          x = start(client, sum, {x.get(), one.get()});
          x = start(client, program, {x.get()});
        }
        if (client.get_floats(x.get()) == plus({0, 1, 2, 3}, 3 * (value + kSteps))) ++right;
      } catch (const Failure&) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(right == 4, "chains of programs of 4 threads: {} were right", right.load());
}

constexpr Check kChecks[] = {
    {"a chain of long programs that nobody waits for", "PJRT_LoadedExecutable_Execute",
     check_chain},
    {"programs run in the order of their calls", "PJRT_LoadedExecutable_Execute", check_order},
    {"arguments that are deleted while a program waits",
     "PJRT_LoadedExecutable_Execute PJRT_Buffer_Delete", check_arguments_end},
    {"a program that is destroyed while it runs",
     "PJRT_LoadedExecutable_Destroy PJRT_LoadedExecutable_Delete", check_program_ends},
    {"results that nobody keeps free their memory", "PJRT_Buffer_Destroy", check_results_end},
    {"a donation while a program is pending", "PJRT_LoadedExecutable_Execute", check_donation},
    {"callbacks of a pending result run once", "PJRT_Event_OnReady PJRT_Buffer_ReadyEvent",
     check_events},
    {"results are ready with the event of their launch",
     "PJRT_LoadedExecutable_Execute PJRT_Event_Await", check_launch_event},
    {"reads of a pending result", "PJRT_Buffer_CopyRawToHost PJRT_Buffer_CopyToDevice",
     check_reads},
    {"memory with an external reference is not donated",
     "PJRT_Buffer_IncreaseExternalReferenceCount PJRT_LoadedExecutable_Execute",
     check_external_reference},
    {"an argument that is given up without an alias is deleted", "PJRT_LoadedExecutable_Execute",
     check_donor},
    {"calls that cannot be are refused", "PJRT_LoadedExecutable_Execute", check_bad_calls},
    {"results of replicas are arguments of replicas", "PJRT_LoadedExecutable_Execute",
     check_replica_results},
    {"4 threads start chains of programs", "PJRT_LoadedExecutable_Execute", check_threads},
};

}  // namespace

std::span<const Check> launch_checks() { return kChecks; }

}  // namespace systole::app::conform
