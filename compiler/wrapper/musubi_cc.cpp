// musubi-cc, musubi-c++, musubi-fc: clang, clang++ and flang with checks. Adds the plugin where code is made
// and the start object where a program or a library is linked, and becomes the compiler; all else is the
// compiler's own, so that CMake's and autoconf's questions get its answers.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "command_line.h"
#include "compiler_of.h"
#include "options.h"

namespace {

using musubi::wrapper::Compiler;
using musubi::wrapper::Options;
using musubi::wrapper::Steps;

constexpr int kRefused = 2, kNoCompiler = 127;

int refuse(const std::string& name, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
  return kRefused;
}

void print_help(const std::string& name, const Compiler& compiler) {
  std::printf(
      "%s is %s of LLVM 19 for programs of `musubi run`: it finds the memory that loops will touch or "
      "overwrite,\n"
      "and tells the runtime before the loops. It takes the compiler's options and these:\n"
      "  --musubi=hint         this alone, the default\n"
      "  --musubi=adsm         and code checks each store\n"
      "  --musubi=udsm         and each load\n"
      "  --musubi=off          the compiler as it is\n"
      "  --musubi-granule=N    checks find blocks of N bytes and more: 64, 128 ... 4096, the default; one "
      "for\n"
      "                        all objects of a program\n"
      "  --musubi-stores=home-only\n"
      "                        udsm: stores ask for less, which saves fetches of home-only memory\n"
      "  --musubi-atomics=processor\n"
      "                        atomic operations order other memory as x86 does, also where the source is\n"
      "                        relaxed\n"
      "  --musubi-report       remarks with file and line: ranges found, and accesses left with the reason\n"
      "  --musubi-report=FILE  the same as JSON, a line per source file, appended to FILE\n"
      "MUSUBI_CC_OPTIONS may hold these options too; the command line has the last word.\n",
      name.c_str(), compiler.name.c_str());
}

// The folder of plugin and start object, by the place of this program.
std::filesystem::path library_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / "lib";
}

std::vector<std::string> command(const Compiler& compiler, const Options& options, const Steps& steps,
                                 const std::vector<std::string>& arguments) {
  const std::filesystem::path folder = library_folder();
  std::vector<std::string> words = {compiler.path};
  if (steps.compiles) {
    words.push_back("-fpass-plugin=" + (folder / "musubi-checks.so").string());
    if (options.remarks) words.insert(words.end(), {"-Rpass=musubi", "-Rpass-missed=musubi"});
    // Without a remark to print, clang keeps no lines unless there is debug information.
    if (!options.report_file.empty() && !options.remarks && !compiler.is_fortran)
      words.emplace_back("-Rpass=musubi-lines");
  }
  if (steps.links) {
    words.push_back((folder / "musubi-start.o").string());
    // The entries of the first object serve the whole process: its library must stay.
    if (steps.makes_library) words.emplace_back("-Wl,-z,nodelete");
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

int become(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execv(pointers.front(), pointers.data());
  return errno;
}

}  // namespace

int main(int count, char** values) {
  std::vector<std::string> arguments(values + 1, values + count);
  const std::string name = std::filesystem::path(values[0]).filename().string();
  const Compiler compiler = musubi::wrapper::compiler_of(name);
  Options options;
  const std::string refusal =
      musubi::wrapper::take_options(std::getenv("MUSUBI_CC_OPTIONS"), arguments, options);
  if (!refusal.empty()) return refuse(name, refusal);
  if (options.help) {
    print_help(name, compiler);
    return 0;
  }
  if (compiler.path.empty()) {
    refuse(name, compiler.name + " of LLVM 19 is not installed: apt-get install " + compiler.package);
    return kNoCompiler;
  }
  Steps steps;
  if (options.mode != "off") steps = musubi::wrapper::steps_of(arguments);
  if (!steps.refused.empty() && (steps.compiles || steps.links))
    return refuse(name,
                  steps.refused + " and checked code exclude each other; leave it out, or give --musubi=off");
  std::string plugin_options =
      "mode=" + options.mode + ";stores=" + options.stores + ";atomics=" + options.atomics;
  if (!options.granule.empty()) plugin_options += ";granule=" + options.granule;
  if (!options.report_file.empty())
    plugin_options += ";report=" + std::filesystem::absolute(options.report_file).string();
  setenv("MUSUBI_PLUGIN_OPTIONS", plugin_options.c_str(), 1);
  const int error = become(command(compiler, options, steps, arguments));
  refuse(name, "cannot execute " + compiler.path + ": " + std::strerror(error));
  return kNoCompiler;
}
