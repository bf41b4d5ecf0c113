#pragma once

#include <string>

#include "sync_free.h"

namespace musubi::compiler {

// Why memory that may be shared can be touched without a check, by code that the module contains or calls:
// the first reason with its file and line, or its function. Empty: all is checked, in a mode that checks all
// accesses. Before checks are emitted. Functions of other files with a pointer among their arguments are no
// part of the module.
std::string why_incomplete(llvm::Module& module, const SyncFree::Libraries& libraries);

}  // namespace musubi::compiler
