// Questions of this rank to other ranks that still lack their answers, each with a number. An answer names
// its question by that number: another process never supplies an address in this one's memory to write to.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/spin_lock.h"

namespace musubi {

// The parts of a question that the answer does not fill.
struct OpenQuestion {
  std::uint64_t ticket = 0;
  Rank asked{};
  OpenQuestion* next = nullptr;
};

// Any thread; no malloc. The caller keeps a question in place until it is taken out. Few wait at a time: a
// thread of the program asks some questions at once, and waits.
template <class Question>
class OpenQuestions {
 public:
  // Result: the ticket, which no other question of this rank has ever had.
  std::uint64_t enter(Question& question, Rank asked) noexcept {
    lock_.lock();
    question.ticket = ++last_;
    question.asked = asked;
    question.next = first_;
    first_ = &question;
    lock_.unlock();
    return question.ticket;
  }
  // Takes the question out. Null: this rank did not ask `answerer` this question, or was answered already.
  Question* take(std::uint64_t ticket, Rank answerer) noexcept {
    lock_.lock();
    OpenQuestion** link = &first_;
    while (*link != nullptr && ((*link)->ticket != ticket || (*link)->asked != answerer)) {
      link = &(*link)->next;
    }
    OpenQuestion* const found = *link;
    if (found != nullptr) *link = found->next;
    lock_.unlock();
    return static_cast<Question*>(found);
  }

 private:
  SpinLock lock_;
  OpenQuestion* first_ MUSUBI_GUARDED_BY(lock_) = nullptr;
  std::uint64_t last_ MUSUBI_GUARDED_BY(lock_) = 0;
};

}  // namespace musubi
