#include "image/objects/exit_handlers.h"

#include <cstring>
#include <span>

#include "base/check.h"
#include "image/process/call_as.h"
#include "image/process/own_rank.h"
#include "image/process/remote_procedures.h"
#include "omp/locks.h"

namespace musubi::image {
namespace {

struct Request {
  ExitHandlers::List list;
  bool takes;
  ExitHandlers::Handler handler;  // to add
};

// Names a lock of the job that orders memory: a thread that takes a handler sees the writes of the thread
// that added it.
constexpr char order_of_handlers = 0;

class InOrder {
 public:
  InOrder() noexcept { omp::critical_begin(&order_of_handlers); }
  ~InOrder() { omp::critical_end(&order_of_handlers); }
  InOrder(const InOrder&) = delete;
};

}  // namespace

void ExitHandlers::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::exit_handlers, *this);
}

void ExitHandlers::add_here(List list, const Handler& handler) {
  const std::lock_guard guard(lock_);
  lists_[static_cast<int>(list)].push_back(handler);
}

ExitHandlers::Handler ExitHandlers::take_here(List list) noexcept {
  const std::lock_guard guard(lock_);
  std::vector<Handler>& handlers = lists_[static_cast<int>(list)];
  if (handlers.empty()) return {};
  const Handler handler = handlers.back();
  handlers.pop_back();
  return handler;
}

void ExitHandlers::add(List list, const Handler& handler) {
  const InOrder order;
  if (runtime_->self() == Rank{0}) return add_here(list, handler);
  const Request request{list, false, handler};
  runtime_->remote_calls().call(Rank{0}, procedures::exit_handlers, std::as_bytes(std::span(&request, 1)),
                                {});
}

ExitHandlers::Handler ExitHandlers::take(List list) {
  if (runtime_->self() == Rank{0} || is_child_of_rank()) return take_here(list);
  const Request request{list, true, {}};
  Handler handler{};
  runtime_->remote_calls().call(Rank{0}, procedures::exit_handlers, std::as_bytes(std::span(&request, 1)),
                                std::as_writable_bytes(std::span(&handler, 1)));
  return handler;
}

void ExitHandlers::run(List list, int status) {
  while (true) {
    Handler handler;
    {
      const InOrder order;
      handler = take(list);
    }
    if (handler.function == nullptr) return;
    const auto argument = reinterpret_cast<std::uint64_t>(handler.argument);
    if (handler.wants_status) {
      call_from_its_object(handler.function, {static_cast<std::uint64_t>(status), argument});
    } else {
      call_from_its_object(handler.function, {argument});
    }
  }
}

runtime::Answer ExitHandlers::run(Rank, std::span<const std::byte> given,
                                  std::span<std::byte> reply) noexcept {
  Request request;
  MUSUBI_CHECK(given.size() == sizeof request);
  std::memcpy(&request, given.data(), sizeof request);
  if (!request.takes) {
    add_here(request.list, request.handler);
    return {};
  }
  const Handler handler = take_here(request.list);
  std::memcpy(reply.data(), &handler, sizeof handler);
  return {0, sizeof handler};
}

}  // namespace musubi::image
