// Buffers and executables of a worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/backends/remote/connection.h"
#include "systole/base/mutex.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::remote {

class RemoteBuffer final : public runtime::Buffer {
 public:
  // `ready` is the event of what makes the buffer.
  RemoteBuffer(std::shared_ptr<Connection> connection, uint64_t id, TensorType type, int device_id,
               runtime::Event ready)
      : connection_(std::move(connection)),
        id_(id),
        type_(std::move(type)),
        device_id_(device_id),
        ready_(std::move(ready)) {}
  ~RemoteBuffer() override { connection_->free_later(id_, type_.byte_size()); }
  RemoteBuffer(const RemoteBuffer&) = delete;
  RemoteBuffer& operator=(const RemoteBuffer&) = delete;

  const TensorType& type() const override { return type_; }
  int device_id() const override { return device_id_; }
  runtime::Event ready() const override;
  runtime::Event copy_to_host(Tensor& target) const override;

  uint64_t id() const { return id_; }
  const std::shared_ptr<Connection>& connection() const { return connection_; }
  void set_ready(runtime::Event ready);

 private:
  const std::shared_ptr<Connection> connection_;
  const uint64_t id_;
  const TensorType type_;
  const int device_id_;
  mutable Mutex mutex_;
  runtime::Event ready_ SYSTOLE_GUARDED_BY(mutex_);
};

// What a launch needs to know of a compiled program.
struct ProgramFacts {
  std::vector<TensorType> parameters;
  std::vector<TensorType> results;
  runtime::ExecutableStats stats;
  std::vector<hlo::Module::Alias> aliases;  // unknown for deserialized programs: empty
  int device_id = 0;                        // the first device
};

class RemoteExecutable final : public runtime::Executable {
 public:
  RemoteExecutable(std::shared_ptr<Connection> connection, uint64_t id, ProgramFacts facts)
      : connection_(std::move(connection)), id_(id), facts_(std::move(facts)) {}
  ~RemoteExecutable() override { connection_->free_later(id_, facts_.stats.code_bytes); }
  RemoteExecutable(const RemoteExecutable&) = delete;
  RemoteExecutable& operator=(const RemoteExecutable&) = delete;

  std::span<const TensorType> parameter_types() const override { return facts_.parameters; }
  std::span<const TensorType> result_types() const override { return facts_.results; }
  const runtime::ExecutableStats& stats() const override { return facts_.stats; }
  runtime::Event execute(std::span<const runtime::Argument> arguments,
                         std::span<const runtime::Result> results,
                         const runtime::ExecuteOptions& options) override;
  std::string optimized_program() const override;
  std::string serialize() const override;

 private:
  struct Launch;
  void check(std::span<const runtime::Argument> arguments,
             std::span<const runtime::Result> results) const;
  void add_results(std::span<const runtime::Result> results, Launch& launch,
                   worker::v1::Execute& op) const;
  std::string describe(worker::v1::Describe::What what) const;

  const std::shared_ptr<Connection> connection_;
  const uint64_t id_;
  const ProgramFacts facts_;
};

}  // namespace systole::remote
