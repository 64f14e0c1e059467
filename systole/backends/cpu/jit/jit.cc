#include "systole/backends/cpu/jit/jit.h"

#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <unistd.h>

#include <atomic>

#include "systole/backends/cpu/jit/optimize.h"
#include "systole/base/error.h"

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
  Code(orc::LLJIT& jit, orc::JITDylib& library, MainFunction main)
      : jit_(jit), library_(library), main_(main) {}
  ~Code() override { llvm::consumeError(jit_.getExecutionSession().removeJITDylib(library_)); }
  MainFunction main() const override { return main_; }
  int64_t code_bytes() const override { return 0; }

 private:
  orc::LLJIT& jit_;
  orc::JITDylib& library_;
  MainFunction main_;
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

  std::unique_ptr<CompiledCode> compile(const std::function<void(llvm::Module&)>& fill,
                                        bool optimize) override {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("program", *context);
    module->setDataLayout(jit_->getDataLayout());
    module->setTargetTriple(jit_->getTargetTriple().str());
    fill(*module);
    set_function_attributes(*module, target_);
#ifndef NDEBUG
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(*module, &stream)) throw internal_error("LLVM: {}", message);
#endif
    auto machine = unwrap(orc::JITTargetMachineBuilder(machine_builder_).createTargetMachine());
    optimize_module(*module, *machine, optimize);
    auto& library = unwrap(jit_->createJITDylib("program." + std::to_string(next_++)));
    library.addToLinkOrder(*runtime_);
    check(jit_->addIRModule(library, orc::ThreadSafeModule(std::move(module), std::move(context))));
    const auto address = unwrap(jit_->lookup(library, "main"));
    return std::make_unique<Code>(*jit_, library, address.toPtr<MainFunction>());
  }

 private:
  HostTarget target_;
  orc::JITTargetMachineBuilder machine_builder_{llvm::Triple()};
  std::unique_ptr<orc::LLJIT> jit_;
  orc::JITDylib* runtime_ = nullptr;
  std::atomic<int> next_ = 0;
};

}  // namespace

std::unique_ptr<Jit> Jit::create() { return std::make_unique<OrcJit>(); }

}  // namespace systole::cpu
