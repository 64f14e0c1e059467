// Carries out the operations of a session.
#pragma once

#include <functional>

#include "systole/runtime/client.h"
#include "systole/worker/compile_service.h"
#include "systole/worker/memory_account.h"
#include "systole/worker/object_store.h"
#include "systole/worker/operation_runner.h"
#include "systole/worker/protocol/worker.pb.h"
#include "systole/worker/transfers.h"
#include "systole/worker/worker_options.h"

namespace systole::worker {

// Carries them out in this process.
class Operations final : public OperationRunner {
 public:
  // All must outlive it.
  Operations(runtime::Client& device, const WorkerLimits& limits,
             std::shared_ptr<MemoryAccount> account, CompileService& compiler, Transfers& transfers)
      : device_(device),
        limits_(limits),
        account_(std::move(account)),
        compiler_(compiler),
        transfers_(transfers) {}

  void run(v1::Request& request, v1::Reply& reply) override;
  void refuse(v1::Request& request, const Error& error, v1::Reply& reply) override;
  void clear() override { objects_.clear(); }
  void stop() override {}
  int64_t num_buffers() const override { return objects_.num_buffers(); }
  int64_t num_executables() const override { return objects_.num_executables(); }

 private:
  struct Launch;
  void free(const v1::Request& request);
  void dispatch(const v1::Request& request, v1::Reply& reply);
  void fail(const v1::Request& request, const Error& error, v1::Reply& reply);
  void fail_execute(const v1::Execute& op, const Error& error, v1::Reply& reply);
  // Makes `error` that of a buffer that was not made.
  void poison(uint64_t id, const Error& error);
  void compile(const v1::Compile& op, v1::Reply& reply);
  void deserialize(const v1::Deserialize& op, v1::Reply& reply);
  void add_executable(uint64_t id, std::unique_ptr<runtime::Executable> executable,
                      int64_t program_bytes, v1::Reply& reply);
  void put(const v1::Put& op);
  void execute(const v1::Execute& op, v1::Reply& reply);
  // Launches. An exception that is no Error leaves it open what was launched.
  runtime::Event start(runtime::Executable& executable, const runtime::ExecuteOptions& options,
                       Launch& launch);
  void add_argument(const v1::Execute& op, int index, const TensorType& type, Launch& launch);
  void add_result(const v1::Execute::Result& result, const TensorType& type, Launch& launch);
  void give_results(const v1::Execute& op, Launch& launch, v1::Reply& reply);
  void lose_donated(const v1::Execute& op, const Error& error);
  void fetch(const v1::Fetch& op, v1::Reply& reply);
  void describe(const v1::Describe& op, v1::Reply& reply);
  void memory_stats(const v1::MemoryStats& op, v1::Reply& reply);
  std::string program_bytes(const v1::Data& data, const char* what);
  // Where a result of this type goes that the client gets.
  Array host_array(const TensorType& type);
  // Puts a value into the reply, or makes it the transfer `id` if it is large.
  void give(Array array, uint64_t id, v1::Data& data);

  runtime::Client& device_;
  const WorkerLimits& limits_;
  const std::shared_ptr<MemoryAccount> account_;
  CompileService& compiler_;
  Transfers& transfers_;
  ObjectStore objects_;
};

}  // namespace systole::worker
