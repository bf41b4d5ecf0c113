// `musubi proxy`: serves a launcher on another host. For the launcher's use, by the rsh command.
#pragma once

#include "launch/hosts/proxy.h"

namespace musubi::tools {

// What any proxy of this command has.
launch::ProxyServices proxy_services();

// The exit status.
int serve_as_proxy();

}  // namespace musubi::tools
