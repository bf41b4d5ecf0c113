// The directory of the pages: the location of each page, and the ranks that know it. Two implementations: by
// operations of the fabric alone, or by the processor of each page's home (paper GAS, 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "global_pages/layout.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

// An entry as its mover found it.
struct LockedEntry {
  Where where;
  std::vector<std::uint64_t> sharers;  // a bit for each rank
};

class Directory {
 public:
  virtual ~Directory() = default;

  // Makes this rank a sharer; it holds its slot during the call (SharerSlots::take). Result: the location of
  // the page, or nothing while the page moves: the caller must then release the slot before it retries.
  virtual Task<std::optional<Where>> share(Page page) = 0;
  // The location of the page now or a moment ago.
  virtual Task<Where> look(Page page) = 0;
  // Makes this rank the page's mover; no rank becomes a sharer or a mover until give(). Waits for other
  // movers.
  virtual Task<LockedEntry> take(Page page) = 0;
  // The page is at `now`, and the ranks in `gone` need not be asked any more. `taken` and `gone` live until
  // the task ends.
  virtual Task<> give(Page page, const LockedEntry* taken, Where now, const std::vector<Rank>* gone) = 0;
};

// A directory that the processor of each page's home serves, as published: a message and a reply for each
// question. The home decides at once and never waits; a mover that finds another mover asks again.

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

// A directory that no processor serves: a query reads the entry, and a rank that moves a page locks it. Paper
// GAS names it as future work.
class OneSidedDirectory final : public Directory {
 public:
  // Entries are in this region of each rank.
  OneSidedDirectory(fabric::Fabric& fabric, fabric::RegionId region, Hooks hooks)
      : fabric_(fabric), region_(region), hooks_(hooks) {}

  Task<std::optional<Where>> share(Page page) override;
  Task<Where> look(Page page) override;
  Task<LockedEntry> take(Page page) override;
  Task<> give(Page page, const LockedEntry* taken, Where now, const std::vector<Rank>* gone) override;

 private:
  static std::uint64_t sharers_at(Page page) { return page.entry_at + sizeof(Entry); }

  fabric::Fabric& fabric_;
  const fabric::RegionId region_;
  const Hooks hooks_;
};

}  // namespace musubi::global_pages
