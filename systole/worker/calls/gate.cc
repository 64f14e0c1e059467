#include "systole/worker/calls/gate.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "systole/worker/calls/profile_call.h"
#include "systole/worker/calls/session_call.h"
#include "systole/worker/calls/transfer_calls.h"
#include "systole/worker/calls/unary_call.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/grpc_status.h"
#include "systole/worker/secret.h"

namespace systole::worker {
namespace {

using Reactor = grpc::ServerGenericBidiReactor;

class Refusal final : public Reactor {
 public:
  Refusal(const grpc::Status& status, std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {
    if (connection_ != nullptr) connection_->call_began();
    Finish(status);
  }
  ~Refusal() override {
    if (connection_ != nullptr) connection_->call_ended();
  }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Connection> connection_;
};

template <class Request, class Reply>
UnaryCall::Handler handler(WorkerService& service, Reply (WorkerService::*method)(const Request&)) {
  return [&service, method](grpc::ByteBuffer& bytes) {
    Request request;
    if (!from_buffer(bytes, request)) {
      throw invalid_argument("worker: request, got bytes that are none");
    }
    return to_buffer((service.*method)(request));
  };
}

struct Method {
  std::string_view name;
  Reactor* (*make)(const CallContext& context, GateState& gate);
};

constexpr std::string_view kService = "/systole.worker.v1.Worker/";

constexpr std::array<Method, 7> kMethods = {{
    {"Hello",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new UnaryCall(context, gate.options.first_message_seconds, &gate.hello_thread,
                            handler(gate.service, &WorkerService::hello));
     }},
    {"Session",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new SessionCall(context, gate);
     }},
    {"Upload",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new UploadCall(context, gate);
     }},
    {"Download",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new DownloadCall(context, gate);
     }},
    {"Close",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new UnaryCall(context, gate.options.first_message_seconds, &gate.close_thread,
                            handler(gate.service, &WorkerService::close));
     }},
    {"Status",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new UnaryCall(context, gate.options.first_message_seconds, nullptr,
                            handler(gate.service, &WorkerService::status));
     }},
    {"Profile",
     [](const CallContext& context, GateState& gate) -> Reactor* {
       return new ProfileCall(context, gate);
     }},
}};

const Method* find_method(std::string_view name) {
  if (!name.starts_with(kService)) return nullptr;
  const auto* const it = std::ranges::find(kMethods, name.substr(kService.size()), &Method::name);
  return it == kMethods.end() ? nullptr : it;
}

}  // namespace

void Gate::check_token(const grpc::ServerContextBase& context) const {
  const std::string& token = state_.options.token;
  if (token.empty()) return;
  const auto& metadata = context.client_metadata();
  const auto given = metadata.find(kAuthorization);
  if (given == metadata.end()) {
    throw make_error(Code::unauthenticated, "worker: token, got none, expected this worker's");
  }
  if (!is_secret({given->second.data(), given->second.size()}, "Bearer " + token)) {
    throw make_error(Code::unauthenticated, "worker: token, got another than this worker's");
  }
}

grpc::ServerGenericBidiReactor* Gate::CreateReactor(grpc::GenericCallbackServerContext* context) {
  Connections& connections = state_.connections;
  std::shared_ptr<Connection> connection;
  try {
    const auto peer = parse_peer(context->peer());
    if (peer) connection = connections.find(*peer);
    const CallContext call{*context, state_.calls, connections, connection};
    if (connection == nullptr) {
      throw make_error(Code::unavailable, "worker: connection, got one that is shut down");
    }
    if (context->method() == "/grpc.health.v1.Health/Check") {
      if (!connection->known()) connections.count_refusal(*connection);
      return new HealthCheck(call, state_.health.serving());
    }
    check_token(*context);
    const bool is_watch = context->method() == "/grpc.health.v1.Health/Watch";
    const Method* const method = find_method(context->method());
    if (method == nullptr && !is_watch) {
      throw unimplemented("worker: call, got '{}', which this worker does not know",
                          context->method().substr(0, 100));
    }
    // Where the worker has no token, a connection becomes known by the first message that its
    // method can read.
    if (is_watch || !state_.options.token.empty()) connections.admit(*connection);
    if (is_watch) return new HealthWatch(call, state_.health);
    return method->make(call, state_);
  } catch (const Error& error) {
    if (connection != nullptr) connections.count_refusal(*connection);
    return new Refusal(to_status(error), connection);
  }
}

}  // namespace systole::worker
