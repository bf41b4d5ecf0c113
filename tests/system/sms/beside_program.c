/* A process of a job that uses sms.h and musubi.h: beside_program <case>. Each case checks itself. */
#include <musubi/gas.h>
#include <musubi/gheap.h>
#include <musubi/musubi.h>
#include <musubi/sms.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int holds, const char* what) {
  if (!holds) musubi_abort(99, what);
}

/* Either may join the job, both work. */
static void use_both(void) {
  check(musubi_rank() == sms_proc_id && musubi_size() == sms_nproc, "the numbers differ");
  long* const of_sms = sms_alloc(sizeof(long), 0);
  long* of_musubi = NULL;
  if (sms_proc_id == 0) {
    of_musubi = musubi_alloc(sizeof *of_musubi);
    *of_musubi = 0;
  }
  musubi_broadcast((void**)&of_musubi);
  check(ginit(4096) == 0, "no global heap");
  const gas_address page = gas_alloc(8, 64, 0);
  for (int i = 0; i < 100; ++i) {
    sms_lock(5);
    ++*of_sms;
    sms_unlock(5);
    musubi_lock(6);
    ++*of_musubi;
    musubi_unlock(6);
    gas_fetch_add(page, 1, NULL);
  }
  sms_barrier(0);
  uint64_t counted = 0;
  gas_get(page, &counted, sizeof counted);
  const long all = 100L * sms_nproc;
  check(*of_sms == all && *of_musubi == all && counted == (uint64_t)all, "a sum is wrong");
  musubi_barrier();
}

static void other_barrier(void) {
  sms_proc_id == 0 ? (void)musubi_barrier() : sms_barrier(0);
}

static void other_call(void) {
  double value = 1;
  if (sms_proc_id == 0) {
    sms_alloc(24, 0);
  } else {
    musubi_reduce(&value, 1, MUSUBI_DOUBLE, MUSUBI_SUM, 0);
  }
}

int main(int argc, char** argv) {
  const char* const name = argc == 2 ? argv[1] : "";
  if (strcmp(name, "sms_first") == 0) {
    sms_startup(argc, argv);
    check(musubi_init(&argc, &argv) == MUSUBI_ERROR_STATE, "a second beginning");
    use_both();
    check(musubi_finalize(0) == MUSUBI_ERROR_STATE, "the end of a job that SMS has joined");
    sms_shutdown();
    return EXIT_SUCCESS;
  }
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return EXIT_FAILURE;
  sms_startup(argc, argv);
  if (strcmp(name, "other_barrier") == 0) other_barrier();
  if (strcmp(name, "other_call") == 0) other_call();
  use_both();
  if (strcmp(name, "sms_between") == 0) {
    sms_shutdown();
    check(musubi_barrier() == MUSUBI_OK && musubi_rank() == sms_proc_id, "the job has ended with SMS");
    return musubi_finalize(0);
  }
  musubi_finalize(0);
  return EXIT_SUCCESS;
}
