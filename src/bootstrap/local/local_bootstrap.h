// DRIVER of the bootstrap port for ranks that `musubi run` started. The other end of an inherited socket pair
// belongs to the launcher or its proxy on this host, which gathers blobs and ends the job.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.h"
#include "os/memory.h"

namespace musubi::bootstrap {

class LocalBootstrap final : public Bootstrap {
 public:
  // Whether a launcher started this process as a rank (and it is not merely a child of one).
  static bool invited();

  // Joins the job of the launcher's invitation. At most once per process. Errors: no invitation, or one for
  // another process.
  static Result<std::unique_ptr<LocalBootstrap>> join();

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return hosts_.ranks(); }
  const Hosts& hosts() const noexcept override { return hosts_; }
  std::string_view secret() const noexcept override { return secret_; }
  Carrier carrier() const noexcept override { return carrier_; }
  trace::WaitBoard* wait_board() noexcept override { return board_; }
  trace::EventLog event_log() noexcept override { return events_; }
  Result<std::vector<std::string>> all_gather(std::string_view blob) override;
  bool tells_crashes() const noexcept override { return true; }
  void tell_crash(std::string_view cause) noexcept override;
  bool tell_frames(std::span<const std::uintptr_t> frames) noexcept override;
  void finish(int status) noexcept override;
  [[noreturn]] void abort(int status, std::string_view reason) noexcept override;

 private:
  LocalBootstrap(os::FileDescriptor socket, Rank self, Hosts hosts, std::string secret, Carrier carrier,
                 trace::WaitBoard* board, trace::EventLog events)
      : socket_(std::move(socket)),
        self_(self),
        hosts_(std::move(hosts)),
        secret_(std::move(secret)),
        carrier_(carrier),
        board_(board),
        events_(events) {}

  os::FileDescriptor socket_;
  Rank self_;
  Hosts hosts_;
  std::string secret_;
  Carrier carrier_;
  trace::WaitBoard* board_;
  trace::EventLog events_;
};

}  // namespace musubi::bootstrap
