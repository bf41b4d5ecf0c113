// C++ containers that every thread grows, moves and destroys.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check.h"

static std::vector<std::string> words;
static std::map<int, std::string> dictionary;

static std::string word(int thread, int number) {
  std::string text = std::to_string(thread) + ":" + std::to_string(number);
  return number % 3 == 0 ? text + std::string(100, 'x') : text;
}

static void grow_vector() {
  const int each = 300;
  int threads = 0;
#pragma omp parallel
  {
#pragma omp single
    threads = omp_get_num_threads();
    for (int i = 0; i < each; ++i) {
#pragma omp critical
      words.push_back(word(omp_get_thread_num(), i));
    }
  }
  CHECK(words.size() == static_cast<std::size_t>(each * threads));
  std::vector<int> next(threads);
  for (const std::string& text : words) {
    const int thread = std::stoi(text);
    CHECK(text == word(thread, next[thread]++));
  }
}

static void share_dictionary() {
#pragma omp parallel for schedule(dynamic, 7)
  for (int i = 0; i < 700; ++i) {
#pragma omp critical(dictionary)
    dictionary[i * 31 % 701] += word(i, i);
  }
  CHECK(dictionary.size() == 700);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < 700; ++i) {
#pragma omp critical(dictionary)
    {
      CHECK(dictionary[i * 31 % 701] == word(i, i));
      dictionary.erase(i * 31 % 701);
    }
  }
  CHECK(dictionary.empty());
}

static void hand_over_ownership() {
  std::vector<std::unique_ptr<std::vector<double>>> owned(200);
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < 200; ++i) owned[i] = std::make_unique<std::vector<double>>(1000 + i, i);
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i = 0; i < 200; ++i) {
    sum += owned[i]->back() + static_cast<double>(owned[i]->size());
    owned[i].reset();
  }
  CHECK(sum == 200 * 1000 + 2 * 199 * 100);
}

int main() {
  grow_vector();
  share_dictionary();
  hand_over_ownership();
  words.clear();
  words.shrink_to_fit();
  return 0;
}
