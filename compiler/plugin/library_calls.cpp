#include "library_calls.h"

#include <algorithm>
#include <array>

namespace musubi::compiler {

bool is_quiet_library_function(llvm::StringRef name) {
  // Beginnings of names: what they only read is the thread's own, and the division of loops.
  static constexpr std::array<llvm::StringLiteral, 8> quiet = {
      "omp_get_",         "omp_in_parallel",          "__kmpc_for_static_init_", "__kmpc_for_static_fini",
      "__kmpc_dist_for_", "__kmpc_global_thread_num", "__kmpc_master",           "__kmpc_in_parallel"};
  // Arithmetic and arrays of flang's runtime; its I/O may take locks.
  static constexpr std::array<llvm::StringLiteral, 6> flang = {"_FortranAMod",  "_FortranAFPow",
                                                               "_FortranAPow",  "_FortranAcpow",
                                                               "_FortranAzpow", "_FortranACharacterCompare"};
  const auto begins = [&](llvm::StringLiteral beginning) { return name.starts_with(beginning); };
  return std::any_of(quiet.begin(), quiet.end(), begins) || std::any_of(flang.begin(), flang.end(), begins);
}

bool is_of_runtime(llvm::StringRef name) {
  static constexpr std::array<llvm::StringLiteral, 6> beginnings = {"musubi_", "omp_",   "__kmpc_",
                                                                    "__cxa_",  "__gxx_", "_Unwind_"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](llvm::StringLiteral beginning) { return name.starts_with(beginning); });
}

bool is_of_c_library(llvm::StringRef variable) {
  static constexpr std::array<llvm::StringLiteral, 6> variables = {
      "stdin", "stdout", "stderr", "optarg", "environ", "program_invocation_name"};
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

llvm::ArrayRef<FixedArgument> fixed_arguments(llvm::StringRef name) {
  struct Entry {
    llvm::StringLiteral name;
    std::array<FixedArgument, 2> arguments;
    size_t count;
  };
  static constexpr std::array<Entry, 7> entries{{{"clock_gettime", {{{1, 16, true}}}, 1},
                                                 {"clock_getres", {{{1, 16, true}}}, 1},
                                                 {"gettimeofday", {{{0, 16, true}, {1, 8, true}}}, 2},
                                                 {"time", {{{0, 8, true}}}, 1},
                                                 {"times", {{{0, 32, true}}}, 1},
                                                 {"getrusage", {{{1, 144, true}}}, 1},
                                                 {"nanosleep", {{{0, 16, false}, {1, 16, true}}}, 2}}};
  for (const Entry& entry : entries) {
    if (entry.name == name) return llvm::ArrayRef(entry.arguments).take_front(entry.count);
  }
  return {};
}

int stream_argument(llvm::StringRef name) {
  struct Entry {
    llvm::StringLiteral name;
    int argument;
  };
  static constexpr std::array<Entry, 23> entries{
      {{"fprintf", 0}, {"vfprintf", 0}, {"fscanf", 0},  {"fputs", 1},  {"fputc", 1},  {"putc", 1},
       {"ungetc", 1},  {"fgets", 2},    {"fgetc", 0},   {"getc", 0},   {"fread", 3},  {"fwrite", 3},
       {"fflush", 0},  {"fclose", 0},   {"fseek", 0},   {"ftell", 0},  {"rewind", 0}, {"feof", 0},
       {"ferror", 0},  {"clearerr", 0}, {"setvbuf", 0}, {"setbuf", 0}, {"fileno", 0}}};
  if (!name.consume_front("__isoc99_")) name.consume_front("__isoc23_");
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.argument;
  }
  return -1;
}

}  // namespace musubi::compiler
