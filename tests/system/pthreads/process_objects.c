// Files, streams, folders, memory, children and signals of the process, used by threads wherever they run.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { threads = 4, lines = 50 };

static char folder[] = "/tmp/musubi-pthreads-XXXXXX";
static FILE* stream;
static int file;
static char* texts[threads];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* use(void* given) {
  const int number = (int)(long)given;
  char name[32], line[64];
  // A file of its own, in the process's folder.
  sprintf(name, "file %d", number);
  FILE* const mine = fopen(name, "w+");
  CHECK(mine != NULL);
  for (int i = 0; i < lines; ++i) CHECK(fprintf(mine, "%d %d\n", number, i) > 0);
  rewind(mine);
  for (int i = 0; i < lines; ++i) {
    int first, second;
    CHECK(fgets(line, sizeof line, mine) != NULL && sscanf(line, "%d %d", &first, &second) == 2);
    CHECK(first == number && second == i);
  }
  CHECK(fclose(mine) == 0);
  // A stream and a descriptor of main.
  for (int i = 0; i < lines; ++i) {
    CHECK(fprintf(stream, "%d\n", number) > 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(write(file, &number, sizeof number) == sizeof number);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
  // Memory that another thread frees.
  free(texts[number]);
  texts[number] = strdup(name);
  // A child, and a pipe to it.
  int ends[2], status = 0;
  char letter = 0;
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    letter = (char)('a' + number);
    _exit(write(ends[1], &letter, 1) == 1 ? number : 100);
  }
  CHECK(read(ends[0], &letter, 1) == 1 && letter == 'a' + number);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == number);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  return NULL;
}

static pid_t process;
static volatile sig_atomic_t handled;
static void handle(int signal) {
  handled = signal;
}

static void* use_signals(void* given) {
  (void)given;
  CHECK(getpid() == process);
  handled = 0;
  CHECK(raise(SIGUSR1) == 0 && handled == SIGUSR1);
  handled = 0;
  CHECK(kill(getpid(), SIGUSR1) == 0);
  while (handled == 0) usleep(1000);
  return NULL;
}

int main(void) {
  pthread_t team[threads];
  struct stat state;
  CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
  stream = fopen("stream", "w");
  file = open("descriptor", O_CREAT | O_RDWR, 0600);
  CHECK(stream != NULL && file >= 0);
  for (long i = 0; i < threads; ++i) {
    texts[i] = malloc(100);
    CHECK(pthread_create(&team[i], NULL, use, (void*)i) == 0);
  }
  for (int i = 0; i < threads; ++i) {
    char name[32];
    CHECK(pthread_join(team[i], NULL) == 0);
    sprintf(name, "file %d", i);
    CHECK(strcmp(texts[i], name) == 0 && stat(name, &state) == 0 && state.st_size > lines &&
          unlink(name) == 0);
    free(texts[i]);
  }
  CHECK(fclose(stream) == 0 && stat("stream", &state) == 0 && state.st_size == 2 * threads * lines);
  int counts[threads] = {0}, number;
  CHECK(lseek(file, 0, SEEK_SET) == 0);
  while (read(file, &number, sizeof number) == sizeof number) ++counts[number];
  for (int i = 0; i < threads; ++i) CHECK(counts[i] == lines);
  CHECK(close(file) == 0 && unlink("stream") == 0 && unlink("descriptor") == 0);
  CHECK(chdir("/") == 0 && rmdir(folder) == 0);

  const struct sigaction action = {.sa_handler = handle};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  process = getpid();
  for (int i = 0; i < threads; ++i) {
    CHECK(pthread_create(&team[0], NULL, use_signals, NULL) == 0 && pthread_join(team[0], NULL) == 0);
  }
  printf("process_objects: passed\n");
  return 0;
}
