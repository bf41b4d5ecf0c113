// The runtime of one rank: reads settings, chooses drivers and protocol, owns all parts. Front ends (omp,
// c_api, image) see only this header and the interfaces that it names. All calls block politely; any attached
// thread may call them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/hosts.h"
#include "config/settings.h"
#include "runtime/api/checks.h"
#include "runtime/api/coordination.h"
#include "runtime/api/global_memory.h"
#include "runtime/api/memory.h"
#include "runtime/api/messages.h"
#include "runtime/api/remote_calls.h"
#include "runtime/api/segments.h"
#include "runtime/api/synchronization.h"
#include "runtime/api/task_travel.h"
#include "runtime/api/threads.h"
#include "runtime/api/words.h"
#include "trace/counters.h"
#include "vm/space.h"

namespace musubi::runtime {

// How a rank leaves the job or ends it.
class Ending {
 public:
  // Whether finish() is collective: ranks send rank 0 the data that it prints. The same on every rank.
  virtual bool finishes_together() const noexcept = 0;
  // Prints a note on the program's data races and, if requested, the statistics of the job, and tells the
  // launcher that the job ends with `status`. The caller then leaves the process.
  virtual void finish(int status) = 0;
  // The same while other ranks are still at work (exit inside a parallel region, _exit): not collective,
  // prints no statistics; the launcher then ends the other ranks. The caller leaves the process. Any thread.
  virtual void leave(int status) noexcept = 0;
  // Ends the job at once as a failure, with `status` and a one-line message.
  [[noreturn]] virtual void abort(int status, std::string_view reason) = 0;

 protected:
  ~Ending() = default;
};

// The parts of a program that are shared in addition to heap and stacks.
struct SharedFromStart {
  std::span<const SharedRange> globals = {};
  std::span<const PrivateBytes> private_bytes = {};
  // Whether segments are added later, unless settings say otherwise.
  bool adds_segments = false;
  // The reason why ranks of one host may not map one memory; empty: they may.
  std::string_view keeps_memories_apart = {};
};

class Runtime {
 public:
  // Joins the job and reserves the shared range; heap and stacks are usable at once, each rank in its own
  // part. Collective. Attaches the calling thread. In a job of several ranks a failure ends the job, with a
  // message; errors are returned only to a single rank.
  static Result<std::unique_ptr<Runtime>> start(const config::Settings& settings,
                                                std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                                const SharedFromStart& shared);
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Rank self() const noexcept { return self_; }
  std::uint32_t ranks() const noexcept { return ranks_; }
  const bootstrap::Hosts& hosts() const noexcept { return hosts_; }
  const config::Settings& settings() const noexcept { return settings_; }
  trace::Counters& counters() const noexcept { return counters_; }

  // Each costs one load: a call through an interface has no second virtual call.
  Memory& memory() const noexcept { return *interfaces_.memory; }
  Synchronization& synchronization() const noexcept { return *interfaces_.synchronization; }
  Coordination& coordination() const noexcept { return *interfaces_.coordination; }
  Words& words() const noexcept { return *interfaces_.words; }
  Threads& threads() const noexcept { return *interfaces_.threads; }
  Messages& messages() const noexcept { return *interfaces_.messages; }
  RemoteCalls& remote_calls() const noexcept { return *interfaces_.remote_calls; }
  Ending& ending() const noexcept { return *interfaces_.ending; }
  GlobalMemory& global_memory() const noexcept { return *interfaces_.global_memory; }
  Segments& segments() const noexcept { return *interfaces_.segments; }
  TaskTravel& task_travel() const noexcept { return *interfaces_.task_travel; }
  Checks& checks() const noexcept { return *interfaces_.checks; }

 protected:
  struct Interfaces {
    Memory* memory = nullptr;
    Synchronization* synchronization = nullptr;
    Coordination* coordination = nullptr;
    Words* words = nullptr;
    Threads* threads = nullptr;
    Messages* messages = nullptr;
    RemoteCalls* remote_calls = nullptr;
    Ending* ending = nullptr;
    GlobalMemory* global_memory = nullptr;
    Segments* segments = nullptr;
    TaskTravel* task_travel = nullptr;
    Checks* checks = nullptr;
  };

  // The derived class owns `settings` and `counters`.
  Runtime(Rank self, bootstrap::Hosts hosts, const config::Settings& settings,
          trace::Counters& counters) noexcept
      : self_(self),
        ranks_(hosts.ranks()),
        hosts_(std::move(hosts)),
        settings_(settings),
        counters_(counters) {}
  // Before the first use of an interface. A test double may omit the interfaces that its test does not use.
  void give(const Interfaces& interfaces) noexcept { interfaces_ = interfaces; }

 private:
  const Rank self_;
  const std::uint32_t ranks_;
  const bootstrap::Hosts hosts_;
  const config::Settings& settings_;
  trace::Counters& counters_;
  Interfaces interfaces_;
};

// The runtime of this process, for signal handlers and front ends; null before start. Set by the front end
// that started it (c_api or image), which owns it.
Runtime* current_runtime() noexcept;
void set_current_runtime(Runtime* runtime) noexcept;

}  // namespace musubi::runtime
