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
#include "image/process/remote_procedures.h"
#include "os/errno_kept.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// Precedes the text of each message.
struct Head {
  Attributes::Change change;
  std::int32_t number;
};

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_definition(name));
}

Attributes::ProcessIds own_ids() noexcept {
  return {static_cast<pid_t>(os::system_call(SYS_getpid)), static_cast<pid_t>(os::system_call(SYS_getppid))};
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

void change_environment(Attributes::Change change, const std::string& text) {
  if (change == Attributes::Change::set_variable) return set_variable(text);
  if (change == Attributes::Change::unset_variable) {
    next<int (*)(const char*)>("unsetenv")(text.c_str());
  } else {
    next<int (*)()>("clearenv")();
  }
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

// The call as text: the struct, whose name pointer means nothing to other ranks, then the name.
std::string text_of(const Attributes::Call& call) {
  return std::string(reinterpret_cast<const char*>(&call), sizeof call) + call.name;
}

std::int64_t make_call(const std::string& text) {
  Attributes::Call call;
  MUSUBI_CHECK(text.size() > sizeof call);
  std::memcpy(&call, text.data(), sizeof call);
  using Word = std::uint64_t;
  const char* const name = text.c_str() + sizeof call;
  const auto [a, b, c] = call.words;
  if (call.gives_double)
    return std::bit_cast<std::int64_t>(next<double (*)(Word, Word, Word)>(name)(a, b, c));
  return next<std::int64_t (*)(Word, Word, Word)>(name)(a, b, c);
}

}  // namespace

void Attributes::start(runtime::Runtime& runtime, Locales& locales) {
  locales_ = &locales;
  runtime_ = &runtime;
  formats_.start(runtime);
  variables_.start();
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::attributes, *this);
}

void Attributes::spread(Change change, int number, std::string_view text) noexcept {
  const os::ErrnoKept errno_kept;
  if (is_of_environment(change)) variables_.note_environment();
  const Head head{change, number};
  std::byte message[runtime::call_bytes_max];
  if (runtime_->ranks() == 1 || sizeof head + text.size() > sizeof message) return;
  std::memcpy(message, &head, sizeof head);
  if (!text.empty()) std::memcpy(message + sizeof head, text.data(), text.size());
  runtime_->remote_calls().call_others(procedures::attributes, {message, sizeof head + text.size()});
}

void Attributes::spread(const Call& call) noexcept {
  spread(Change::call, 0, text_of(call));
}

std::int64_t Attributes::call_at_first_rank(const Call& call) noexcept {
  const os::ErrnoKept errno_kept;
  const Head head{Change::call, 0};
  std::string message(reinterpret_cast<const char*>(&head), sizeof head);
  message += text_of(call);
  return runtime_->remote_calls()
      .call(Rank{0}, procedures::attributes, std::as_bytes(std::span(message)), {})
      .status;
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
  if (runtime_->self() == Rank{0}) return own_ids();
  std::uint64_t known = ids_.load();
  if (known == 0) {
    const os::ErrnoKept errno_kept;
    const Head head{Change::process_ids, 0};
    runtime_->remote_calls().call(Rank{0}, procedures::attributes, std::as_bytes(std::span(&head, 1)),
                                  std::as_writable_bytes(std::span(&known, 1)));
    ids_.store(known);
  }
  ProcessIds ids;
  static_assert(sizeof ids == sizeof known);
  std::memcpy(&ids, &known, sizeof ids);
  return ids;
}

runtime::Answer Attributes::run(Rank, std::span<const std::byte> request,
                                std::span<std::byte> reply) noexcept {
  Head head;
  MUSUBI_CHECK(request.size() >= sizeof head);
  std::memcpy(&head, request.data(), sizeof head);
  const std::string text(reinterpret_cast<const char*>(request.data()) + sizeof head,
                         request.size() - sizeof head);
  if (is_of_environment(head.change)) {
    change_environment(head.change, text);
    variables_.note_environment();
    return {};
  }
  switch (head.change) {
    case Change::directory:
      return {next<int (*)(const char*)>("chdir")(text.c_str()), 0};
    case Change::mask:
      next<mode_t (*)(mode_t)>("umask")(static_cast<mode_t>(head.number));
      return {};
    case Change::locale: {
      const Locales::Loading loading(*locales_);
      next<char* (*)(int, const char*)>("setlocale")(head.number, text.c_str());
      return {};
    }
    case Change::set_variable:
    case Change::unset_variable:
    case Change::clear_variables:
      break;
    case Change::fork_handlers:
      add_fork_handlers_of(text);
      return {};
    case Change::limit:
      set_limit(head.number, text);
      return {};
    case Change::call:
      return {make_call(text), 0};
    case Change::formats:
      formats_.take(text);
      return {};
    case Change::variables:
      variables_.take(text);
      return {};
    case Change::process_ids: {
      const ProcessIds ids = own_ids();
      std::memcpy(reply.data(), &ids, sizeof ids);
      return {0, sizeof ids};
    }
  }
  __builtin_unreachable();
}

}  // namespace musubi::image
