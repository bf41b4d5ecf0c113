#include "runtime/join_job.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "bootstrap/local/address_layout.h"
#include "bootstrap/local/invitation.h"
#include "bootstrap/local/local_bootstrap.h"
#include "config/configuration.h"
#include "config/environment.h"
#include "os/system_call.h"

namespace musubi::runtime {
namespace {

// A job of one rank: the library was preloaded, or linked, without the launcher. The program runs as anywhere
// else, which distinguishes errors of the runtime from errors of sharing.
class SoloBootstrap final : public bootstrap::Bootstrap {
 public:
  Rank self() const noexcept override { return Rank{0}; }
  std::uint32_t ranks() const noexcept override { return 1; }
  const bootstrap::Hosts& hosts() const noexcept override { return hosts_; }
  Result<std::vector<std::string>> all_gather(std::string_view blob) override {
    return std::vector<std::string>{std::string(blob)};
  }
  void finish(int) noexcept override {}
  [[noreturn]] void abort(int status, std::string_view reason) noexcept override {
    iovec parts[] = {{const_cast<char*>("musubi: "), 8},
                     {const_cast<char*>(reason.data()), reason.size()},
                     {const_cast<char*>("\n"), 1}};
    [[maybe_unused]] const ssize_t written = ::writev(2, parts, 3);
    // Not _exit, which a front end may have replaced: it would report an orderly end.
    ::syscall(SYS_exit_group, status);
    __builtin_unreachable();
  }

 private:
  const bootstrap::Hosts hosts_ = bootstrap::Hosts::one(1);
};

}  // namespace

namespace local = bootstrap::local;

void start_again_if_misplaced(char** arguments) {
  // The kernel lays out a program with other rights than its user's differently each time.
  if (local::has_usual_layout() || ::getauxval(AT_SECURE) != 0) return;
  auto invitation = local::parse_invitation(config::environment_variable(config::job_variable).value_or(""));
  char program[PATH_MAX + 1] = {};
  if (!invitation || ::readlink("/proc/self/exe", program, PATH_MAX) <= 0) return;
  bool fixed = false;
  local::Invitation again = invitation.value();
  again.stack_limit = local::ask_for_usual_layout(fixed);
  if (!fixed) return;
  ::setenv(config::job_variable, local::format_invitation(again).c_str(), 1);
  // Past the wrapper, which serves the program.
  os::system_call(SYS_execve, os::as_argument(program), os::as_argument(arguments), os::as_argument(environ));
}

void give_back_stack_limit() {
  const auto invitation =
      local::parse_invitation(config::environment_variable(config::job_variable).value_or(""));
  if (invitation) local::set_stack_limit(Result(invitation).value().stack_limit);
}

bool is_invited() {
  return bootstrap::LocalBootstrap::invited();
}

bool is_below_invited() {
  return !is_invited() && config::environment_variable(config::job_variable).has_value();
}

Result<config::Settings> read_settings() {
  config::Configuration configuration;
  if (auto read = config::read_environment(configuration); !read) return read.error();
  return configuration.settings();
}

Result<std::unique_ptr<bootstrap::Bootstrap>> join_job() {
  using Joined = Result<std::unique_ptr<bootstrap::Bootstrap>>;
  if (!is_invited()) return Joined(std::make_unique<SoloBootstrap>());
  auto joined = bootstrap::LocalBootstrap::join();
  if (!joined) return joined.error();
  ::unsetenv(config::job_variable);
  return Joined(std::move(joined).value());
}

Result<std::unique_ptr<Runtime>> start_runtime(const config::Settings& settings,
                                               std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                               const SharedFromStart& shared) {
  auto started = Runtime::start(settings, std::move(bootstrap), shared);
  if (started) set_current_runtime(started.value().get());
  return started;
}

}  // namespace musubi::runtime
