#include "compiler_of.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

namespace musubi::wrapper {

namespace {

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace

Compiler compiler_of(const std::string& name) {
  Compiler compiler{"clang", "clang-19", "", false};
  std::vector<std::string> names = {"clang-19"};
  if (name == "musubi-c++") {
    compiler = {"clang++", "clang-19", "", false};
    names = {"clang++-19"};
  } else if (name == "musubi-fc") {
    compiler = {"flang", "flang-19", "", true};
    names = {"flang-new-19", "flang-19"};
  }
  for (const std::string& candidate : names)
    if (compiler.path.empty()) compiler.path = in_path(candidate);
  // LLVM's own folder, for installations that add no version to the names.
  for (const char* file : {"clang", "clang++", "flang-new", "flang"}) {
    const std::string path = std::string(MUSUBI_LLVM_TOOLS) + "/" + file;
    const bool fits = compiler.is_fortran ? std::string(file).starts_with("flang") : file == compiler.name;
    if (fits && compiler.path.empty() && access(path.c_str(), X_OK) == 0) compiler.path = path;
  }
  return compiler;
}

}  // namespace musubi::wrapper
