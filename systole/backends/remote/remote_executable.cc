#include "systole/backends/remote/remote_executable.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/worker/protocol/convert.h"

namespace systole::remote {
namespace {

namespace v1 = worker::v1;
using runtime::Argument;
using runtime::Event;
using runtime::Promise;
using runtime::Result;

// Makes `target` a tensor of this type whose memory nobody shares.
void prepare_target(const TensorType& type, Tensor& target) {
  if (target.type() != type || !target.unique()) target = Tensor(type);
}

}  // namespace

// ------------------------------------------------------------------------------------ buffers

Event RemoteBuffer::ready() const {
  const MutexLock lock(mutex_);
  return ready_;
}

void RemoteBuffer::set_ready(Event ready) {
  const MutexLock lock(mutex_);
  ready_ = std::move(ready);
}

Event RemoteBuffer::copy_to_host(Tensor& target) const {
  const auto done = std::make_shared<Promise>();
  Event event = done->event();
  v1::Request request;
  request.mutable_fetch()->set_buffer(id_);
  request.mutable_fetch()->set_transfer(connection_->new_id());
  try {
    connection_->send(std::move(request), [done, &target, type = type_,
                                           connection = connection_.get()](const v1::Reply& reply,
                                                                           const Error* error) {
      if (error != nullptr) return done->fail(*error);
      prepare_target(type, target);
      connection->take(reply.data(), target.raw(), type.byte_size(), [done](const Error* failure) {
        failure == nullptr ? done->set() : done->fail(*failure);
      });
    });
  } catch (const Error& error) {
    done->fail(error);
  }
  return event;
}

// -------------------------------------------------------------------------------- executables

// What a launch writes when its reply comes.
struct RemoteExecutable::Launch {
  struct Host {
    Tensor* target;
    TensorType type;
  };
  std::vector<Host> host;
  std::vector<runtime::StepProfile>* profile = nullptr;
  Promise done;
  Promise donated;  // of the arguments: the launch's error only if the worker launched
  std::atomic<size_t> left{0};
  Mutex mutex;
  std::optional<Error> failure;  // the first

  void finish_one(const Error* error) {
    if (error != nullptr) {
      const MutexLock lock(mutex);
      if (!failure) failure = *error;
    }
    if (--left > 0) return;
    failure ? done.fail(*failure) : done.set();
  }

  // REQUIRES: owned by a shared_ptr, `self`.
  static void handle(const std::shared_ptr<Launch>& self, Connection& connection,
                     const v1::Reply& reply, const Error* error) {
    Launch& launch = *self;
    if (error != nullptr) {
      // Without a reply the connection is lost, and every buffer with it.
      const bool kept = reply.has_error() && !reply.error().launched();
      kept ? launch.donated.set() : launch.donated.fail(*error);
      return launch.done.fail(*error);
    }
    launch.donated.set();
    if (launch.profile != nullptr) {
      launch.profile->clear();
      for (const v1::StepProfile& step : reply.executed().profile()) {
        launch.profile->push_back(worker::from_wire(step));
      }
    }
    launch.left = launch.host.size() + 1;
    const v1::Data none;
    for (size_t i = 0; i < launch.host.size(); ++i) {
      const auto& [target, type] = launch.host[i];
      const int k = static_cast<int>(i);
      prepare_target(type, *target);
      connection.take(k < reply.executed().host_size() ? reply.executed().host(k) : none,
                      target->raw(), type.byte_size(),
                      [self](const Error* failure) { self->finish_one(failure); });
    }
    launch.finish_one(nullptr);
  }
};

void RemoteExecutable::check(std::span<const Argument> arguments,
                             std::span<const Result> results) const {
  if (arguments.size() != facts_.parameters.size() || results.size() != facts_.results.size()) {
    throw invalid_argument("remote: arguments and results, got {} and {}, expected {} and {}",
                           arguments.size(), results.size(), facts_.parameters.size(),
                           facts_.results.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.buffer == nullptr) {
      if (argument.host != nullptr) continue;
      throw invalid_argument("remote: argument {}, got neither a buffer nor a host tensor", i);
    }
    const auto* const buffer = dynamic_cast<const RemoteBuffer*>(argument.buffer);
    if (buffer == nullptr) {
      throw invalid_argument("remote: argument {}, got another backend's buffer, expected its own",
                             i);
    }
    if (buffer->connection() == connection_) continue;
    if (const auto lost = buffer->connection()->failure()) throw Error(*lost);
    throw invalid_argument("remote: argument {}, got a buffer of another worker", i);
  }
  for (const auto& [parameter, result] : facts_.aliases) {
    const auto p = static_cast<size_t>(parameter);
    if (!arguments[p].donate || arguments[p].buffer == nullptr) continue;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i == p || arguments[i].buffer != arguments[p].buffer) continue;
      throw invalid_argument(
          "remote: argument {}, got the memory of argument {}, which the program updates", i, p);
    }
  }
}

void RemoteExecutable::add_results(std::span<const Result> results, Launch& launch,
                                   v1::Execute& op) const {
  for (size_t k = 0; k < results.size(); ++k) {
    v1::Execute::Result& result = *op.add_results();
    if (results[k].device != nullptr) {
      const uint64_t id = connection_->new_id();
      result.set_buffer(id);
      *results[k].device = std::make_unique<RemoteBuffer>(connection_, id, facts_.results[k],
                                                          facts_.device_id, launch.done.event());
    } else if (results[k].host != nullptr) {
      result.set_host(connection_->new_id());
      launch.host.push_back({results[k].host, facts_.results[k]});
    }
  }
}

Event RemoteExecutable::execute(std::span<const Argument> arguments,
                                std::span<const Result> results,
                                const runtime::ExecuteOptions& options) {
  check(arguments, results);
  const auto launch = std::make_shared<Launch>();
  launch->profile = options.profile;
  Event event = launch->done.event();
  v1::Request request;
  v1::Execute& op = *request.mutable_execute();
  op.set_executable(id_);
  op.set_profile(options.profile != nullptr);
  for (const Argument& argument : arguments) {
    v1::Execute::Argument& given = *op.add_arguments();
    if (argument.buffer != nullptr) {
      given.set_buffer(static_cast<RemoteBuffer*>(argument.buffer)->id());
      given.set_donate(argument.donate);
    } else {
      connection_->give(*argument.host, *given.mutable_host());
    }
  }
  add_results(results, *launch, op);
  connection_->send(std::move(request), [launch, connection = connection_.get()](
                                            const v1::Reply& reply, const Error* error) {
    Launch::handle(launch, *connection, reply, error);
  });
  for (const Argument& argument : arguments) {
    if (argument.buffer == nullptr || !argument.donate) continue;
    static_cast<RemoteBuffer*>(argument.buffer)->set_ready(launch->donated.event());
  }
  return event;
}

std::string RemoteExecutable::describe(v1::Describe::What what) const {
  v1::Request request;
  v1::Describe& op = *request.mutable_describe();
  op.set_executable(id_);
  op.set_what(what);
  op.set_transfer(connection_->new_id());
  const v1::Reply reply = connection_->call(std::move(request));
  const bool apart = reply.data().place_case() == v1::Data::kTransfer;
  std::string text(apart ? reply.data().size() : reply.data().bytes().size(), '\0');
  const auto done = std::make_shared<Promise>();
  const Event event = done->event();
  connection_->take(
      reply.data(), text.data(), static_cast<int64_t>(text.size()),
      [done](const Error* error) { error == nullptr ? done->set() : done->fail(*error); });
  event.wait();
  return text;
}

std::string RemoteExecutable::optimized_program() const {
  return describe(v1::Describe::OPTIMIZED_PROGRAM);
}

std::string RemoteExecutable::serialize() const { return describe(v1::Describe::SERIALIZED); }

}  // namespace systole::remote
