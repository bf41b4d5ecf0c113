// Segments created while the job runs: each with its own blocks, placement and policy, on real pages.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "runtime/start/address_plan.h"
#include "tests/system/runtime/cases.h"

using namespace musubi;
using namespace musubi::test;

namespace {

const vm::Segment& add(const runtime::SegmentRequest& request) {
  auto added = job->segments().add(request);
  if (!added) job->ending().abort(1, added.error().message);
  return *added.value();
}

// Each rank writes every n-th word, then all ranks read all words; twice, so that homes and twins are in use.
void share(const vm::Segment& segment) {
  auto* const words = reinterpret_cast<std::uint64_t*>(segment.base);
  const std::size_t count = segment.bytes / sizeof *words;
  const std::uint32_t ranks = job->ranks();
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    for (std::size_t i = job->self().value; i < count; i += ranks) words[i] = turn * 1000003 + i;
    meet();
    for (std::size_t i = 0; i < count; ++i) expect("a word", words[i], turn * 1000003 + i);
    meet();
  }
}

void count_under_lock(const vm::Segment& segment) {
  auto* const count = reinterpret_cast<std::uint64_t*>(segment.base);
  for (int i = 0; i < 200; ++i) {
    job->synchronization().lock(LockId{7});
    ++*count;
    job->synchronization().unlock(LockId{7});
  }
  meet();
  expect("the count", *count, 200 * job->ranks());
}

void each_kind() {
  std::vector<const vm::Segment*> segments;
  for (const std::size_t block_bytes : {0, 4096, 65536, 1 << 21}) {
    for (const auto placement :
         {vm::InitialHome::cyclic, vm::InitialHome::slices, vm::InitialHome::one_rank}) {
      for (const auto& [policy, name, c_name, use, kind] : coherence::policy_list) {
        runtime::SegmentRequest request{100'000, block_bytes, placement};
        request.home = Rank{job->ranks() - 1};
        request.policy = policy;
        segments.push_back(&add(request));
        expect("bytes", segments.back()->bytes, 102'400);
        expect("is shared", job->memory().is_shared(segments.back()->base + 102'399), job->ranks() > 1);
        share(*segments.back());
      }
    }
  }
  // The earlier segments are unchanged.
  for (const vm::Segment* const segment : segments) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(segment->base);
    for (std::size_t i = 0; i < segment->bytes / sizeof *words; ++i)
      expect("a word of before", words[i], 3 * 1000003 + i);
  }
  meet();
  for (const vm::Segment* const segment : segments) {
    if (job->self() == Rank{0}) *reinterpret_cast<std::uint64_t*>(segment->base) = 0;
    meet();
    count_under_lock(*segment);
  }
}

// More than the space searches linearly.
void many() {
  for (int i = 0; i < 300; ++i) {
    runtime::SegmentRequest request;
    request.bytes = 5000;
    share(add(request));
  }
}

// Refused calls leave everything as it was.
void refused() {
  const std::size_t left = job->segments().bytes_left();
  for (const std::size_t bytes : {std::size_t{0}, left + 1, SIZE_MAX, SIZE_MAX - 4096}) {
    runtime::SegmentRequest request;
    request.bytes = bytes;
    expect("granted", job->segments().add(request).ok(), false);
  }
  for (const std::size_t block_bytes : {1, 5000, 2048, 1 << 22}) {
    runtime::SegmentRequest request{8192, block_bytes};
    expect("granted", job->segments().add(request).ok(), false);
  }
  expect("bytes left", job->segments().bytes_left(), left);
  runtime::SegmentRequest request;
  request.bytes = left / 2;
  count_under_lock(add(request));
  expect("granted", job->segments().add(request).ok(), false);
}

void different() {
  runtime::SegmentRequest request;
  request.bytes = job->self() == Rank{1} ? 4096 : 8192;
  add(request);
}

void other_call() {
  if (job->self() == Rank{0}) return meet();
  add({4096});
}

// A write past the end hits a page that belongs to no segment.
void behind_the_end() {
  const vm::Segment& first = add({4096, 4096});
  add({4096, 4096});
  *reinterpret_cast<volatile char*>(first.base + first.bytes) = 1;
}

}  // namespace

int main(int, char** arguments) {
  constexpr Case cases[] = {{"each_kind", each_kind},   {"many", many},
                            {"refused", refused},       {"different", different},
                            {"other_call", other_call}, {"behind_the_end", behind_the_end}};
  return run_case(arguments, cases);
}
