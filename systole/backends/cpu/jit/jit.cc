#include "systole/backends/cpu/jit/jit.h"

#include <llvm-c/Core.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectFileInterface.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <span>

#include "systole/backends/cpu/jit/code_cache.h"
#include "systole/backends/cpu/jit/generator_digest.h"
#include "systole/backends/cpu/jit/idle_memory.h"
#include "systole/backends/cpu/jit/optimize.h"
#include "systole/backends/cpu/jit/own_library.h"
#include "systole/backends/cpu/jit/parts.h"
#include "systole/backends/cpu/jit/unite_functions.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/tracing/span.h"

namespace systole::cpu {
namespace {

namespace orc = llvm::orc;

constexpr int64_t kMinStreamed = int64_t{8} << 20;
constexpr size_t kShownKey = 12;  // digits of a key in logs
constexpr int kPartsAThread = 2;  // of code, so that a thread that is done early finds more to do

template <class T>
T unwrap(llvm::Expected<T> value) {
  if (!value) throw internal_error("LLVM: {}", llvm::toString(value.takeError()));
  if constexpr (std::is_reference_v<T>) {
    return *value;
  } else {
    return std::move(*value);
  }
}

void check(llvm::Error error) {
  if (error) throw internal_error("LLVM: {}", llvm::toString(std::move(error)));
}

HostTarget describe_host(const orc::JITTargetMachineBuilder& builder) {
  const auto& features = builder.getFeatures().getFeatures();
  const auto has = [&](const std::string& name) {
    return std::find(features.begin(), features.end(), "+" + name) != features.end();
  };
  HostTarget host;
  host.cpu = builder.getCPU();
  host.features = builder.getFeatures().getString();
  host.has_fma = has("fma") && has("avx2");
  host.vector_bits = has("avx512f") && has("avx512vl") ? 512 : has("avx2") ? 256 : 128;
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  host.streamed_bytes = std::max<int64_t>(cache / 2, kMinStreamed);
  return host;
}

std::string bitcode_of(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return std::move(stream.str());
}

// LLVM would end the process. (Code of LLVM that such an exception passes leaks what it holds.)
void make_errors_exceptions() {
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  llvm::install_fatal_error_handler(
      [](void*, const char* reason, bool) { throw internal_error("LLVM: {}", reason); });
}

// Leaves two passes of the code generator out that take a third of its time: one gives each array
// of a loop a pointer of its own, where processors add an index for nothing; the other orders
// instructions that processors take in the order that suits them.
class ChosenPasses : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    return pass != "Loop Strength Reduction" && pass != "Post RA top-down list latency scheduler";
  }
};

// Defines functions of this library and of those that it depends on when code asks for them.
class OwnSymbols : public orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(orc::LookupState&, orc::LookupKind, orc::JITDylib& library,
                            orc::JITDylibLookupFlags,
                            const orc::SymbolLookupSet& symbols) override {
    orc::SymbolMap found;
    for (const auto& [name, flags] : symbols) {
      if (void* const address = find_own_symbol((*name).str())) {
        found[name] = {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
      }
    }
    if (found.empty()) return llvm::Error::success();
    return library.define(orc::absoluteSymbols(std::move(found)));
  }
};

class Code : public CompiledCode {
 public:
  // Removes the library from the JIT when it is destroyed.
  Code(orc::LLJIT& jit, orc::JITDylib& library, std::string record, int64_t bytes)
      : jit_(jit), library_(library), record_(std::move(record)), bytes_(bytes) {}
  void set_main(MainFunction main) { main_ = main; }
  ~Code() override { llvm::consumeError(jit_.getExecutionSession().removeJITDylib(library_)); }
  MainFunction main() const override { return main_; }
  const std::string& record() const override { return record_; }
  int64_t code_bytes() const override { return bytes_; }

 private:
  orc::LLJIT& jit_;
  orc::JITDylib& library_;
  MainFunction main_ = nullptr;
  std::string record_;
  int64_t bytes_;
};

class OrcJit : public Jit {
 public:
  OrcJit() {
    static const bool initialized = [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
      make_errors_exceptions();
      return true;
    }();
    static_cast<void>(initialized);
    auto builder = unwrap(orc::JITTargetMachineBuilder::detectHost());
    builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    builder.setRelocationModel(llvm::Reloc::PIC_);
    target_ = describe_host(builder);
    machine_builder_ = builder;
    jit_ = unwrap(orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
    orc::SymbolMap symbols;
    for (const RuntimeSymbol& symbol : runtime_symbols()) {
      symbols[jit_->mangleAndIntern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address),
                                                     llvm::JITSymbolFlags::Exported};
    }
    runtime_ = &unwrap(jit_->createJITDylib("systole.runtime"));
    check(runtime_->define(orc::absoluteSymbols(std::move(symbols))));
    runtime_->addGenerator(std::make_unique<OwnSymbols>());
    release_compile_memory();  // what loading the library took
  }

  const HostTarget& target() const override { return target_; }

  std::optional<JitResult> find(std::string_view program, const JitOptions& options) override {
    const std::string key = key_of(program, options);
    if (auto code = known(key)) return JitResult{std::move(code), CodeOrigin::memory};
    if (options.cache == nullptr) return std::nullopt;
    const std::optional<std::string> bytes = options.cache->find(key);
    if (!bytes) return std::nullopt;
    try {
      auto code = keep(key, load(*bytes));
      log_debug("cpu: code {} of {} bytes from {}", key.substr(0, kShownKey), bytes->size(),
                options.cache->folder());
      return JitResult{std::move(code), CodeOrigin::disk};
    } catch (const Error& error) {
      log_warning("{}: code {}: {}; it is compiled again", options.cache->folder(),
                  key.substr(0, kShownKey), error.message());
    }
    return std::nullopt;
  }

  JitResult compile(std::string_view program, const std::function<std::string(llvm::Module&)>& emit,
                    const JitOptions& options) override {
    JitResult result = compile_module(program, emit, options);
    if (after_compiling_.is_due()) release_compile_memory();
    return result;
  }

 private:
  JitResult compile_module(std::string_view program,
                           const std::function<std::string(llvm::Module&)>& emit,
                           const JitOptions& options) {
    llvm::LLVMContext context;
    llvm::Module module("program", context);
    module.setDataLayout(jit_->getDataLayout());
    module.setTargetTriple(jit_->getTargetTriple().str());
    std::vector<std::string> parts;
    {
      const tracing::Span span("emit code", tracing::Kind::compile);
      parts.push_back(emit(module));
    }
    set_function_attributes(module, target_);
    if (options.optimize) {
      const tracing::Span span("unite functions", tracing::Kind::compile);
      unite_functions(module);
    }
    share_functions(module);
#ifndef NDEBUG
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(module, &stream)) throw internal_error("LLVM: {}", message);
#endif
    {
      const tracing::Span span("make machine code", tracing::Kind::compile);
      for (std::string& object : make_objects(module, options)) parts.push_back(std::move(object));
    }
    const std::string bytes = join_objects(parts);
    const std::string key = key_of(program, options);
    log_debug("cpu: code {} of {} bytes made", key.substr(0, kShownKey), bytes.size());
    std::shared_ptr<const CompiledCode> code = load(bytes);
    if (options.cache != nullptr) options.cache->store(key, bytes);
    return {keep(key, std::move(code)), CodeOrigin::made};
  }

  std::string key_of(std::string_view program, const JitOptions& options) const {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    LLVMGetVersion(&major, &minor, &patch);  // of the library, not of its headers
    std::string all = fmt::format(
        "systole {} llvm {}.{}.{} {} {} {} streamed={} optimize={} runs_once={}\n",
        generator_digest(), major, minor, patch, jit_->getTargetTriple().str(), target_.cpu,
        target_.features, target_.streamed_bytes, options.optimize, options.runs_once);
    all += program;
    return digest_of(all);
  }

  // Also when another thread made the same code.
  std::shared_ptr<const CompiledCode> keep(const std::string& key,
                                           std::shared_ptr<const CompiledCode> code) {
    const MutexLock lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    known_[key] = code;
    return code;
  }

  std::shared_ptr<const CompiledCode> known(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second.lock();
  }

  std::string make_object(llvm::Module& module, const JitOptions& options) {
    static ChosenPasses passes;
    module.getContext().setOptPassGate(passes);
    auto builder = machine_builder_;
    if (options.runs_once) builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
    const auto machine = unwrap(builder.createTargetMachine());
    {
      const tracing::Span span("optimise code", tracing::Kind::compile);
      optimize_module(module, *machine, options.optimize);
    }
    // Passes and the code generator are different code.
    if (after_passes_.is_due()) release_compiler_code();
    const tracing::Span span("write machine code", tracing::Kind::compile);
    const auto buffer = unwrap(orc::SimpleCompiler(*machine)(module));
    return buffer->getBuffer().str();
  }

  // One for each part.
  std::vector<std::string> make_objects(llvm::Module& module, const JitOptions& options) {
    const int threads = options.pool == nullptr ? 1 : options.pool->num_threads();
    const std::vector<Part> parts = plan_parts(module, threads == 1 ? 1 : threads * kPartsAThread);
    if (parts.size() == 1) return {make_object(module, options)};
    const std::string bitcode = bitcode_of(module);
    std::vector<std::string> objects(parts.size());
    options.pool->parallel_for(
        static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
          for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
            llvm::LLVMContext context;
            const auto part = read_part(bitcode, parts[i], context);
            objects[i] = make_object(*part, options);
          }
        });
    return objects;
  }

  // `bytes` are those of an entry of the cache (code_cache.h).
  std::unique_ptr<CompiledCode> load(std::string_view bytes) {
    const std::vector<std::string_view> parts = split_objects(bytes);
    if (parts.empty()) throw internal_error("cpu: compiled code, got no record of the program");
    auto& library = unwrap(jit_->createJITDylib("program." + std::to_string(next_++)));
    const auto size = static_cast<int64_t>(bytes.size() - parts[0].size());
    auto code = std::make_unique<Code>(*jit_, library, std::string(parts[0]), size);
    library.addToLinkOrder(*runtime_);
    const tracing::Span span("link code", tracing::Kind::compile);
    orc::ExecutionSession& session = jit_->getExecutionSession();
    orc::SymbolLookupSet all;
    for (const std::string_view object : std::span(parts).subspan(1)) {
      auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object);
      const auto interface = unwrap(orc::getObjectFileInterface(session, *buffer));
      for (const auto& [name, flags] : interface.SymbolFlags) all.add(name);
      check(jit_->addObjectFile(library, std::move(buffer)));
    }
    // Code of a part can be ready although another part, which it calls, failed.
    const auto symbols = unwrap(session.lookup(orc::makeJITDylibSearchOrder(&library), all));
    const auto main = symbols.find(jit_->mangleAndIntern("main"));
    if (main == symbols.end()) throw internal_error("cpu: compiled code, got no main function");
    code->set_main(main->second.getAddress().toPtr<MainFunction>());
    return code;
  }

  HostTarget target_;
  orc::JITTargetMachineBuilder machine_builder_{llvm::Triple()};
  std::unique_ptr<orc::LLJIT> jit_;
  orc::JITDylib* runtime_ = nullptr;
  std::atomic<int> next_ = 0;
  OnceASecond after_passes_;
  OnceASecond after_compiling_;
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<const CompiledCode>> known_
      SYSTOLE_GUARDED_BY(mutex_);  // by key
};

}  // namespace

std::unique_ptr<Jit> Jit::create() { return std::make_unique<OrcJit>(); }

}  // namespace systole::cpu
