// What the simulator changes inside the protocols: it injects faults, and lets other threads and ranks act
// between two steps. The protocol layers and the engine of active messages are built twice from the same
// sources. In the build that ships Hooks is empty, and its functions compile to nothing. A program is linked
// with one of the two builds; cmake refuses a mixture (docs/decisions/two_builds.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "hooks/injected_bug.h"
#include "hooks/interruption.h"

namespace musubi {

// Which build this is.
#ifdef MUSUBI_SIMULATED
inline constexpr bool is_simulated_build = true;
#else
inline constexpr bool is_simulated_build = false;
#endif

class NoHooks {
 public:
  // REQUIRES: there is nothing to inject, nobody to get in between.
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
  // Null: nobody. It outlives the hooks.
  void let_interrupt(Interruption* interruption) { interruption_ = interruption; }

  constexpr bool injected(InjectedBug bug) const { return bug_ == bug; }
  // Others act now, or do not. The caller holds no spin lock.
  void others_may_act() const {
    if (interruption_ != nullptr) interruption_->pass();
  }
  // The same where the caller is about to look at something that others may change, or to change it.
  void touch() const {
    if (interruption_ != nullptr) interruption_->touch();
  }
  // Wrong guesses must do no harm: these are changed, or not.
  template <class Guesses>
  void spoil(Guesses& guesses) const {
    if (interruption_ != nullptr)
      interruption_->spoil(reinterpret_cast<std::byte*>(&guesses), sizeof guesses);
  }
  // `witness`: the address of a Witness, or 0; all ranks are in one process.
  void took_effect(std::uint64_t witness, const void* old, const void* next) const {
    if (witness != 0) reinterpret_cast<Witness*>(witness)->took_effect(old, next);
  }
  // Calls visit(at, bytes) for stretches of [at, at + bytes), one behind the other, between which others act.
  // Words move as a whole, on every machine.
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

// A value; copies act alike.
using Hooks = std::conditional_t<is_simulated_build, SimulatorHooks, NoHooks>;

}  // namespace musubi
