// Simulates one workload under one policy and prints its costs, as a line of comma-separated values:
//   musubi_scale POLICY WORKLOAD FABRIC NODES [ITERATIONS [NOTICES [HOMES]]]
// NOTICES limits the notices in a signature of the policy migrating, 0: as many as in a real job. HOMES:
// `own`, the workload's initial homes, or `first`, node 0 for all blocks.
//   musubi_scale POLICY recorded:PATH FABRIC
// simulates a program, as the ranks of a real job have recorded it in the files PATH.0, PATH.1 ... POLICY may
// also be home_only.
//   musubi_scale columns
// Exit status: 0; 1 when a value was wrong; 2 for wrong arguments; 3 when the simulation would need more than
// 6 GB of memory.
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

#include "simulator/scale.h"

namespace {

using musubi::fabric::sim::LatencyModel;
using musubi::sim::Policy;
using musubi::sim::ScaleResult;
using musubi::sim::ScaleRun;
using musubi::sim::WorkloadKind;

constexpr std::uint64_t memory_max = 6'000'000'000;

struct Fabric {
  std::string_view name;
  LatencyModel model;
};
constexpr Fabric fabrics[]{{"shared_memory", LatencyModel::shared_memory()},
                           {"infiniband", LatencyModel::infiniband()},
                           {"tcp_25_gbe", LatencyModel::tcp_25_gbe()}};

// The member of an enumeration that ends with `count`, by its name.
template <class Kind>
bool find(std::string_view name, Kind* kind) {
  for (unsigned i = 0; i < static_cast<unsigned>(Kind::count); ++i) {
    if (musubi::sim::name_of(static_cast<Kind>(i)) == name) return *kind = static_cast<Kind>(i), true;
  }
  return false;
}
bool find(std::string_view name, Fabric* fabric) {
  for (const Fabric& candidate : fabrics) {
    if (candidate.name == name) return *fabric = candidate, true;
  }
  return false;
}
bool parse(std::string_view text, std::uint32_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc{} && end == text.data() + text.size();
}

// Of a recording.
bool find_policy(std::string_view name, ScaleRun* wanted) {
  wanted->home_only = name == "home_only";
  return find(wanted->home_only ? "home_based" : name, &wanted->policy);
}

bool find_homes(std::string_view name, bool* first) {
  *first = name == "first";
  return *first || name == "own";
}

int print_columns() {
  std::puts(
      "protocol,workload,fabric,nodes,remote_operations,messages,bytes,invalidation_messages,"
      "busiest_operations,copies_invalidated,fetches,renewals,notices_read,faults,virtual_ns,metadata_bytes,"
      "busiest_served,stops");
  return 0;
}

int run(const ScaleRun& run, std::string_view workload, std::string_view fabric) {
  if (musubi::sim::memory_needed(run) > memory_max) return 3;
  const ScaleResult r = musubi::sim::measure(run);
  if (!r.violation.empty()) {
    std::fprintf(stderr, "musubi_scale: %s\n", r.violation.c_str());
    return 1;
  }
  std::printf("%s,%s,%s,%" PRIu32 ",%.2f,%.2f,%.0f,%.2f,%.1f,%.2f,%.2f,%.2f,%.1f,%.2f,%.0f,%.0f,%.1f,%.2f\n",
              musubi::sim::name_of(run.policy).data(), workload.data(), fabric.data(), run.nodes,
              r.remote_operations, r.messages, r.bytes, r.invalidation_messages, r.busiest_operations,
              r.invalidations, r.fetches, r.renewals, r.notices, r.faults, r.virtual_ns, r.metadata_bytes,
              r.busiest_served, r.stops);
  return 0;
}

int run_recorded(ScaleRun wanted, std::string_view path, std::string_view fabric) {
  const auto recording = musubi::sim::Recording::read(std::string(path));
  if (!recording) {
    std::fprintf(stderr, "musubi_scale: %s\n", recording.error().message.c_str());
    return 1;
  }
  wanted.recording = &recording.value();
  wanted.nodes = recording.value().ranks();
  wanted.iterations = 1;
  return run(wanted, "recorded", fabric);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "columns") return print_columns();
  ScaleRun wanted;
  Fabric fabric;
  std::uint32_t notices = 0;
  constexpr std::string_view by_recording = "recorded:";
  if (count == 4 && std::string_view(arguments[2]).starts_with(by_recording) &&
      find_policy(arguments[1], &wanted) && find(arguments[3], &fabric)) {
    wanted.model = fabric.model;
    return run_recorded(wanted, std::string_view(arguments[2]).substr(by_recording.size()), fabric.name);
  }
  const bool understood = count >= 5 && count <= 8 && find(arguments[1], &wanted.policy) &&
                          find(arguments[2], &wanted.workload) && find(arguments[3], &fabric) &&
                          parse(arguments[4], &wanted.nodes) &&
                          (count < 6 || parse(arguments[5], &wanted.iterations)) &&
                          (count < 7 || parse(arguments[6], &notices)) &&
                          (count < 8 || find_homes(arguments[7], &wanted.one_initial_home));
  const bool power_of_two = (wanted.nodes & (wanted.nodes - 1)) == 0;
  if (!understood || wanted.nodes < 2 || !power_of_two || wanted.iterations == 0) {
    std::fprintf(stderr,
                 "usage: musubi_scale POLICY WORKLOAD FABRIC NODES [ITERATIONS [NOTICES [HOMES]]], or "
                 "musubi_scale POLICY recorded:PATH FABRIC, or musubi_scale columns\n"
                 "  POLICY    migrating directory notices timestamps\n"
                 "  WORKLOAD  stencil gather all_to_all read_mostly migratory gather_scatter task_queue "
                 "small_regions\n"
                 "  FABRIC    shared_memory infiniband tcp_25_gbe\n"
                 "  NODES     a power of two from 2 on\n"
                 "  HOMES     own first\n");
    return 2;
  }
  wanted.model = fabric.model;
  if (notices != 0) wanted.signature_notices_max = notices;
  return run(wanted, musubi::sim::name_of(wanted.workload), fabric.name);
}
