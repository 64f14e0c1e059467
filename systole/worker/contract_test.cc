// The contract of clients through a worker of this process.
#include <map>
#include <memory>

#include "systole/runtime/registry.h"
#include "systole/runtime/testing/client_contract.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/testing/processes.h"

namespace systole::runtime::contract {
namespace {

// A client of a worker over `inner`. Both live until the process ends.
Client& remote_over(const char* inner) {
  static auto& workers = *new std::map<std::string, worker::WorkerServer*>();
  auto& made = workers[inner];
  if (made == nullptr) {
    made = new worker::WorkerServer(client(inner), {.listen = "127.0.0.1:0"});
  }
  return client("remote", {{"address", made->address()}});
}

// The same with a process for each session.
Client& remote_over_processes() {
  static worker::WorkerServer* const made = new worker::WorkerServer(
      client("cpu"), {.listen = "127.0.0.1:0", .processes = &worker::testing::session_processes()});
  return client("remote", {{"address", made->address()}});
}

INSTANTIATE_TEST_SUITE_P(
    Clients, ClientContract,
    ::testing::Values(
        NamedClient{"remote_over_cpu", []() -> Client& { return remote_over("cpu"); }},
        NamedClient{"remote_over_processes", remote_over_processes},
        NamedClient{"remote_over_reference", []() -> Client& { return remote_over("reference"); }}),
    client_name);

// Also over the cpu backend, whose platform the client has.
TEST(Processes, AreRefusedThroughAWorker) { expect_processes_are_refused(remote_over("cpu")); }

}  // namespace
}  // namespace systole::runtime::contract
