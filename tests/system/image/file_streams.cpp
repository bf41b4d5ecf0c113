// A stream of C++ that main opened, written from a region far beyond its buffer, and C++ streams to standard
// output.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "check.h"

int main() {
  constexpr int lines = 3000;
  const std::string name = "/tmp/musubi-file-streams-" + std::to_string(::getpid());
  std::ofstream file(name);
#pragma omp parallel for schedule(static, 7)
  for (int i = 0; i < lines; ++i) {
#pragma omp critical
    {
      file << "line " << i << " of a file\n";
      if (i % 100 == 0) file << std::flush;
      CHECK(file.good());
    }
  }
  file.close();
  CHECK(!file.fail());
  std::ifstream written(name);
  std::vector<int> seen(lines, 0);
  int found = 0;
#pragma omp parallel
#pragma omp single
  for (std::string line; std::getline(written, line);) {
    const int number = std::stoi(line.substr(5));
    CHECK(line == "line " + std::to_string(number) + " of a file" && seen.at(number)++ == 0);
    ++found;
  }
  CHECK(found == lines);
  CHECK(std::remove(name.c_str()) == 0);
  std::cout << "file_streams: passed" << std::endl;
}
