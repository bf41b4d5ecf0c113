#include "image/solo_bootstrap.h"

#include "image/refusal.h"

namespace musubi::image {

void SoloBootstrap::abort(int status, std::string_view reason) noexcept {
  refuse(status, reason);
}

}  // namespace musubi::image
