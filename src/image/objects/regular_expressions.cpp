#include "image/objects/regular_expressions.h"

#include <atomic>
#include <cstring>

#include "heap/heap.h"
#include "image/process/own_rank.h"

namespace musubi::image {
namespace {

constexpr std::uint64_t mark = 0x6d757375'62697265;
constexpr std::size_t kept_max = 256;  // cached forms; find() compiles a dropped one again

// Never reused in the job.
std::uint64_t new_id() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return (++last << 16) + own_runtime()->self().value;
}

}  // namespace

// Allocated in the shared heap; the pattern follows.
struct RegularExpressions::Source {
  std::uint64_t id;
  int flags;
  const char* pattern() const noexcept { return reinterpret_cast<const char*>(this + 1); }
};

bool RegularExpressions::is_ours(const regex_t& expression) noexcept {
  return expression.allocated == mark && expression.used == mark;
}

int RegularExpressions::compile(regex_t* expression, const char* pattern, int flags) {
  auto compiled = std::make_shared<Compiled>(new_id(), functions_);
  const int error = functions_.compile(&compiled->expression, pattern, flags);
  if (error != 0) return error;
  compiled->is_valid = true;
  const std::size_t bytes = std::strlen(pattern) + 1;
  auto* const source = static_cast<Source*>(heap::process_heap.allocate_shared(sizeof(Source) + bytes));
  if (source == nullptr) return REG_ESPACE;
  source->id = compiled->id;
  source->flags = flags;
  std::memcpy(source + 1, pattern, bytes);
  *expression = regex_t{};
  expression->buffer = reinterpret_cast<decltype(expression->buffer)>(source);
  expression->allocated = expression->used = mark;
  expression->re_nsub = compiled->expression.re_nsub;
  const std::lock_guard held(lock_);
  recent_.push_front(std::move(compiled));
  if (recent_.size() > kept_max) recent_.pop_back();
  return 0;
}

// Null: out of memory.
std::shared_ptr<RegularExpressions::Compiled> RegularExpressions::find(const Source& source) {
  const std::uint64_t id = source.id;
  {
    const std::lock_guard held(lock_);
    for (auto place = recent_.begin(); place != recent_.end(); ++place) {
      if ((*place)->id != id) continue;
      recent_.splice(recent_.begin(), recent_, place);
      return recent_.front();
    }
  }
  auto compiled = std::make_shared<Compiled>(id, functions_);
  if (functions_.compile(&compiled->expression, source.pattern(), source.flags) != 0) return nullptr;
  compiled->is_valid = true;
  const std::lock_guard held(lock_);
  recent_.push_front(compiled);
  if (recent_.size() > kept_max) recent_.pop_back();
  return compiled;
}

int RegularExpressions::match(const regex_t& expression, const char* text, std::size_t count,
                              regmatch_t* matches, int flags) {
  const std::shared_ptr<Compiled> compiled = find(*reinterpret_cast<const Source*>(expression.buffer));
  return compiled == nullptr ? REG_ESPACE
                             : functions_.match(&compiled->expression, text, count, matches, flags);
}

void RegularExpressions::release(regex_t* expression) {
  auto* const source = reinterpret_cast<Source*>(expression->buffer);
  const std::uint64_t id = source->id;
  {
    const std::lock_guard held(lock_);
    recent_.remove_if([id](const auto& compiled) { return compiled->id == id; });
  }
  heap::process_heap.release(source);
  *expression = regex_t{};
}

}  // namespace musubi::image
