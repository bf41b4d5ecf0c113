#include "c_api/page_homes.h"

#include "base/check.h"
#include "c_api/global_space.h"

namespace musubi::c_api {

runtime::Answer PageHome::run(Rank caller, std::span<const std::byte> request,
                              std::span<std::byte> reply) noexcept {
  GlobalSpace* const space = current_space();
  MUSUBI_CHECK(space != nullptr);
  return {0, space->home().serve(caller, request, reply)};
}

Task<std::size_t> PageHomeCalls::ask(Rank home, std::span<const std::byte> question,
                                     std::span<std::byte> answer) {
  const runtime::Answer answered =
      co_await runtime_.remote_calls().ask(home, page_home_procedure, question, answer);
  co_return answered.bytes;
}

}  // namespace musubi::c_api
