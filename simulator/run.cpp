#include "simulator/run.h"

#include <memory>

#include "simulator/cluster.h"
#include "simulator/program.h"
#include "simulator/state_checker.h"

namespace musubi::sim {
namespace {

// A simulated job with its program and its checkers.
struct Simulation {
  explicit Simulation(const Configuration& configuration)
      : cluster(configuration), program(cluster), checker(cluster, configuration.check_every) {
    cluster.world().observe(&checker);
  }
  Cluster cluster;
  Program program;
  StateChecker checker;
};

// How many events a program may take before something must be wrong. Generous: a bound, not an estimate.
std::uint64_t event_budget(const Configuration& c) {
  const std::uint64_t operations = std::uint64_t{c.actors()} * (c.phases + 1) * (c.operations + 20);
  return 200000 + operations * 400 + std::uint64_t{c.nodes} * c.segments * c.blocks * 2000;
}

void run_until_done(Simulation& simulation, std::uint64_t events_max) {
  fabric::sim::World& world = simulation.cluster.world();
  for (std::uint64_t i = 0; i < events_max; ++i) {
    if (simulation.program.done() || simulation.cluster.violated()) return;
    if (!world.step()) {
      return simulation.cluster.violate(
          "deadlock: %u threads wait and nothing is under way",
          simulation.cluster.configuration().actors() - simulation.program.ended());
    }
  }
}

void run_to_rest(Simulation& simulation) {
  Cluster& cluster = simulation.cluster;
  const std::uint64_t budget = event_budget(cluster.configuration());
  run_until_done(simulation, budget);
  if (!simulation.program.done() && !cluster.violated()) {
    cluster.world().reached("hostility.stopped");
    cluster.network().become_calm();
    run_until_done(simulation, budget);
  }
  if (cluster.violated()) return;
  if (!simulation.program.done()) {
    return cluster.violate("no progress: %lu events after the hostility stopped",
                           static_cast<unsigned long>(budget));
  }
  if (!cluster.world().run(budget)) return cluster.violate("events go on after the end");
  simulation.checker.check_at_rest();
  simulation.program.check_copies();
  if (const std::uint64_t races = cluster.total(trace::Counter::races); races != 0) {
    cluster.violate("%lu races counted in a program without any", static_cast<unsigned long>(races));
  }
}

void mark_counters(Cluster& cluster) {
  for (std::size_t i = 0; i < trace::counter_count; ++i) {
    const auto counter = static_cast<trace::Counter>(i);
    if (cluster.total(counter) != 0) cluster.world().reached(trace::counter_texts[i].name);
  }
}

}  // namespace

Verdict run(const Configuration& configuration) {
  auto simulation = std::make_unique<Simulation>(configuration);
  simulation->program.start();
  run_to_rest(*simulation);
  Cluster& cluster = simulation->cluster;
  mark_counters(cluster);
  Verdict verdict{cluster.violation(), cluster.world().hash(), cluster.world().events(),
                  cluster.world().now_ns(), cluster.world().marks()};
  // After a violation tasks still hang in the protocol; taking them apart would trip over more checks.
  if (!verdict.passed()) (void)simulation.release();
  return verdict;
}

std::string repeat_line(const Configuration& configuration) {
  return "repeat: musubi_simulation " + flags(configuration);
}

}  // namespace musubi::sim
