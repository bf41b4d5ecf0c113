// The messages between ranks: reports on stolen tasks, tasks, news of releases, and a wish for tasks, in any
// combination; and their answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "task_stealing/ports.h"

namespace musubi::task_stealing {

// Of a task of the receiver: its body has ended, all that it made has ended, or another rank has it.
// fulfilled: not a task but an event of the receiver.
enum class Reported : std::uint32_t { ended = 1, subtree_ended = 2, both = 3, fulfilled = 4, moved = 5 };

struct Report {
  std::uint64_t number;
  Reported what;
  std::uint32_t moves;  // moved: to the rank `holder`
  std::uint32_t holder;
  std::uint32_t reserved;
};
static_assert(sizeof(Report) == 24);

// Meetings: see meeting.h.
enum class Step : std::uint8_t { none, done, go_on };

struct ParcelHead {
  std::uint64_t stamp = 0;    // Order::acquired() of the receiver, at the sender
  std::uint64_t meeting = 0;  // number of the meeting, with a step
  std::uint64_t below = 0;    // the task of the sender that has this number, or one that it made; 0: any
  std::uint32_t load = 0;     // of the sender
  std::uint16_t wanted = 0;   // tasks
  std::uint16_t reports = 0;
  std::uint16_t tasks = 0;
  std::uint16_t news_bytes = 0;
  Step step = Step::none;
  bool parks = false;     // the sender waits for work from the receiver
  bool has_news = false;  // acquire before using the rest; without bytes: fetch them
  std::uint8_t reserved[5] = {};
};
static_assert(sizeof(ParcelHead) == 48);

inline constexpr std::size_t reports_max = 32;
// Precedes the image of a task.
struct TaskHead {
  Origin origin;
  std::uint64_t bytes;
};

// Written front to back: reports, tasks, news.
class ParcelWriter {
 public:
  ParcelHead head;

  void add(const Report& report) noexcept { append(&report, sizeof report), ++head.reports; }
  // Room for the image of one more task; leaves some for news.
  std::span<std::byte> task_room() noexcept {
    const std::size_t used = used_ + sizeof(TaskHead) + news_reserve;
    if (used >= bytes_.size()) return {};
    return std::span(bytes_).subspan(used_ + sizeof(TaskHead), bytes_.size() - used);
  }
  // The image is in task_room().
  void add_task(const Origin& origin, std::size_t image_bytes) noexcept {
    const TaskHead task{origin, image_bytes};
    std::memcpy(bytes_.data() + used_, &task, sizeof task);
    used_ += sizeof task + (image_bytes + 7) / 8 * 8;
    ++head.tasks;
  }
  std::span<std::byte> news_room() noexcept { return std::span(bytes_).subspan(used_); }
  void add_news(std::size_t bytes) noexcept {
    head.has_news = true;
    head.news_bytes = static_cast<std::uint16_t>(bytes);
    used_ += bytes;
  }
  std::span<const std::byte> bytes() noexcept {
    std::memcpy(bytes_.data(), &head, sizeof head);
    return std::span(bytes_).first(used_);
  }

 private:
  static constexpr std::size_t news_reserve = 600;

  void append(const void* from, std::size_t count) noexcept {
    std::memcpy(bytes_.data() + used_, from, count);
    used_ += count;
  }

  alignas(8) std::array<std::byte, message_bytes_max> bytes_{};
  std::size_t used_ = sizeof(ParcelHead);
};

// A received parcel, which another process wrote: none if its parts do not add up.
struct ParcelView {
  ParcelHead head;
  std::span<const std::byte> reports;
  std::span<const std::byte> tasks;
  std::span<const std::byte> news;

  static std::optional<ParcelView> of(std::span<const std::byte> bytes) noexcept;
  Report report(std::size_t i) const noexcept {
    Report report;
    std::memcpy(&report, reports.data() + i * sizeof report, sizeof report);
    return report;
  }
  // Calls visit(origin, image) for each task.
  template <class Visit>
  void for_each_task(Visit&& visit) const {
    for (std::size_t i = 0, at = 0; i < head.tasks; ++i) {
      TaskHead task;
      std::memcpy(&task, tasks.data() + at, sizeof task);
      visit(task.origin, tasks.subspan(at + sizeof task, task.bytes));
      at += sizeof task + (task.bytes + 7) / 8 * 8;
    }
  }
};

}  // namespace musubi::task_stealing
