#include "check_command.h"

#include <cstdio>

#include "check/gather.h"
#include "check/report.h"
#include "program_file.h"
#include "refusal.h"
#include "run_command.h"

namespace musubi::tools {

int check_program(const std::string& program, bool as_json) {
  config::Configuration configuration;
  if (const auto read = read_settings({}, configuration); !read)
    return refuse(read.error().message, status_of_misuse);
  // Libraries need not be executable.
  const bool is_library = program.find(".so") != std::string::npos && program.find('/') != std::string::npos;
  const ProgramPath found = is_library ? ProgramPath{program, {}} : find_program(program);
  if (found.path.empty()) return refuse(found.error.message, found.error.exit_status);
  auto facts = check::gather(found.path, configuration.settings());
  if (!facts) return refuse(facts.error().message, 1);
  const auto findings = check::findings_of(facts.value());
  const std::string text =
      as_json ? check::as_json(facts.value(), findings) : check::as_text(facts.value(), findings);
  std::fputs(text.c_str(), stdout);
  return check::is_accepted(findings) ? 0 : 1;
}

}  // namespace musubi::tools
