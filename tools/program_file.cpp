#include "program_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "config/environment.h"
#include "config/value.h"
#include "elf_file.h"
#include "program_refusals.h"

namespace musubi::tools {
namespace {

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

ProgramPath not_found(const std::string& name, const char* where) {
  return {"", {"program " + config::quoted(name) + " not found" + where, status_of_not_found}};
}

ProgramPath check_executable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return not_found(path, "");
  if (S_ISDIR(status.st_mode)) {
    return {"", {config::quoted(path) + " is a directory, not a program", status_of_cannot_execute}};
  }
  if (::access(path.c_str(), X_OK) != 0) {
    return {"",
            {config::quoted(path) + " is not executable; `chmod +x` makes it so", status_of_cannot_execute}};
  }
  return {path, {}};
}

bool starts_one_of(const std::vector<std::string>& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

}  // namespace

// The command is <prefix>/bin/musubi, its libraries are in <prefix>/lib: an installation may be moved.
Result<std::string> find_library(std::string_view name) {
  char buffer[PATH_MAX];
  const ssize_t bytes = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  if (bytes <= 0) return Error{"cannot read /proc/self/exe; is /proc mounted?"};
  std::string prefix(buffer, static_cast<std::size_t>(bytes));
  for (int levels = 0; levels < 2; ++levels) prefix.erase(prefix.rfind('/'));
  std::string path = prefix + "/lib/" + std::string(name);
  if (!is_regular_file(path)) {
    return Error{"cannot find " + path + "; the installation is incomplete, build or install Musubi again"};
  }
  return path;
}

Result<std::string> find_preloaded_library() {
  auto path = find_library("libmusubi-omp.so");
  // The dynamic linker splits LD_PRELOAD at both characters, and has no escape.
  if (path && path.value().find_first_of(" :") != std::string::npos) {
    return Error{path.value() +
                 " cannot be preloaded: its path contains a blank or a colon; install Musubi elsewhere"};
  }
  return path;
}

ProgramPath find_program(const std::string& name) {
  if (name.empty()) return not_found(name, "");
  if (name.find('/') != std::string::npos) return check_executable(name);
  const std::string path = config::environment_variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  std::string_view rest = path;
  ProgramPath refused;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_regular_file(candidate)) {
      ProgramPath found = check_executable(candidate);
      if (!found.path.empty()) return found;
      if (refused.error.message.empty()) refused = found;
    }
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (!refused.error.message.empty()) return refused;
  return not_found(name, is_regular_file(name)
                             ? " in PATH; did you mean ./? A name without a slash is looked up there"
                             : " in PATH");
}

Result<std::string> library_to_preload(const std::string& program, Preload preload) {
  if (preload == Preload::never) return std::string();
  auto read = read_elf_file(program);
  if (!read) return read.error();
  const ElfFile& file = read.value();
  if (const auto refusals = refusals_of(program, file, preload); !refusals.empty()) return refusals.front();
  if (preload == Preload::automatic && starts_one_of(file.needed, "libmusubi")) return std::string();
  // A program that does not link with OpenMP may load it: interpreters do, and programs with plug-ins.
  return find_preloaded_library();
}

}  // namespace musubi::tools
