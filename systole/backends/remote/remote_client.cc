#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "systole/backends/remote/connection.h"
#include "systole/backends/remote/remote_backend.h"
#include "systole/backends/remote/remote_executable.h"
#include "systole/backends/remote/source_lines.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/runtime/preemption.h"
#include "systole/runtime/single_process.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/convert.h"

namespace systole::remote {
namespace {

namespace v1 = worker::v1;
using runtime::ClientOptions;
using runtime::CompileOptions;
using runtime::Device;
using runtime::Event;
using runtime::Promise;

ConnectionOptions connection_options(const ClientOptions& options) {
  return {.credentials = worker::with_environment(
              {.token = runtime::option<std::string>(options, "token"),
               .ca = runtime::option<std::string>(options, "ca"),
               .certificate = runtime::option<std::string>(options, "certificate"),
               .key = runtime::option<std::string>(options, "key")}),
          .connect_seconds = runtime::option<double>(options, "connect_seconds"),
          .silence_seconds = runtime::option<double>(options, "silence_seconds"),
          .reconnect_seconds = runtime::option<double>(options, "reconnect_seconds"),
          .lease_seconds = runtime::option<double>(options, "lease_seconds")};
}

// The program as a portable artifact, or as text if it has what artifacts cannot express.
std::string program_bytes(const hlo::Module& module) {
  try {
    return hlo::write_bytecode(module);
  } catch (const Error& error) {
    if (error.code() != Code::unimplemented) throw;
    return hlo::print(module, {.locations = true});
  }
}

bool same_device(const Device& a, const Device& b) {
  return a.id == b.id && a.kind == b.kind && a.memory_bytes == b.memory_bytes;
}

class RemoteClient final : public runtime::Client {
 public:
  explicit RemoteClient(const ClientOptions& options)
      : addresses_(worker::parse_addresses(runtime::option<std::string>(options, "address"))),
        options_(connection_options(options)),
        connection_(connect()),
        platform_(connection_->hello().platform()),
        devices_(devices_of(*connection_)) {}

  std::string_view platform() const override { return platform_; }
  std::span<const Device> devices() const override { return devices_; }

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const CompileOptions& options) override {
    runtime::check_single_process("remote", options);
    const auto connection = live_connection();
    v1::Request request;
    v1::Compile& op = *request.mutable_compile();
    const uint64_t id = connection->new_id();
    op.set_executable(id);
    connection->give_bytes(program_bytes(module), *op.mutable_program());
    worker::to_wire(options, *op.mutable_options());
    ProgramFacts facts;
    try {
      facts = facts_of(connection->call(std::move(request)).compiled());
    } catch (const Error& error) {
      throw Error(error.code(), with_source_line(error.message(), module));
    }
    facts.aliases = module.aliases;
    if (!options.device_assignment.empty()) facts.device_id = options.device_assignment.front();
    return std::make_unique<RemoteExecutable>(connection, id, std::move(facts));
  }

  std::unique_ptr<runtime::Executable> deserialize(std::string_view bytes) override {
    const auto connection = live_connection();
    v1::Request request;
    v1::Deserialize& op = *request.mutable_deserialize();
    const uint64_t id = connection->new_id();
    op.set_executable(id);
    connection->give_bytes(bytes, *op.mutable_bytes());
    ProgramFacts facts = facts_of(connection->call(std::move(request)).compiled());
    return std::make_unique<RemoteExecutable>(connection, id, std::move(facts));
  }

  std::unique_ptr<runtime::Buffer> buffer_from_host(
      Tensor tensor, const runtime::BufferOptions& options) override {
    for (const int id : options.device_ids) check_device(id);
    const auto connection = live_connection();
    const auto done = std::make_shared<Promise>();
    v1::Request request;
    v1::Put& op = *request.mutable_put();
    const uint64_t id = connection->new_id();
    op.set_buffer(id);
    worker::to_wire(tensor.type(), *op.mutable_type());
    for (const int device : options.device_ids) op.add_device_ids(device);
    op.set_stacked(options.stacked);
    connection->give(tensor, *op.mutable_value());
    auto buffer = std::make_unique<RemoteBuffer>(
        connection, id, tensor.type(),
        options.device_ids.empty() ? devices_.front().id : options.device_ids.front(),
        done->event());
    connection->send(std::move(request), [done](const v1::Reply&, const Error* error) {
      error == nullptr ? done->set() : done->fail(*error);
    });
    if (options.host_memory_free != nullptr) *options.host_memory_free = Event();
    return buffer;
  }

  runtime::MemoryStats memory_stats(int device_id) const override {
    check_device(device_id);
    v1::Request request;
    request.mutable_memory_stats()->set_device_id(device_id);
    const v1::Reply reply = live_connection()->call(std::move(request));
    return {.bytes_in_use = reply.memory_stats().bytes_in_use(),
            .peak_bytes_in_use = reply.memory_stats().peak_bytes_in_use(),
            .bytes_limit = reply.memory_stats().bytes_limit()};
  }

 private:
  std::shared_ptr<Connection> connect() const {
    std::string reasons;
    for (const std::string& address : addresses_) {
      ConnectionOptions options = options_;
      options.address = address;
      try {
        return Connection::open(options);
      } catch (const Error& error) {
        const bool silent =
            error.code() == Code::unavailable || error.code() == Code::deadline_exceeded;
        if (!silent) throw;
        reasons += (reasons.empty() ? "" : "; ") + error.message();
      }
    }
    throw make_error(Code::unavailable, "no worker answers: {}", reasons);
  }

  // The connection, or a new one if it has failed or its worker is about to end. Errors: those of
  // connect(); FAILED_PRECONDITION if the new worker has other devices.
  std::shared_ptr<Connection> live_connection() const {
    const MutexLock lock(mutex_);
    if (!connection_->failure() && !connection_->preempted()) return connection_;
    auto connection = connect();
    const std::vector<Device> devices = devices_of(*connection);
    if (!std::ranges::equal(devices, devices_, same_device)) {
      throw failed_precondition("worker {}: devices, got others than before", addresses_.front());
    }
    connection_ = std::move(connection);
    runtime::clear_preemption();
    return connection_;
  }

  static std::vector<Device> devices_of(const Connection& connection) {
    std::vector<Device> devices;
    for (const v1::Device& device : connection.hello().devices()) {
      devices.push_back(worker::from_wire(device));
    }
    if (devices.empty()) throw make_error(Code::data_loss, "worker: devices, got none");
    return devices;
  }

  static ProgramFacts facts_of(const v1::Compiled& compiled) {
    ProgramFacts facts;
    for (const v1::Type& type : compiled.parameters()) {
      facts.parameters.push_back(worker::from_wire(type));
    }
    for (const v1::Type& type : compiled.results()) {
      facts.results.push_back(worker::from_wire(type));
    }
    facts.stats = worker::from_wire(compiled.stats());
    return facts;
  }

  void check_device(int id) const {
    if (std::ranges::find(devices_, id, &Device::id) != devices_.end()) return;
    throw invalid_argument("remote: device, got {}, expected one of the worker's {}", id,
                           devices_.size());
  }

  const std::vector<std::string> addresses_;
  const ConnectionOptions options_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<Connection> connection_ SYSTOLE_GUARDED_BY(mutex_);
  const std::string platform_;
  const std::vector<Device> devices_;
};

}  // namespace

std::span<const runtime::OptionDef> client_options() {
  static const std::vector<runtime::OptionDef> options = {
      {"address", std::string(), "host:port of the worker; of several, the first that answers"},
      {"token", std::string(), "the worker's token; \"\": $SYSTOLE_WORKER_TOKEN"},
      {"ca", std::string(), "PEM file of the worker's authority; \"\": $SYSTOLE_WORKER_CA"},
      {"certificate", std::string(), "PEM file of our own; \"\": $SYSTOLE_WORKER_CERTIFICATE"},
      {"key", std::string(), "PEM file of its key; \"\": $SYSTOLE_WORKER_KEY"},
      {"connect_seconds", 10.0, "how long the worker may take to answer at first"},
      {"silence_seconds", 15.0, "how long it may be silent before the connection is lost"},
      {"reconnect_seconds", 10.0, "how long to try to continue a session"},
      {"lease_seconds", 30.0, "how long the worker keeps a session without a connection"},
  };
  return options;
}

std::unique_ptr<runtime::Client> make_client(const ClientOptions& options) {
  return std::make_unique<RemoteClient>(
      runtime::resolve_options("remote", client_options(), options));
}

}  // namespace systole::remote
