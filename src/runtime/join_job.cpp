#include "runtime/join_job.h"

#include <stdlib.h>

#include <utility>

#include "bootstrap/local/local_bootstrap.h"
#include "config/configuration.h"
#include "config/environment.h"
#include "runtime/solo_bootstrap.h"

namespace musubi::runtime {

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
