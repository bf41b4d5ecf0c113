#include "fabric/mpi/shared_parcels.h"

#include <utility>

namespace musubi::fabric::mpi {
namespace {

constexpr std::size_t alignment = 4096;

constexpr std::size_t rounded(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// In this order, each part in whole pages.
struct Layout {
  explicit Layout(std::uint32_t ranks)
      : groups(groups_of(ranks)),
        words((groups + MarkBitmap::groups_per_word - 1) / MarkBitmap::groups_per_word),
        bitmap_bytes(words * sizeof(std::uint64_t) + (groups + 1) / 2 * 2 * sizeof(std::uint32_t)),
        marks(rounded(sizeof(SharedParcels::Head))),
        labels(marks + rounded(2 * bitmap_bytes)),
        parcels(labels + rounded(groups * parcels_of_group * sizeof(Label))),
        end(parcels + groups * parcels_of_group * parcel_bytes) {}

  std::size_t groups, words, bitmap_bytes;
  std::size_t marks, labels, parcels, end;
};

// The words first, because they need the larger alignment.
MarkBitmap bitmap_at(std::byte* place, const Layout& layout) {
  auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(place);
  auto* const groups = reinterpret_cast<std::atomic<std::uint32_t>*>(words + layout.words);
  return {{groups, layout.groups}, {words, layout.words}};
}

}  // namespace

SharedParcels::SharedParcels(os::FileDescriptor file, os::Mapping memory, std::uint32_t ranks) noexcept
    : file_(std::move(file)), memory_(std::move(memory)) {
  const Layout layout(ranks);
  std::byte* const begin = memory_.data();
  head_ = reinterpret_cast<Head*>(begin);
  to_carrier = bitmap_at(begin + layout.marks, layout);
  to_rank = bitmap_at(begin + layout.marks + layout.bitmap_bytes, layout);
  labels_ = reinterpret_cast<Label*>(begin + layout.labels);
  bytes_ = begin + layout.parcels;
}

Result<SharedParcels> SharedParcels::map(os::FileDescriptor file, std::uint32_t ranks) {
  MUSUBI_ASSIGN_OR_RETURN(
      auto memory, os::Mapping::anywhere(Layout(ranks).end, os::Protection::read_write, {file.number(), 0}));
  return SharedParcels(std::move(file), std::move(memory), ranks);
}

Result<SharedParcels> SharedParcels::create(std::uint32_t ranks) {
  MUSUBI_ASSIGN_OR_RETURN(auto file, os::create_memory_file("musubi-mpi", Layout(ranks).end));
  auto shared = map(std::move(file), ranks);
  if (shared) shared.value().head().ranks = ranks;
  return shared;
}

Result<SharedParcels> SharedParcels::open(pid_t carrier, int file, std::uint32_t ranks) {
  MUSUBI_ASSIGN_OR_RETURN(auto opened, os::open_file_of_process(carrier, file));
  MUSUBI_ASSIGN_OR_RETURN(auto shared, map(std::move(opened), ranks));
  shared.file_.close();
  if (shared.head().ranks != ranks) {
    return Error{"the memory of this rank's carrier is for another job; start all ranks by one mpirun"};
  }
  return shared;
}

}  // namespace musubi::fabric::mpi
