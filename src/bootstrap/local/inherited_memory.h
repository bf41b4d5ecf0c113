// The rank's parts of the memory files that the launcher creates and its ranks inherit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "trace/event_log.h"
#include "trace/wait_records.h"

namespace musubi::bootstrap::local {

// The boards of all ranks, by rank.
inline constexpr char wait_boards_name[] = "musubi-waits";
inline constexpr std::size_t wait_board_alignment = 4096;
inline constexpr std::size_t wait_board_bytes =
    (sizeof(trace::WaitBoard) + wait_board_alignment - 1) / wait_board_alignment * wait_board_alignment;
// The event logs of all ranks, by rank, all of the same size.
inline constexpr char event_logs_name[] = "musubi-events";

// Both map the part of `rank` and close the file. Null or empty if the file cannot be mapped or is no longer
// the launcher's: a program between launcher and rank may have closed it.
trace::WaitBoard* open_wait_board(int file, Rank rank) noexcept;
trace::EventLog open_event_log(int file, Rank rank, std::uint32_t ranks) noexcept;

}  // namespace musubi::bootstrap::local
