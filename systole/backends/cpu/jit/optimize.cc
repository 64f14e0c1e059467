#include "systole/backends/cpu/jit/optimize.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <string_view>

#include "systole/backends/cpu/jit/jit.h"
#include "systole/backends/cpu/jit/memory_hints.h"
#include "systole/base/error.h"

namespace systole::cpu {

namespace {

// What of -O2 loops over arrays gain from, each pass as often as it finds something. The rest takes
// as long again: nothing calls anything, loops are emitted rotated and in SSA form but for
// accumulators, and those worth unrolling are emitted unrolled, so that there is nothing to inline,
// thread or unroll. (Unrolling what the vectoriser has interleaved doubles the code and made no
// program of bench/peers faster.)
constexpr std::string_view kPasses =
    // Accumulators become registers, addresses and what else is computed twice one value.
    "sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm)";
// Windows and other loops of a few turns are written out; their arrays become registers, too.
constexpr std::string_view kPassesToWriteOut =
    "loop(indvars,loop-deletion,loop-unroll-full),"
    "sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg";
constexpr std::string_view kVectorPasses =
    "loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg,"
    "slp-vectorizer,vector-combine,instcombine<no-verify-fixpoint>,"
    // The vectoriser leaves checks and constants in loops.
    "loop-mssa(licm),instsimplify,simplifycfg";

// For loops that find places by division, which are not vectorised: neighbours share most of it.
constexpr std::string_view kPassesWithDivisions =
    "loop-unroll,early-cse,instcombine<no-verify-fixpoint>,simplifycfg";

// A loop that would become more than that is not written out: most of the time to compile small
// programs would go to loops over a few channels, of which the vectoriser makes as good code.
constexpr int64_t kMaxWrittenOut = 128;  // instructions

// Copies, such as transposes of reshapes. Loops that compute more gain little.
constexpr size_t kMaxUnrolled = 32;  // instructions

// Whether it is one block of few instructions, a division among them.
bool divides(const llvm::Loop& loop) {
  if (loop.getNumBlocks() != 1 || loop.getHeader()->size() > kMaxUnrolled) return false;
  return std::ranges::any_of(*loop.getHeader(), [](const llvm::Instruction& x) {
    return x.getOpcode() == llvm::Instruction::URem || x.getOpcode() == llvm::Instruction::UDiv;
  });
}

constexpr const char* kKeepLoop = "llvm.loop.unroll.disable";

// Forbids to write out loops that would become long. Returns the instructions of `loop` and of
// those inside of it when the others are written out, and adds the number of these to `chosen`.
int64_t choose_loops_to_write_out(llvm::Loop& loop, llvm::ScalarEvolution& numbers, int& chosen) {
  int64_t size = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) size += static_cast<int64_t>(block->size());
  for (llvm::Loop* inner : loop.getSubLoops()) {
    for (const llvm::BasicBlock* block : inner->blocks())
      size -= static_cast<int64_t>(block->size());
    size += choose_loops_to_write_out(*inner, numbers, chosen);
  }
  const int64_t turns = numbers.getSmallConstantTripCount(&loop);
  if (turns > 0 && turns * size <= kMaxWrittenOut) {
    ++chosen;
    return turns * size;
  }
  llvm::addStringMetadataToLoop(&loop, kKeepLoop, 1);
  return size;
}

// Forbids to unroll loops without divisions. Returns whether there are others.
bool choose_loops_to_unroll(const llvm::LoopInfo& loops) {
  bool chosen = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (divides(*loop)) {
      loop->setLoopID(llvm::makePostTransformationMetadata(loop->getHeader()->getContext(),
                                                           loop->getLoopID(), {kKeepLoop}, {}));
      chosen = true;
    } else {
      llvm::addStringMetadataToLoop(loop, kKeepLoop, 1);
    }
  }
  return chosen;
}

void check_parsed(llvm::Error error) {
  if (error) throw internal_error("LLVM: {}", llvm::toString(std::move(error)));
}

}  // namespace

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

void optimize_module(llvm::Module& module, llvm::TargetMachine& machine, bool optimize) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
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
  if (!optimize) {
    builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0).run(module, modules);
    return;
  }
  const auto parse = [&](std::string_view text) {
    llvm::FunctionPassManager passes;
    check_parsed(builder.parsePassPipeline(passes, text));
    return passes;
  };
  llvm::FunctionPassManager passes = parse(kPasses);
  llvm::FunctionPassManager to_write_out = parse(kPassesToWriteOut);
  llvm::FunctionPassManager to_vectors = parse(kVectorPasses);
  llvm::FunctionPassManager more = parse(kPassesWithDivisions);
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasOptNone()) continue;
    passes.run(function, functions);
    auto& numbers = functions.getResult<llvm::ScalarEvolutionAnalysis>(function);
    int short_loops = 0;
    for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(function))
      choose_loops_to_write_out(*loop, numbers, short_loops);
    if (short_loops > 0) to_write_out.run(function, functions);
    to_vectors.run(function, functions);
    if (choose_loops_to_unroll(functions.getResult<llvm::LoopAnalysis>(function)))
      more.run(function, functions);
    // Not needed again.
    functions.clear(function, function.getName());
  }
  apply_memory_hints(module);
}

}  // namespace systole::cpu
