// The figures of docs/reference/memory.md follow from the sizes of the objects that they describe.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/event.h"
#include "coherence/core/change_record.h"
#include "coherence/core/signature.h"
#include "fabric/shm/mailbox.h"
#include "runtime/api/coordination.h"
#include "runtime/api/synchronization.h"
#include "runtime/api/words.h"
#include "runtime/start/address_plan.h"
#include "runtime/start/reservation.h"
#include "sync/control_layout.h"

namespace musubi::runtime {
namespace {

std::string row(const std::string& what, const std::string& bytes, const std::string& when) {
  return "| " + what + " | " + bytes + " | " + when + " |";
}
std::string row(const std::string& what, std::size_t bytes, const std::string& when) {
  return row(what, std::to_string(bytes), when);
}

constexpr std::size_t MiB = std::size_t{1} << 20;

// "at most 2 MiB", and at least half of it: one word more or less in the layout does not matter.
std::string at_most(std::size_t mebibytes, std::size_t bytes) {
  EXPECT_LE(bytes, mebibytes * MiB);
  EXPECT_GT(bytes, mebibytes * MiB / 2);
  return "at most " + std::to_string(mebibytes) + " MiB";
}

std::size_t control_bytes(std::uint32_t ranks) {
  sync::ControlSizes sizes;
  sizes.ranks = ranks;
  sizes.notices_max = coherence::signature_notices_for(ranks, 20'000);
  sizes.signature_bytes = coherence::signature_bytes(sizes.notices_max);
  sizes.lock_count = Synchronization::lock_count;
  sizes.wait_records = Coordination::rw_lock_count + Coordination::condition_count;
  sizes.waiters = Coordination::waiters_max;
  sizes.team_words = Words::count;
  return sync::ControlLayout::of(sizes).bytes;
}

void expect_rows(const std::vector<std::string>& rows) {
  std::ifstream file(MUSUBI_SOURCE_DIR "/docs/reference/memory.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream page;
  page << file.rdbuf();
  for (const std::string& wanted : rows) {
    EXPECT_NE(page.str().find("\n" + wanted + "\n"), std::string::npos)
        << "docs/reference/memory.md should have the line\n"
        << wanted;
  }
}

TEST(MemoryTable, BytesPerBlock) {
  expect_rows({
      row("words that peers read and change", TableBytes::words,
          "this rank or a peer looks for the block here"),
      row("this rank's record of it", TableBytes::entry, "this rank uses it"),
      row("place in the lists of the next release", TableBytes::dirty_list, "it is written"),
      row("place in the list of blocks that sleep", TableBytes::sleepers,
          "it is written, and no other rank reads it"),
      row("place in the list of public copies", TableBytes::copy_list, "it has a public copy"),
      row("place in the queue of leases", TableBytes::lease_queue, "it is read"),
      row("place in the runs of blocks to protect", TableBytes::run_builders, "a barrier closes it"),
      row("place among the blocks that take memory here", TableBytes::residents, "this rank uses it"),
      row("access granted", TableBytes::access, "it is opened; one more per 64 blocks"),
  });
  // 0.6 % and 5.3 %, as the page says.
  EXPECT_EQ((TableBytes::words + TableBytes::in_process) * 1000 / 32768, 6u);
  EXPECT_EQ((TableBytes::words + TableBytes::in_process) * 1000 / 4096, 53u);
}

TEST(MemoryTable, BytesPerRank) {
  expect_rows({
      row("mailbox", at_most(1, sizeof(fabric::Mailbox)),
          "messages come: 2048 for each of its slots in turn"),
      row("control words, job of 2 ranks", at_most(4, control_bytes(2)),
          "locks, notices, conditions and team words are used"),
      row("control words, job of 64 ranks", at_most(3, control_bytes(64)),
          "locks, notices, conditions and team words are used"),
      row("control words, job of 1024 ranks", at_most(3, control_bytes(1024)),
          "locks, notices, conditions and team words are used"),
      row("lock at an address", sync::LockTable::words_bytes(1, 0),
          "its page of such words is used ([locks](../decisions/locks.md))"),
      row("readers that serve other readers", at_most(2, coherence::RelayLayout::bytes()),
          "many ranks read a block, in a job of more than nine"),
      row("lines that versions have changed", at_most(2, coherence::ChangeLayout::bytes()),
          "other ranks read blocks whose home is here"),
  });
}

// The figure that doctor assumes.
TEST(MemoryTable, AReservationIsTheSumOfItsParts) {
  const config::Settings settings;
  auto plan = AddressPlan::make(settings, Mappers::on_one_host(4), {});
  ASSERT_TRUE(plan.ok());
  const vm::Space& space = plan.value().space;
  const Reservation reservation = reservation_of(plan.value());
  EXPECT_EQ(reservation.file_bytes, space.bytes());
  EXPECT_EQ(reservation.table_bytes, space.blocks() * (64 + 16 + 16 + 16 + 16 + 16 + 8 + 1));
  const std::uint64_t words = coherence::VisitLayout(space.blocks()).region_bytes();
  EXPECT_LE(words, space.blocks() * (64 + 1) + space.blocks() / 60 + coherence::RelayLayout::bytes() +
                       coherence::ChangeLayout::bytes());
  EXPECT_EQ(reservation.mapped_bytes, space.bytes() * (3 + 2 * 3) + words * 4 + reservation.table_bytes +
                                          4 * plan.value().global_bytes);
}

}  // namespace
}  // namespace musubi::runtime
