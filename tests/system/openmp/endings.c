// Programs that end in every way C knows: `endings <how>`. Without arguments it does nothing.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

static int shared_words[4096];
static sigjmp_buf way_back;
static volatile sig_atomic_t handled = 0;
static void* volatile handled_address = NULL;
static int* volatile low_address = (int*)64;

static void jump_back(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)context;
  handled_address = information->si_addr;
  handled = handled + 1;
  siglongjmp(way_back, 1);
}

// A program with a handler of its own: the handler gets the program's faults, but not the faults of shared
// memory.
static int handle_own_faults(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = jump_back;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  for (int round = 1; round <= 5; ++round) {
#pragma omp parallel for
    for (int i = 0; i < 4096; ++i) shared_words[i] += round;
    if (sigsetjmp(way_back, 1) == 0) {
      *low_address = 1;
      CHECK(0);
    }
    CHECK(handled == round);
    CHECK(handled_address == (void*)64);
  }
  for (int i = 0; i < 4096; ++i) CHECK(shared_words[i] == 15);
  puts("handled");
  return 0;
}

static void say_farewell(void) {
  puts("farewell");
}

static void* return_late(void* unused) {
  usleep(100000);
  puts("late");
  return unused;
}

static void leave_region(int thread, int status) {
#pragma omp parallel
  {
#pragma omp barrier
    if (omp_get_thread_num() == thread % omp_get_num_threads()) exit(status);
#pragma omp barrier
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 0;
  const char* how = argv[1];
  atexit(say_farewell);
#pragma omp parallel for
  for (int i = 0; i < 4096; ++i) shared_words[i] = 0;
  if (strcmp(how, "handler") == 0) return handle_own_faults();
  if (strcmp(how, "exit_serial") == 0) exit(3);
  if (strcmp(how, "exit_first") == 0) leave_region(0, 3);
  if (strcmp(how, "exit_second") == 0) leave_region(1, 3);
  if (strcmp(how, "exit_second_0") == 0) leave_region(1, 0);
  if (strcmp(how, "return") == 0) return 7;
  if (strcmp(how, "_exit") == 0) _exit(5);
  if (strcmp(how, "quick_exit") == 0) quick_exit(6);
  if (strcmp(how, "pthread_exit") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, return_late, NULL);
    pthread_exit(NULL);
  }
  if (strcmp(how, "raise_terminate") == 0) raise(SIGTERM);
  if (strcmp(how, "_exit_second") == 0) {
#pragma omp parallel
    if (omp_get_thread_num() == 1 % omp_get_num_threads()) _exit(9);
  }
  return 1;
}
