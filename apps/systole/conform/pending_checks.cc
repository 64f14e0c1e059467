// Checks of arrays whose elements come later: transfers in parts, aliases, errors, dependencies.
#include <numeric>
#include <string>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

using Values = std::vector<float>;

PJRT_Memory* default_memory(const Client& client) {
  return client.host()
      .call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = client.device(); })
      .memory;
}

constexpr std::string_view kWhy = "the reason";

void expect_reason(const PluginError& told, std::string_view what) {
  expect(told.code == PJRT_Error_Code_DATA_LOSS, "code of {}, got {}, expected 15 ('{}')", what,
         static_cast<int>(told.code), told.message);
  expect(told.message.find(kWhy) != std::string::npos, "message of {}, got '{}', expected '{}'",
         what, told.message, kWhy);
}

void expect_pending(const Host& host, PJRT_Buffer* buffer, std::string_view what) {
  expect(!is_ready(host, ready_event(host, buffer)), "{} is ready before its elements came", what);
}

PluginError error_of(const Host& host, PJRT_Buffer* buffer) {
  return host.wait(ready_event(host, buffer).release());
}

// -- Aliases.

struct Alias {
  Buffer buffer;
  PJRT_FulfillAliasBufferCallback* callback = nullptr;
};

Alias new_alias(const Client& client, int64_t size = 4) {
  const auto told = client.host().call<PJRT_Client_CreateAliasBuffer_Args>([&](auto& args) {
    args.client = client.get();
    args.memory = default_memory(client);
    args.shape_dims = &size;
    args.shape_num_dims = 1;
    args.shape_element_type = PJRT_Buffer_Type_F32;
  });
  return {.buffer = {client.host(), told.alias_buffer}, .callback = told.fulfill_alias_buffer_cb};
}

void fulfill(const Client& client, const Alias& alias, const Values& values) {
  const Buffer real = client.put(floats(values));
  client.host().call<PJRT_Client_FulfillAliasBuffer_Args>([&](auto& args) {
    args.client = client.get();
    args.buffer = real.get();
    args.status_code = PJRT_Error_Code_OK;
    args.fulfill_alias_buffer_cb = alias.callback;
  });
}

void fail_alias(const Client& client, const Alias& alias) {
  client.host().call<PJRT_Client_FulfillAliasBuffer_Args>([&](auto& args) {
    args.client = client.get();
    args.status_code = PJRT_Error_Code_DATA_LOSS;
    args.error_message = kWhy.data();
    args.error_message_size = kWhy.size();
    args.fulfill_alias_buffer_cb = alias.callback;
  });
}

void check_alias(const Host& host) {
  const Client client(host);
  const Alias alias = new_alias(client);
  expect_pending(host, alias.buffer.get(), "an alias");
  expect(host.call<PJRT_Buffer_Device_Args>([&](auto& args) {
               args.buffer = alias.buffer.get();
             }).device == client.device(),
         "an alias is on another device");
  fulfill(client, alias, {1, 2, 3, 4});
  expect(client.get_floats(alias.buffer.get()) == Values({1, 2, 3, 4}),
         "an alias has other values than its array");
}

void check_alias_of_another_shape(const Host& host) {
  const Client client(host);
  const Alias alias = new_alias(client);
  const Buffer other = client.put(floats({1, 2, 3}));
  host.refuses<PJRT_Client_FulfillAliasBuffer_Args>("an array of another shape", [&](auto& args) {
    args.client = client.get();
    args.buffer = other.get();
    args.status_code = PJRT_Error_Code_OK;
    args.fulfill_alias_buffer_cb = alias.callback;
  });
  fulfill(client, alias, {1, 2, 3, 4});
}

void check_failed_alias(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  const Alias alias = new_alias(client);
  PJRT_Buffer* const arguments[] = {alias.buffer.get(), alias.buffer.get()};
  const auto results = client.run(sum, arguments, 1, {.waits = false});
  float values[4] = {};
  const auto read = host.call<PJRT_Buffer_ToHostBuffer_Args>([&](auto& args) {
    args.src = alias.buffer.get();
    args.dst = values;
    args.dst_size = sizeof(values);
  });
  fail_alias(client, alias);
  expect_reason(host.wait(read.event), "a copy of an alias that failed");
  expect_reason(error_of(host, alias.buffer.get()), "an alias that failed");
  expect_reason(error_of(host, results[0].get()), "the result of an alias that failed");
}

// Reads of an alias buffer return at once, and their events are ready once it is fulfilled.
void check_reads_of_alias(const Host& host) {
  const Client client(host);
  const Alias alias = new_alias(client);
  float values[4] = {};
  const auto read = host.call<PJRT_Buffer_ToHostBuffer_Args>([&](auto& args) {
    args.src = alias.buffer.get();
    args.dst = values;
    args.dst_size = sizeof(values);
  });
  float part[2] = {};
  const auto raw = host.call<PJRT_Buffer_CopyRawToHost_Args>([&](auto& args) {
    args.buffer = alias.buffer.get();
    args.dst = part;
    args.offset = 4;
    args.transfer_size = 8;
  });
  const Buffer copy(host, host.call<PJRT_Buffer_CopyToMemory_Args>([&](auto& args) {
                                args.buffer = alias.buffer.get();
                                args.dst_memory = default_memory(client);
                              })
                              .dst_buffer);
  fulfill(client, alias, {1, 2, 3, 4});
  host.await(read.event, "a copy of an alias to the host");
  host.await(raw.event, "a copy of a part of an alias to the host");
  expect(values[0] == 1 && values[3] == 4, "a copy of an alias has other values");
  expect(part[0] == 2 && part[1] == 3, "a copy of a part of an alias has other values");
  expect(client.get_floats(copy.get()) == Values({1, 2, 3, 4}),
         "a copy of an alias in a memory has other values");
}

// A program that waits for the host does not keep others from running.
void check_launch_of_alias(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  Alias alias = new_alias(client);
  const Buffer one = client.put(floats({1, 1, 1, 1}));
  PJRT_Buffer* const waits[] = {alias.buffer.get(), one.get()};
  const auto first = client.run(sum, waits, 1, {.waits = false});
  PJRT_Buffer* const of_first[] = {first[0].get(), one.get()};
  const auto second = client.run(sum, of_first, 1, {.waits = false});
  expect_pending(host, second[0].get(), "a result of an alias");
  PJRT_Buffer* const there[] = {one.get(), one.get()};
  expect(client.get_floats(client.run(sum, there)[0].get()) == Values({2, 2, 2, 2}),
         "a program beside one that waits for the host");
  alias.buffer.reset();  // the programs keep what they read
  fulfill(client, alias, {1, 2, 3, 4});
  expect(client.get_floats(second[0].get()) == Values({3, 4, 5, 6}), "a sum of an alias");
}

// An array that a program reads later must not be written over before.
void check_donation_beside_alias(const Host& host) {
  const Client client(host);
  const Loaded sum = client.compile(kSum);
  const Loaded in_place = client.compile(kSumInPlace);
  const Alias alias = new_alias(client);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer y = client.put(floats({10, 10, 10, 10}));
  PJRT_Buffer* const reads_later[] = {alias.buffer.get(), x.get()};
  const auto read = client.run(sum, reads_later, 1, {.waits = false});
  PJRT_Buffer* const gives_up[] = {x.get(), y.get()};
  const auto written = client.run(in_place, gives_up, 1, {.waits = false});
  fulfill(client, alias, {100, 100, 100, 100});
  expect(client.get_floats(read[0].get()) == Values({101, 102, 103, 104}),
         "a program that waited read an array that was donated to a later one");
  expect(client.get_floats(written[0].get()) == Values({11, 12, 13, 14}), "a sum in place");
}

void check_donated_alias(const Host& host) {
  const Client client(host);
  const Loaded in_place = client.compile(kSumInPlace);
  const Alias alias = new_alias(client);
  const Buffer y = client.put(floats({10, 10, 10, 10}));
  PJRT_Buffer* const arguments[] = {alias.buffer.get(), y.get()};
  const auto first = client.run(in_place, arguments, 1, {.waits = false});
  PJRT_Buffer* const again[] = {first[0].get(), y.get()};
  const auto second = client.run(in_place, again, 1, {.waits = false});
  fulfill(client, alias, {1, 2, 3, 4});
  expect(client.get_floats(second[0].get()) == Values({21, 22, 23, 24}),
         "a sum in place of an alias");
}

// -- Errors.

void check_error(const Host& host) {
  const Client client(host);
  const int64_t dims[] = {4};
  const auto good = [&](auto& args) {
    args.client = client.get();
    args.error_code = PJRT_Error_Code_DATA_LOSS;
    args.error_message = kWhy.data();
    args.error_message_size = kWhy.size();
    args.shape_dims = dims;
    args.shape_num_dims = 1;
    args.shape_element_type = PJRT_Buffer_Type_F32;
    args.memory = default_memory(client);
  };
  const Buffer buffer(host, host.call<PJRT_Client_CreateErrorBuffer_Args>(good).buffer);
  expect_reason(error_of(host, buffer.get()), "an error array");
  const Loaded sum = client.compile(kSum);
  PJRT_Buffer* const arguments[] = {buffer.get(), buffer.get()};
  const auto results = client.run(sum, arguments, 1, {.waits = false});
  expect_reason(error_of(host, results[0].get()), "the result of an error array");
  const Buffer one = client.put(floats({1, 1, 1, 1}));
  PJRT_Buffer* const again[] = {one.get(), results[0].get()};
  expect_reason(error_of(host, client.run(sum, again, 1, {.waits = false})[0].get()),
                "a result of a result of an error array");
  expect_reason(client.refuses_to_run("an error array", sum, again), "the event of a launch");
  float values[4] = {};
  auto read = make<PJRT_Buffer_ToHostBuffer_Args>();
  read.src = buffer.get();
  read.dst = values;
  read.dst_size = sizeof(values);
  PJRT_Error* const error = host.start(read);
  expect_reason(error != nullptr ? host.take(error) : host.wait(read.event),
                "a copy of an error array");
  PJRT_Buffer* const fine[] = {one.get(), one.get()};
  expect(client.get_floats(client.run(sum, fine)[0].get()) == Values({2, 2, 2, 2}),
         "a program after an error");
}

void check_error_without_code(const Host& host) {
  const Client client(host);
  const int64_t dims[] = {4};
  for (const int code : {0, 17, -1}) {
    host.refuses<PJRT_Client_CreateErrorBuffer_Args>("an error that is none", [&](auto& args) {
      args.client = client.get();
      args.error_code = static_cast<PJRT_Error_Code>(code);
      args.shape_dims = dims;
      args.shape_num_dims = 1;
      args.shape_element_type = PJRT_Buffer_Type_F32;
      args.memory = default_memory(client);
    });
  }
}

// -- Dependencies.

struct Donated {
  Buffer buffer;
  void* data = nullptr;
  void (*ready)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*) = nullptr;
};

Donated donate(const Client& client, const Buffer& buffer) {
  const auto told = client.host().call<PJRT_Buffer_DonateWithControlDependency_Args>(
      [&](auto& args) { args.buffer = buffer.get(); });
  expect(client.host()
             .call<PJRT_Buffer_IsDeleted_Args>([&](auto& args) { args.buffer = buffer.get(); })
             .is_deleted,
         "a donated array is not deleted");
  return {.buffer = {client.host(), told.out_buffer},
          .data = told.callback_data,
          .ready = told.dependency_ready_callback};
}

void check_dependency(const Host& host) {
  const Client client(host);
  const Donated donated = donate(client, client.put(floats({1, 2, 3, 4})));
  expect_pending(host, donated.buffer.get(), "an array with a control dependency");
  auto args = make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  args.callback_data = donated.data;
  donated.ready(&args);
  expect(client.get_floats(donated.buffer.get()) == Values({1, 2, 3, 4}),
         "an array with a control dependency has other values");
}

void check_failed_dependency(const Host& host) {
  const Client client(host);
  const Donated donated = donate(client, client.put(floats({1, 2, 3, 4})));
  auto args = make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  args.callback_data = donated.data;
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = kWhy.data();
  args.error_message_size = kWhy.size();
  donated.ready(&args);
  expect_reason(error_of(host, donated.buffer.get()), "an array whose dependency failed");
}

void check_later_copy_that_fails(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2, 3, 4}));
  const auto copy = [&](int64_t offset, int64_t size) {
    return [&, offset, size](auto& args) {
      args.buffer = buffer.get();
      args.offset = offset;
      args.transfer_size = size;
    };
  };
  host.refuses<PJRT_Buffer_CopyRawToHostFuture_Args>("bytes behind the array", copy(12, 8));
  const auto told = host.call<PJRT_Buffer_CopyRawToHostFuture_Args>(copy(0, 8));
  Event event(host, told.event);
  expect(!is_ready(host, event), "a copy is ready before its place is named");
  auto args = make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
  args.callback_data = told.callback_data;
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = kWhy.data();
  args.error_message_size = kWhy.size();
  told.future_ready_callback(&args);
  expect_reason(host.wait(event.release()), "a copy that its caller gave up");
}

constexpr Check kChecks[] = {
    {"an alias is pending until its array comes",
     "PJRT_Client_CreateAliasBuffer PJRT_Client_FulfillAliasBuffer", check_alias},
    {"an array of another shape is no alias", "PJRT_Client_FulfillAliasBuffer",
     check_alias_of_another_shape},
    {"an alias that fails", "PJRT_Client_FulfillAliasBuffer PJRT_LoadedExecutable_Execute",
     check_failed_alias},
    {"reads of an alias end when its array comes",
     "PJRT_Client_CreateAliasBuffer PJRT_Buffer_ToHostBuffer PJRT_Buffer_CopyRawToHost "
     "PJRT_Buffer_CopyToMemory",
     check_reads_of_alias},
    {"programs that read an alias wait, others do not",
     "PJRT_Client_CreateAliasBuffer PJRT_LoadedExecutable_Execute", check_launch_of_alias},
    {"a donation waits for programs that read the array later",
     "PJRT_Client_CreateAliasBuffer PJRT_LoadedExecutable_Execute", check_donation_beside_alias},
    {"donate an alias", "PJRT_Client_CreateAliasBuffer PJRT_LoadedExecutable_Execute",
     check_donated_alias},
    {"an error passes through programs to their results",
     "PJRT_Client_CreateErrorBuffer PJRT_LoadedExecutable_Execute", check_error},
    {"an error array needs an error", "PJRT_Client_CreateErrorBuffer", check_error_without_code},
    {"an array with a control dependency is pending until it is ready",
     "PJRT_Buffer_DonateWithControlDependency", check_dependency},
    {"a control dependency that fails", "PJRT_Buffer_DonateWithControlDependency",
     check_failed_dependency},
    {"a copy to memory that is never named", "PJRT_Buffer_CopyRawToHostFuture",
     check_later_copy_that_fails},
};

}  // namespace

std::span<const Check> pending_checks() { return kChecks; }

}  // namespace systole::app::conform
