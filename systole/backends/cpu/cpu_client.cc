#include <map>

#include "systole/backends/cpu/cpu_backend.h"
#include "systole/backends/cpu/cpu_executable.h"
#include "systole/backends/cpu/jit/code_cache.h"
#include "systole/backends/cpu/kernels/lapack.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/hlo/passes/expand_quantized.h"
#include "systole/hlo/passes/expand_small_floats.h"
#include "systole/runtime/ffi/ffi_call.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/partitioned_program.h"

namespace systole::cpu {
namespace {

std::string describe(const HostTarget& target) {
  return fmt::format("{}, {}-bit vectors, {} cores", target.cpu, target.vector_bits,
                     ThreadPool::global().num_threads());
}

// Gives the parameters and results of a program that expand_small_floats() made the types of
// `module` back, which callers see. The program itself has ui8 codes there.
void restore_small_floats(const hlo::Module& module, CompiledProgram& program) {
  const hlo::Computation& main = module.entry();
  for (int i = 0; i < main.num_parameters(); ++i) {
    const DType dtype = main.parameter(i).dtype();
    if (is_small_float(dtype)) program.parameters[i].dtype = dtype;
  }
  for (size_t i = 0; i < main.results().size(); ++i) {
    const DType dtype = main.results()[i].dtype();
    if (is_small_float(dtype)) program.results[i].dtype = dtype;
  }
}

// The threads of all pools are at most these times those of the largest.
constexpr int kMaxPools = 4;

class CpuClient : public runtime::HostClient {
 public:
  CpuClient(std::unique_ptr<Jit> jit, const runtime::ClientOptions& options, int64_t memory_bytes)
      : HostClient("cpu", describe(jit->target()), memory_bytes, options),
        jit_(std::move(jit)),
        memory_bytes_(memory_bytes) {}

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const runtime::CompileOptions& given) override {
    check_options(module, given);
    if (given.num_partitions > 1) {
      const runtime::PartitionedProgram split = runtime::partition_program(module, given);
      return compile(*split.module, split.options);
    }
    check_custom_calls(module, [](const hlo::Instruction& x) {
      return runtime::is_ffi_call(x) || is_lapack_call(x) || process_call(x) != nullptr;
    });
    if (hlo::has_quantized_types(module)) return compile(*hlo::expand_quantized(module), given);
    runtime::CompileOptions options = given;
    options.memory_limit = memory_limit(given);
    std::shared_ptr<ThreadPool> threads = pool(options.num_threads);
    const auto expanded =
        hlo::has_small_floats(module) ? hlo::expand_small_floats(module) : nullptr;
    auto program = compile_program(expanded == nullptr ? module : *expanded, options, threads.get(),
                                   memory_bytes_, *jit_, code_cache(options.cache_folder));
    restore_small_floats(module, *program);
    auto placements = result_placements(module, options, program->results);
    return std::make_unique<CpuExecutable>(
        std::move(program), std::move(threads), std::move(placements),
        runtime::ProgramSource{.module = module.clone(), .options = given});
  }

  std::unique_ptr<runtime::Executable> deserialize(std::string_view bytes) override {
    const runtime::ProgramSource source = runtime::read_program("cpu", bytes);
    return compile(*source.module, source.options);
  }

 private:
  // Null when code is not kept on disk.
  CodeCache* code_cache(const std::string& folder) {
    const MutexLock lock(mutex_);
    const auto [entry, added] = code_caches_.try_emplace(folder);
    if (added) entry->second = open_code_cache(folder);
    return entry->second.get();
  }

  // Null for one thread. Other pools than that of the process live as long as executables use them.
  std::shared_ptr<ThreadPool> pool(int num_threads) {
    if (num_threads == 1) return nullptr;
    ThreadPool& global = ThreadPool::global();
    if (num_threads == 0 || num_threads == global.num_threads()) {
      if (global.num_threads() == 1) return nullptr;
      return {std::shared_ptr<void>(), &global};
    }
    const MutexLock lock(mutex_);
    if (auto pool = pools_[num_threads].lock()) return pool;
    check_threads(num_threads);
    auto pool = std::make_shared<ThreadPool>(num_threads);
    pools_[num_threads] = pool;
    return pool;
  }

  // Programs of many numbers of threads could take all threads of the machine. REQUIRES: mutex_.
  void check_threads(int more) SYSTOLE_REQUIRES(mutex_) {
    const int limit = kMaxPools * runtime::max_threads();
    std::erase_if(pools_, [](const auto& entry) { return entry.second.expired(); });
    int threads = more;
    for (const auto& [number, pool] : pools_) threads += number;
    if (threads <= limit) return;
    throw make_error(Code::resource_exhausted,
                     "cpu: threads of all programs, got {}, expected at most {}: programs of one "
                     "num_threads share them",
                     threads, limit);
  }

  std::unique_ptr<Jit> jit_;
  const int64_t memory_bytes_;
  Mutex mutex_;
  std::map<int, std::weak_ptr<ThreadPool>> pools_
      SYSTOLE_GUARDED_BY(mutex_);  // by number of threads
  // Guarded by mutex_; by CompileOptions::cache_folder. Null where none can be used.
  std::map<std::string, std::unique_ptr<CodeCache>> code_caches_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options,
                                             int64_t memory_bytes) {
  return std::make_unique<CpuClient>(
      Jit::create(), runtime::resolve_options("cpu", runtime::host_client_options(), options),
      memory_bytes);
}

}  // namespace systole::cpu
