#include "simulator/configuration.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/random.h"

namespace musubi::sim {
namespace {

using fabric::sim::LatencyModel;

template <class T, std::size_t n>
T one_of(Random& random, const std::array<T, n>& values) {
  return values[random.below(n)];
}

// Calls visit(name, field) for every field, in the order of the flags.
template <class C, class Visit>
void for_each_field(C& c, Visit&& visit) {
  visit("seed", c.seed);
  visit("policy", c.policy);
  visit("nodes", c.nodes);
  visit("threads", c.threads);
  visit("outsiders", c.outsiders);
  visit("segments", c.segments);
  visit("blocks", c.blocks);
  visit("block_bytes", c.block_bytes);
  visit("cell_bytes", c.cell_bytes);
  visit("locks", c.locks);
  visit("phases", c.phases);
  visit("operations", c.operations);
  visit("think_ns", c.think_ns);
  visit("values", c.values);
  visit("styles", c.styles);
  visit("adopted", c.adopted_percent);
  visit("pinned", c.pinned_percent);
  visit("private", c.private_percent);
  visit("counters", c.counters_percent);
  visit("preemption", c.preemption);
  visit("interruption", c.interruption);
  visit("wrong_habits", c.wrong_habits);
  visit("coarse_faults", c.coarse_faults);
  visit("late_segments", c.late_segments);
  visit("plain_flags", c.plain_flags);
  visit("background", c.background);
  visit("lock_uses", c.lock_uses);
  visit("nested", c.nested_percent);
  visit("moves", c.moves_percent);
  visit("whole_cells", c.whole_cells);
  visit("room", c.room_blocks);
  visit("discards", c.discards_percent);
  visit("prefetches", c.prefetches_percent);
  visit("overwrites", c.overwrites_percent);
  visit("unused_barriers", c.unused_barriers);
  visit("parcel", c.parcel_bytes);
  visit("unprotected", c.unprotected);
  visit("check_every", c.check_every);
  visit("lease", c.protocol.lease_ticks);
  visit("signature", c.protocol.signature_notices_max);
  visit("window", c.protocol.release_window);
  visit("downgrade", c.protocol.downgrade_after_releases);
  visit("read_retries", c.protocol.read_retries_max);
  visit("leave_unpublished", c.protocol.leave_unpublished);
  visit("fetches_ahead", c.protocol.fetches_ahead_max);
  visit("cached_bytes", c.protocol.cached_bytes);
  visit("run_bytes", c.protocol.run_bytes_max);
  visit("far_run_bytes", c.protocol.far_run_bytes_max);
  visit("lease_probe", c.protocol.lease_probe_releases);
  visit("first_changes_share", c.protocol.first_changes_share);
  visit("relay_places", c.protocol.relay_places);
  visit("give_back", c.protocol.give_back_after_releases);
  visit("bug", c.bug);
  visit("latency_ns", c.model.latency_ns);
  visit("jitter_ns", c.model.jitter_ns);
  visit("step_ns", c.model.step_ns);
  visit("ns_per_256_bytes", c.model.ns_per_256_bytes);
  visit("resume_ns", c.model.resume_ns);
  visit("gap_ns", c.model.gap_ns);
  visit("link_ns_per_256_bytes", c.model.link_ns_per_256_bytes);
  visit("local_pointer", c.model.local_pointer);
  visit("ranks_per_host", c.model.ranks_per_host);
  visit("torn", c.hostility.torn);
  visit("late", c.hostility.late);
  visit("late_factor", c.hostility.late_factor);
  visit("late_completion", c.hostility.late_completion);
  visit("busy", c.hostility.busy);
  visit("at_once", c.hostility.at_once);
  visit("self_delayed", c.hostility.self_delayed);
  visit("slow_nodes", c.hostility.slow_nodes);
  visit("slow_factor", c.hostility.slow_factor);
  visit("freeze_per_mille", c.hostility.freeze_per_mille);
  visit("freeze_ns", c.hostility.freeze_ns);
  visit("operations_max", c.hostility.operations_max);
}

template <class Field>
bool read(std::string_view text, Field& field) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, value); read.ec != std::errc{} || read.ptr != end)
    return false;
  field = static_cast<Field>(value);
  return true;
}
bool read(std::string_view text, Policy& policy) {
  const auto* const found = std::ranges::find(policy_names, text);
  if (found == policy_names.end()) return false;
  policy = static_cast<Policy>(found - policy_names.begin());
  return true;
}

template <class Field>
std::string text_of(const Field& field) {
  return std::to_string(static_cast<std::uint64_t>(field));
}
std::string text_of(Policy policy) {
  return std::string(name_of(policy));
}

void draw_hostility(Random& random, Configuration& c) {
  c.model = one_of(random, std::array{LatencyModel::shared_memory(), LatencyModel::infiniband(),
                                      LatencyModel::tcp_25_gbe(), LatencyModel{50, 3000, 5, 5, 5, 0, 0}});
  if (random.chance(15)) return;
  auto& h = c.hostility;
  h.torn = one_of(random, std::array{0u, 20u, 100u});
  h.late = one_of(random, std::array{0u, 2u, 20u});
  h.late_factor = one_of(random, std::array{3u, 20u, 100u});
  h.late_completion = one_of(random, std::array{0u, 5u, 30u});
  h.busy = one_of(random, std::array{0u, 5u, 40u});
  h.at_once = one_of(random, std::array{0u, 0u, 10u, 60u});
  h.self_delayed = one_of(random, std::array{0u, 30u, 100u});
  h.slow_nodes = one_of(random, std::array{0u, 0u, 30u});
  h.freeze_per_mille = one_of(random, std::array{0u, 0u, 2u, 20u});
  h.operations_max = one_of(random, std::array{0u, 0u, 1u, 3u});
}

void draw_protocol(Random& random, Configuration& c) {
  auto& p = c.protocol;
  p.lease_ticks = one_of(random, std::array<std::uint64_t, 6>{0, 1, 2, 10, 10, 100});
  p.signature_notices_max = one_of(random, std::array<std::size_t, 6>{2, 3, 4, 8, 64, 1024});
  p.release_window = one_of(random, std::array<std::size_t, 4>{1, 2, 4, 32});
  p.downgrade_after_releases = one_of(random, std::array{1u, 2u, 3u, 8u});
  p.read_retries_max = one_of(random, std::array{0u, 1u, 2u, 16u});
  p.leave_unpublished = random.chance(75);
  p.fetches_ahead_max = one_of(random, std::array{0u, 1u, 3u, 15u});
  p.lease_probe_releases = one_of(random, std::array{1u, 2u, 4u, 16u});
  p.cached_bytes = c.block_bytes * one_of(random, std::array<std::size_t, 3>{0, 2, 1000});
  p.run_bytes_max = c.block_bytes * one_of(random, std::array<std::size_t, 5>{0, 0, 2, 4, 32});
}

constexpr InjectedBug bugs[]{InjectedBug::handover_skipped,         InjectedBug::notice_forgotten,
                             InjectedBug::lease_not_rechecked,      InjectedBug::wrong_twin,
                             InjectedBug::less_for_less_or_equal,   InjectedBug::silent_after_lease,
                             InjectedBug::version_not_raised,       InjectedBug::overflow_without_minimum,
                             InjectedBug::listed_too_late,          InjectedBug::forgotten_too_early,
                             InjectedBug::taken_change_kept_quiet,  InjectedBug::taken_copy_not_renamed,
                             InjectedBug::twin_without_version,     InjectedBug::dropped_copy_not_told,
                             InjectedBug::dropped_copy_not_noticed, InjectedBug::shown_before_acquired,
                             InjectedBug::stack_without_gate,       InjectedBug::difference_seen_twice,
                             InjectedBug::words_merged_by_byte,     InjectedBug::release_without_epoch,
                             InjectedBug::reader_without_mark,      InjectedBug::taker_without_mark,
                             InjectedBug::leased_without_mark,      InjectedBug::not_woken,
                             InjectedBug::home_program_left_out,    InjectedBug::visitor_without_lease,
                             InjectedBug::visitor_beside_order,     InjectedBug::visitor_not_heard,
                             InjectedBug::visitor_kept_quiet,       InjectedBug::atomic_leaves_twin,
                             InjectedBug::atomic_after_lease,       InjectedBug::entry_older_over_newer,
                             InjectedBug::entry_times_not_reset,    InjectedBug::entry_updates_not_passed_on,
                             InjectedBug::entry_pending_lost,       InjectedBug::entry_copy_not_told,
                             InjectedBug::entry_joined_not_noticed, InjectedBug::entry_manager_not_awaited,
                             InjectedBug::entry_twin_too_late,      InjectedBug::entry_clock_not_raised,
                             InjectedBug::entry_newcomer_not_told,  InjectedBug::clock_of_another_channel,
                             InjectedBug::evicted_with_changes,     InjectedBug::evicted_before_taken,
                             InjectedBug::evicted_bytes_not_missed, InjectedBug::evicted_copy_not_told,
                             InjectedBug::home_moved_unread,        InjectedBug::moved_home_kept_quiet,
                             InjectedBug::home_change_not_told,     InjectedBug::home_reopened_at_rest,
                             InjectedBug::discarded_kept_quiet,     InjectedBug::lease_not_put_down,
                             InjectedBug::own_version_not_heard,    InjectedBug::sent_with_later_writes,
                             InjectedBug::news_noted_too_early,     InjectedBug::relay_gives_what_it_has,
                             InjectedBug::relay_tells_first,        InjectedBug::changed_lines_forgotten,
                             InjectedBug::void_record_believed,     InjectedBug::lines_since_any_version,
                             InjectedBug::lines_on_lost_bytes,      InjectedBug::taken_bytes_noted,
                             InjectedBug::news_for_another,         InjectedBug::merged_taken_for_whole,
                             InjectedBug::kept_swapped_first,       InjectedBug::kept_lock_given_late,
                             InjectedBug::answered_without_release, InjectedBug::overwritten_in_part,
                             InjectedBug::overwritten_without_twin, InjectedBug::overwritten_beside_lease,
                             InjectedBug::overwritten_kept_quiet,   InjectedBug::closed_clean_beside_thread,
                             InjectedBug::downgraded_beside_thread, InjectedBug::packet_counted_first,
                             InjectedBug::stores_beside_load,       InjectedBug::unwritten_sent,
                             InjectedBug::home_without_times};

}  // namespace

Configuration draw(std::uint64_t seed) {
  Random random(seed ^ 0x6d7573756269u);
  Configuration c;
  c.seed = seed;
  const std::uint64_t size = random.below(100);
  c.nodes = static_cast<std::uint32_t>(size < 85   ? random.between(2, 6)
                                       : size < 97 ? random.between(7, 16)
                                                   : random.between(17, 64));
  if (c.nodes <= 6 && random.chance(40)) c.threads = static_cast<std::uint32_t>(random.between(2, 3));
  c.segments = static_cast<std::uint32_t>(random.between(1, 3));
  c.blocks = static_cast<std::uint32_t>(random.chance(10) ? random.between(6, 40) : random.between(1, 5));
  c.block_bytes = one_of(random, std::array{64u, 64u, 128u, 256u, 512u});
  c.cell_bytes = one_of(random, std::array{1u, 2u, 4u, 8u, 8u});
  c.locks = static_cast<std::uint32_t>(random.between(1, 4));
  c.phases = static_cast<std::uint32_t>(random.between(1, 5));
  c.operations = static_cast<std::uint32_t>(c.nodes > 16 ? random.between(2, 6) : random.between(2, 16));
  c.think_ns = one_of(random, std::array<std::uint64_t, 4>{0, 200, 5000, 50000});
  if (random.chance(15)) {  // everybody at one thing
    c.styles = 2u << random.below(static_cast<unsigned>(Style::count) - 1);
    c.segments = 1;
    c.blocks = static_cast<std::uint32_t>(random.between(1, 2));
  } else if (random.chance(50)) {
    c.styles = static_cast<std::uint32_t>(random.between(2, c.styles));
  }
  c.adopted_percent = one_of(random, std::array{0u, 30u, 100u});
  c.pinned_percent = one_of(random, std::array{0u, 0u, 0u, 30u});
  c.private_percent = one_of(random, std::array{0u, 0u, 0u, 30u});
  c.preemption = one_of(random, std::array{0u, 20u, 80u});
  c.coarse_faults = static_cast<std::uint32_t>(random.below(2));
  c.check_every = c.nodes > 8 ? c.nodes : 2;
  draw_protocol(random, c);
  draw_hostility(random, c);
  if (c.nodes <= 6 && random.chance(20)) c.outsiders = static_cast<std::uint32_t>(random.between(1, 2));
  c.interruption = one_of(random, std::array{0u, 0u, 5u, 30u});
  c.model.local_pointer = random.chance(30);
  c.values = one_of(random, std::array{0u, 0u, 2u});
  c.plain_flags = random.chance(20);
  c.protocol.give_back_after_releases = one_of(random, std::array{0u, 1u, 1u, 2u, 5u});
  c.counters_percent = one_of(random, std::array{0u, 0u, 0u, 25u});
  c.nested_percent = one_of(random, std::array{0u, 30u, 60u});
  c.moves_percent = one_of(random, std::array{0u, 0u, 20u});
  c.whole_cells = static_cast<std::uint32_t>(random.below(2));
  c.unused_barriers = one_of(random, std::array<std::uint64_t, 4>{0, 1, 1, 2});
  c.protocol.relay_places = one_of(random, std::array{0u, 1u, 2u, 8u});
  c.protocol.first_changes_share = one_of(random, std::array<std::size_t, 2>{1, 16});
  c.protocol.far_run_bytes_max = c.block_bytes * one_of(random, std::array<std::size_t, 3>{0, 8, 32});
  c.parcel_bytes = one_of(random, std::array{64u, 192u, 4096u});
  c.prefetches_percent = one_of(random, std::array{0u, 0u, 10u, 40u});
  c.overwrites_percent = one_of(random, std::array{0u, 0u, 30u, 80u});
  c.unprotected = one_of(random, std::array{0u, 0u, 1u});
  if (c.unprotected != 0 && random.chance(50)) c.unprotected = 2;
  return c;
}

Configuration as_policy_allows(Configuration c) {
  if (!orders_by_locks_alone(c.policy)) return c;
  c.styles &= ~(1u << static_cast<unsigned>(Style::handover));
  c.outsiders = 0;
  c.pinned_percent = 0;
  c.private_percent = 0;
  c.plain_flags = 0;
  c.background = 0;
  return c;
}

bool set(Configuration& configuration, std::string_view name, std::string_view text) {
  bool is_set = false;
  for_each_field(configuration, [&](std::string_view field_name, auto& field) {
    if (field_name == name) is_set = read(text, field);
  });
  return is_set;
}

std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  Configuration configuration;
  for_each_field(configuration, [&](std::string_view name, auto&) { names.push_back(name); });
  return names;
}

std::string flags(const Configuration& configuration) {
  const Configuration drawn = draw(configuration.seed);
  std::vector<std::uint64_t> drawn_values;
  for_each_field(drawn, [&](std::string_view, const auto& field) {
    drawn_values.push_back(static_cast<std::uint64_t>(field));
  });
  std::string text;
  std::size_t index = 0;
  for_each_field(configuration, [&](std::string_view name, const auto& field) {
    const auto value = static_cast<std::uint64_t>(field);
    const bool shown = name == "seed" || name == "nodes" || value != drawn_values[index];
    ++index;
    if (!shown) return;
    if (!text.empty()) text += ' ';
    text.append("--").append(name).append("=").append(text_of(field));
  });
  return text;
}

std::span<const InjectedBug> all_bugs() {
  return bugs;
}

}  // namespace musubi::sim
