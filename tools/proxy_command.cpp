#include "proxy_command.h"

#include "doctor_command.h"
#include "host_facts.h"
#include "process_places.h"
#include "topology.h"

namespace musubi::tools {

launch::ProxyServices proxy_services() {
  launch::ProxyServices services;
  services.greeting = greeting();
  services.examine = [](const launch::JobOrder& order) {
    return order.examine ? examination_of_this_host(order) : host_facts(order);
  };
  services.place = [](const launch::JobOrder& order) {
    return place_on_this_host(order.bind, order.here.count, order.threads_per_rank);
  };
  services.find_places = find_places;
  return services;
}

int serve_as_proxy() {
  return launch::run_proxy(proxy_services());
}

}  // namespace musubi::tools
