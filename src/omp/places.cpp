#include "omp/places.h"

#include <algorithm>
#include <array>

#include "omp/backoff.h"
#include "omp/shared_memory.h"
#include "omp/team.h"
#include "omp/team_words.h"
#include "os/binding.h"

namespace musubi::omp {
namespace {

// A word with 1 + the number of the rank's places, then the processors of each as bits.
constexpr std::size_t bits_of_word = 64, words_of_place = 16;
constexpr std::size_t places_max = (words::places_end - words::places) / words_of_place - 1;

constexpr std::size_t words_at(std::size_t index) {
  return words::places + (1 + index) * words_of_place;
}

PlacePartition common_part(const PlacePartition& one, const PlacePartition& other) {
  const std::uint32_t first = std::max(one.first, other.first);
  const std::uint32_t end = std::min(one.first + one.count, other.first + other.count);
  return {first, end > first ? end - first : 0};
}

}  // namespace

void Places::find(const Environment& environment) {
  if (!environment.places && !environment.binds()) return;
  PlaceList cores;
  cores.kind = os::ProcessorGroup::cores;
  here_ = places_among(environment.places.value_or(cores), os::allowed_processors());
  if (here_.size() > places_max) here_.resize(places_max);
  binds_ = environment.binds();
  if (runtime_.ranks() == 1) return;
  const Rank self = runtime_.self();
  for (std::size_t i = 0; i < here_.size(); ++i) {
    std::array<std::uint64_t, words_of_place> bits{};
    for (const std::uint32_t processor : here_[i]) {
      if (processor < words_of_place * bits_of_word)
        bits[processor / bits_of_word] |= std::uint64_t{1} << processor % bits_of_word;
    }
    for (std::size_t word = 0; word < words_of_place; ++word)
      if (bits[word] != 0) runtime_.words().store(self, words_at(i) + word, bits[word]);
  }
  runtime_.words().store(self, words::places, here_.size() + 1);
}

// Several threads may find the same answer at once.
std::uint32_t Places::first_of(std::uint32_t rank) {
  const std::uint32_t* first = first_.load(std::memory_order_acquire);
  if (first != nullptr) return first[rank];
  const std::uint32_t ranks = runtime_.ranks();
  auto* const found = static_cast<std::uint32_t*>(private_pages((ranks + 1) * sizeof(std::uint32_t)));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::uint64_t count = here_.size() + 1;
    if (r != runtime_.self().value) {
      Backoff backoff(runtime::Wait::peer);
      while ((count = runtime_.words().load(Rank{r}, words::places)) == 0) backoff.pause();
    }
    found[r + 1] = found[r] + static_cast<std::uint32_t>(count - 1);
  }
  first_.store(found, std::memory_order_release);
  return found[rank];
}

os::Processors Places::processors_of(std::uint32_t place) {
  if (place >= count()) return {};
  std::uint32_t rank = 0;
  while (place >= first_of(rank + 1)) ++rank;
  const std::size_t index = place - first_of(rank);
  if (rank == runtime_.self().value) return here_[index];
  os::Processors processors;
  for (std::size_t word = 0; word < words_of_place; ++word) {
    const std::uint64_t bits = runtime_.words().load(Rank{rank}, words_at(index) + word);
    for (std::size_t bit = 0; bit < bits_of_word; ++bit)
      if ((bits >> bit & 1) != 0) processors.push_back(static_cast<std::uint32_t>(word * bits_of_word + bit));
  }
  return processors;
}

void Places::bind_thread(std::uint32_t place) {
  Thread& thread = this_thread();
  if (thread.place == static_cast<int>(place)) return;
  thread.place = static_cast<int>(place);
  os::move_thread(here_[place - all_here().first]);
}

void Places::bind_first_thread() {
  if (!binds_) return;
  os::move_thread(here_[0]);
  // On another rank the number depends on ranks that may not have started: the first region gives it.
  if (runtime_.self().value == 0) this_thread().place = 0;
}

void Places::bind_member(ImplicitTask& task, ProcBind bind, std::uint32_t index, std::uint32_t members) {
  task.partition = task.ancestor->partition;
  task.place = this_thread().place;
  if (!binds_ || bind == ProcBind::no || task.team == nullptr) return;
  const PlacePartition here = all_here();
  PlacePartition partition = common_part(partition_of(*task.ancestor), here);
  if (partition.count == 0) partition = here;
  // A team over the ranks begins on each rank at the place of the thread that represents it.
  const int around = task.team->inner != nullptr ? task.ancestor->place : -1;
  const bool is_inside = around >= static_cast<int>(partition.first) &&
                         around < static_cast<int>(partition.first + partition.count);
  const std::uint32_t from = is_inside ? static_cast<std::uint32_t>(around) : partition.first;
  const PlaceOfThread found = place_of_thread(bind, members, index, partition, from);
  if (bind == ProcBind::spread) task.partition = found.partition;
  bind_thread(found.place);
  task.place = this_thread().place;
}

}  // namespace musubi::omp
