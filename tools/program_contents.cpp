#include "program_contents.h"

#include <algorithm>
#include <string_view>

namespace musubi::tools {
namespace {

struct Contents {
  std::string_view name;
  std::string_view library;  // the shared library that otherwise provides it
  std::string_view text;     // a text found in every file that contains it; symbols may have been stripped
};
constexpr Contents openmp_runtimes[] = {
    {"gcc's OpenMP runtime (libgomp.a)", "libgomp.so", "GOMP_SPINCOUNT"},
    {"LLVM's OpenMP runtime (libomp.a)", "omp", "KMP_BLOCKTIME"},
};
constexpr Contents sanitizers[] = {
    {"AddressSanitizer", "asan", "allow_user_poisoning"},
    {"ThreadSanitizer", "tsan", "report_atomic_races"},
    {"MemorySanitizer", "msan", "poison_in_malloc"},
};

bool needs(const ElfFile& file, std::string_view library) {
  return std::ranges::any_of(
      file.needed, [&](const std::string& name) { return name.find(library) != std::string::npos; });
}

// "libasan.so.8", "libclang_rt.asan-x86_64.so"
bool loads_sanitizer(const ElfFile& file, const Contents& sanitizer) {
  return needs(file, "lib" + std::string(sanitizer.library) + ".so") ||
         needs(file, "libclang_rt." + std::string(sanitizer.library));
}

}  // namespace

std::vector<Error> problems_of_contents(const std::string& program, const ElfFile& file) {
  std::vector<Error> problems;
  if (file.kind != FileKind::dynamic_program) return problems;
  for (const Contents& sanitizer : sanitizers) {
    if (!loads_sanitizer(file, sanitizer) && !file_holds(program, sanitizer.text)) continue;
    problems.push_back(
        {program + " is built with " + std::string(sanitizer.name) +
         ", a sanitizer that has the memory of its process to itself: on one host `musubi run -n 4` "
         "without coherence=protocol runs it natively; build it without for several hosts"});
  }
  if (!problems.empty()) return problems;  // a sanitizer's allocator is its own
  if (file.exports_malloc) {
    problems.push_back(
        {program +
         " is linked with an allocator of its own (its malloc is that of all libraries), but memory of "
         "several processes comes from Musubi's: link the allocator as a shared library, or leave it out"});
  }
  for (const Contents& runtime : openmp_runtimes) {
    if (needs(file, runtime.library) || !file_holds(program, runtime.text)) continue;
    problems.push_back({program + " is linked with " + std::string(runtime.name) +
                        ", which Musubi cannot replace inside of a program: link it with the shared library "
                        "(gcc -fopenmp without -Bstatic, clang -fopenmp without -static-openmp)"});
  }
  return problems;
}

}  // namespace musubi::tools
