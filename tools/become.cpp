#include "become.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "refusal.h"

namespace musubi::tools {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int become(const std::string& path, const std::vector<std::string>& words,
           const std::vector<std::string>& environment, int status) {
  std::fflush(nullptr);
  ::execve(path.c_str(), pointers_to(words).data(), pointers_to(environment).data());
  return refuse("cannot execute " + path + ": " + std::strerror(errno), status);
}

}  // namespace musubi::tools
