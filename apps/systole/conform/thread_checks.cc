// Checks of calls from several threads at a time.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

// Runs `work(i)` on `count` threads; rethrows the first Failure.
void on_threads(int count, const std::function<void(int)>& work) {
  std::mutex mutex;
  std::string failure;
  std::string absent;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (const Failure& what) {
        const std::lock_guard lock(mutex);
        failure = what.what;
      } catch (const Absent& what) {
        const std::lock_guard lock(mutex);
        absent = what.function;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw Failure{failure};
  if (!absent.empty()) throw Absent{absent};
}

void check_execute(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  on_threads(8, [&](int i) {
    const auto value = static_cast<float>(i);
    for (int turn = 0; turn < 50; ++turn) {
      const Buffer x = client.put(floats({value, value, value, value}));
      const Buffer y = client.put(floats({1, 2, 3, 4}));
      PJRT_Buffer* const arguments[] = {x.get(), y.get()};
      expect(client.get_floats(client.run(sum, arguments)[0].get()) ==
                 std::vector<float>({value + 1, value + 2, value + 3, value + 4}),
             "a sum on one of 8 threads");
    }
  });
}

void check_compile(const Host& host) {
  const Client client(host);
  on_threads(4, [&](int i) {
    for (int turn = 0; turn < 3; ++turn) {
      const Loaded program = client.compile(fmt::format(
          "func.func public @main() -> tensor<2xf32> {{\n"
          "  %0 = stablehlo.constant dense<{}.0> : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}}",
          i * 10 + turn));
      expect(client.get_floats(client.run(program, {})[0].get())[0] ==
                 static_cast<float>(i * 10 + turn),
             "a program compiled on one of 4 threads");
    }
  });
}

void check_clients(const Host& host) {
  on_threads(3, [&](int) {
    for (int turn = 0; turn < 5; ++turn) {
      const Client client(host);
      expect(client.get_floats(client.put(floats({1, 2})).get())[1] == 2,
             "an array of a client on one of 3 threads");
    }
  });
}

void check_delete_while_running(const Host& host) {
  const Client client(host);
  for (int turn = 0; turn < 10; ++turn) {
    const Loaded program = client.compile(
        "func.func public @main() -> tensor<1000xf32> {\n"
        "  %0 = stablehlo.iota dim = 0 : tensor<1000xf32>\n"
        "  %1 = stablehlo.sine %0 : tensor<1000xf32>\n  return %1 : tensor<1000xf32>\n}");
    std::atomic<bool> deleted{false};
    on_threads(3, [&](int i) {
      if (i == 0) {
        host.call<PJRT_LoadedExecutable_Delete_Args>(
            [&](auto& args) { args.executable = program.get(); });
        deleted = true;
        return;
      }
      try {
        for (int run = 0; run < 1000 && !deleted; ++run) client.run(program, {});
      } catch (const Failure&) {
        // The executable is gone: an error is right.
      }
    });
  }
}

void note_call(PJRT_Error* error, void* count) {
  if (error == nullptr) ++*static_cast<std::atomic<int>*>(count);
}

void check_event(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats(std::vector<float>(1 << 18, 1.0F)));
  const Event event(
      host, host.call<PJRT_Buffer_ReadyEvent_Args>([&](auto& args) { args.buffer = buffer.get(); })
                .event);
  std::atomic<int> calls{0};
  on_threads(8, [&](int) {
    host.call<PJRT_Event_OnReady_Args>([&](auto& args) {
      args.event = event.get();
      args.callback = note_call;
      args.user_arg = &calls;
    });
    host.call<PJRT_Event_Await_Args>([&](auto& args) { args.event = event.get(); });
  });
  for (int i = 0; i < 1000 && calls < 8; ++i) std::this_thread::yield();
  expect(calls == 8, "8 callbacks of an event from 8 threads ran {} times", calls.load());
}

void check_buffers(const Host& host) {
  const Client client(host);
  const Buffer shared = client.put(floats({1, 2, 3, 4}));
  on_threads(6, [&](int) {
    for (int turn = 0; turn < 100; ++turn) {
      expect(client.get_floats(shared.get()) == std::vector<float>({1, 2, 3, 4}),
             "an array that 6 threads read");
      const Buffer own = client.put(floats({static_cast<float>(turn)}));
      expect(client.get_floats(own.get())[0] == static_cast<float>(turn),
             "an array of one of 6 threads");
    }
  });
}

constexpr Check kChecks[] = {
    {"8 threads run one program", "PJRT_LoadedExecutable_Execute", check_execute},
    {"4 threads compile", "PJRT_Client_Compile", check_compile},
    {"3 threads make clients", "PJRT_Client_Create PJRT_Client_Destroy", check_clients},
    {"delete an executable that runs", "PJRT_LoadedExecutable_Delete", check_delete_while_running},
    {"8 threads wait for one event", "PJRT_Event_OnReady PJRT_Event_Await", check_event},
    {"6 threads read one array and make others",
     "PJRT_Buffer_ToHostBuffer PJRT_Client_BufferFromHostBuffer", check_buffers},
};

}  // namespace

std::span<const Check> thread_checks() { return kChecks; }

}  // namespace systole::app::conform
