// Shipped code has no hooks: they occupy no memory, and nothing can be attached to them.
#include <gtest/gtest.h>

#include <type_traits>

#include "coherence/core/parameters.h"

namespace musubi {
namespace {

static_assert(!is_simulated_build);
static_assert(std::is_empty_v<Hooks>);

TEST(ShippedHooksDeathTest, RefuseAnInjectedFault) {
  coherence::Parameters parameters;
  parameters.hooks.inject(InjectedBug::none);
  EXPECT_DEATH(parameters.hooks.inject(InjectedBug::wrong_twin), "injects nothing");
}

TEST(ShippedHooksDeathTest, RefuseAnInterruption) {
  struct Nobody final : Interruption {
    void pass() noexcept override {}
    void touch() noexcept override {}
    std::size_t stretch(std::size_t bytes) noexcept override { return bytes; }
  } nobody;
  Hooks::let_interrupt(nullptr);
  EXPECT_DEATH(Hooks::let_interrupt(&nobody), "nobody gets in between");
}

}  // namespace
}  // namespace musubi
