#include "runtime/job/recording.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "os/system_call.h"

namespace musubi::runtime {
namespace {

constexpr std::size_t unit = 4;  // of changes, in bytes

}  // namespace

Recording::Recording(const JobContext& job, vm::VerifyingVm& vm, const std::byte* system_view)
    : job_(job),
      vm_(vm),
      live_(system_view),
      before_(job.plan.space.bytes_max()),
      written_(job.plan.space.blocks_max()),
      is_written_(job.plan.space.blocks_max()),
      described_(vm::Space::segments_max),
      text_(buffer_bytes) {
  const std::string name = job.settings.trace + "." + std::to_string(job.self.value);
  file_ = os::FileDescriptor(::open(name.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  if (file_.number() < 0)
    job.abort(1, "the recording " + name + " cannot be written: " + std::strerror(errno));
  line("ranks", {job.ranks, job.self.value});
  vm_.set_listener(this);
}

Recording::~Recording() {
  vm_.set_listener(nullptr);
}

bool Recording::show(AddressRange range, vm::Access wanted) noexcept {
  const vm::Space& space = job_.plan.space;
  bool is_new = false;
  for (std::uintptr_t at = range.begin; at - range.begin < range.bytes;) {
    const auto block = space.block_at(at);
    if (!block) break;
    const vm::Extent extent = space.extent(*block);
    at = extent.address + extent.bytes;
    const vm::Access before = vm_.touched(*block);
    vm_.reveal({extent.address, 1}, wanted);
    const vm::Access after = vm_.touched(*block);
    if (before >= wanted || after < wanted) continue;
    is_new = true;
    if (wanted != vm::Access::write || std::exchange(is_written_[block->value], true)) continue;
    std::memcpy(&before_[extent.offset], live_ + extent.offset, extent.bytes);
    written_[written_count_++] = block->value;
  }
  return is_new;
}

void Recording::note(Touch touch, AddressRange range) noexcept {
  constexpr std::string_view words[]{"R", "W", "O", "S"};
  describe(*job_.plan.space.segment_around(range.begin));
  line(words[static_cast<std::size_t>(touch)], {range.begin, range.bytes});
  if (touch == Touch::store) vm_.expect_stores(*job_.plan.space.block_at(range.begin));
}

void Recording::note_fault(std::uintptr_t address, vm::Access wanted) noexcept {
  describe(*job_.plan.space.segment_around(address));
  line(wanted == vm::Access::write ? "w" : "r", {address, 1});
}

void Recording::on_synchronisation(Synchronisation kind, std::uint64_t number) noexcept {
  end_interval();
  switch (kind) {
    case Synchronisation::barrier:
      line("barrier", {});
      return flush();
    case Synchronisation::end:
      line("end", {});
      vm_.set_listener(nullptr);  // it comes once more
      return flush();
    case Synchronisation::lock:
      return line("lock", {number});
    case Synchronisation::unlock:
      return line("unlock", {number});
    case Synchronisation::release:
      return line("release", {number});
    case Synchronisation::acquire:
      return line("acquire", {number});
    case Synchronisation::other:
      return line("other", {});
  }
}

void Recording::end_interval() noexcept {
  for (std::size_t i = 0; i < written_count_; ++i) {
    note_changes(BlockId{written_[i]});
    is_written_[written_[i]] = false;
  }
  written_count_ = 0;
  vm_.hide();
}

void Recording::note_changes(BlockId block) noexcept {
  const vm::Extent extent = job_.plan.space.extent(block);
  const std::byte* const now = live_ + extent.offset;
  const auto differs = [&](std::size_t at) {
    return std::memcmp(now + at, &before_[extent.offset + at], unit) != 0;
  };
  for (std::size_t at = 0; at + unit <= extent.bytes; at += unit) {
    if (!differs(at)) continue;
    const std::size_t begin = at;
    while (at + unit <= extent.bytes && differs(at)) at += unit;
    line("c", {extent.address + begin, at - begin});
  }
}

// The first line about a segment comes after its description.
void Recording::describe(const vm::Segment& segment) noexcept {
  bool& is_described = described_[job_.plan.space.index_of(segment)];
  if (is_described) return;
  is_described = true;
  line("segment",
       {segment.base, segment.bytes, segment.block_bytes, static_cast<std::uint64_t>(segment.initial_home),
        segment.home.value, segment.slice_bytes});
}

void Recording::line(std::string_view word, std::initializer_list<std::uint64_t> numbers) noexcept {
  if (text_bytes_ + line_bytes_max > buffer_bytes) flush();
  char* at = text_.data() + text_bytes_;
  char* const end = at + line_bytes_max;
  at = std::copy(word.begin(), word.end(), at);
  for (const std::uint64_t number : numbers) {
    *at++ = ' ';
    at = std::to_chars(at, end, number).ptr;
  }
  *at++ = '\n';
  text_bytes_ = static_cast<std::size_t>(at - text_.data());
}

void Recording::flush() noexcept {
  for (std::size_t done = 0; done < text_bytes_;) {
    const long count = os::system_call(SYS_write, file_.number(), os::as_argument(text_.data() + done),
                                       static_cast<long>(text_bytes_ - done));
    MUSUBI_CHECK(count > 0, "the recording of rank %u cannot be written", job_.self.value);
    done += static_cast<std::size_t>(count);
  }
  text_bytes_ = 0;
}

}  // namespace musubi::runtime
