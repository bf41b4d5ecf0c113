#include "runtime/start/memory_files.h"

#include "coherence/core/visit_layout.h"
#include "coherence/regions.h"
#include "runtime/api/global_memory.h"

namespace musubi::runtime {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = os::page_bytes();
  return (bytes + page - 1) / page * page;
}

Result<void> make_file(const char* name, std::size_t bytes, os::FileDescriptor& file, os::Mapping& mapping) {
  auto made = os::create_memory_file(name, bytes);
  if (!made) return made.error();
  file = std::move(made).value();
  auto mapped = os::Mapping::anywhere(bytes, os::Protection::read_write, {file.number(), 0});
  if (!mapped) return mapped.error();
  mapping = std::move(mapped).value();
  return {};
}

}  // namespace

std::size_t MemoryFiles::private_bytes(const AddressPlan& plan) {
  return whole_pages(plan.space.bytes_max());
}

Result<std::unique_ptr<MemoryFiles>> MemoryFiles::make(os::FileDescriptor private_file,
                                                       const AddressPlan& plan,
                                                       const sync::ControlLayout& control,
                                                       const coherence::entry::Sizes& entry_sizes) {
  const vm::Space& space = plan.space;
  std::unique_ptr<MemoryFiles> files(new MemoryFiles(std::move(private_file), space.blocks_max()));
  const std::size_t bytes = private_bytes(plan);
  const std::size_t word_bytes = whole_pages(coherence::VisitLayout(space.blocks_max()).region_bytes());
  Result<void> made = make_file("musubi-published", bytes, files->published_file_, files->published_);
  if (made) made = make_file("musubi-words", word_bytes, files->words_file_, files->words_);
  if (made)
    made = make_file("musubi-control", whole_pages(control.bytes), files->control_file_, files->control_);
  if (made) made = make_file("musubi-global", plan.global_bytes, files->global_file_, files->global_);
  const std::size_t update_bytes = whole_pages(coherence::entry::Layout::of(entry_sizes).bytes);
  if (made) made = make_file("musubi-updates", update_bytes, files->updates_file_, files->updates_);
  if (!made) return made.error();
  for (const vm::Segment& segment : space.segments()) {
    if (segment.huge_pages) files->published_.prefer_huge_pages(segment.offset, segment.bytes);
  }
  return files;
}

std::array<fabric::RegionMemory, 6> MemoryFiles::regions(std::byte* system_view) const {
  return {
      fabric::RegionMemory{coherence::words_region, words_.data(), words_.bytes(), words_file_.number(), 0},
      fabric::RegionMemory{coherence::published_region, published_.data(), published_.bytes(),
                           published_file_.number(), 0},
      fabric::RegionMemory{coherence::control_region, control_.data(), control_.bytes(),
                           control_file_.number(), 0},
      fabric::RegionMemory{coherence::private_region, system_view, published_.bytes(), private_file_.number(),
                           0},
      fabric::RegionMemory{GlobalMemory::region, global_.data(), global_.bytes(), global_file_.number(), 0},
      fabric::RegionMemory{coherence::updates_region, updates_.data(), updates_.bytes(),
                           updates_file_.number(), 0}};
}

}  // namespace musubi::runtime
