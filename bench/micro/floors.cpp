// Prints the floors of this machine. Usage: floors [--csv] [--only PART] [rounds], parts as in floors.h

#include "floors.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  bool csv = false;
  const char* part = nullptr;
  long rounds = 4000;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--csv") == 0) {
      csv = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      part = argv[++i];
    } else {
      rounds = std::atol(argv[i]);
    }
  }
  std::vector<musubi::bench::Row> rows;
  if (rounds >= 1 && rounds <= 10000000) {
    const auto count = static_cast<std::size_t>(rounds);
    rows = part == nullptr ? musubi::bench::all_floors(count) : musubi::bench::some_floors(part, count);
  }
  if (rows.empty()) {
    std::fprintf(stderr, "usage: floors [--csv] [--only PART] [rounds]\n");
    return 2;
  }
  musubi::bench::print_rows(rows, csv);
  return 0;
}
