// The passes of checked code, as a plugin of LLVM 19: clang and flang load it by -fpass-plugin, opt by
// -load-pass-plugin. docs/design/compiler.md describes the order.

#include <cstdlib>

#include "emit.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "note.h"
#include "options.h"
#include "plan.h"
#include "report.h"

namespace musubi::compiler {

namespace {

bool is_left_alone(const llvm::Function& function) {
  return function.isDeclaration() || function.hasOptNone() ||
         function.hasFnAttribute(llvm::Attribute::Naked) || function.hasAvailableExternallyLinkage() ||
         function.isPresplitCoroutine();
}

// Mode hint: finds the ranges of loops and tests them before the loops.
class Hints : public llvm::PassInfoMixin<Hints> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);

 private:
  bool run_on(llvm::Function& function, llvm::FunctionAnalysisManager& manager, const SyncFree& free,
              Report& report);
};

bool Hints::run_on(llvm::Function& function, llvm::FunctionAnalysisManager& manager, const SyncFree& free,
                   Report& report) {
  auto& evolution = manager.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const Analyses analyses{evolution, manager.getResult<llvm::LoopAnalysis>(function),
                          manager.getResult<llvm::DominatorTreeAnalysis>(function),
                          manager.getResult<llvm::AAManager>(function), free};
  Plan plan = plan_ranges(function, analyses);
  report.describe(plan, evolution);
  auto& remarks = manager.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function);
  const bool changes = !plan.ranges.empty();
  if (changes) emit(function, plan.ranges, evolution);
  report.add(function, plan, remarks);
  return changes;
}

llvm::PreservedAnalyses Hints::run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) {
  const Options options = read_options(std::getenv(kOptionsVariable));
  if (!options.unknown.empty())
    module.getContext().emitError("musubi: this plugin has no option '" + options.unknown + "'");
  auto& functions = manager.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
  const SyncFree free(module, [&](llvm::Function& function) -> const llvm::TargetLibraryInfo& {
    return functions.getResult<llvm::TargetLibraryAnalysis>(function);
  });
  Report report(module);
  for (llvm::Function& function : module) {
    if (is_left_alone(function)) continue;
    if (run_on(function, functions, free, report))
      functions.invalidate(function, llvm::PreservedAnalyses::none());
  }
  add_note(module);
  if (options.report.empty()) return llvm::PreservedAnalyses::none();
  const std::string error = report.append_to(options.report);
  if (!error.empty())
    module.getContext().emitError("musubi: cannot write the report " + options.report + ": " + error);
  return llvm::PreservedAnalyses::none();
}

// After the simplifications and the inliner, before the vectoriser, which hides accesses. Loops with their
// exit at the end say how often their bodies run.
void add_hints(llvm::ModulePassManager& passes) {
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(
      llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass(), /*UseMemorySSA=*/false)));
  passes.addPass(Hints());
}

void add_callbacks(llvm::PassBuilder& builder) {
  builder.registerOptimizerEarlyEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { add_hints(passes); });
  builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::ModulePassManager& passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name != "musubi-hints") return false;
    add_hints(passes);
    return true;
  });
}

}  // namespace

}  // namespace musubi::compiler

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "musubi", "1", musubi::compiler::add_callbacks};
}
