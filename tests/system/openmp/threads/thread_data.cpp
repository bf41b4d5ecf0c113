// What each thread has for itself: thread_local objects with destructors, keys, errno, its handle; one
// initialisation for all; and exceptions, which unwind a thread's own frames and reach main as pointers.
// Usage: thread_data [threads].
#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

std::mutex guard;
long destroyed, unwound, by_key;
int initialised;
pthread_key_t key;

struct Name {
  Name() : text("thread number ") {}
  ~Name() {
    const std::lock_guard hold(guard);
    ++destroyed;
  }
  std::string text;
};

thread_local Name name;
thread_local int depth;

struct Frame {
  Frame() { ++depth; }
  ~Frame() {
    --depth;
    const std::lock_guard hold(guard);
    ++unwound;
  }
};

void descend(int levels) {
  const Frame frame;
  if (levels == 0) throw std::runtime_error(name.text);
  descend(levels - 1);
}

std::string& greeting() {
  static std::string text = [] {
    ++initialised;
    return std::string("a text that one of the threads has made");
  }();
  return text;
}

void work(int me, std::exception_ptr& error) {
  name.text += std::to_string(me);
  CHECK(pthread_setspecific(key, &name) == 0 && greeting().size() == 39);
  errno = 1000 + me;
  std::this_thread::yield();
  try {
    descend(me + 3);
  } catch (...) {
    error = std::current_exception();
  }
  CHECK(depth == 0 && errno == 1000 + me);
  CHECK(pthread_getspecific(key) == &name);
}

void count_key(void* value) {
  const std::lock_guard hold(guard);
  by_key += value != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int size = number_of(argc, argv, 1, 5, team_max);
  CHECK(pthread_key_create(&key, count_key) == 0);
  name.text = "main";
  const double start = seconds();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int i = 0; i < size; ++i) threads.emplace_back(work, i, std::ref(errors[static_cast<std::size_t>(i)]));
  for (std::size_t i = 0; i < threads.size(); ++i) {
    CHECK(threads[i].get_id() != std::this_thread::get_id());
    for (std::size_t k = 0; k < i; ++k) CHECK(threads[k].get_id() == std::thread::id());
    threads[i].join();
  }
  long frames = 0;
  for (int i = 0; i < size; ++i) {
    frames += i + 4;
    std::string text;
    try {
      std::rethrow_exception(errors[static_cast<std::size_t>(i)]);
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    CHECK(text == "thread number " + std::to_string(i));
  }
  CHECK(destroyed == size && by_key == size && unwound == frames && initialised == 1);
  CHECK(name.text == "main" && depth == 0);
  printf("thread_data: %d threads, time %.6f s\n", size, seconds() - start);
  return 0;
}
