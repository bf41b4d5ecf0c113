// Emulated atomics behave as on the processor: every form, every addressing mode, random registers, flags and
// memory.
#include <cpuid.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "atomics/patch.h"
#include "atomics/x86_64_entry.h"
#include "base/random.h"
#include "machine.h"
#include "plain_sink.h"
#include "test_sites.h"
#include "traps.h"

namespace musubi::atomics {
namespace {

constexpr std::size_t area_bytes = 128 * 1024;
constexpr std::size_t target_offset = 96 * 1024;  // below it: space for the stack that the code runs on
constexpr std::size_t window_bytes = 4608;        // more than bit tests reach
constexpr unsigned states_per_site = 100;         // per form 1100, with and without padding
constexpr std::uint64_t settable_flags = 1 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 11;

std::uint8_t* map_low(std::size_t bytes, int protection) {
  void* mapped = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  return static_cast<std::uint8_t*>(mapped);
}

std::uint64_t thread_pointer() {
  std::uint64_t base;
  asm("mov %%fs:0, %0" : "=r"(base));
  return base;
}

// The bytes after short instructions: none, so that they become breakpoints; padding; or the next
// instructions.
enum class Room { none, padding, following };
constexpr std::size_t following_bytes = 4;

class Bench {
 public:
  Bench()
      : sites_(
            choose_sites(random_, address_of(shared_ + target_offset), address_of(private_ + target_offset))),
        native_(map_low(sites_.size() * code_slot_bytes, PROT_READ | PROT_WRITE | PROT_EXEC)),
        patched_(map_low(sites_.size() * code_slot_bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) {
    const AddressInterval shared[] = {{address_of(shared_), address_of(shared_) + area_bytes}, {16, 32}};
    ranges_ = SharedRanges::make(shared).value();
    for (TestSite& site : sites_) {
      site.length = write_code(site, native_);
      write_code(site, patched_);
    }
  }

  void patch_all(Room room) {
    Scan found;
    for (const TestSite& site : sites_) {
      const std::uint8_t* code = patched_ + site.slot;
      Scan scan = find_sites(code, site.length, address_of(code));
      ASSERT_EQ(scan.sites.size(), 1u) << site.form.name;
      ASSERT_EQ(scan.sites[0].bytes, site.length) << site.form.name;
      ASSERT_EQ(scan.sites[0].kind, SiteKind::read_modify_write) << site.form.name;
      if (room == Room::following) {
        Site& seen = scan.sites[0];
        seen.code_bytes = static_cast<std::uint8_t>(site.length + following_bytes);
        std::copy_n(code, seen.code_bytes, seen.code.begin());
      }
      found.sites.push_back(scan.sites[0]);
      if (room == Room::padding) found.padding.push_back({address_of(code) + padding_offset, 12});
    }
    take_traps();
    ASSERT_TRUE(attach(sink_, ranges_).ok());
    FreeMemory free(ranges_);
    Result<PatchReport> report = patch(found, free);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report.value().skipped, 0u);
    EXPECT_GT(report.value().jumps, 300u);
    EXPECT_EQ(report.value().trampolines > 50, room == Room::padding);
    EXPECT_EQ(report.value().traps > 50, room == Room::none);
    EXPECT_EQ(report.value().overlapping_jumps > 50, room == Room::following);
  }

  const std::vector<TestSite>& sites() const { return sites_; }
  PlainSink& sink() { return sink_; }

  // One random state through the processor, the patched code, and the emulation of a fault.
  void check(const TestSite& site);

 private:
  void choose_state(const TestSite& site, std::uint8_t* target);
  void choose_vectors();
  void choose_bit(const TestSite& site);
  void choose_memory(const TestSite& site, std::uint8_t* target);
  void run_native();
  void compare(const Machine& result, const char* how);
  void check_patched();
  void check_fault();

  Random random_{20240611};
  PlainSink sink_;
  std::uint8_t* shared_ = map_low(area_bytes, PROT_READ | PROT_WRITE);
  std::uint8_t* private_ = map_low(area_bytes, PROT_READ | PROT_WRITE);
  std::vector<TestSite> sites_;
  std::uint8_t* native_;
  std::uint8_t* patched_;
  SharedRanges ranges_;

  // The state under test.
  const TestSite* site_ = nullptr;
  bool is_private_ = false;
  Machine before_{};
  Machine expected_{};
  std::uint8_t* window_ = nullptr;  // window of the memory that is initialised and compared
  std::size_t window_size_ = 0;
  std::uint8_t memory_before_[2 * window_bytes];
  std::uint8_t memory_expected_[2 * window_bytes];
};

void Bench::choose_state(const TestSite& site, std::uint8_t* target) {
  const Encoding& e = site.encoding;
  for (std::uint64_t& value : before_.general) value = random_.chance(10) ? random_.below(2) : random_.next();
  before_.flags = (random_.next() & settable_flags) | 0x202;
  const std::uint64_t address = address_of(target);
  const auto displacement = static_cast<std::uint64_t>(static_cast<std::int64_t>(e.displacement));
  before_.general[rsp] = address_of(target) - 32 * 1024;
  switch (e.addressing) {
    case Addressing::base_index:
      before_.general[e.base] = address - displacement - before_.general[e.index] * e.scale;
      break;
    case Addressing::index_only:
      before_.general[e.index] = (address - displacement) / e.scale;
      break;
    case Addressing::thread_segment:
      before_.general[e.base] = address - thread_pointer();
      break;
    case Addressing::cut_to_32_bits:
      before_.general[e.base] = address | random_.next() << 32;
      break;
    case Addressing::absolute:
    case Addressing::instruction_pointer:
      break;
    default:
      before_.general[e.base] = address - displacement;
  }
  choose_vectors();
}

// Sometimes the upper halves of vectors are not in use: then they are zeros, and need not be saved.
void Bench::choose_vectors() {
  constexpr unsigned ymm = 2, zmm = 6;
  const std::uint64_t all = vector_components();
  std::uint64_t components = all;
  if (random_.chance(50)) components &= ~(std::uint64_t{1} << ymm | std::uint64_t{1} << zmm);
  before_.vector_mask_low = static_cast<std::uint32_t>(all);
  for (std::size_t i = 0; i < sizeof before_.vector; i += 8) {
    const std::uint64_t bits = random_.next();
    std::memcpy(before_.vector + i, &bits, sizeof bits);
  }
  for (const unsigned component : {ymm, zmm}) {
    unsigned bytes = 0, offset = 0, c = 0, d = 0;
    if ((all & ~components & std::uint64_t{1} << component) == 0) continue;
    ASSERT_NE(__get_cpuid_count(0xd, component, &bytes, &offset, &c, &d), 0);
    std::memset(before_.vector + offset, 0, bytes);
  }
  std::memset(before_.vector + 512, 0, 64);
  std::memcpy(before_.vector + 512, &components, sizeof components);
  const std::uint32_t control =
      0x1f80 | static_cast<std::uint32_t>(random_.below(4) << 13 | random_.below(64));
  std::memcpy(before_.vector + 24, &control, sizeof control);
}

// A bit offset in a register may point outside of the operand; keep it inside the memory.
void Bench::choose_bit(const TestSite& site) {
  const bool is_stack = site.encoding.base == rsp;
  std::int64_t bit = static_cast<std::int64_t>(random_.below(32768));
  if (!is_stack && random_.chance(50)) bit = -bit;
  std::uint64_t& value = before_.general[site.encoding.source];
  const unsigned bits = site.form.bytes * 8;
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  value = (value & ~mask) | (static_cast<std::uint64_t>(bit) & mask);
}

void Bench::choose_memory(const TestSite& site, std::uint8_t* target) {
  const bool wide_window = site.form.source == FormSource::bit_register;
  const std::size_t around = wide_window ? window_bytes : 64;
  window_ = target - around;
  window_size_ = 2 * around;
  const auto* red_zone = reinterpret_cast<std::uint8_t*>(before_.general[rsp]) - 128;
  // The bytes below the red zone are undefined.
  if (window_ < red_zone && red_zone < target) {
    window_size_ -= static_cast<std::size_t>(red_zone - window_);
    window_ += red_zone - window_;
  }
  for (std::size_t i = 0; i < window_size_; ++i)
    memory_before_[i] = static_cast<std::uint8_t>(random_.next());
  std::uint8_t* operand = memory_before_ + (target - window_);
  if (random_.chance(10)) std::memset(operand, random_.chance(50) ? 0 : 0xff, site.form.bytes);
  if (site.form.name.find("cmpxchg") != std::string::npos && random_.chance(50)) {
    const bool is_pair = site.form.opcode[1] == 0xc7;
    const unsigned part = is_pair ? site.form.bytes / 2 : site.form.bytes;
    std::memcpy(operand, &before_.general[0], part);
    if (is_pair) std::memcpy(operand + part, &before_.general[2], part);
  }
}

void Bench::check(const TestSite& site) {
  site_ = &site;
  is_private_ = is_fixed(site.encoding.addressing) ? site.is_private : random_.chance(25);
  std::uint8_t* target = (is_private_ ? private_ : shared_) + target_offset;
  const Addressing addressing = site.encoding.addressing;
  if (!is_fixed(addressing)) {
    target += 16 * random_.below(4);
    const bool any_alignment = addressing != Addressing::index_only && site.form.bytes < 16;
    if (any_alignment) target += random_.below(8);
  }
  choose_state(site, target);
  if (site.form.source == FormSource::bit_register) choose_bit(site);
  choose_memory(site, target);
  run_native();
  check_patched();
  check_fault();
}

void fill_red_zone(const Machine& machine) {
  auto* stack = reinterpret_cast<std::uint8_t*>(machine.general[rsp]);
  for (unsigned i = 1; i <= 128; ++i) stack[-static_cast<int>(i)] = static_cast<std::uint8_t>(i * 7);
}

bool red_zone_stands(const Machine& machine) {
  const auto* stack = reinterpret_cast<const std::uint8_t*>(machine.general[rsp]);
  for (unsigned i = 1; i <= 128; ++i) {
    if (stack[-static_cast<int>(i)] != static_cast<std::uint8_t>(i * 7)) return false;
  }
  return true;
}

void Bench::run_native() {
  expected_ = before_;
  expected_.code = address_of(native_ + site_->slot);
  std::memcpy(window_, memory_before_, window_size_);
  machine_run(&expected_);
  std::memcpy(memory_expected_, window_, window_size_);
}

void Bench::compare(const Machine& result, const char* how) {
  for (unsigned i = 0; i < 16; ++i) {
    ASSERT_EQ(result.general[i], expected_.general[i])
        << how << ": " << site_->form.name << ", register " << i;
  }
  const std::uint64_t defined = settable_flags & ~site_->form.undefined_flags;
  ASSERT_EQ(result.flags & defined, expected_.flags & defined) << how << ": " << site_->form.name;
  ASSERT_EQ(std::memcmp(window_, memory_expected_, window_size_), 0) << how << ": " << site_->form.name;
}

void Bench::check_patched() {
  Machine machine = before_;
  machine.code = address_of(patched_ + site_->slot);
  const bool apart = window_ > reinterpret_cast<std::uint8_t*>(machine.general[rsp]);
  std::memcpy(window_, memory_before_, window_size_);
  if (apart) fill_red_zone(machine);
  const unsigned executed = sink_.executed;
  errno = 5;
  machine_run(&machine);
  ASSERT_EQ(errno, 5);
  ASSERT_EQ(sink_.executed - executed, is_private_ ? 0u : 1u) << site_->form.name;
  compare(machine, "patched");
  if (apart) {
    ASSERT_TRUE(red_zone_stands(machine)) << site_->form.name;
  }
  ASSERT_EQ(std::memcmp(machine.vector + 24, expected_.vector + 24, 4), 0) << site_->form.name << ", MXCSR";
  ASSERT_EQ(std::memcmp(machine.vector + 160, expected_.vector + 160, 256), 0) << site_->form.name << ", SSE";
  ASSERT_EQ(std::memcmp(machine.vector + 576, expected_.vector + 576, sizeof machine.vector - 576), 0)
      << site_->form.name << ", AVX";
}

constexpr int kernel_index[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

void Bench::check_fault() {
  ucontext_t context{};
  auto& registers = context.uc_mcontext.gregs;
  for (int i = 0; i < 16; ++i) registers[kernel_index[i]] = static_cast<greg_t>(before_.general[i]);
  registers[REG_EFL] = static_cast<greg_t>(before_.flags);
  const auto start = static_cast<greg_t>(address_of(native_ + site_->slot));
  registers[REG_RIP] = start;
  std::memcpy(window_, memory_before_, window_size_);
  const bool emulated = emulate_at_fault(&context, ranges_, sink_);
  ASSERT_EQ(emulated, !is_private_) << site_->form.name;
  ASSERT_EQ(registers[REG_RIP], start + (emulated ? static_cast<greg_t>(site_->length) : 0));
  if (!emulated) return;
  Machine machine = before_;
  for (int i = 0; i < 16; ++i) machine.general[i] = static_cast<std::uint64_t>(registers[kernel_index[i]]);
  machine.flags = static_cast<std::uint64_t>(registers[REG_EFL]);
  compare(machine, "fault");
}

enum class VectorsBy { best, xsave };
void check_all_forms(Room room, VectorsBy way = VectorsBy::best) {
  Bench bench;
  if (way == VectorsBy::xsave) x86_64::musubi_atomics_vector_state.wide = 0;
  ASSERT_GE(all_forms().size(), 40u);
  ASSERT_NO_FATAL_FAILURE(bench.patch_all(room));
  for (const TestSite& site : bench.sites()) {
    for (unsigned i = 0; i < states_per_site; ++i) {
      ASSERT_NO_FATAL_FAILURE(bench.check(site))
          << site.form.name << ", addressing " << static_cast<int>(site.encoding.addressing) << ", state "
          << i;
    }
  }
  EXPECT_TRUE(bench.sink().default_rounding);
}

TEST(AtomicsDifferential, EveryFormActsAsOnTheProcessorByJumps) {
  check_all_forms(Room::padding);
}
TEST(AtomicsDifferential, EveryFormActsAsOnTheProcessorWhereVectorsAreNotMoved) {
  check_all_forms(Room::padding, VectorsBy::xsave);
}
TEST(AtomicsDifferential, EveryFormActsAsOnTheProcessorByBreakpoints) {
  check_all_forms(Room::none);
}
TEST(AtomicsDifferential, EveryFormActsAsOnTheProcessorByJumpsThatShareBytes) {
  check_all_forms(Room::following);
}

}  // namespace
}  // namespace musubi::atomics
