#pragma once

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "options.h"

namespace musubi::compiler {

// The events that a program counts while it runs, for those who develop this plugin. `bench/checks/counts.c`
// has a name for each number.
enum class Counted : unsigned { read_point, write_point, read_range, write_range, guard, call, access };

// Counts an event before the builder's place, with the option `count=checks`.
void count(llvm::IRBuilder<>& builder, Counted event);

// Counts the accesses to memory that may be shared, of the kinds that the mode checks: with the option
// `count=accesses`, in place of all checks.
void count_accesses(llvm::Function& function, const llvm::TargetLibraryInfo& library, Mode mode);

}  // namespace musubi::compiler
