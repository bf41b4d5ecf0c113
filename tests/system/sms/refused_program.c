/* Misuse of sms.h: each case ends the job with a line. */
#include <pthread.h>
#include <sms.h>
#include <stdio.h>
#include <string.h>

static int private_bytes[100];

static void* lock_elsewhere(void* unused) {
  sms_lock(1);
  return unused;
}

static void thread(void) {
  pthread_t other;
  pthread_create(&other, NULL, &lock_elsewhere, NULL);
  pthread_join(other, NULL);
}
static void twice(void) {
  sms_startup(0, NULL);
}
static void manager_high(void) {
  sms_alloc(8, sms_nproc);
}
static void manager_negative(void) {
  sms_calloc(8, 8, -1);
}
static void changed_to_nobody(void) {
  sms_change_page_manager(sms_alloc(8, 0), 8, sms_nproc);
}
static void barrier_of_nobody(void) {
  sms_barrier(sms_nproc);
}
static void size_zero(void) {
  sms_alloc(0, 0);
}
static void size_negative(void) {
  sms_alloc(-5, 0);
}
static void items_zero(void) {
  sms_calloc(0, 8, 0);
}
static void items_negative(void) {
  sms_calloc(-1, 8, 0);
}
static void item_zero(void) {
  sms_calloc(8, 0, 0);
}
static void too_many_items(void) {
  sms_calloc_large((size_t)1 << 60, 24, 0);
}
static void no_addresses(void) {
  sms_alloc(64 << 20, 0);
}
static void private_memory(void) {
  sms_change_page_manager(private_bytes, sizeof private_bytes, 0);
}
static void over_the_end(void) {
  char* bytes = sms_alloc(100, 0);
  sms_alloc(100, 0);
  sms_change_page_manager(bytes + 1, 100, 0);
}
static void change_nothing(void) {
  sms_change_page_manager(sms_alloc(8, 0), 0, 0);
}
static void lock_high(void) {
  sms_lock(SMS_LOCK_COUNT);
}
static void lock_negative(void) {
  sms_lock(-1);
}
static void unlock_high(void) {
  sms_unlock(SMS_LOCK_COUNT);
}
static void lock_twice(void) {
  sms_lock(7 + sms_proc_id);
  sms_lock(7 + sms_proc_id);
}
static void unlock_free(void) {
  sms_unlock(7);
}
static void unlock_twice(void) {
  sms_lock(7);
  sms_unlock(7);
  sms_unlock(7);
}
/* Another process's lock is not this one's. */
static void unlock_of_others(void) {
  if (sms_proc_id == 0) sms_lock(7);
  sms_barrier(0);
  if (sms_proc_id == 1) sms_unlock(7);
  sms_barrier(0);
}
static void wait_without(void) {
  sms_lock(7);
  sms_cond_wait(0, 8);
}
static void wait_high(void) {
  sms_lock(7);
  sms_cond_wait(SMS_COND_COUNT, 7);
}
static void wait_lock_negative(void) {
  sms_cond_wait(0, -1);
}
static void signal_high(void) {
  sms_cond_signal(SMS_COND_COUNT);
}
static void broadcast_negative(void) {
  sms_cond_broadcast(-1);
}
static void shutdown_with_lock(void) {
  sms_lock(7 + sms_proc_id);
  sms_shutdown();
}

/* The last process makes another call. */
static int is_other(void) {
  return sms_proc_id == sms_nproc - 1;
}
static void other_size(void) {
  sms_alloc(is_other() ? 16 : 8, 0);
}
static void other_manager(void) {
  sms_alloc(8, is_other() ? 1 : 0);
}
static void other_item(void) {
  if (is_other()) {
    sms_calloc(2, 4, 0);
  } else {
    sms_calloc(1, 8, 0);
  }
}
static void other_address(void) {
  char* bytes = sms_alloc(100, 0);
  sms_change_page_manager(bytes + (is_other() ? 1 : 0), 10, 0);
}
static void alloc_in_barrier(void) {
  if (is_other()) sms_alloc(8, 0);
  sms_barrier(0);
}
static void other_kind(void) {
  if (is_other()) {
    sms_calloc(8, 1, 0);
  } else {
    sms_alloc(8, 0);
  }
}
static void other_barrier_manager(void) {
  sms_barrier(is_other() ? 1 : 0);
}
static void barrier_at_the_end(void) {
  if (is_other()) sms_barrier(0);
}
static void behind_the_end(void) {
  sms_shutdown();
  sms_barrier(0);
}

#define CASE(name) \
  { #name, &name }
static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {CASE(thread),
             CASE(twice),
             CASE(manager_high),
             CASE(manager_negative),
             CASE(barrier_of_nobody),
             CASE(size_zero),
             CASE(size_negative),
             CASE(items_zero),
             CASE(items_negative),
             CASE(item_zero),
             CASE(too_many_items),
             CASE(no_addresses),
             CASE(private_memory),
             CASE(over_the_end),
             CASE(change_nothing),
             CASE(changed_to_nobody),
             CASE(lock_high),
             CASE(lock_negative),
             CASE(unlock_high),
             CASE(lock_twice),
             CASE(unlock_free),
             CASE(unlock_twice),
             CASE(unlock_of_others),
             CASE(wait_without),
             CASE(wait_high),
             CASE(wait_lock_negative),
             CASE(signal_high),
             CASE(broadcast_negative),
             CASE(shutdown_with_lock),
             CASE(other_size),
             CASE(other_manager),
             CASE(other_item),
             CASE(other_address),
             CASE(alloc_in_barrier),
             CASE(other_kind),
             CASE(other_barrier_manager),
             CASE(barrier_at_the_end),
             CASE(behind_the_end)};

/* Calls before sms_startup. */
static void run_early(const char* name) {
  if (strcmp(name, "early_alloc") == 0) sms_alloc(8, 0);
  if (strcmp(name, "early_lock") == 0) sms_lock(0);
  if (strcmp(name, "early_barrier") == 0) sms_barrier(0);
  if (strcmp(name, "early_signal") == 0) sms_cond_signal(0);
  if (strcmp(name, "early_shutdown") == 0) sms_shutdown();
  if (strcmp(name, "early_error") == 0) sms_error("not even begun");
}

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "";
  run_early(name);
  sms_startup(argc, argv);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(name, cases[i].name) == 0) cases[i].run();
  }
  sms_shutdown();
  printf("not refused\n");
  return 0;
}
