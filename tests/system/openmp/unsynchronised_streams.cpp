// A program whose standard streams have buffers of their own, in memory of each process.
#include <iostream>

int main() {
  std::ios_base::sync_with_stdio(false);
#pragma omp parallel for ordered schedule(static, 1)
  for (int line = 0; line < 20; ++line) {
#pragma omp ordered
    std::cout << "line " << line << std::endl;
  }
  std::cout << "unsynchronised_streams: passed\n";
}
