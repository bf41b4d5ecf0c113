/* which_memory one|own: whether the ranks map one memory, by the names of their mappings; and that each
 * sees the other ranks' stores. */
#include "checks.h"

static int maps_one_memory(void) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  int found = 0;
  for (char line[512]; fgets(line, sizeof line, maps) != NULL;)
    found |= strstr(line, "musubi-memory") != NULL;
  fclose(maps);
  return found;
}

static void look(int one) {
  CHECK(maps_one_memory() == one);
  char* const memory = allocate_for_all(4096 * (size_t)ranks);
  for (int round = 1; round <= 20; ++round) {
    memory[4096 * rank] = (char)round;
    BARRIER();
    for (int other = 0; other < ranks; ++other) CHECK(memory[4096 * other] == round);
    BARRIER();
  }
}
static void one(void) {
  look(1);
}
static void own(void) {
  look(0);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {{"one", one}, {"own", own}};
  CHECK(run_case(join_job(argc, argv), cases, 2));
  return musubi_finalize(0);
}
