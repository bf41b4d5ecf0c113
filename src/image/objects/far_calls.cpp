#include "image/objects/far_calls.h"
#include "image/process/call_result.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <new>

#include "image/process/refusal.h"
#include "image/process/remote_procedures.h"

namespace musubi::image {
namespace {

// Small results travel both ways because they may be arguments, too (the length of an address, a list of
// poll).
constexpr std::size_t two_way_bytes_max = 256;
constexpr std::size_t data_bytes_max = 1808;  // in each direction

bool is_sent(std::size_t bytes, bool is_result) {
  return !is_result || bytes <= two_way_bytes_max;
}

std::int64_t refuse_far_call() {
  report_refused_call(
      "a call was refused, because its file is open at a rank on another host and its memory cannot be sent "
      "there",
      "open the file in the thread that uses it, or use read, write and their kin");
  return fail(EOPNOTSUPP);
}

}  // namespace

// Header of a message; the bytes of the areas that are sent follow, in order.
struct FarCalls::Request {
  struct Area {
    std::uint32_t bytes;
    std::uint8_t argument;
    bool is_result;
  };
  std::uint16_t number;
  std::uint16_t area_count;
  std::array<std::uint64_t, FarCall::arguments_max> arguments;
  std::array<Area, FarCall::areas_max> areas;
};

FarCall::FarCall(std::uint16_t number, std::span<const std::uint64_t> arguments) noexcept
    : number_(number), argument_count_(arguments.size()) {
  std::copy(arguments.begin(), arguments.end(), arguments_.begin());
}

void FarCall::add(const void* memory, std::size_t bytes, bool is_result) noexcept {
  if (memory == nullptr || bytes == 0) return;
  if (area_count_ == areas_max) {
    fits_ = false;
    return;
  }
  areas_[area_count_++] = {reinterpret_cast<std::uint64_t>(memory), bytes, is_result};
}

void FarCall::add_parts(std::span<const iovec> parts, bool is_result) noexcept {
  parts_ = parts;
  parts_are_results_ = is_result;
}

void FarCalls::start(runtime::Runtime& runtime) {
  static_assert(sizeof(Request) + data_bytes_max <= runtime::call_bytes_max);
  runtime_ = &runtime;
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::far_calls, *this);
}

std::int64_t FarCalls::run(Rank rank, const FarCall& call, bool is_regular) noexcept {
  if (!call.fits_ || functions_[call.number_].run == nullptr) return refuse_far_call();
  return call.parts_.empty() ? run_whole(rank, call, is_regular) : run_parts(rank, call, is_regular);
}

std::int64_t FarCalls::run_whole(Rank rank, const FarCall& call, bool is_regular) noexcept {
  return functions_[call.number_].transfer == FarFunction::Transfer::none
             ? run_once(rank, call)
             : run_pieces(rank, call, is_regular);
}

// With one contiguous buffer in place of the parts.
std::int64_t FarCalls::run_parts(Rank rank, const FarCall& call, bool is_regular) noexcept {
  const std::uint16_t number = functions_[call.number_].with_one_piece;
  std::size_t bytes = 0;
  for (const iovec& part : call.parts_) bytes += part.iov_len;
  if (number == call.number_ || bytes > SSIZE_MAX) return refuse_far_call();
  const std::unique_ptr<char[]> piece(new (std::nothrow) char[bytes]);
  if (piece == nullptr) return fail(ENOMEM);
  std::size_t at = 0;
  for (const iovec& part : call.parts_) {
    if (!call.parts_are_results_ && part.iov_len > 0)
      std::memcpy(piece.get() + at, part.iov_base, part.iov_len);
    at += part.iov_len;
  }
  FarCall flat = call;
  flat.number_ = number;
  flat.parts_ = {};
  flat.area_count_ = 0;
  flat.arguments_[1] = reinterpret_cast<std::uint64_t>(piece.get());
  flat.arguments_[2] = bytes;
  flat.add(piece.get(), bytes, call.parts_are_results_);
  const std::int64_t result = run_whole(rank, flat, is_regular);
  std::size_t left = call.parts_are_results_ && result > 0 ? static_cast<std::size_t>(result) : 0;
  at = 0;
  for (const iovec& part : call.parts_) {
    const std::size_t taken = std::min(left, part.iov_len);
    if (taken > 0) std::memcpy(part.iov_base, piece.get() + at, taken);
    at += taken;
    left -= taken;
  }
  return result;
}

std::int64_t FarCalls::run_pieces(Rank rank, const FarCall& call, bool is_regular) noexcept {
  const FarFunction& function = functions_[call.number_];
  const bool reads = function.transfer == FarFunction::Transfer::reading;
  const std::uint64_t bytes = call.arguments_[2];
  std::uint64_t done = 0;
  while (true) {
    FarCall piece = call;
    const std::uint64_t wanted = std::min<std::uint64_t>(bytes - done, data_bytes_max);
    piece.arguments_[1] += done;
    piece.arguments_[2] = wanted;
    if (function.has_offset) piece.arguments_[3] += done;
    piece.area_count_ = 0;
    piece.add(reinterpret_cast<const void*>(piece.arguments_[1]), wanted, reads);
    const std::int64_t result = run_once(rank, piece);
    if (result < 0) return done > 0 ? static_cast<std::int64_t>(done) : result;
    done += static_cast<std::uint64_t>(result);
    const bool goes_on =
        done < bytes && static_cast<std::uint64_t>(result) == wanted && (!reads || is_regular);
    if (!goes_on) return static_cast<std::int64_t>(done);
  }
}

std::int64_t FarCalls::run_once(Rank rank, const FarCall& call) noexcept {
  std::array<std::byte, runtime::call_bytes_max> message, reply;
  Request request{};
  request.number = call.number_;
  request.area_count = static_cast<std::uint16_t>(call.area_count_);
  request.arguments = call.arguments_;
  std::size_t sent = sizeof request, returned = 0;
  for (std::size_t i = 0; i < call.area_count_; ++i) {
    const FarCall::Area& area = call.areas_[i];
    const auto* const end = call.arguments_.begin() + call.argument_count_;
    const auto* const argument = std::find(call.arguments_.begin(), end, area.place);
    if (argument == end || area.bytes > data_bytes_max) return refuse_far_call();
    if (area.is_result) returned += area.bytes;
    if (is_sent(area.bytes, area.is_result)) {
      if (sent + area.bytes > message.size()) return refuse_far_call();
      std::memcpy(message.data() + sent, reinterpret_cast<const void*>(area.place), area.bytes);
      sent += area.bytes;
    }
    request.areas[i] = {static_cast<std::uint32_t>(area.bytes),
                        static_cast<std::uint8_t>(argument - call.arguments_.begin()), area.is_result};
  }
  if (returned > data_bytes_max) return refuse_far_call();
  std::memcpy(message.data(), &request, sizeof request);
  const std::int64_t result = runtime_->remote_calls()
                                  .call(rank, procedures::far_calls, std::span(message).first(sent), reply)
                                  .status;
  if (result < 0) return fail(static_cast<int>(-result));
  const bool reads = functions_[call.number_].transfer == FarFunction::Transfer::reading;
  std::size_t at = 0;
  for (std::size_t i = 0; i < call.area_count_; ++i) {
    const FarCall::Area& area = call.areas_[i];
    if (!area.is_result) continue;
    const std::size_t stored = reads ? std::min(area.bytes, static_cast<std::size_t>(result)) : area.bytes;
    std::memcpy(reinterpret_cast<void*>(area.place), reply.data() + at, stored);
    at += area.bytes;
  }
  return result;
}

// Runs a call of another rank. The reply holds the results in order.
runtime::Answer FarCalls::run(Rank, std::span<const std::byte> bytes, std::span<std::byte> reply) noexcept {
  Request request;
  MUSUBI_CHECK(bytes.size() >= sizeof request);
  std::memcpy(&request, bytes.data(), sizeof request);
  MUSUBI_CHECK(request.number < functions_.size() && functions_[request.number].run != nullptr &&
               request.area_count <= FarCall::areas_max);
  alignas(std::max_align_t) std::array<std::byte, 2 * runtime::call_bytes_max> memory{};
  std::size_t from = sizeof request, at = 0;
  std::array<std::size_t, FarCall::areas_max> places{};
  for (std::size_t i = 0; i < request.area_count; ++i) {
    const Request::Area& area = request.areas[i];
    MUSUBI_CHECK(area.argument < FarCall::arguments_max && at + area.bytes <= memory.size());
    if (is_sent(area.bytes, area.is_result)) {
      MUSUBI_CHECK(from + area.bytes <= bytes.size());
      std::memcpy(memory.data() + at, bytes.data() + from, area.bytes);
      from += area.bytes;
    }
    places[i] = at;
    request.arguments[area.argument] = reinterpret_cast<std::uint64_t>(memory.data() + at);
    at +=
        (area.bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
  }
  errno = 0;
  const std::int64_t result = functions_[request.number].run(request.arguments.data());
  if (result == -1) return {errno != 0 ? -errno : -EIO, 0};
  std::size_t returned = 0;
  for (std::size_t i = 0; i < request.area_count; ++i) {
    const Request::Area& area = request.areas[i];
    if (!area.is_result) continue;
    MUSUBI_CHECK(returned + area.bytes <= reply.size());
    std::memcpy(reply.data() + returned, memory.data() + places[i], area.bytes);
    returned += area.bytes;
  }
  return {result, returned};
}

}  // namespace musubi::image
