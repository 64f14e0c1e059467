#include "systole/backends/cpu/jit/jit.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "systole/backends/cpu/jit/code_cache.h"
#include "systole/backends/cpu/jit/optimize.h"
#include "systole/base/error.h"
#include "systole/base/log.h"

namespace systole::cpu {
namespace {

namespace orc = llvm::orc;

constexpr int64_t kLeastStreamed = int64_t{8} << 20;

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
  host.streamed_bytes = std::max<int64_t>(cache / 2, kLeastStreamed);
  return host;
}

class Code : public CompiledCode {
 public:
  Code(orc::LLJIT& jit, orc::JITDylib& library, MainFunction main, int64_t bytes)
      : jit_(jit), library_(library), main_(main), bytes_(bytes) {}
  ~Code() override { llvm::consumeError(jit_.getExecutionSession().removeJITDylib(library_)); }
  MainFunction main() const override { return main_; }
  int64_t code_bytes() const override { return bytes_; }

 private:
  orc::LLJIT& jit_;
  orc::JITDylib& library_;
  MainFunction main_;
  int64_t bytes_;
};

class OrcJit : public Jit {
 public:
  OrcJit() {
    static const bool initialized = [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
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
    runtime_->addGenerator(unwrap(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit_->getDataLayout().getGlobalPrefix())));
  }

  const HostTarget& target() const override { return target_; }

  JitResult compile(const std::function<void(llvm::Module&)>& fill, bool optimize,
                    CodeCache* cache) override {
    llvm::LLVMContext context;
    llvm::Module module("program", context);
    module.setDataLayout(jit_->getDataLayout());
    module.setTargetTriple(jit_->getTargetTriple().str());
    fill(module);
    set_function_attributes(module, target_);
#ifndef NDEBUG
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(module, &stream)) throw internal_error("LLVM: {}", message);
#endif
    const std::string key = key_of(module, optimize);
    if (auto code = known(key)) return {std::move(code), CodeOrigin::memory};
    std::optional<std::string> object = cache == nullptr ? std::nullopt : cache->find(key);
    const CodeOrigin origin = object ? CodeOrigin::disk : CodeOrigin::made;
    if (!object) {
      object = make_object(module, optimize);
      if (cache != nullptr) cache->store(key, *object);
    }
    log_debug("cpu: code {} of {} bytes {}", key.substr(0, 12), object->size(),
              origin == CodeOrigin::disk ? "from " + cache->folder() : "made");
    std::shared_ptr<const CompiledCode> code = load(*object);
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    known_[key] = code;
    return {std::move(code), origin};
  }

 private:
  std::string key_of(const llvm::Module& module, bool optimize) const {
    std::string text = fmt::format("systole {} llvm {} {} {} {} optimize={}\n", SYSTOLE_VERSION,
                                   LLVM_VERSION_STRING, module.getTargetTriple(), target_.cpu,
                                   target_.features, optimize);
    llvm::raw_string_ostream stream(text);
    llvm::WriteBitcodeToFile(module, stream);
    return digest_of(stream.str());
  }

  std::shared_ptr<const CompiledCode> known(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second.lock();
  }

  std::string make_object(llvm::Module& module, bool optimize) {
    auto builder = machine_builder_;
    const auto machine = unwrap(builder.createTargetMachine());
    optimize_module(module, *machine, optimize);
    const auto buffer = unwrap(orc::SimpleCompiler(*machine)(module));
    return buffer->getBuffer().str();
  }

  std::unique_ptr<CompiledCode> load(const std::string& object) {
    auto& library = unwrap(jit_->createJITDylib("program." + std::to_string(next_++)));
    library.addToLinkOrder(*runtime_);
    check(jit_->addObjectFile(library, llvm::MemoryBuffer::getMemBufferCopy(object)));
    const auto address = unwrap(jit_->lookup(library, "main"));
    return std::make_unique<Code>(*jit_, library, address.toPtr<MainFunction>(),
                                  static_cast<int64_t>(object.size()));
  }

  HostTarget target_;
  orc::JITTargetMachineBuilder machine_builder_{llvm::Triple()};
  std::unique_ptr<orc::LLJIT> jit_;
  orc::JITDylib* runtime_ = nullptr;
  std::atomic<int> next_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const CompiledCode>> known_;  // guarded by mutex_; by key
};

}  // namespace

std::unique_ptr<Jit> Jit::create() { return std::make_unique<OrcJit>(); }

}  // namespace systole::cpu
