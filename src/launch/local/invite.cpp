#include "launch/local/invite.h"

#include <cstdio>

namespace musubi::launch {

std::string format_invitation(const bootstrap::local::Invitation& invitation) {
  char text[80];
  std::snprintf(text, sizeof text, "%06d:%04u:%04u:%010d:%06d:%06d", invitation.socket, invitation.rank.value,
                invitation.ranks, invitation.process_id, invitation.board, invitation.events);
  return text;
}

}  // namespace musubi::launch
