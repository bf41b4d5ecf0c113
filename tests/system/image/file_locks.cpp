// Objects of POSIX and C++ in a file which all threads map, made for one process as well as for several: they
// also order the threads' writes elsewhere.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

extern "C" {
#include "check.h"
}
#include <omp.h>

namespace {

constexpr int rounds = 40;

struct Objects {
  pthread_mutex_t plain, recursive;
  pthread_cond_t condition;
  pthread_rwlock_t readers;
  pthread_barrier_t barrier;
  pthread_spinlock_t spin;
  pthread_once_t once;
  sem_t semaphore;
  std::atomic<int> turn;
};

Objects* objects;
int turn, value, calls;
long counts[4];

Objects* map_objects(bool by_name) {
  char name[] = "/tmp/file_locks_XXXXXX";
  int file;
  if (by_name) {
    file = shm_open("/musubi_file_locks_test", O_RDWR | O_CREAT, 0600);
    CHECK(shm_unlink("/musubi_file_locks_test") == 0);
  } else {
    file = mkstemp(name);
    CHECK(unlink(name) == 0);
  }
  CHECK(file >= 0 && ftruncate(file, 1 << 16) == 0);
  void* const memory = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(close(file) == 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Objects;
}

void make_objects(int sharing) {
  pthread_mutexattr_t of_mutex;
  pthread_mutexattr_init(&of_mutex);
  pthread_mutexattr_setpshared(&of_mutex, sharing);
  CHECK(pthread_mutex_init(&objects->plain, &of_mutex) == 0);
  pthread_mutexattr_settype(&of_mutex, PTHREAD_MUTEX_RECURSIVE);
  CHECK(pthread_mutex_init(&objects->recursive, &of_mutex) == 0);
  pthread_condattr_t of_condition;
  pthread_condattr_init(&of_condition);
  pthread_condattr_setpshared(&of_condition, sharing);
  CHECK(pthread_cond_init(&objects->condition, &of_condition) == 0);
  pthread_rwlockattr_t of_readers;
  pthread_rwlockattr_init(&of_readers);
  pthread_rwlockattr_setpshared(&of_readers, sharing);
  CHECK(pthread_rwlock_init(&objects->readers, &of_readers) == 0);
  pthread_barrierattr_t of_barrier;
  pthread_barrierattr_init(&of_barrier);
  pthread_barrierattr_setpshared(&of_barrier, sharing);
  CHECK(pthread_barrier_init(&objects->barrier, &of_barrier, unsigned(omp_get_max_threads())) == 0);
  CHECK(pthread_spin_init(&objects->spin, sharing) == 0);
  CHECK(sem_init(&objects->semaphore, sharing, 0) == 0);
  objects->once = PTHREAD_ONCE_INIT;
  new (&objects->turn) std::atomic<int>(0);
}

void locks() {
  for (long& count : counts) count = 0;
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    CHECK(pthread_mutex_lock(&objects->plain) == 0);
    ++counts[0];
    if (i % 8 == 0) usleep(200);  // other threads sleep in the kernel
    CHECK(pthread_mutex_unlock(&objects->plain) == 0);
    CHECK(pthread_mutex_lock(&objects->recursive) == 0 && pthread_mutex_trylock(&objects->recursive) == 0);
    ++counts[1];
    CHECK(pthread_mutex_unlock(&objects->recursive) == 0 && pthread_mutex_unlock(&objects->recursive) == 0);
    CHECK(pthread_rwlock_wrlock(&objects->readers) == 0);
    ++counts[2];
    if (i % 8 == 0) usleep(200);
    CHECK(pthread_rwlock_unlock(&objects->readers) == 0);
    CHECK(pthread_spin_lock(&objects->spin) == 0);
    ++counts[3];
    CHECK(pthread_spin_unlock(&objects->spin) == 0);
  }
  for (const long count : counts) CHECK(count == long{rounds} * omp_get_max_threads());
}

void conditions() {
  turn = 0;
#pragma omp parallel
  for (int i = 0; i < 10; ++i) {
    CHECK(pthread_mutex_lock(&objects->plain) == 0);
    while (turn % omp_get_num_threads() != omp_get_thread_num())
      CHECK(pthread_cond_wait(&objects->condition, &objects->plain) == 0);
    ++turn;
    CHECK(pthread_cond_broadcast(&objects->condition) == 0);
    CHECK(pthread_mutex_unlock(&objects->plain) == 0);
  }
  CHECK(turn == 10 * omp_get_max_threads());
}

void meetings() {
  static int cells[64][1000];
#pragma omp parallel
  for (int i = 1; i <= rounds; ++i) {
    cells[omp_get_thread_num()][0] = i;
    pthread_barrier_wait(&objects->barrier);
    for (int other = 0; other < omp_get_num_threads(); ++other) CHECK(cells[other][0] == i);
    pthread_barrier_wait(&objects->barrier);
  }
}

// The first thread passes values to the last.
void semaphores_and_waits() {
#pragma omp parallel
  {
    const int self = omp_get_thread_num(), last = omp_get_num_threads() - 1;
    for (int i = 1; i <= rounds && last > 0; ++i) {
      if (self == 0) {
        value = i;
        CHECK(sem_post(&objects->semaphore) == 0);
        objects->turn.wait(i - 1);
      } else if (self == last) {
        CHECK(sem_wait(&objects->semaphore) == 0);
        CHECK(value == i);
        objects->turn.store(i);
        objects->turn.notify_all();
      }
    }
  }
}

void once() {
  calls = 0;
#pragma omp parallel
  {
    pthread_once(&objects->once, [] {
      usleep(2000);
      ++calls;
    });
    CHECK(calls == 1);
  }
}

}  // namespace

int main() {
  for (const bool by_name : {false, true}) {
    for (const int sharing : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
      objects = map_objects(by_name);
      if (objects == nullptr) {
        CHECK(errno == ENOTSUP || errno == ENODEV || errno == EOPNOTSUPP);
        printf("file_locks: passed, as far as hosts share files\n");
        return 0;
      }
      make_objects(sharing);
      locks();
      conditions();
      meetings();
      semaphores_and_waits();
      once();
      CHECK(munmap(objects, 1 << 16) == 0);
    }
  }
  printf("file_locks: passed\n");
  return 0;
}
