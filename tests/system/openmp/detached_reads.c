// Tasks that start a read of a file and end with it: a thread of the program reads, and fulfils their events;
// the tasks that work on the bytes depend on them. With `early` every second event is fulfilled before its
// task ends.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { reads = 40, bytes = 3000, room = reads + 1 };

struct request {
  omp_event_handle_t event;
  int number, is_last;
};

static struct request requests[room];
static int first, count;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static unsigned char buffers[reads][bytes];
static long sums[reads];
static FILE* file;

static unsigned char byte_at(long place) {
  return (unsigned char)(place * 7 + place / 251);
}

static void ask_for(struct request request) {
  pthread_mutex_lock(&guard);
  requests[(first + count++) % room] = request;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&guard);
}

static void* read_all(void* unused) {
  for (;;) {
    pthread_mutex_lock(&guard);
    while (count == 0) pthread_cond_wait(&filled, &guard);
    const struct request request = requests[first];
    first = (first + 1) % room;
    --count;
    pthread_mutex_unlock(&guard);
    if (request.is_last) return unused;
    usleep(200);
    CHECK(pread(fileno(file), buffers[request.number], bytes, (off_t)request.number * bytes) == bytes);
    omp_fulfill_event(request.event);
  }
}

static void make_tasks(int early) {
  for (int i = 0; i < reads; ++i) {
    unsigned char* buffer = buffers[i];
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task depend(out : buffer[0]) detach(event) firstprivate(i, early)
    {
      if (early && i % 2 == 0) {
        CHECK(pread(fileno(file), buffers[i], bytes, (off_t)i * bytes) == bytes);
        omp_fulfill_event(event);
      } else {
        ask_for((struct request){event, i, 0});
      }
    }
#pragma omp task depend(in : buffer[0]) firstprivate(buffer, i)
    for (int k = 0; k < bytes; ++k) sums[i] += buffer[k];
  }
#pragma omp taskwait
  for (int i = 0; i < reads; ++i) {
    long sum = 0;
    for (long k = 0; k < bytes; ++k) sum += byte_at((long)i * bytes + k);
    CHECK(sums[i] == sum);
  }
}

int main(int argc, char** argv) {
  const int early = argc > 1 && strcmp(argv[1], "early") == 0;
  file = tmpfile();
  CHECK(file != NULL);
  for (long i = 0; i < (long)reads * bytes; ++i) CHECK(fputc(byte_at(i), file) != EOF);
  CHECK(fflush(file) == 0);
  pthread_t reader;
  CHECK(pthread_create(&reader, NULL, read_all, NULL) == 0);
#pragma omp parallel
#pragma omp single
  make_tasks(early);
  ask_for((struct request){.is_last = 1});
  CHECK(pthread_join(reader, NULL) == 0);
  puts("detached_reads: passed");
  return 0;
}
