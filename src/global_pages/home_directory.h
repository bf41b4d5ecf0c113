// A directory that the processor of each page's home serves, as published: a message and a reply for each
// question. The home decides at once and never waits; a mover that finds another mover asks again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/spin_lock.h"
#include "global_pages/directory.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

// Carries questions to homes: the runtime's remote calls, or the simulator's messages.
class HomeCalls {
 public:
  // The answer of HomeService::serve at `home`, which may be this rank. Result: its size in bytes. `question`
  // and `answer` live until the task ends.
  virtual Task<std::size_t> ask(Rank home, std::span<const std::byte> question,
                                std::span<std::byte> answer) = 0;

 protected:
  ~HomeCalls() = default;
};

// At each home.
class HomeService {
 public:
  // The homes' entries are in this rank's region, which begins at `own`.
  HomeService(std::uint32_t ranks, std::byte* own, Hooks hooks) : ranks_(ranks), own_(own), hooks_(hooks) {}

  // Result: bytes of the answer, at most answer_bytes(). Any thread; never waits.
  std::size_t serve(Rank asker, std::span<const std::byte> question, std::span<std::byte> answer) noexcept;

  // A question or an answer is followed by the bits of all ranks at most.
  static std::size_t answer_bytes(std::uint32_t ranks) { return 32 + (ranks + 63) / 64 * 8; }

 private:
  const std::uint32_t ranks_;
  std::byte* const own_;
  const Hooks hooks_;
  SpinLock lock_;  // for the entries
};

class HomeDirectory final : public Directory {
 public:
  HomeDirectory(HomeCalls& calls, std::uint32_t ranks) : calls_(calls), ranks_(ranks) {}

  Task<std::optional<Where>> share(Page page) override;
  Task<Where> look(Page page) override;
  Task<LockedEntry> take(Page page) override;
  Task<> give(Page page, const LockedEntry* taken, Where now, const std::vector<Rank>* gone) override;

 private:
  HomeCalls& calls_;
  const std::uint32_t ranks_;
};

}  // namespace musubi::global_pages
