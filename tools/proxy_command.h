// `musubi proxy`: serves a launcher on another host. The launcher starts it by the rsh command.
#pragma once

#include "launch/hosts/proxy/proxy.h"

namespace musubi::tools {

// The properties that every proxy of this command has.
launch::ProxyServices proxy_services();

// The exit status.
int serve_as_proxy();

}  // namespace musubi::tools
