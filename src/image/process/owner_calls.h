// Functions that a rank calls at another rank, the owner of an object of the process: with typed arguments
// and results in place of the bytes of runtime/api/remote_calls.h.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/check.h"
#include "image/process/remote_procedures.h"
#include "os/errno_kept.h"
#include "runtime/api/runtime.h"

namespace musubi::image {
namespace owner_calls {

// A parameter `Value&` is the reply. A std::string_view, the last argument, takes the rest of the request.
template <class Parameter>
inline constexpr bool is_reply =
    std::is_lvalue_reference_v<Parameter> && !std::is_const_v<std::remove_reference_t<Parameter>>;
template <class Parameter>
using Value = std::remove_cvref_t<Parameter>;

class Request {
 public:
  template <class Parameter>
  void add(const Value<Parameter>& value) noexcept {
    if constexpr (std::is_same_v<Value<Parameter>, std::string_view>) {
      add_bytes(value.data(), value.size());
    } else if constexpr (!is_reply<Parameter>) {
      static_assert(std::is_trivially_copyable_v<Value<Parameter>>);
      add_bytes(&value, sizeof value);
    }
  }
  bool fits() const noexcept { return used_ <= bytes_.size(); }
  std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).first(used_); }

 private:
  void add_bytes(const void* data, std::size_t bytes) noexcept {
    if (fits() && bytes != 0 && bytes <= bytes_.size() - used_) std::memcpy(&bytes_[used_], data, bytes);
    used_ += bytes;
  }

  std::array<std::byte, runtime::call_bytes_max> bytes_;
  std::size_t used_ = 0;
};

template <class Parameter>
Value<Parameter> take(std::span<const std::byte>& rest) noexcept {
  if constexpr (is_reply<Parameter>) {
    return {};
  } else if constexpr (std::is_same_v<Value<Parameter>, std::string_view>) {
    return {reinterpret_cast<const char*>(rest.data()), rest.size()};
  } else {
    std::array<std::byte, sizeof(Value<Parameter>)> bytes;
    MUSUBI_CHECK(rest.size() >= sizeof bytes);
    std::memcpy(bytes.data(), rest.data(), sizeof bytes);
    rest = rest.subspan(sizeof bytes);
    return std::bit_cast<Value<Parameter>>(bytes);
  }
}

// The bytes of the argument that is the reply; empty for any other.
template <class Parameter>
std::span<std::byte> reply_in(std::remove_reference_t<Parameter>& argument) noexcept {
  if constexpr (is_reply<Parameter>) {
    static_assert(sizeof argument <= runtime::call_bytes_max);
    return std::as_writable_bytes(std::span(&argument, 1));
  } else {
    return {};
  }
}

template <class Function>
struct Shape;
template <class Result, class Part, class... Parameters, bool throws_not>
struct Shape<Result (Part::*)(Parameters...) noexcept(throws_not)> {
  template <auto function>
  static runtime::Answer serve(void* part, [[maybe_unused]] std::span<const std::byte> request,
                               std::span<std::byte> reply) {
    std::tuple<Value<Parameters>...> arguments{take<Parameters>(request)...};
    runtime::Answer answer;
    std::apply(
        [&](auto&... argument) {
          if constexpr (std::is_void_v<Result>) {
            (static_cast<Part*>(part)->*function)(argument...);
          } else {
            answer.status = static_cast<std::int64_t>((static_cast<Part*>(part)->*function)(argument...));
          }
          for (const std::span<std::byte> bytes :
               {std::span<std::byte>(), reply_in<Parameters>(argument)...}) {
            if (!bytes.empty()) std::memcpy(reply.data(), bytes.data(), bytes.size());
            answer.bytes += bytes.size();
          }
        },
        arguments);
    return answer;
  }
  // Result of `send`, which gets the request for `number` and the place of the reply.
  template <class Send>
  static std::int64_t send(std::uint8_t number, Send&& send, Parameters... arguments) noexcept {
    const os::ErrnoKept errno_kept;
    Request request;
    request.add<std::uint8_t>(number);
    (request.add<Parameters>(arguments), ...);
    if (!request.fits()) return -E2BIG;
    std::span<std::byte> reply;
    if constexpr ((is_reply<Parameters> || ...)) {
      ((reply = is_reply<Parameters> ? reply_in<Parameters>(arguments) : reply), ...);
    }
    return send(request.bytes(), reply);
  }
};

}  // namespace owner_calls

// `functions` are members of one class. Any attached thread, in handlers of the program, too; errno does not
// change. The results are the functions', or -E2BIG if the arguments do not fit into a request.
template <auto... functions>
class OwnerCalls final : private runtime::Procedure {
 public:
  // Collective, before the program runs. `part` serves the calls of other ranks.
  template <class Part>
  void start(runtime::Runtime& runtime, runtime::ProcedureId id, Part& part) noexcept {
    runtime_ = &runtime;
    id_ = id;
    part_ = &part;
    if (runtime.ranks() > 1) runtime.remote_calls().serve(id, *this);
  }
  // Runs `function` at `owner`; on the calling thread if that is this rank.
  template <auto function, class... Arguments>
  std::int64_t at(Rank owner, Arguments&&... arguments) noexcept {
    const auto send = [&](std::span<const std::byte> request, std::span<std::byte> reply) {
      return owner == runtime_->self() ? run(owner, request, reply).status
                                       : runtime_->remote_calls().call(owner, id_, request, reply).status;
    };
    return owner_calls::Shape<decltype(function)>::send(number_of<function>(), send, arguments...);
  }
  // Runs it at all other ranks concurrently. Result: the smallest of their results, or 0 without other ranks.
  template <auto function, class... Arguments>
  std::int64_t at_others(Arguments&&... arguments) noexcept {
    const auto send = [&](std::span<const std::byte> request, std::span<std::byte>) {
      return runtime_->remote_calls().call_others(id_, request);
    };
    return owner_calls::Shape<decltype(function)>::send(number_of<function>(), send, arguments...);
  }

 private:
  template <auto function>
  static consteval std::uint8_t number_of() {
    constexpr std::array is_function{
        std::is_same_v<std::integral_constant<decltype(function), function>,
                       std::integral_constant<decltype(functions), functions>>...};
    const auto place = std::ranges::find(is_function, true);
    return static_cast<std::uint8_t>(place - is_function.begin());
  }
  runtime::Answer run(Rank, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override {
    using Serve = runtime::Answer (*)(void*, std::span<const std::byte>, std::span<std::byte>);
    constexpr Serve serve[] = {&owner_calls::Shape<decltype(functions)>::template serve<functions>...};
    const auto number = owner_calls::take<std::uint8_t>(request);
    MUSUBI_CHECK(number < std::size(serve));
    return serve[number](part_, request, reply);
  }

  runtime::Runtime* runtime_ = nullptr;
  runtime::ProcedureId id_{};
  void* part_ = nullptr;
};

}  // namespace musubi::image
