#include "runtime/join_job.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "bootstrap/local/address_layout.h"
#include "bootstrap/local/invitation.h"
#include "bootstrap/local/local_bootstrap.h"
#include "config/configuration.h"
#include "config/environment.h"
#include "os/system_call.h"
#include "runtime/solo_bootstrap.h"

namespace musubi::runtime {

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
