/* `by_code_opens <library>`: opens it while memory that checks alone protect is in use. */
#include <dlfcn.h>
#include <stdio.h>

#include "../checks_by_hand.h"
#include "checks.h"

NOTE(MUSUBI_CHECKS_ABI, 6, MUSUBI_CHECKS_UDSM);

int main(int argc, char** argv) {
  const char* const library = join_job(argc, argv);
  musubi_attributes attributes = {0};
  attributes.policy = MUSUBI_POLICY_HOME;
  attributes.checks = MUSUBI_CHECKED_BY_CODE;
  void* memory = NULL;
  CHECK(musubi_alloc_with(&attributes, 4096, &memory) == MUSUBI_OK);
  BARRIER();
  if (rank == ranks - 1) CHECK(dlopen(library, RTLD_NOW) != NULL);
  BARRIER();
  puts("went on");
  return musubi_finalize(0);
}
