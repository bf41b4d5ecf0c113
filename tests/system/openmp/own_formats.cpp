// The threads of a region print in the formats that main has set on the standard streams of C++ before it.
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include "check.h"

namespace {

bool is_set() {
  return std::cout.precision() == 3 && std::cout.fill() == '.' &&
         (std::cout.flags() & std::ios::fixed) != 0 && (std::cerr.flags() & std::ios::showbase) != 0;
}

}  // namespace

int main() {
  std::ostringstream text;
  std::cout << std::fixed << std::setprecision(3) << std::setfill('.');
  std::cerr << std::showbase;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  {
    CHECK(is_set() && std::cout.rdbuf() == text.rdbuf());
#pragma omp critical
    std::cout << std::setw(8) << 3.14159265 << '\n';
    ++threads;
  }
  std::string expected;
  for (int i = 0; i < threads; ++i) expected += "...3.142\n";
  CHECK(text.str() == expected);
  std::cout.rdbuf(before);
#pragma omp parallel
  CHECK(is_set() && std::cout.rdbuf() != text.rdbuf());
  std::cout << std::defaultfloat;
  std::cerr << std::noshowbase;
#pragma omp parallel
  CHECK((std::cout.flags() & std::ios::fixed) == 0 && (std::cerr.flags() & std::ios::showbase) == 0);
  puts("own_formats: passed");
  return 0;
}
