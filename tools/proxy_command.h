// `musubi proxy`: serves a launcher on another host. For the launcher's use, by the rsh command.
#pragma once

namespace musubi::tools {

// The exit status.
int serve_as_proxy();

}  // namespace musubi::tools
