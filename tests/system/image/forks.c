// Children made by fork: they see the parent's memory, change none of it, and become other programs.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char** environ;

enum { count = 200000 };
static int global = 1;
static int handlers = 0;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int own = 5;

static int status_of(pid_t child) {
  int status = -1;
  pid_t found;
  do found = waitpid(child, &status, 0);
  while (found < 0 && errno == EINTR);
  CHECK(found == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void in_child(void) {
  ++handlers;
}

// A child's writes are its own; it sees those that other threads made before.
static void check_memory(const int* written_elsewhere, int* heap, int* foreign) {
  int local = 2;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (getpid() == getppid() || handlers != 1 || own != 5) _exit(1);
    for (int i = 0; i < count; ++i) {
      if (written_elsewhere[i] != i) _exit(2);
    }
    local = global = own = heap[0] = heap[count - 1] = 9;
    handlers = 7;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    int* fresh = malloc(count * sizeof *fresh);
    foreign = realloc(foreign, 2 * count);
    if (fresh == NULL || foreign == NULL) _exit(3);
    for (int i = 0; i < count; ++i) fresh[i] = heap[i % 100];
    free(heap);
    free(fresh);
    free(foreign);
#pragma omp atomic
    global += 1;
    _exit(global);
  }
  CHECK(status_of(child) == 10);
  CHECK(local == 2 && global == 1 && own == 5 && heap[0] == 3 && heap[count - 1] == 4 && handlers == 0);
}

static void read_line(int file, char* line, size_t bytes) {
  size_t length = 0;
  ssize_t got;
  while (length + 1 < bytes && (got = read(file, line + length, bytes - length - 1)) > 0)
    length += (size_t)got;
  line[length] = '\0';
}

// As subprocess of Python does it: a pipe for output, no other file, and one that reports a failed exec.
static void check_capture(char* const* arguments, const char* expected) {
  int output[2], failure[2], error = 0;
  CHECK(pipe(output) == 0 && pipe2(failure, O_CLOEXEC) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(output[1], 1);
    for (int file = 3; file < 1024; ++file) {
      if (file != failure[1]) close(file);
    }
    execvp(arguments[0], arguments);
    error = errno;
    if (write(failure[1], &error, sizeof error) != sizeof error) _exit(1);
    _exit(255);
  }
  close(output[1]);
  close(failure[1]);
  CHECK(read(failure[0], &error, sizeof error) == 0);
  char line[100];
  read_line(output[0], line, sizeof line);
  close(output[0]);
  close(failure[0]);
  CHECK(strcmp(line, expected) == 0);
  CHECK(status_of(child) == 0);
}

static void check_spawn(char* const* arguments, const char* command, const char* expected) {
  pid_t child;
  CHECK(posix_spawnp(&child, "sh", NULL, NULL, (char*[]){"sh", "-c", "exit 6", NULL}, environ) == 0);
  CHECK(status_of(child) == 6);
  CHECK(posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) == 0);
  CHECK(status_of(child) == 0);
  CHECK(system(command) == 0);
  char line[100] = "";
  FILE* output = popen(command, "r");
  CHECK(output != NULL && fgets(line, sizeof line, output) != NULL && strcmp(line, expected) == 0);
  CHECK(pclose(output) == 0);
}

static void check_missing(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    execl("/nowhere/program", "program", (char*)NULL);
    _exit(errno == ENOENT ? 4 : 5);
  }
  CHECK(status_of(child) == 4);
  child = fork();
  if (child == 0) {  // as daemons do
    pid_t grandchild = fork();
    if (grandchild == 0) execlp("sh", "sh", "-c", "exit 3", (char*)NULL);
    _exit(status_of(grandchild));
  }
  CHECK(status_of(child) == 3);
}

int main(void) {
  int* heap = calloc(count, sizeof *heap);
  int* written_elsewhere = malloc(count * sizeof *written_elsewhere);
  int* foreign = NULL;
  pthread_atfork(NULL, NULL, in_child);
  heap[0] = 3;
  heap[count - 1] = 4;
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    for (int i = 0; i < count; ++i) written_elsewhere[i] = i;
    foreign = malloc(count);
    pthread_mutex_lock(&mutex);  // so that the mutex has been in use
    pthread_mutex_unlock(&mutex);
  }
  check_memory(written_elsewhere, heap, foreign);
  check_missing();
  char* arguments[] = {"sh", "-c", "echo from main", NULL};
  check_capture(arguments, "from main\n");

  int members = 0;
#pragma omp parallel reduction(+ : members)
  {
    char* command = malloc(50);
    char expected[50];
    sprintf(command, "echo thread %d", omp_get_thread_num());
    sprintf(expected, "thread %d\n", omp_get_thread_num());
    char** given = malloc(4 * sizeof *given);
    given[0] = "sh", given[1] = "-c", given[2] = command, given[3] = NULL;
    for (int i = 0; i < 5; ++i) check_capture(given, expected);
    given[2] = "exit 0";
    check_spawn(given, command, expected);
    check_missing();
    free(given);
    free(command);
    members += 1;
  }
  CHECK(members > 0);
#pragma omp parallel
  {
#pragma omp critical
    check_memory(written_elsewhere, heap, foreign);
  }
  printf("forks: passed\n");
  return 0;
}
