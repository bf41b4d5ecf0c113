#include "image/objects/attributes.h"

#include <locale.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <string>

#include "image/process/fork_handlers.h"
#include "image/process/open_file_limit.h"
#include "image/process/real_function.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_definition(name));
}

bool is_of_environment(Attributes::Change change) noexcept {
  using Change = Attributes::Change;
  return change == Change::set_variable || change == Change::unset_variable ||
         change == Change::clear_variables;
}

void set_variable(const std::string& text) {
  const std::size_t name_bytes = text.find('=');
  if (name_bytes == std::string::npos) return;
  next<int (*)(const char*, const char*, int)>("setenv")(text.substr(0, name_bytes).c_str(),
                                                         text.c_str() + name_bytes + 1, 1);
}

void add_fork_handlers_of(const std::string& text) {
  ForkHandlers handlers;
  MUSUBI_CHECK(text.size() == sizeof handlers);
  std::memcpy(&handlers, text.data(), sizeof handlers);
  add_fork_handlers(handlers);
}

void set_limit(int resource, const std::string& text) {
  rlimit limit{};
  MUSUBI_CHECK(text.size() == sizeof limit);
  std::memcpy(&limit, text.data(), sizeof limit);
  const rlimit for_kernel = with_own_files(resource, limit);
  os::system_call(SYS_prlimit64, 0, resource, reinterpret_cast<long>(&for_kernel), 0);
  note_users_limit(resource, limit);
}

}  // namespace

void Attributes::start(runtime::Runtime& runtime, Locales& locales) {
  locales_ = &locales;
  runtime_ = &runtime;
  formats_.start(runtime);
  variables_.start();
  calls_.start(runtime, procedures::attributes, *this);
}

void Attributes::spread(Change change, int number, std::string_view text) noexcept {
  if (is_of_environment(change)) variables_.note_environment();
  calls_.at_others<&Attributes::apply>(change, number, text);
}

void Attributes::spread(const Call& call) noexcept {
  calls_.at_others<&Attributes::make_call>(call, call.name);
}

std::int64_t Attributes::call_at_first_rank(const Call& call) noexcept {
  return calls_.at<&Attributes::make_call>(Rank{0}, call, call.name);
}

void Attributes::send_main_changes() noexcept {
  if (runtime_->ranks() == 1) return;
  const std::string_view formats = formats_.changes();
  if (!formats.empty()) spread(Change::formats, 0, formats);
  const std::string_view values = variables_.changes();
  if (!values.empty()) spread(Change::variables, 0, values);
  if (variables_.is_environment_new()) tell_environment();
}

void Attributes::tell_environment() noexcept {
  spread(Change::clear_variables, 0, {});
  for (char** text = environ; text != nullptr && *text != nullptr; ++text)
    spread(Change::set_variable, 0, *text);
}

Attributes::ProcessIds Attributes::process_ids() noexcept {
  ProcessIds ids = ids_.load();
  if (ids.process != 0) return ids;
  calls_.at<&Attributes::own_ids>(Rank{0}, ids);
  if (runtime_->self() == Rank{0}) return ids;  // its parent may change
  ids_.store(ids);
  return ids;
}

void Attributes::own_ids(ProcessIds& ids) noexcept {
  ids = {static_cast<pid_t>(os::system_call(SYS_getpid)), static_cast<pid_t>(os::system_call(SYS_getppid))};
}

std::int64_t Attributes::make_call(const Call& call, std::string_view name) {
  using Word = std::uint64_t;
  const std::string text(name);
  const auto [a, b, c] = call.words;
  if (call.gives_double)
    return std::bit_cast<std::int64_t>(next<double (*)(Word, Word, Word)>(text.c_str())(a, b, c));
  return next<std::int64_t (*)(Word, Word, Word)>(text.c_str())(a, b, c);
}

void Attributes::change_environment(Change change, const std::string& text) {
  if (change == Change::set_variable) {
    set_variable(text);
  } else if (change == Change::unset_variable) {
    next<int (*)(const char*)>("unsetenv")(text.c_str());
  } else {
    next<int (*)()>("clearenv")();
  }
  variables_.note_environment();
}

std::int64_t Attributes::apply(Change change, int number, std::string_view given) {
  const std::string text(given);
  switch (change) {
    case Change::directory:
      return next<int (*)(const char*)>("chdir")(text.c_str());
    case Change::mask:
      next<mode_t (*)(mode_t)>("umask")(static_cast<mode_t>(number));
      return 0;
    case Change::locale: {
      const Locales::Loading loading(*locales_);
      next<char* (*)(int, const char*)>("setlocale")(number, text.c_str());
      return 0;
    }
    case Change::set_variable:
    case Change::unset_variable:
    case Change::clear_variables:
      change_environment(change, text);
      return 0;
    case Change::fork_handlers:
      add_fork_handlers_of(text);
      return 0;
    case Change::limit:
      set_limit(number, text);
      return 0;
    case Change::formats:
      formats_.take(text);
      return 0;
    case Change::variables:
      variables_.take(text);
      return 0;
  }
  __builtin_unreachable();
}

}  // namespace musubi::image
