#pragma once

#include <string>
#include <vector>

#include "sync_free.h"

namespace musubi::compiler {

// Whether a module checks all accesses to memory that may be shared, in a mode that checks all.
struct Completeness {
  struct Call {
    std::string name;   // of a function, or of a class's virtual functions, of other files
    std::string place;  // file and line, or the function
  };
  std::string why_not;      // the first access without a check, with its place; empty: there is none
  std::vector<Call> calls;  // that pass pointers on, and functions that may be called by pointer
  std::vector<std::string> definitions;  // that other files may call
};

// Before checks are emitted.
Completeness completeness_of(llvm::Module& module, const SyncFree::Libraries& libraries);

}  // namespace musubi::compiler
