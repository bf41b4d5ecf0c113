// Prints the floors of this machine. Usage: floors [--csv] [rounds]

#include "floors.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  bool csv = false;
  long rounds = 4000;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--csv") == 0) {
      csv = true;
    } else {
      rounds = std::atol(argv[i]);
    }
  }
  if (rounds < 1 || rounds > 10000000) {
    std::fprintf(stderr, "usage: floors [--csv] [rounds]\n");
    return 2;
  }
  musubi::bench::print_rows(musubi::bench::all_floors(static_cast<std::size_t>(rounds)), csv);
  return 0;
}
