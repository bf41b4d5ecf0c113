#include "task_stealing/parcel.h"

namespace musubi::task_stealing {

std::optional<ParcelView> ParcelView::of(std::span<const std::byte> bytes) noexcept {
  ParcelView view;
  if (bytes.size() < sizeof view.head || bytes.size() > message_bytes_max) return std::nullopt;
  std::memcpy(&view.head, bytes.data(), sizeof view.head);
  if (view.head.reports > reports_max || view.head.step > Step::go_on) return std::nullopt;
  std::size_t at = sizeof view.head;
  const auto left = [&] { return bytes.size() - at; };
  const std::size_t report_bytes = view.head.reports * sizeof(Report);
  if (report_bytes > left()) return std::nullopt;
  view.reports = bytes.subspan(at, report_bytes);
  at += report_bytes;
  for (std::size_t i = 0; i < view.head.reports; ++i) {
    const auto what = static_cast<std::uint32_t>(view.report(i).what);
    if (what == 0 || what > static_cast<std::uint32_t>(Reported::moved)) return std::nullopt;
  }
  const std::size_t tasks_at = at;
  for (std::size_t i = 0; i < view.head.tasks; ++i) {
    TaskHead task;
    if (left() < sizeof task) return std::nullopt;
    std::memcpy(&task, bytes.data() + at, sizeof task);
    at += sizeof task;
    if (task.bytes > message_bytes_max || (task.bytes + 7) / 8 * 8 > left()) return std::nullopt;
    at += (task.bytes + 7) / 8 * 8;
  }
  view.tasks = bytes.subspan(tasks_at, at - tasks_at);
  if (view.head.news_bytes != left()) return std::nullopt;
  view.news = bytes.subspan(at);
  return view;
}

}  // namespace musubi::task_stealing
