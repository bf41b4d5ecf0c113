// State that the program and libstdc++ share, apart from streams: numbers of facets, types, and whether
// reference counts need atomic operations.
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <locale>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "cxx_library: thread %d: not true: %s\n", omp_get_thread_num(), what);
  std::exit(1);
}

void use_locale() {
  const std::locale here;
  check(std::has_facet<std::ctype<char>>(here), "there is a facet for characters");
  check(std::use_facet<std::ctype<char>>(here).is(std::ctype_base::digit, '7'), "7 is a digit");
  check(std::use_facet<std::numpunct<char>>(here).decimal_point() == '.', "numbers have a point");
  check(std::regex_match("rank 17", std::regex("[a-z]+ \\d+")), "expressions match");
  std::ostringstream text;
  text << 1.5 << ' ' << true;
  check(text.str() == "1.5 1", "numbers are written");
}

void throw_and_catch() {
  try {
    throw std::runtime_error("thrown");
  } catch (const std::exception& error) {
    check(std::string(error.what()) == "thrown", "exceptions are caught by their base");
  }
}

}  // namespace

int main() {
  const auto counted = std::make_shared<int>(1);
#pragma omp parallel
  {
    use_locale();
    throw_and_catch();
    for (int i = 0; i < 20000; ++i) {
      const std::shared_ptr<int> copy = counted;
      check(copy.use_count() > 1, "a copy is counted");
    }
  }
  check(counted.use_count() == 1, "each copy has been taken back");
  std::puts("cxx_library: passed");
}
