// The port's suite on the driver tcp with ranks of two simulated hosts: threads of two network namespaces
// joined by a pair of veth interfaces. Needs the right to create them; says so if it is missing.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>

#include "fabric_suite.h"
#include "service_threads.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

// Two namespaces, for the lifetime of the process. A thread is in the one that it entered last.
class Namespaces {
 public:
  static constexpr std::uint32_t count = 2;

  static const Namespaces& get() {
    static const Namespaces all;
    return all;
  }
  // Empty, or the reason why there are none.
  const std::string& missing() const { return missing_; }
  void enter(std::uint32_t index) const {
    thread_local std::uint32_t here = count;
    if (here == index) return;
    MUSUBI_CHECK(::setns(files_[index].number(), CLONE_NEWNET) == 0);
    here = index;
  }

 private:
  Namespaces() {
    std::barrier both(count);
    bool ok[count]{};
    std::thread other([&] { ok[1] = make(1, both); });
    std::thread one([&] { ok[0] = make(0, both); });
    one.join();
    other.join();
    if (!ok[0] || !ok[1]) missing_ = "network namespaces and veth interfaces need root and the command ip";
  }
  // In a thread of its own, which stays in the namespace.
  bool make(std::uint32_t index, std::barrier<>& both) {
    bool ok = ::unshare(CLONE_NEWNET) == 0;
    files_[index] = os::FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    both.arrive_and_wait();
    const std::string peer =
        "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(files_[1].number());
    if (index == 0) ok = ok && run("ip link add v0 type veth peer name v1 netns " + peer);
    both.arrive_and_wait();
    const std::string name = "v" + std::to_string(index);
    ok = ok && run("ip addr add 10.99.0." + std::to_string(index + 1) + "/24 dev " + name) &&
         run("ip link set lo up") && run("ip link set " + name + " up");
    both.arrive_and_wait();
    return ok;
  }
  static bool run(const std::string& command) { return std::system((command + " 2>/dev/null").c_str()) == 0; }

  os::FileDescriptor files_[count];
  std::string missing_;
};

std::uint32_t namespace_of(Rank rank) {
  return rank.value % Namespaces::count;
}

class NamespacesWorld final : public ServedWorld {
 public:
  NamespacesWorld(std::uint32_t ranks, std::size_t region_bytes)
      : ServedWorld(ranks), board_(ranks), ranks_(ranks) {
    open_all(ranks, [&](Rank rank) {
      Namespaces::get().enter(namespace_of(rank));
      const std::string network = "v" + std::to_string(namespace_of(rank));
      return ranks_[rank.value].open(rank, ranks, region_bytes, tcp_options_of_tests(network),
                                     board_.of(rank), WaitingPolicy{});
    });
  }

  // A thread asks for the fabric of its rank before it does anything: sockets belong to its namespace then.
  Fabric& fabric(Rank rank) override {
    Namespaces::get().enter(namespace_of(rank));
    return *ranks_[rank.value].fabric;
  }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

 private:
  ExchangeBoard board_;
  std::vector<TcpRank> ranks_;
};

std::unique_ptr<FabricWorld> make(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<NamespacesWorld>(ranks, region_bytes);
}

std::vector<Driver> drivers() {
  const std::string& missing = Namespaces::get().missing();
  if (missing.empty()) return {{"veth", &make, 1}};
  std::printf("not tested between namespaces: %s\n", missing.c_str());
  return {};
}

INSTANTIATE_TEST_SUITE_P(TcpNamespaces, FabricSuite, ::testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricSuite);

}  // namespace
}  // namespace musubi::fabric::conformance
