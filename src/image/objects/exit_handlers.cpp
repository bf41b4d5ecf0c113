#include "image/objects/exit_handlers.h"

#include "image/process/call_as.h"
#include "image/process/own_rank.h"
#include "omp/locks.h"

namespace musubi::image {
namespace {

// Names a lock of the job that orders memory: a thread that takes a handler sees the writes of the thread
// that added it.
constexpr char order_of_handlers = 0;

class InOrder {
 public:
  InOrder() noexcept { omp::lock_named(&order_of_handlers); }
  ~InOrder() { omp::unlock_named(&order_of_handlers); }
  InOrder(const InOrder&) = delete;
};

}  // namespace

void ExitHandlers::start(runtime::Runtime& runtime) {
  calls_.start(runtime, procedures::exit_handlers, *this);
}

void ExitHandlers::add_here(List list, const Handler& handler) {
  const std::lock_guard guard(lock_);
  lists_[static_cast<int>(list)].push_back(handler);
}

void ExitHandlers::take_here(List list, Handler& handler) noexcept {
  const std::lock_guard guard(lock_);
  std::vector<Handler>& handlers = lists_[static_cast<int>(list)];
  if (handlers.empty()) return;
  handler = handlers.back();
  handlers.pop_back();
}

void ExitHandlers::add(List list, const Handler& handler) {
  const InOrder order;
  calls_.at<&ExitHandlers::add_here>(Rank{0}, list, handler);
}

ExitHandlers::Handler ExitHandlers::take(List list) {
  Handler handler{};
  if (is_child_of_rank()) {
    take_here(list, handler);
  } else {
    calls_.at<&ExitHandlers::take_here>(Rank{0}, list, handler);
  }
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

}  // namespace musubi::image
