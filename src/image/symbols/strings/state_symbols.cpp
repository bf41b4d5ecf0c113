// Functions of the C library that keep a state between calls, which the job shares.
#include <stdlib.h>
#include <string.h>

#include <map>
#include <mutex>
#include <vector>

#include "heap/heap.h"
#include "image/process/job_words.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"

namespace {

using namespace musubi::image;

// States of random() that the program has supplied. Other ranks ask rank 0 for numbers, on a thread that must
// not touch shared memory: the C library therefore works on copies.
class StatesOfRandom {
 public:
  char* copy_of(char* state, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    std::vector<char>& copy = copies_[state];
    if (copy.size() < bytes) copy.assign(state, state + bytes);
    return copy.data();
  }
  // The program's name for a state of the C library.
  char* original_of(char* copy) {
    const std::lock_guard guard(lock_);
    for (auto& [state, bytes] : copies_) {
      if (bytes.data() == copy) return state;
    }
    return copy;
  }
  char* known_copy_of(char* state) {
    const std::lock_guard guard(lock_);
    const auto copy = copies_.find(state);
    return copy != copies_.end() ? copy->second.data() : state;
  }

 private:
  std::mutex lock_;
  std::map<char*, std::vector<char>> copies_;
};

StatesOfRandom& states_of_random() {
  static auto& states = *new StatesOfRandom;
  return states;
}

}  // namespace

MUSUBI_WRAPPER(char*, strtok, (char* text, const char* delimiters)) {
  namespace job_words = job_words;
  static constinit Next<char* (*)(char*, const char*)> next("strtok");
  Job* const job = job_of_ranks();
  if (job == nullptr || !musubi::heap::process_heap.serves(MUSUBI_CALLER))
    return next.get()(text, delimiters);
  musubi::runtime::Words& words = job->runtime.words();
  char* rest = reinterpret_cast<char*>(words.load(musubi::Rank{0}, job_words::rest_of_text));
  char* const token = ::strtok_r(text, delimiters, &rest);
  words.store(musubi::Rank{0}, job_words::rest_of_text, reinterpret_cast<std::uint64_t>(rest));
  return token;
}

MUSUBI_WRAPPER(char*, initstate, (unsigned seed, char* state, std::size_t bytes)) {
  static constinit Next<char* (*)(unsigned, char*, std::size_t)> next("initstate");
  if (job_of_ranks() == nullptr) return next.get()(seed, state, bytes);
  return states_of_random().original_of(next.get()(seed, states_of_random().copy_of(state, bytes), bytes));
}
MUSUBI_WRAPPER(char*, setstate, (char* state)) {
  static constinit Next<char* (*)(char*)> next("setstate");
  if (job_of_ranks() == nullptr) return next.get()(state);
  return states_of_random().original_of(next.get()(states_of_random().known_copy_of(state)));
}
