#pragma once

#include <string>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "sync_free.h"

namespace musubi::compiler {

// The properties of a loop that decide whether ranges can leave it.
struct LoopFacts {
  llvm::Loop* loop;
  const llvm::SCEV* last;  // number of the last iteration, from 0; null if nothing can leave the loop
  std::string hindrance;   // if `last` is null: the reason
  bool only_accesses;      // its instructions touch memory by accesses alone (access.h), and it surely ends
};

LoopFacts facts_of(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const SyncFree& free);

}  // namespace musubi::compiler
