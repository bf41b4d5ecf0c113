// The passes of checked code, as a plugin of LLVM 19: clang and flang load it by -fpass-plugin, opt by
// -load-pass-plugin. docs/design/compiler.md describes the order.

#include <cstdlib>
#include <memory>

#include "complete.h"
#include "counts.h"
#include "emit.h"
#include "emit_points.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "note.h"
#include "options.h"
#include "orders.h"
#include "plan.h"
#include "points.h"
#include "promises.h"
#include "report.h"
#include "shifts.h"

namespace musubi::compiler {

namespace {

// The knowledge of both phases about one module.
struct Work {
  Options options = read_options(std::getenv(kOptionsVariable));
  Report report;
};

bool is_left_alone(const llvm::Function& function) {
  return function.isDeclaration() || function.hasFnAttribute(llvm::Attribute::Naked) ||
         function.hasAvailableExternallyLinkage() || function.isPresplitCoroutine();
}

llvm::FunctionAnalysisManager& functions_of(llvm::Module& module, llvm::ModuleAnalysisManager& manager) {
  return manager.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
}

SyncFree::Libraries libraries_of(llvm::FunctionAnalysisManager& functions) {
  return [&](llvm::Function& function) -> const llvm::TargetLibraryInfo& {
    return functions.getResult<llvm::TargetLibraryAnalysis>(function);
  };
}

// Early: finds the ranges of loops and tests them before the loops.
class Ranges : public llvm::PassInfoMixin<Ranges> {
 public:
  explicit Ranges(std::shared_ptr<Work> work) : work_(std::move(work)) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);

 private:
  bool run_on(llvm::Function& function, llvm::FunctionAnalysisManager& manager, const SyncFree& free);

  std::shared_ptr<Work> work_;
};

bool Ranges::run_on(llvm::Function& function, llvm::FunctionAnalysisManager& manager, const SyncFree& free) {
  auto& evolution = manager.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const Mode mode = work_->options.mode;
  const Analyses analyses{evolution,
                          manager.getResult<llvm::LoopAnalysis>(function),
                          manager.getResult<llvm::DominatorTreeAnalysis>(function),
                          manager.getResult<llvm::AAManager>(function),
                          free,
                          mode};
  Plan plan = plan_ranges(function, analyses);
  work_->report.describe(plan, evolution);
  auto& remarks = manager.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function);
  const bool changes = !plan.ranges.empty();
  if (changes) emit(function, plan.ranges, evolution, mode);
  work_->report.add(function, plan, mode, remarks);
  return changes;
}

llvm::PreservedAnalyses Ranges::run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) {
  if (!work_->options.unknown.empty())
    module.getContext().emitError("musubi: this plugin has no option '" + work_->options.unknown + "'");
  if (work_->options.count == Count::accesses) return llvm::PreservedAnalyses::all();
  auto& functions = functions_of(module, manager);
  const SyncFree free(module, libraries_of(functions));
  for (llvm::Function& function : module) {
    if (is_left_alone(function) || function.hasOptNone()) continue;
    if (run_on(function, functions, free)) functions.invalidate(function, llvm::PreservedAnalyses::none());
  }
  return llvm::PreservedAnalyses::none();
}

// Late: checks the accesses that no range has covered, if the mode wants it, and says so in note and report.
class Points : public llvm::PassInfoMixin<Points> {
 public:
  explicit Points(std::shared_ptr<Work> work) : work_(std::move(work)) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager);
  static bool isRequired() { return true; }  // without optimisation too

 private:
  void check(llvm::Module& module, llvm::FunctionAnalysisManager& functions);

  std::shared_ptr<Work> work_;
};

void Points::check(llvm::Module& module, llvm::FunctionAnalysisManager& functions) {
  const SyncFree free(module, libraries_of(functions));
  llvm::SmallVector<llvm::Function*> changed;
  for (llvm::Function& function : module) {
    if (is_left_alone(function)) continue;
    if (work_->options.count == Count::accesses) {
      count_accesses(function, functions.getResult<llvm::TargetLibraryAnalysis>(function),
                     work_->options.mode);
      continue;
    }
    const std::vector<Point> points = plan_points(
        function, {functions.getResult<llvm::ScalarEvolutionAnalysis>(function),
                   functions.getResult<llvm::LoopAnalysis>(function),
                   functions.getResult<llvm::DominatorTreeAnalysis>(function),
                   functions.getResult<llvm::PostDominatorTreeAnalysis>(function),
                   functions.getResult<llvm::TargetLibraryAnalysis>(function), free, work_->options.mode,
                   work_->options.mode == Mode::udsm && work_->options.home_only});
    const auto is_check = [](const Point& point) { return point.compared == 0; };
    work_->report.add_points(function, static_cast<size_t>(llvm::count_if(points, is_check)),
                             functions.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function));
    if (points.empty()) continue;
    emit_points(function, points);
    functions.invalidate(function, llvm::PreservedAnalyses::none());
    changed.push_back(&function);
  }
  drop_promises(changed);
}

llvm::PreservedAnalyses Points::run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) {
  const Options& options = work_->options;
  auto& functions = functions_of(module, manager);
  if (options.marks_orders) mark_orders(module);
  Completeness completeness;
  if (options.mode != Mode::hint) {
    completeness = completeness_of(module, libraries_of(functions));
    check(module, functions);
  }
  add_note(module, options.mode, completeness);
  if (options.report.empty()) return llvm::PreservedAnalyses::none();
  const std::string error = work_->report.append_to(options.report, module);
  if (!error.empty())
    module.getContext().emitError("musubi: cannot write the report " + options.report + ": " + error);
  return llvm::PreservedAnalyses::none();
}

// After the simplifications and the inliner, before the vectoriser, which hides accesses. Loops with their
// exit at the end say how often their bodies run.
void add_ranges(llvm::ModulePassManager& passes, const std::shared_ptr<Work>& work) {
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(
      llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass(), /*UseMemorySSA=*/false)));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(Shifts()));
  passes.addPass(Ranges(work));
}

// A builder makes the passes of one module.
void add_callbacks(llvm::PassBuilder& builder) {
  const auto work = std::make_shared<Work>();
  builder.registerOptimizerEarlyEPCallback(
      [work](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { add_ranges(passes, work); });
  builder.registerOptimizerLastEPCallback(
      [work](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(Points(work)); });
  builder.registerPipelineParsingCallback([work](llvm::StringRef name, llvm::ModulePassManager& passes,
                                                 llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name == "musubi-ranges")
      add_ranges(passes, work);
    else if (name == "musubi-points")
      passes.addPass(Points(work));
    else
      return false;
    return true;
  });
}

}  // namespace

}  // namespace musubi::compiler

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "musubi", "1", musubi::compiler::add_callbacks};
}
