#include "program_refusals.h"

#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "program_contents.h"

namespace musubi::tools {
namespace {

bool needs(const ElfFile& file, std::string_view prefix) {
  return std::ranges::any_of(file.needed, [&](const std::string& name) { return name.starts_with(prefix); });
}

// Link time decides, so the remedy is a change of the command that links: there is nothing left to replace in
// the finished file.
std::string remedy_of_static(const std::string& program) {
  if (!section_of_file(program, ".go.buildinfo").empty())
    return "it is a Go program, whose threads and memory are Go's: run it on one host";
  if (file_holds(program, "rustc version"))
    return "build it for a target of glibc, as x86_64-unknown-linux-gnu, without crt-static";
  if (file_holds(program, "GOMP_SPINCOUNT"))
    return "link it without -static, so that it uses the shared libgomp.so";
  return "link it without -static";
}

// The dynamic linker preloads nothing into a program that has other rights than its user.
bool gains_rights(const std::string& program) {
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != ::getegid())
    return true;
  return ::geteuid() != 0 && ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

void add_refusals_of_linker(const std::string& program, const ElfFile& file, std::vector<Error>& refusals) {
  const std::string_view linker = std::string_view(file.interpreter).substr(file.interpreter.rfind('/') + 1);
  if (linker.starts_with("ld-musl")) {
    refusals.push_back({program + " is linked with musl's C library, and Musubi with glibc; compile it on a "
                                  "system with glibc, as Debian, Ubuntu or Fedora"});
  } else if (::access(file.interpreter.c_str(), X_OK) != 0) {
    refusals.push_back({program + " needs the dynamic linker " + file.interpreter +
                        ", which is not here; compile it on this system"});
  } else if (is_older(::gnu_get_libc_version(), file.c_library_needed)) {
    refusals.push_back({program + " needs glibc " + file.c_library_needed + ", and this host has " +
                        ::gnu_get_libc_version() + "; compile it on the oldest system that shall run it"});
  }
  if (gains_rights(program)) {
    refusals.push_back({program +
                        " runs with other rights than yours (set-user-ID, set-group-ID or "
                        "capabilities), so the dynamic linker loads nothing with it; copy the file, "
                        "which drops them"});
  }
}

// The reasons that keep every library from being loaded with it.
std::vector<Error> refusals_of_kind(const std::string& program, const ElfFile& file) {
  std::vector<Error> refusals;
  switch (file.kind) {
    case FileKind::dynamic_program:
      add_refusals_of_linker(program, file, refusals);
      break;
    case FileKind::script:  // the script's interpreter joins, or passes the invitation on
      break;
    case FileKind::static_program:
      refusals.push_back({program + " is statically linked, so Musubi cannot be loaded with it; " +
                          remedy_of_static(program)});
      break;
    case FileKind::library:
      refusals.push_back({program + " is a library, not a program: name the program that loads it"});
      break;
    case FileKind::foreign_program:
      refusals.push_back({program + " is a program for another processor or word size; compile it for this "
                                    "machine"});
      break;
    case FileKind::other:
      refusals.push_back({program +
                          " is not a program (no ELF file, and no script that begins with #!): name "
                          "the finished program"});
      break;
  }
  return refusals;
}

}  // namespace

std::vector<Error> refusals_of(const std::string& program, const ElfFile& file, Preload preload) {
  if (preload == Preload::never) return {};
  std::vector<Error> refusals = refusals_of_kind(program, file);
  if (preload == Preload::always || needs(file, "libmusubi")) return refusals;
  for (const Error& problem : problems_of_contents(program, file)) refusals.push_back(problem);
  return refusals;
}

}  // namespace musubi::tools
