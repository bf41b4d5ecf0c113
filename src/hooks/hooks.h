// The simulator's hooks inside the protocols: they inject faults, and let other threads and ranks act between
// two steps. The protocol layers and the engine of active messages are built twice from the same sources. In
// the build that ships, Hooks is empty and its functions compile to nothing. A program links one of the two
// builds; cmake refuses a mixture (docs/decisions/simulator.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "hooks/injected_bug.h"
#include "hooks/interruption.h"

namespace musubi {

// True in the simulator's build.
#ifdef MUSUBI_SIMULATED
inline constexpr bool is_simulated_build = true;
#else
inline constexpr bool is_simulated_build = false;
#endif

class NoHooks {
 public:
  // REQUIRES: no fault and no interruption, since this build can do neither.
  static void inject(InjectedBug bug) {
    MUSUBI_CHECK(bug == InjectedBug::none, "this build injects nothing");
  }
  static void let_interrupt(Interruption* interruption) {
    MUSUBI_CHECK(interruption == nullptr, "in this build nobody gets in between");
  }

  static constexpr bool injected(InjectedBug) { return false; }
  static constexpr void others_may_act() {}
  static constexpr void touch() {}
  template <class Guesses>
  static constexpr void spoil(Guesses&) {}
  static constexpr void took_effect(std::uint64_t /*witness*/, const void* /*old*/, const void* /*next*/) {}
  template <class Visit>
  static void for_each_stretch(std::size_t at, std::size_t bytes, Visit& visit) {
    if (bytes != 0) visit(at, bytes);
  }
};

class SimulatorHooks {
 public:
  void inject(InjectedBug bug) { bug_ = bug; }
  // Null: no interruption. `interruption` outlives the hooks.
  void let_interrupt(Interruption* interruption) { interruption_ = interruption; }

  constexpr bool injected(InjectedBug bug) const { return bug_ == bug; }
  // Other threads and ranks may act here. The caller holds no spin lock.
  void others_may_act() const {
    if (interruption_ != nullptr) interruption_->pass();
  }
  // As others_may_act(), where the caller is about to read or change something that other threads or ranks
  // change.
  void touch() const {
    if (interruption_ != nullptr) interruption_->touch();
  }
  // Wrong guesses must do no harm: these are changed, or not.
  template <class Guesses>
  void spoil(Guesses& guesses) const {
    if (interruption_ != nullptr)
      interruption_->spoil(reinterpret_cast<std::byte*>(&guesses), sizeof guesses);
  }
  // `witness`: the address of a Witness, or 0. All ranks of a simulation share one process.
  void took_effect(std::uint64_t witness, const void* old, const void* next) const {
    if (witness != 0) reinterpret_cast<Witness*>(witness)->took_effect(old, next);
  }
  // Calls visit(at, bytes) for consecutive stretches of [at, at + bytes); other threads and ranks may act
  // between two of them. A stretch never splits a word, as on any machine.
  template <class Visit>
  void for_each_stretch(std::size_t at, std::size_t bytes, Visit& visit) const {
    constexpr std::size_t word = sizeof(std::uint64_t);
    while (interruption_ != nullptr && bytes != 0) {
      const std::size_t end = (at + interruption_->stretch(bytes) + word - 1) / word * word;
      const std::size_t stretch = std::min(bytes, end - at);
      visit(at, stretch);
      at += stretch;
      bytes -= stretch;
      interruption_->pass();
    }
    if (bytes != 0) visit(at, bytes);
  }

 private:
  InjectedBug bug_ = InjectedBug::none;
  Interruption* interruption_ = nullptr;
};

// A value type; copies are interchangeable.
using Hooks = std::conditional_t<is_simulated_build, SimulatorHooks, NoHooks>;

}  // namespace musubi
