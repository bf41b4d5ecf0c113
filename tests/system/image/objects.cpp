// Objects with constructors and destructors: constructed once, destroyed once, whatever the number of ranks.
#include <omp.h>

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "check.h"

struct Announced {
  explicit Announced(const char* given) : name(given) { std::cout << "constructed " << name << std::endl; }
  ~Announced() { std::cout << "destroyed " << name << " holding " << numbers.size() << std::endl; }
  std::string name;
  std::vector<int> numbers;
};

Announced of_program("an object of the program with a long name");
std::map<int, std::string> table{{1, "one"}, {2, "two"}};

Announced& of_function() {
  static Announced object("an object of a function with a long name");
  return object;
}

int main() {
  of_function();
#pragma omp parallel
  {
    CHECK(table.at(2) == "two");
#pragma omp barrier
#pragma omp critical
    {
      for (int i = 0; i < 1000; ++i) of_program.numbers.push_back(i);
      of_function().numbers.push_back(omp_get_thread_num());
      table[10 + omp_get_thread_num()] = "inserted by a thread of the team, and long enough for the heap";
    }
  }
  const int threads = omp_get_max_threads();
  CHECK(of_program.numbers.size() == 1000u * static_cast<unsigned>(threads));
  CHECK(table.size() == 2u + static_cast<unsigned>(threads));
  int caught = 0;
#pragma omp parallel reduction(+ : caught)
  try {
    throw std::string("an exception inside the region");
  } catch (const std::string& text) {
    caught += text.size() > 10;
  }
  CHECK(caught == threads);
  std::cout << "objects: passed" << std::endl;
}
