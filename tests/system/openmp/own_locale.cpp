// A program whose standard output has a locale of its own, in memory of the process that has made it.
#include <iostream>
#include <locale>

namespace {

struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '\''; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

int main() {
  std::cout.imbue(std::locale(std::locale::classic(), new Grouping));
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i <= 1000; ++i) sum += i;
  std::cout << "sum " << sum << std::endl;
}
