#include "simulator/node.h"

#include <utility>

#include "base/check.h"
#include "simulator/policies/directory.h"

namespace musubi::sim {
using coherence::control_region;
using coherence::published_region;
using coherence::words_region;
using fabric::MessageKind;
namespace {

constexpr std::uint32_t waiters_max = 64;
constexpr std::size_t entry_list_bytes = std::size_t{1} << 20;

}  // namespace

// Notices of the signature: `migrating` has as many as it is told. `notices` has room for a notice of every
// block, since it has no summary of dropped notices. `directory` and `timestamps` hand on no notices. The
// policies for comparison are made for one thread per rank, which no other task interrupts between two steps.
NodeOptions Node::completed(NodeOptions options) {
  std::size_t& notices_max = options.protocol.signature_notices_max;
  if (is_for_comparison(options.policy)) options.interruption = options.lock_uses = 0;
  if (options.policy == Policy::notices) notices_max = space_.blocks_max();
  if (options.policy == Policy::directory || options.policy == Policy::timestamps) notices_max = 1;
  options.protocol.hooks.inject(options.bug);
  options.protocol.hooks.let_interrupt(options.interruption != 0 ? &interrupted_ : nullptr);
  return options;
}

sync::ControlLayout Node::control_layout(std::uint32_t ranks, const NodeOptions& options) {
  sync::ControlSizes sizes;
  sizes.ranks = ranks;
  sizes.notices_max = options.protocol.signature_notices_max;
  sizes.signature_bytes = coherence::signature_bytes(options.protocol.signature_notices_max);
  sizes.lock_count = options.locks;
  sizes.wait_records = 2 * options.locks;
  sizes.waiters = waiters_max;
  return sync::ControlLayout::of(sizes);
}

coherence::entry::Sizes Node::entry_sizes() const {
  if (options_.policy != Policy::entry) return {};
  return {fabric_.ranks(), space_.blocks_max(), options_.locks, entry_list_bytes, options_.parcel_bytes};
}

coherence::MadeProtocol Node::make_protocol(const coherence::PrivateParts* private_parts) {
  if (options_.policy == Policy::directory) {
    fabric_.attach({coherence::Directory::sharers_region, reinterpret_cast<std::byte*>(sharers_.data()),
                    sharers_.size() * sizeof(std::uint64_t)});
  }
  if (options_.policy == Policy::entry) {
    fabric_.attach({coherence::updates_region, updates_.data(), updates_.size()});
  }
  return sim::make_protocol(
      options_.policy,
      {space_,
       fabric_,
       vm_,
       fabric_.counters(),
       grants_,
       {private_.data(), published_.data(), words_.data(), entries_.data(), &signature_, &pages_, &races_},
       options_.protocol,
       private_parts,
       {entry_sizes_, updates_.data(), 0, nullptr, options_.unused_barriers}});
}

Node::Node(fabric::sim::SimFabric& fabric, const vm::Space& space,
           const coherence::PrivateParts* private_parts, const NodeOptions& options)
    : fabric_(fabric),
      space_(space),
      options_(completed(options)),
      layout_(control_layout(fabric.ranks(), options_)),
      interrupted_(*this),
      pages_(*this),
      vm_(*this, space.blocks_max()),
      private_(space.bytes_max()),
      published_(space.bytes_max()),
      words_(coherence::VisitLayout(space.blocks_max()).region_bytes() / sizeof(coherence::BlockWords)),
      entries_(space.blocks_max()),
      sharers_(options.policy == Policy::directory
                   ? space.blocks_max() * coherence::Directory::sharers_words(fabric.ranks())
                   : 0),
      entry_sizes_(entry_sizes()),
      updates_(coherence::entry::Layout::of(entry_sizes_).bytes),
      control_(layout_.bytes),
      signature_(control(layout_.signature), options_.protocol.signature_notices_max,
                 options_.protocol.hooks),
      made_(make_protocol(private_parts)),
      protocol_(made_.protocol.get()),
      barrier_(fabric, *protocol_, fabric.counters(), control(layout_.barrier_board), layout_.barrier_board,
               options_.protocol.signature_notices_max, space_.blocks_max()),
      locks_(fabric, *protocol_, fabric.counters(), grants_, control(layout_.lock_words), layout_.lock_words,
             options_.locks, layout_.signature, options_.protocol.signature_notices_max,
             options_.protocol.hooks),
      wait_records_(fabric, grants_, control(layout_.wait_records), layout_.wait_records, 2 * options_.locks,
                    waiters_max, options_.protocol.hooks),
      rw_locks_(fabric, *protocol_, fabric.counters(), wait_records_, layout_.signature,
                options_.protocol.signature_notices_max, options_.protocol.hooks),
      conditions_(fabric, wait_records_, options_.locks, options_.protocol.hooks),
      thread_barriers_(fabric, *protocol_, wait_records_, layout_.thread_barriers,
                       {layout_.signature, options_.protocol.signature_notices_max, options_.protocol.hooks}),
      clock_(fabric, *protocol_, layout_.clock_words, options_.protocol.hooks),
      flags_(fabric, *protocol_, clock_, control(layout_.flag_words), layout_.flag_words, layout_.signature,
             options_.protocol.signature_notices_max, options_.protocol.hooks),
      openings_(space_, fabric.self(), flags_, *protocol_, options_.protocol.release_window,
                options_.protocol.run_bytes_max, nullptr, options_.protocol.hooks),
      order_(fabric, *protocol_, flags_, {control(0), layout_.bytes},
             {layout_.signature, options_.protocol.signature_notices_max, options_.protocol.hooks}),
      bell_(*this),
      released_(*this),
      budget_(*this),
      room_waker_(*this),
      background_(flags_, protocol_->ordering(), activity_, fabric.counters()) {
  if (options_.room_bytes != 0 && protocol_->room() != nullptr) {
    room_keeper_ =
        std::make_unique<sync::RoomKeeper>(fabric, *protocol_->room(), flags_, budget_, room_waker_,
                                           control(layout_.room_words), layout_.room_words);
  }
  fabric.attach({words_region, reinterpret_cast<std::byte*>(words_.data()),
                 words_.size() * sizeof(coherence::BlockWords)});
  fabric.attach({published_region, published_.data(), space.bytes_max()});
  fabric.attach({coherence::private_region, private_.data(), space.bytes_max()});
  fabric.attach({control_region, control(0), layout_.bytes});
  fabric.allow_interruptions(options_.interruption);
  fabric.listen(MessageKind::lock_granted, &grants_);
  fabric.listen(MessageKind::barrier, &barrier_);
  if (options.background || options_.lock_uses != 0) flags_.set_bell(&bell_);
  barrier_.set_release_listener(&released_);
  if (options_.lock_uses != 0) {
    flags_.set_locks(&locks_);
    locks_.let_stay(options_.lock_uses, flags_);
  }
  if (options.plain_flags) {
    protocol_->ordering().publish_always();
    flags_.expect();
  }
}

Task<> Node::open(BlockId block, coherence::Touch touch) {
  while (!vm().allows(block, touch.wanted)) {
    vm::Access told = touch.wanted;
    if (options_.coarse_faults && !vm().allows(block, vm::Access::read)) told = vm::Access::read;
    const bool granted = co_await fault(block, {told, touch.address});
    MUSUBI_CHECK(granted, "the protocol refuses block %lu", static_cast<unsigned long>(block.value));
  }
}

Task<> Node::read(BlockId block, std::size_t begin, std::span<std::byte> into) {
  return access({block, begin, into.data(), into.size(), vm::Access::read});
}

Task<> Node::write(BlockId block, std::size_t begin, std::span<const std::byte> from) {
  return access({block, begin, const_cast<std::byte*>(from.data()), from.size(), vm::Access::write});
}

sync::RankActivity::Operation Node::begin_operation() {
  return sync::RankActivity::Operation(
      activity_, [this] { return options_.threads + options_.outsiders > 1 || has_assistant_; });
}

std::size_t Node::Budget::held() const noexcept {
  return node_.protocol_->room()->resident_bytes();
}

void Node::RoomWaker::wake() noexcept {
  node_.serve(node_.room_keeper_->serve());
}

Node::Bell::Bell(Node& node) : node_(node) {
  node.fabric_.listen(MessageKind::request, this);
}

bool Node::Bell::ring(Rank peer) noexcept {
  if (node_.options_.lock_uses == 0) return true;
  if (peer != node_.self())
    return node_.fabric_.send(peer, MessageKind::request, fabric::Urgency::promptly, {}) !=
           fabric::Outcome::busy;
  node_.serve(node_.answer());
  return true;
}

const char* Node::Bell::on_message(Rank, std::span<const std::byte>) noexcept {
  node_.serve(node_.answer());
  return nullptr;
}

void Node::Released::on_released() noexcept {
  node_.activity_.note_release_at_barrier();
  node_.flags_.free(std::exchange(node_.kept_, {}));
}

void Node::serve(Task<> task) {
  services_.push_back(std::move(task));
  services_.back().start(add_thread(), nullptr);
}

Task<> Node::answer() {
  auto pass = co_await answering_.enter();
  (void)co_await background_.answer();
}

Task<> Node::poll() {
  auto pass = co_await answering_.enter();
  (void)co_await background_.poll();
}

// Where nothing more can go, a job of real ranks would end. Here the program goes on.
Task<> Node::make_room() {
  const std::size_t held = budget_.held(), allowed = budget_.allowed();
  if (held <= allowed) co_return;
  const std::size_t freed = co_await room_keeper_->make(held - allowed);
  if (freed < held - allowed) fabric_.world().reached("room.none");
}

Task<bool> Node::fault(BlockId block, coherence::Touch touch) {
  if (room_keeper_ != nullptr) co_await make_room();
  if (!flags_.in_use()) co_return co_await flags_.fault(block, touch, true);
  const sync::RankActivity::Operation operation = begin_operation();
  co_return co_await flags_.fault(block, touch, operation.siblings());
}

Task<> Node::open_all(std::span<const AddressRange> ranges, vm::Access wanted) {
  if (room_keeper_ != nullptr) co_await make_room();
  if (!flags_.in_use()) co_return co_await openings_.open(ranges, wanted, true);
  const sync::RankActivity::Operation operation = begin_operation();
  co_await openings_.open(ranges, wanted, operation.siblings());
}

Task<> Node::overwrite(AddressRange range) {
  if (room_keeper_ != nullptr) co_await make_room();
  if (!flags_.in_use()) co_return co_await openings_.overwrite(range, true);
  const sync::RankActivity::Operation operation = begin_operation();
  co_await openings_.overwrite(range, operation.siblings());
}

Task<> Node::written(AddressRange range) {
  return openings_.written(range);
}

Task<> Node::flush() {
  co_await flags_.renew();
  const sync::RankActivity::Operation operation = begin_operation();
  co_await flags_.flush(operation.siblings());
}

Task<> Node::modify(BlockId block, coherence::Modification& modification) {
  if (!flags_.in_use()) co_return co_await flags_.modify(block, modification, true);
  const sync::RankActivity::Operation operation = begin_operation();
  co_await flags_.modify(block, modification, operation.siblings());
}

Task<bool> Node::discard(BlockId block) {
  coherence::Room* const room = protocol_->room();
  co_return room != nullptr&& co_await room->discard(block, 1);
}

Task<> Node::release(sync::Channel channel) {
  const sync::RankActivity::Operation operation = begin_operation();
  co_await flags_.release(channel, operation.siblings());
}

Task<> Node::acquire(sync::Channel channel) {
  if (flags_.is_alone()) co_return;
  if (!flags_.in_use()) {
    co_await clock_.acquire(channel);
    co_return co_await protocol_->ordering().show_held_back();
  }
  const sync::RankActivity::Operation operation = begin_operation();
  co_await flags_.acquire(operation.siblings());
}

Task<> Node::lock(LockId lock) {
  const bool has_lock = locks_.lock_at_once(lock);
  if (!has_lock) {
    if (locks_.is_claimed(lock)) co_await hand_over(locks_.give_up(lock));
    co_await locks_.lock(lock);
  }
  co_await after_lock();
}

Task<bool> Node::try_lock(LockId lock) {
  const bool taken = co_await locks_.try_lock(lock);
  if (taken) co_await after_lock();
  co_return taken;
}

Task<> Node::after_lock() {
  if (!protocol_->ordering().holds_back()) co_return;
  const sync::RankActivity::Operation operation = begin_operation();
  co_await flags_.acquire(operation.siblings());
}

Task<> Node::unlock(LockId lock) {
  const bool stays = (!flags_.in_use() || flags_.is_alone()) && locks_.keep(lock);
  if (!stays) co_await hand_over(locks_.unlock(lock));
}

Task<> Node::hand_over(Task<> unlock) {
  if (!flags_.in_use()) co_return co_await flags_.hand_over(std::move(unlock), true);
  const sync::RankActivity::Operation operation = begin_operation();
  co_await flags_.hand_over(std::move(unlock), operation.siblings());
}

Task<> Node::lock(RwLockId lock, sync::Share share) {
  co_await rw_locks_.lock(lock, share);
  co_await after_lock();
}

Task<bool> Node::try_lock(RwLockId lock, sync::Share share) {
  const bool taken = co_await rw_locks_.try_lock(lock, share);
  if (taken) co_await after_lock();
  co_return taken;
}

Task<> Node::unlock(RwLockId lock, sync::Share share) {
  co_await hand_over(rw_locks_.unlock(lock, share));
}

Task<bool> Node::pass_barrier(std::uint64_t name, std::uint32_t threads) {
  sync::ThreadBarriers::Passage passage(thread_barriers_, name, threads);
  co_await hand_over(passage.arrive());
  co_await passage.leave();
  co_await after_lock();
  co_return passage.is_last();
}

Task<> Node::expire(sync::Conditions& conditions, remote_lock::Grants::Expiry expiry,
                    std::uint64_t after_ns) {
  co_await fabric::sim::think(after_ns);
  co_await conditions.expire(expiry);
}

Task<bool> Node::wait(ConditionId condition, LockId lock_held, std::uint64_t patience_ns) {
  sync::Conditions::Wait waiting;
  co_await conditions_.join(condition, waiting);
  co_await unlock(lock_held);
  if (patience_ns != 0) {
    alarms_.push_back(expire(conditions_, waiting.expiry(), patience_ns));
    alarms_.back().start(add_thread(), nullptr);
  }
  const bool chosen = co_await conditions_.await(condition, waiting);
  co_await lock(lock_held);
  co_return chosen;
}

Task<> Node::barrier(sync::Barrier::Payload& payload) {
  if (++met_ < options_.threads) {
    Meeting meeting{{}, &payload, meetings_};
    meetings_ = &meeting;
    co_await meeting.met;
    co_return;
  }
  Meeting* waiting = meetings_;
  met_ = 0;
  meetings_ = nullptr;
  const bool complete = options_.outsiders == 0;
  const bool believed = options_.bug == InjectedBug::forgotten_too_early;
  flags_.note_barrier();
  activity_.enter_barrier(complete);
  for (unsigned look = 0; activity_.background_works(); ++look) co_await pause(look);
  complete ? flags_.end_alone_at_rest() : co_await flags_.end_alone();
  if (flags_.in_use()) co_await flags_.before_barrier(!complete);
  kept_ = flags_.kept_locks();
  co_await barrier_.arrive(payload, complete, complete || believed);
  if (flags_.in_use() || protocol_->ordering().holds_back()) co_await flags_.after_barrier(!complete);
  activity_.leave_barrier();
  while (waiting != nullptr) {
    Meeting* next = waiting->next;
    *waiting->payload = payload;
    waiting->met.set();
    waiting = next;
  }
}

}  // namespace musubi::sim
