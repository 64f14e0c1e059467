#include "systole/backends/cpu/jit/optimize.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/StandardInstrumentations.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdlib>

#include "systole/backends/cpu/jit/jit.h"
#include "systole/backends/cpu/jit/memory_hints.h"

namespace systole::cpu {

void set_function_attributes(llvm::Module& module, const HostTarget& target) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    // Programs run so on every thread (kernels/flush_denormals.h).
    function.addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
    if (target.vector_bits == 512) function.addFnAttr("prefer-vector-width", "512");
  }
}

void optimize_module(llvm::Module& module, llvm::TargetMachine& machine, bool optimize,
                     bool unroll) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  // Loops worth unrolling are emitted unrolled, and the vectoriser interleaves. Further unrolling
  // takes a third of the compile time; only large programs run long enough to benefit.
  tuning.LoopUnrolling = unroll;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // Leaves functions with the attribute optnone as they are.
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::OptNoneInstrumentation untouched(/*DebugLogging=*/false);
  untouched.registerCallbacks(callbacks);
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  // Compiled code calls no function of the C library: LLVM must not recognise functions by name.
  functions.registerPass([&] {
    llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
    library.disableAllFunctions();
    return llvm::TargetLibraryAnalysis(library);
  });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  auto passes = optimize ? builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
                         : builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0);
  passes.run(module, modules);
  if (optimize) apply_memory_hints(module);
}

}  // namespace systole::cpu
