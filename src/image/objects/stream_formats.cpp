#include "image/objects/stream_formats.h"

#include <dlfcn.h>

#include <cstring>
#include <istream>
#include <ostream>

namespace musubi::image {
namespace {

// The streams of the program's libstdc++; this library has a hidden one of its own.
template <class Stream>
std::ios* find(const char* name) {
  return static_cast<Stream*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void StreamFormats::start(const runtime::Runtime& runtime) noexcept {
  if (runtime.ranks() == 1 || runtime.memory().is_one()) return;
  runtime_ = &runtime;
  if (::dlsym(RTLD_DEFAULT, "_ZSt4cout") == nullptr) return;
  streams_ = {find<std::ostream>("_ZSt4cout"), find<std::ostream>("_ZSt4cerr"),
              find<std::ostream>("_ZSt4clog"), find<std::istream>("_ZSt3cin")};
  for (std::size_t i = 0; i < stream_count; ++i) {
    own_buffers_[i] = streams_[i]->rdbuf();
    sent_[i] = format_of(i);
  }
}

// A buffer in private memory has no meaning on other ranks.
StreamFormats::Format StreamFormats::format_of(std::size_t stream) const noexcept {
  const std::ios& ios = *streams_[stream];
  const auto buffer = reinterpret_cast<std::uintptr_t>(ios.rdbuf());
  return {static_cast<std::uint64_t>(ios.flags()), ios.precision(), static_cast<unsigned char>(ios.fill()),
          runtime_->memory().is_shared(buffer) ? buffer : 0};
}

std::string_view StreamFormats::changes() noexcept {
  if (streams_[0] == nullptr) return {};
  std::array<Format, stream_count> now;
  for (std::size_t i = 0; i < stream_count; ++i) now[i] = format_of(i);
  if (now == sent_) return {};
  sent_ = now;
  return {reinterpret_cast<const char*>(sent_.data()), sizeof sent_};
}

void StreamFormats::take(std::string_view formats) noexcept {
  std::array<Format, stream_count> given;
  if (streams_[0] == nullptr || formats.size() != sizeof given) return;
  std::memcpy(given.data(), formats.data(), sizeof given);
  for (std::size_t i = 0; i < stream_count; ++i) {
    std::ios& ios = *streams_[i];
    ios.flags(static_cast<std::ios::fmtflags>(given[i].flags));
    ios.precision(given[i].precision);
    ios.fill(static_cast<char>(given[i].fill));
    if (given[i].buffer != sent_[i].buffer) {
      ios.rdbuf(given[i].buffer == 0 ? own_buffers_[i] : reinterpret_cast<std::streambuf*>(given[i].buffer));
    }
    sent_[i] = given[i];
  }
}

}  // namespace musubi::image
