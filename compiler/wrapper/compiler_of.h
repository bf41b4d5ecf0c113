#pragma once

#include <string>

namespace musubi::wrapper {

// A compiler of LLVM 19 that a name of the wrapper stands for.
struct Compiler {
  std::string name;     // clang, clang++ or flang
  std::string package;  // that brings it
  std::string path;     // empty if it is not installed
  bool is_fortran = false;
};

// `name` is the last part of the wrapper's own name: musubi-cc, musubi-c++ or musubi-fc.
Compiler compiler_of(const std::string& name);

}  // namespace musubi::wrapper
