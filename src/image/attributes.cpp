#include "image/attributes.h"

#include <locale.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "image/fork_handlers.h"
#include "image/open_file_limit.h"
#include "image/real_function.h"
#include "image/remote_procedures.h"
#include "os/errno_kept.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// In front of each message; the text follows.
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

// The name and the words, as a text.
std::string text_of(const Attributes::Call& call) {
  std::string text(reinterpret_cast<const char*>(call.words.data()), sizeof call.words);
  return text + call.name;
}

std::int64_t make_call(const std::string& text) {
  std::array<std::uint64_t, 3> words;
  MUSUBI_CHECK(text.size() > sizeof words);
  std::memcpy(words.data(), text.data(), sizeof words);
  return next<int (*)(std::uint64_t, std::uint64_t, std::uint64_t)>(text.c_str() + sizeof words)(
      words[0], words[1], words[2]);
}

}  // namespace

void Attributes::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  formats_.start(runtime);
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::attributes, *this);
}

void Attributes::spread(Change change, int number, std::string_view text) noexcept {
  const os::ErrnoKept errno_kept;
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

void Attributes::tell_formats() noexcept {
  const std::string_view changes = formats_.changes();
  if (!changes.empty()) spread(Change::formats, 0, changes);
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
  switch (head.change) {
    case Change::directory:
      return {next<int (*)(const char*)>("chdir")(text.c_str()), 0};
    case Change::mask:
      next<mode_t (*)(mode_t)>("umask")(static_cast<mode_t>(head.number));
      return {};
    case Change::locale:
      next<char* (*)(int, const char*)>("setlocale")(head.number, text.c_str());
      return {};
    case Change::set_variable:
      set_variable(text);
      return {};
    case Change::unset_variable:
      next<int (*)(const char*)>("unsetenv")(text.c_str());
      return {};
    case Change::clear_variables:
      next<int (*)()>("clearenv")();
      return {};
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
    case Change::process_ids: {
      const ProcessIds ids = own_ids();
      std::memcpy(reply.data(), &ids, sizeof ids);
      return {0, sizeof ids};
    }
  }
  __builtin_unreachable();
}

}  // namespace musubi::image
