// The contract of clients on cpu, reference, each of them behind Systole's PJRT plugin, and a fake
// over each that works later, out of order and without memory that the host can read.
#include <map>

#include "systole/runtime/registry.h"
#include "systole/runtime/testing/client_contract.h"
#include "systole/runtime/testing/fake_client.h"

namespace systole::runtime::contract {
namespace {

Client& fake_over(std::string_view inner) {
  static auto& clients = *new std::map<std::string, std::unique_ptr<Client>, std::less<>>();
  auto& made = clients[std::string(inner)];
  if (made == nullptr) made = std::make_unique<testing::FakeClient>(client(inner));
  return *made;
}

INSTANTIATE_TEST_SUITE_P(
    Clients, ClientContract,
    ::testing::Values(
        NamedClient{"cpu", []() -> Client& { return client("cpu"); }},
        NamedClient{"reference", []() -> Client& { return client("reference"); }},
        NamedClient{"tpu_v1", []() -> Client& { return client("tpu_v1"); }},
        NamedClient{"fake_over_reference", []() -> Client& { return fake_over("reference"); }},
        NamedClient{"fake_over_cpu", []() -> Client& { return fake_over("cpu"); }},
        NamedClient{"pjrt_over_cpu", []() -> Client& { return client("pjrt:systole"); }},
        NamedClient{"pjrt_over_reference",
                    []() -> Client& {
                      return client("pjrt:systole?backend=reference",
                                    {{"program_format", std::string("text")}});
                    }}),
    client_name);

TEST(Processes, AreRefusedByClientsThatDoNotMeetThem) {
  for (const char* const name : {"reference", "pjrt:systole"}) {
    expect_processes_are_refused(client(name));
  }
}

}  // namespace
}  // namespace systole::runtime::contract
