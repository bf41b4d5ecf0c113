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
  return name.starts_with("musubi_") || name.starts_with("omp_") || name.starts_with("__kmpc_");
}

}  // namespace musubi::compiler
