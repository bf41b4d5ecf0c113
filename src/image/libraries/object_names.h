// What a job derives from the names of programs and libraries alone. Depends on nothing, so that a command
// can say beforehand how a job will choose.
#pragma once

#include <algorithm>
#include <string_view>

namespace musubi::image {

struct PrivateLibrary {
  std::string_view name, reason;
};
inline constexpr PrivateLibrary private_libraries[] = {
#define MUSUBI_PRIVATE_LIBRARY(name, reason) {name, reason},
#include "image/libraries/private_libraries.def"
#undef MUSUBI_PRIVATE_LIBRARY
};

inline std::string_view file_name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether `path` names a library called `name`: `libfoo` is libfoo.so, libfoo.so.1, libfoo-2.36.so and
// libfoo-0a1b2c3d.so.1 (as wheels of Python rename them). A star at the end of `name` stands for anything.
inline bool is_library(std::string_view path, std::string_view name) {
  std::string_view file = file_name_of(path);
  if (!name.empty() && name.back() == '*') return file.starts_with(name.substr(0, name.size() - 1));
  if (file == name) return true;
  if (!file.starts_with(name)) return false;
  file.remove_prefix(name.size());
  if (file.starts_with('-')) {
    const std::size_t end = file.find_first_not_of("0123456789abcdef.", 1);
    // The name ends at the dot of ".so".
    if (end == std::string_view::npos || end < 3 || file[end - 1] != '.') return false;
    file.remove_prefix(end - 1);
  }
  return file.starts_with(".so");
}

// Whether `path` names one of the libraries of a list "libfoo:libbar".
inline bool is_one_of(std::string_view path, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(':'), names.size());
    if (end != 0 && is_library(path, names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

// Whether its name makes the library at `path` private. The lists are settings.
inline bool is_named_private(std::string_view path, std::string_view also_private,
                             std::string_view also_shared) {
  if (is_one_of(path, also_private)) return true;
  if (is_one_of(path, also_shared)) return false;
  return std::ranges::any_of(private_libraries,
                             [path](const PrivateLibrary& one) { return is_library(path, one.name); });
}

// Whether the program at `path` only starts other programs (a shell, env, timeout): then it passes the
// invitation on to them. Any other program is a rank, because its later loads are unknown.
inline bool only_starts_others(std::string_view path) {
  constexpr std::string_view starters[] = {
      "sh",     "bash",  "dash",    "ash",        "ksh",      "ksh93",   "mksh",      "zsh",
      "fish",   "tcsh",  "csh",     "busybox",    "toybox",   "env",     "coreutils", "nice",
      "ionice", "nohup", "taskset", "chrt",       "numactl",  "timeout", "stdbuf",    "setarch",
      "setsid", "time",  "prlimit", "hwloc-bind", "strace",   "ltrace",  "gdb",       "valgrind",
      "perf",   "rr",    "unshare", "xargs",      "catchsegv"};
  const std::string_view name = file_name_of(path);
  return std::ranges::find(starters, name) != std::end(starters);
}

}  // namespace musubi::image
