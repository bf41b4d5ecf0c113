#include "omp/region.h"

#include "base/check.h"

namespace musubi::omp {
namespace {

// Word 0 of a fork: kind, level, flags and schedule, then the size of the team, its binding and its
// spacing.
constexpr unsigned level_shift = 8, levels_max_shift = 16, schedule_shift = 24, size_shift = 32,
                   bind_shift = 59, spacing_shift = 62;
constexpr std::uint64_t size_mask = (std::uint64_t{1} << (bind_shift - size_shift)) - 1, bind_mask = 7;
constexpr std::uint64_t schedule_mask = 7, monotonic_bit = 8, dynamic_bit = 16, details_bit = 32,
                        code_bit = 64;
constexpr unsigned store_bytes_shift = 48, x87_shift = 52;  // in word 1
constexpr std::uint64_t store_bytes_mask = 15;              // at most 8
constexpr unsigned vectors_shift = 48;                      // in word 2
static_assert(x87_shift + os::floating_point_bits <= 64 && vectors_shift + os::floating_point_bits <= 64);
constexpr std::uint64_t address_mask = (std::uint64_t{1} << 48) - 1;

runtime::BarrierPayload encode_plainly(const Region& region) {
  const Icv& icv = region.icv;
  const std::uint64_t bits = static_cast<std::uint64_t>(icv.schedule.kind) |
                             (icv.schedule.monotonic ? monotonic_bit : 0) | (icv.dynamic ? dynamic_bit : 0) |
                             (region.code != 0 ? code_bit : 0);
  runtime::BarrierPayload payload{};
  // Levels beyond 255 exist only in serialised regions around this one; workers are never asked for them.
  payload[0] = static_cast<std::uint64_t>(BarrierKind::fork) |
               std::uint64_t{std::min(region.level, 255u)} << level_shift |
               std::uint64_t{std::min(icv.max_active_levels, 255u)} << levels_max_shift |
               bits << schedule_shift | std::uint64_t{region.size} << size_shift |
               static_cast<std::uint64_t>(region.bind) << bind_shift |
               static_cast<std::uint64_t>(region.spacing) << spacing_shift;
  payload[1] = reinterpret_cast<std::uintptr_t>(region.function) | std::uint64_t{region.modes.x87}
                                                                       << x87_shift;
  payload[2] = reinterpret_cast<std::uintptr_t>(region.data) | std::uint64_t{region.modes.vectors}
                                                                   << vectors_shift;
  payload[3] = std::uint64_t{icv.threads} << 32 | icv.schedule.chunk;
  payload[4] = std::uint64_t{region.loops} << 32 | region.singles;
  // A region with both has details.
  payload[5] = (region.code != 0 ? region.code : reinterpret_cast<std::uintptr_t>(region.loop)) |
               static_cast<std::uint64_t>(static_cast<std::uint16_t>(icv.default_device)) << 48;
  return payload;
}

Region decode_plainly(const runtime::BarrierPayload& payload, const Icv& initial) {
  const std::uint64_t bits = payload[0] >> schedule_shift;
  Region region;
  region.icv = initial;
  region.level = payload[0] >> level_shift & 0xff;
  region.icv.max_active_levels = payload[0] >> levels_max_shift & 0xff;
  region.icv.schedule.kind = static_cast<Schedule>(bits & schedule_mask);
  region.icv.schedule.monotonic = (bits & monotonic_bit) != 0;
  region.icv.dynamic = (bits & dynamic_bit) != 0;
  region.size = static_cast<std::uint32_t>(payload[0] >> size_shift & size_mask);
  region.bind = static_cast<ProcBind>(payload[0] >> bind_shift & bind_mask);
  region.spacing = static_cast<Spacing>(payload[0] >> spacing_shift);
  region.function = reinterpret_cast<Function>(payload[1] & address_mask);
  region.store_bytes = static_cast<std::uint32_t>(payload[1] >> store_bytes_shift & store_bytes_mask);
  region.data = reinterpret_cast<void*>(payload[2] & address_mask);
  region.modes = {static_cast<std::uint16_t>(payload[2] >> vectors_shift),
                  static_cast<std::uint16_t>(payload[1] >> x87_shift)};
  region.icv.threads = static_cast<std::uint32_t>(payload[3] >> 32);
  region.icv.schedule.chunk = static_cast<std::uint32_t>(payload[3]);
  region.loops = static_cast<std::uint32_t>(payload[4] >> 32);
  region.singles = static_cast<std::uint32_t>(payload[4]);
  const std::uintptr_t loop_or_code = payload[5] & address_mask;
  if ((bits & code_bit) != 0) {
    region.code = loop_or_code;
  } else {
    region.loop = reinterpret_cast<const LoopSpecification*>(loop_or_code);
  }
  region.icv.default_device = static_cast<std::int16_t>(payload[5] >> 48);
  return region;
}

}  // namespace

bool has_details(const runtime::BarrierPayload& payload) {
  return (payload[0] >> schedule_shift & details_bit) != 0;
}

runtime::BarrierPayload encode_fork(const Region& region, const StoreBound& stores, const Icv& initial,
                                    RegionDetails& details) {
  runtime::BarrierPayload payload = encode_plainly(region);
  payload[1] |= std::uint64_t{stores.bytes} << store_bytes_shift;
  const bool is_plain =
      stores.place_count == 0 && stores.of_stacks.bytes == 0 && (region.code == 0 || region.loop == nullptr);
  const bool is_bare =
      region.inherited == nullptr && region.call_site == nullptr && region.reductions == nullptr;
  if (is_plain && is_bare && decode_plainly(payload, initial).icv == region.icv) return payload;
  details = {region.code,      region.loop,      region.icv,       stores,
             region.inherited, region.call_site, region.reductions};
  payload[0] |= details_bit << schedule_shift;
  payload[5] = (payload[5] & ~address_mask) | reinterpret_cast<std::uintptr_t>(&details);
  return payload;
}

Region decode_fork(const runtime::BarrierPayload& payload, const Icv& initial) {
  MUSUBI_CHECK(kind_of(payload) == BarrierKind::fork);
  Region region = decode_plainly(payload, initial);
  if (has_details(payload)) {
    region.details = reinterpret_cast<const RegionDetails*>(payload[5] & address_mask);
    region.code = region.details->code;
    region.loop = region.details->loop;
    region.icv = region.details->icv;
    region.inherited = region.details->inherited;
    region.call_site = region.details->call_site;
    region.reductions = region.details->reductions;
  }
  return region;
}

runtime::BarrierPayload encode(BarrierKind kind, std::int32_t status) {
  runtime::BarrierPayload payload{};
  payload[0] = static_cast<std::uint64_t>(kind);
  payload[1] = static_cast<std::uint32_t>(status);
  return payload;
}

BarrierKind kind_of(const runtime::BarrierPayload& payload) {
  return static_cast<BarrierKind>(payload[0] & 0xff);
}

std::int32_t status_of(const runtime::BarrierPayload& payload) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(payload[1]));
}

}  // namespace musubi::omp
