#include "runtime/job/job_checks.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "checks/notes.h"
#include "runtime/threads/tracing.h"

namespace musubi::runtime {

JobChecks::JobChecks(JobContext& job, JobThreads& threads, coherence::Protocol& protocol,
                     sync::FlagOrder& flags, JobRoom& room, const vm::BlockStates* states,
                     Verification* verification)
    : job_(job),
      threads_(threads),
      flags_(flags),
      room_(room),
      batch_bytes_(job.settings.release_window *
                   std::max<std::size_t>(job.settings.run_bytes_max, job.plan.space.largest_block_bytes())),
      openings_(job.plan.space, job.self, flags, protocol, job.settings.release_window,
                job.settings.run_bytes_max, states),
      verification_(verification) {}

// As Faults::on_fault().
template <class Make>
void JobChecks::run(Make make) {
  if (!flags_.in_use()) return threads_.executor().run(make(true));
  const JobThreads::Operation operation = threads_.begin_operation();
  threads_.executor().run(make(operation.siblings()));
}

// From `passed` bytes of the first range on. A range takes whole blocks, and ends where no segment goes on.
// Result: the number of ranges of the batch; `passed` bytes of the last one, if it goes on after the batch.
std::size_t JobChecks::fill_batch(std::span<const AddressRange> ranges, std::size_t& passed,
                                  std::span<AddressRange> batch) {
  const vm::Space& space = job_.plan.space;
  std::size_t bytes = 0, count = 0;
  while (count < std::min(batch.size(), ranges.size()) && bytes < batch_bytes_) {
    const std::uintptr_t begin = ranges[count].begin + passed;
    const std::size_t left = ranges[count].bytes - passed;
    const vm::Segment* const segment = space.segment_around(begin);
    const std::size_t part = segment == nullptr ? 0 : std::min(left, batch_bytes_ - bytes);
    batch[count++] = {begin, part};
    bytes += part + (segment == nullptr ? 0 : segment->block_bytes);
    const bool goes_on = part != left && space.segment_around(begin + part) != nullptr;
    passed = goes_on ? passed + part : 0;
  }
  MUSUBI_CHECK(count != 0);
  room_.before_opening(bytes);
  return count;
}

void JobChecks::open_all(std::span<const AddressRange> ranges, vm::Access wanted) {
  const auto is_open = [&](AddressRange range) { return openings_.is_open(range, wanted); };
  if (job_.one_memory || std::ranges::all_of(ranges, is_open)) return;
  const Traced traced(Event::opening);
  std::array<AddressRange, 256> batch;
  for (std::size_t passed = 0; !ranges.empty();) {
    const std::size_t count = fill_batch(ranges, passed, batch);
    run([&](bool siblings) { return openings_.open(std::span(batch).first(count), wanted, siblings); });
    ranges = ranges.subspan(passed != 0 ? count - 1 : count);
  }
}

// Makes blocks writable; `way` leaves out bytes that the program does not need.
void JobChecks::open_by(Task<> (sync::Openings::*way)(AddressRange, bool), AddressRange range) {
  if (job_.one_memory || openings_.is_open(range, vm::Access::write)) return;
  const Traced traced(Event::opening);
  room_.before_opening(std::min(range.bytes, batch_bytes_));
  run([&](bool siblings) { return (openings_.*way)(range, siblings); });
}

void JobChecks::overwrite(AddressRange range) {
  open_by(&sync::Openings::overwrite, range);
}

void JobChecks::written(AddressRange range) {
  if (job_.one_memory) return;
  threads_.executor().run(openings_.written(range));
}

void JobChecks::objects_opened() {
  const std::uint64_t loaded = checks::objects_loaded();
  if (loaded_.exchange(loaded) == loaded) return;
  const auto objects = checks::checked_objects();
  const auto granule = checks::common_granule(objects);
  if (!granule) job_.abort(1, granule.error().message);
  if (!std::ranges::any_of(job_.plan.space.segments(), &vm::Segment::unprotected)) return;
  if (const auto all = checks::check_all_accesses(objects); !all)
    job_.abort(
        1, "the program has opened a library after it allocated memory whose accesses are checked by code: " +
               all.error().message + ", or let pages protect the memory");
}

// The bytes of a hidden block may not be dropped without a look at its state.
void JobChecks::check(Touch touch, AddressRange range) noexcept {
  const bool is_new = verification_ != nullptr && verification_->before_check(range, access_of(touch));
  touch == Touch::overwrite ? overwrite(range) : open(range, access_of(touch));
  if (verification_ != nullptr) verification_->after_check(touch, range, is_new);
}

void JobChecks::before_reading(AddressRange range) noexcept {
  check(Touch::read, range);
}
void JobChecks::before_writing(AddressRange range) noexcept {
  check(Touch::write, range);
}
void JobChecks::before_storing(AddressRange range) noexcept {
  if (verification_ != nullptr && verification_->records()) return check(Touch::store, range);
  const vm::Segment* const segment = job_.plan.space.segment_around(range.begin);
  if (job_.one_memory || segment == nullptr || !segment->home_only) return before_writing(range);
  open_by(&sync::Openings::open_for_stores, range);
}
void JobChecks::before_overwriting(AddressRange range) noexcept {
  check(Touch::overwrite, range);
}

void JobChecks::on_unknown_entry(unsigned entry) noexcept {
  job_.abort(1, "compiled checks call entry " + std::to_string(entry) +
                    ", which this Musubi does not have: compile the program again by its musubi-cc");
}

}  // namespace musubi::runtime
