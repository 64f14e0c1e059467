#include <map>
#include <mutex>

#include "systole/backends/cpu/cpu_backend.h"
#include "systole/backends/cpu/cpu_executable.h"
#include "systole/backends/cpu/jit/code_cache.h"
#include "systole/base/error.h"
#include "systole/runtime/host_buffer.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/replica_by_replica.h"

namespace systole::cpu {
namespace {

class CpuClient : public runtime::Client {
 public:
  CpuClient() : jit_(Jit::create()) {
    const HostTarget& target = jit_->target();
    device_.name = "cpu:0";
    device_.kind = fmt::format("{}, {}-bit vectors, {} cores", target.cpu, target.vector_bits,
                               ThreadPool::global().num_threads());
    device_.memory_bytes = runtime::host_memory_bytes();
  }

  std::string_view platform() const override { return "cpu"; }
  std::span<const runtime::Device> devices() const override { return {&device_, 1}; }

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const runtime::CompileOptions& options) override {
    if (options.num_replicas < 1)
      throw invalid_argument("cpu: num_replicas, got {}, expected >= 1", options.num_replicas);
    if (options.num_threads < 0)
      throw invalid_argument("cpu: num_threads, got {}, expected >= 0", options.num_threads);
    ThreadPool* threads = pool(options.num_threads);
    auto executable = std::make_unique<CpuExecutable>(
        compile_program(module, options, threads, device_.memory_bytes, *jit_,
                        code_cache(options.cache_folder)),
        threads);
    if (options.stacked || options.num_replicas == 1) return executable;
    return runtime::replica_by_replica(std::move(executable), module, options.num_replicas);
  }

  std::unique_ptr<runtime::Buffer> buffer_from_host(const Tensor& tensor, int device_id) override {
    if (device_id != 0) throw invalid_argument("cpu: device, got {}, expected 0", device_id);
    return std::make_unique<runtime::HostBuffer>(tensor.clone());
  }

 private:
  // Null when code is not kept on disk.
  CodeCache* code_cache(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    const auto [entry, added] = code_caches_.try_emplace(folder);
    if (added) entry->second = open_code_cache(folder);
    return entry->second.get();
  }

  // Null for one thread.
  ThreadPool* pool(int num_threads) {
    if (num_threads == 1) return nullptr;
    ThreadPool& global = ThreadPool::global();
    if (num_threads == 0 || num_threads == global.num_threads())
      return global.num_threads() == 1 ? nullptr : &global;
    const std::lock_guard lock(mutex_);
    auto& pool = pools_[num_threads];
    if (pool == nullptr) pool = std::make_unique<ThreadPool>(num_threads);
    return pool.get();
  }

  std::unique_ptr<Jit> jit_;
  runtime::Device device_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<ThreadPool>> pools_;  // guarded by mutex_
  // Guarded by mutex_; by CompileOptions::cache_folder. Null where none can be used.
  std::map<std::string, std::unique_ptr<CodeCache>> code_caches_;
};

}  // namespace

std::unique_ptr<runtime::Client> make_client() { return std::make_unique<CpuClient>(); }

}  // namespace systole::cpu
