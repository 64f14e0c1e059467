#include "systole/worker/worker_status.h"

#include <google/protobuf/util/json_util.h>

#include "systole/base/error.h"
#include "systole/base/escape.h"
#include "systole/runtime/memory.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/grpc_status.h"
#include "systole/worker/protocol/worker.grpc.pb.h"

namespace systole::worker {
namespace {

constexpr double kAnswerSeconds = 10;

std::string size_text(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

// Text of a worker, which may be anybody, for a terminal.
std::string shown(std::string_view text) { return escaped(text, {.ascii = true}); }

std::string to_text(const v1::StatusReply& status) {
  std::string text = fmt::format(
      "state     {}\nuptime    {:.0f} s\nprotocol  {}\nmemory    {} of {}\n",
      status.preempted() ? "preempted" : "serving", status.uptime_seconds(), status.version(),
      size_text(status.bytes_in_use()), size_text(status.limits().max_bytes()));
  if (!status.note().empty()) text += fmt::format("note      {}\n", shown(status.note()));
  for (const v1::Device& device : status.devices()) {
    text += fmt::format("device    {}, {}\n", shown(device.name()), shown(device.kind()));
  }
  text +=
      fmt::format("sessions  {} of {}\n", status.sessions_size(), status.limits().max_sessions());
  for (const v1::SessionStatus& session : status.sessions()) {
    text += fmt::format(
        "  {}: {}, {:.0f} s, {} in {} buffers, {} programs, {} operations done, {} queued\n",
        shown(session.client()), session.connected() ? "connected" : "waits for its client",
        session.age_seconds(), size_text(session.bytes()), session.buffers(), session.executables(),
        session.operations(), session.queued());
  }
  return text;
}

v1::StatusReply ask(const std::string& address) {
  const auto addresses = parse_addresses(address);
  if (addresses.size() != 1) {
    throw invalid_argument("worker: address, got '{}', expected one", address);
  }
  const Credentials credentials = with_environment({});
  const auto stub = v1::Worker::NewStub(make_channel(addresses.front(), credentials));
  grpc::ClientContext context;
  prepare(context, credentials, kAnswerSeconds);
  v1::StatusReply reply;
  const grpc::Status status = stub->Status(&context, {}, &reply);
  if (!status.ok()) throw call_error(status, "worker " + addresses.front(), credentials);
  return reply;
}

}  // namespace

std::string worker_status(const std::string& address) { return to_text(ask(address)); }

std::string worker_status_json(const std::string& address) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(ask(address), &json, options);
  if (!status.ok()) throw internal_error("worker {}: status: {}", address, status.ToString());
  return json;
}

}  // namespace systole::worker
