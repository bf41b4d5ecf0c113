// regcomp(3) and its relatives (image/objects/regular_expressions.h).
#include <regex.h>

#include "image/objects/regular_expressions.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"

namespace {

using namespace musubi::image;

constinit Next<decltype(RegexFunctions::compile)> next_compile("regcomp");
constinit Next<decltype(RegexFunctions::match)> next_match("regexec");
constinit Next<decltype(RegexFunctions::release)> next_release("regfree");

RegularExpressions& expressions() {
  static auto& of_process =
      *new RegularExpressions({next_compile.get(), next_match.get(), next_release.get()});
  return of_process;
}

bool serves(const regex_t* expression) {
  return musubi::image::job_of_memory() != nullptr && RegularExpressions::is_ours(*expression);
}

}  // namespace

MUSUBI_EXPORT int regcomp(regex_t* expression, const char* pattern, int flags) {
  if (job_of_ranks() == nullptr) {
    return next_compile.get()(expression, pattern, flags);
  }
  return expressions().compile(expression, pattern, flags);
}
MUSUBI_EXPORT int regexec(const regex_t* expression, const char* text, size_t count, regmatch_t* matches,
                          int flags) {
  return serves(expression) ? expressions().match(*expression, text, count, matches, flags)
                            : next_match.get()(expression, text, count, matches, flags);
}
MUSUBI_EXPORT void regfree(regex_t* expression) {
  serves(expression) ? expressions().release(expression) : next_release.get()(expression);
}
