#include "proxy_command.h"

#include "doctor_command.h"
#include "host_facts.h"
#include "launch/hosts/proxy.h"
#include "process_places.h"
#include "topology.h"

namespace musubi::tools {

int serve_as_proxy() {
  launch::ProxyServices services;
  services.greeting = greeting();
  services.examine = [](const launch::JobOrder& order) {
    return order.examine ? examination_of_this_host(order) : host_facts(order);
  };
  services.place = [](const launch::JobOrder& order) {
    return place_on_this_host(order.bind, order.here.count, order.threads_per_rank);
  };
  services.find_places = find_places;
  return launch::run_proxy(services);
}

}  // namespace musubi::tools
