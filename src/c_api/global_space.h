// The state of relocatable pages in the C interface: made by the first gas_alloc, valid until
// musubi_finalize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/event.h"
#include "c_api/global_heap.h"
#include "c_api/page_allocations.h"
#include "global_heap/object_cache.h"
#include "global_pages/directory.h"
#include "global_pages/pages.h"
#include "runtime/api/global_transfer.h"
#include "runtime/api/runtime.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::c_api {

// Questions to the homes of relocatable pages, as remote calls: for the directory that homes serve (setting
// gas_directory).
inline constexpr runtime::ProcedureId page_home_procedure{1};

// At each home. Answers from the space of the process, which every rank has before any rank asks.
class PageHome final : public runtime::Procedure {
 public:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
};

class PageHomeCalls final : public global_pages::HomeCalls {
 public:
  explicit PageHomeCalls(runtime::Runtime& runtime) : runtime_(runtime) {}

  Task<std::size_t> ask(Rank home, std::span<const std::byte> question, std::span<std::byte> answer) override;

 private:
  runtime::Runtime& runtime_;
};

// Memory of ranks for the bytes of relocatable pages: objects of a private global heap.
class PageFrames final : public global_pages::Frames {
 public:
  // [begin, begin + bytes) of the region of every rank.
  PageFrames(runtime::Runtime& runtime, std::uint64_t begin, std::uint64_t bytes);

  Task<std::optional<std::uint64_t>> take(std::uint64_t bytes) override;
  Task<> give_back(Rank owner, std::uint64_t place, std::uint64_t bytes) override;

 private:
  runtime::Runtime& runtime_;
  const global_heap::HeapLayout layout_;
  GlobalHeap heap_;
  Gate gate_;  // for the cache: moves are rare
  global_heap::ObjectCache cache_;
};

class GlobalSpace {
 public:
  // The offsets of the parts in the region of every rank.
  struct Place {
    std::uint64_t slots_at;
    std::size_t slots;
    std::uint64_t entries_at;
    std::uint64_t entries_bytes;
    std::uint64_t frames_at;
    std::uint64_t frames_bytes;
  };
  GlobalSpace(runtime::Runtime& runtime, const Place& place);

  // Collective. Null: no memory, at this rank or another.
  PageAllocation* allocate(std::uint64_t bytes, std::uint64_t page_bytes, int placement);
  // Collective.
  void free(PageAllocation& allocation);
  bool share(PageAllocation& allocation);
  void unshare(PageAllocation& allocation);

  // Calls use(page, where, offset in the page, bytes, bytes done before) for each part of a range in one
  // page, with an access to the page begun.
  template <class Use>
  void for_each_part(const PageAllocation& allocation, std::uint64_t address, std::uint64_t bytes,
                     global_pages::Access access, Use&& use);

  template <class T>
  T run(Task<T> task) {
    return executor().run(std::move(task));
  }
  runtime::ThreadExecutor& executor() {
    return runtime::ThreadExecutor::of_this_thread(fabric(), runtime_.counters());
  }
  fabric::Fabric& fabric() { return runtime_.global_memory().fabric(); }
  runtime::Runtime& runtime() { return runtime_; }
  runtime::GlobalTransfer& transfer() { return transfer_; }
  global_pages::Pages& pages() { return pages_; }
  const PageAllocations& allocations() const { return allocations_; }
  global_pages::HomeService& home() { return home_; }

 private:
  bool take_entries(PageAllocation& allocation);
  bool take_segment(PageAllocation& allocation);
  Task<bool> place_pages(PageAllocation& allocation);
  Task<> give_back_pages(PageAllocation& allocation, std::uint64_t pages);
  void copy_own_pages(PageAllocation& allocation, bool to_shared);
  global_pages::Entry& entry_of(const global_pages::Page& page) {
    return *reinterpret_cast<global_pages::Entry*>(runtime_.global_memory().own() + page.entry_at);
  }

  runtime::Runtime& runtime_;
  PageFrames frames_;
  global_pages::SharerSlots slots_;
  global_pages::HomeService home_;
  PageHomeCalls home_calls_;
  const std::unique_ptr<global_pages::Directory> directory_;
  global_pages::Relocation relocation_;
  global_pages::Pages pages_;
  runtime::GlobalTransfer transfer_;
  PageAllocations allocations_;
  const std::uint64_t frames_bytes_;
  std::uint64_t next_entry_;
  const std::uint64_t entries_end_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_entries_;  // by the number of entries per home
  std::multimap<std::uint64_t, std::byte*> free_segments_;            // by size in bytes
};

template <class Use>
void GlobalSpace::for_each_part(const PageAllocation& allocation, std::uint64_t address, std::uint64_t bytes,
                                global_pages::Access access, Use&& use) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t key = allocation.key_at(address + done);
    const std::uint64_t offset = address + done - key;
    const std::uint64_t part = std::min(bytes - done, allocation.page_bytes - offset);
    std::optional<global_pages::Where> where = pages_.begin_at_once(key, access);
    if (!where) where = run(pages_.begin(allocation.page_at(key), access));
    use(*where, offset, part, done);
    pages_.end(key, access, *where);
    done += part;
  }
}

// Null: no space was made, or the job is over.
GlobalSpace* current_space() noexcept;
// Collective; made at the first call. Null: no memory for its tables.
GlobalSpace* make_global_space(runtime::Runtime& runtime);

}  // namespace musubi::c_api
