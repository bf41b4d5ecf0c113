#pragma once

#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Support/JSON.h"
#include "plan.h"

namespace musubi::compiler {

// The findings of one module, as remarks of the compiler (-Rpass=musubi, -Rpass-missed=musubi) and as one
// line of JSON.
class Report {
 public:
  // Before the plan is carried out, which changes the places.
  void describe(const Plan& plan, llvm::ScalarEvolution& evolution);
  // The ranges that were emitted, a part of those described, and the accesses left.
  void add(const llvm::Function& function, const Plan& plan, Mode mode,
           llvm::OptimizationRemarkEmitter& remarks);
  // The checks of a function at single accesses, after its ranges have been added.
  void add_points(const llvm::Function& function, size_t points, llvm::OptimizationRemarkEmitter& remarks);
  // Appends the line to a file. Result: an empty text, or the error.
  std::string append_to(const std::string& path, const llvm::Module& module) const;

 private:
  llvm::DenseMap<const llvm::Instruction*, std::string>
      texts_;  // by the first access of a range and its kind
  llvm::DenseMap<const llvm::Instruction*, std::string> write_texts_;
  llvm::DenseMap<const llvm::Function*, int64_t> checked_ranges_;
  llvm::json::Array ranges_;
  llvm::json::Array left_;
  llvm::json::Array checks_;
};

}  // namespace musubi::compiler
