#include "omp/thread_copies.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"

namespace musubi::omp {
namespace {

// What the ranks know of a variable, in shared memory; a list, whose head is a team word.
struct Record {
  Record* next;
  const void* variable;
  CopyFunctions functions;
  const void* initial;  // its bytes; null: not known yet
};

// This thread's copies by the variables' addresses: a table with free places, in memory of the process.
class Copies {
 public:
  void* find(const void* variable) const {
    if (capacity_ == 0) return nullptr;
    return entries_[place_of(variable)].copy;
  }
  void add(const void* variable, void* copy) {
    if (2 * (count_ + 1) > capacity_) grow();
    entries_[place_of(variable)] = {variable, copy};
    ++count_;
  }

 private:
  struct Entry {
    const void* variable;
    void* copy;
  };
  static constexpr std::size_t first_capacity = 256;

  // That of the variable, or a free one.
  std::size_t place_of(const void* variable) const {
    std::size_t place = (reinterpret_cast<std::uintptr_t>(variable) * 0x9e3779b97f4a7c15u >> 20) % capacity_;
    while (entries_[place].variable != nullptr && entries_[place].variable != variable)
      place = (place + 1) % capacity_;
    return place;
  }
  void grow() {
    const Copies before = *this;
    capacity_ = capacity_ == 0 ? first_capacity : 2 * capacity_;
    entries_ = static_cast<Entry*>(private_pages(capacity_ * sizeof(Entry)));
    for (std::size_t i = 0; i < before.capacity_; ++i) {
      if (before.entries_[i].variable != nullptr)
        entries_[place_of(before.entries_[i].variable)] = before.entries_[i];
    }
  }

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

thread_local constinit Copies copies{};

class Records {
 public:
  explicit Records(Job& job) : job_(job) { job_.locks.lock(LockId{lock_ids::thread_copies}); }
  ~Records() { job_.locks.unlock(LockId{lock_ids::thread_copies}); }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  Record& at(const void* variable) {
    const std::uint64_t head = job_.words.load(Rank{0}, words::thread_copies);
    auto* const first = reinterpret_cast<Record*>(head);
    for (Record* record = first; record != nullptr; record = record->next) {
      if (record->variable == variable) return *record;
    }
    auto* record =
        new (allocate_shared_zeroed(alignof(Record), sizeof(Record))) Record{first, variable, {}, nullptr};
    job_.words.store(Rank{0}, words::thread_copies, reinterpret_cast<std::uintptr_t>(record));
    return *record;
  }

 private:
  Job& job_;
};

void construct(void* copy, void* variable, const Record& record, std::size_t bytes) {
  const CopyFunctions& functions = record.functions;
  if (functions.construct != nullptr) {
    functions.construct(copy, functions.elements);
  } else if (functions.copy != nullptr) {
    functions.copy(copy, variable, functions.elements);
  } else {
    std::memcpy(copy, record.initial, bytes);
  }
}

[[gnu::noinline]] void* make_copy(Job& job, void* variable, std::size_t bytes) {
  note_stack(__builtin_frame_address(0));
  const Record* record;
  {
    Records records(job);
    Record& found = records.at(variable);
    const bool by_bytes = found.functions.construct == nullptr && found.functions.copy == nullptr;
    if (by_bytes && found.initial == nullptr) {
      void* const initial = allocate_shared_zeroed(alignof(std::max_align_t), bytes);
      std::memcpy(initial, variable, bytes);
      found.initial = initial;
    }
    record = &found;
  }
  if (this_thread().forks) return variable;
  constexpr std::size_t line = 64;
  void* const copy = allocate_shared_zeroed(line, (bytes + line - 1) / line * line);
  construct(copy, variable, *record, bytes);
  return copy;
}

}  // namespace

void register_thread_copies(const void* variable, const CopyFunctions& functions) {
  Job& job = Job::require("#pragma omp threadprivate");
  note_stack(__builtin_frame_address(0));
  Records records(job);
  records.at(variable).functions = functions;
}

void* thread_copy(void* variable, std::size_t bytes) {
  if (void* const copy = copies.find(variable)) return copy;
  Job* const job = Job::current();
  if (job == nullptr) return variable;
  void* const copy = make_copy(*job, variable, bytes);
  copies.add(variable, copy);
  return copy;
}

}  // namespace musubi::omp
