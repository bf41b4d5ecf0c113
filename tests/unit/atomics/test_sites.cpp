#include "test_sites.h"

#include <gtest/gtest.h>

#include <cstring>

#include "machine.h"

namespace musubi::atomics {
namespace {

unsigned any_but_rsp(Random& random, unsigned below) {
  for (;;) {
    const auto chosen = static_cast<unsigned>(random.below(below));
    if (chosen != rsp) return chosen;
  }
}

Encoding choose_encoding(Random& random, const Form& form, Addressing addressing, std::uint64_t target) {
  Encoding e;
  e.addressing = addressing;
  e.target = target;
  const bool is_stack = addressing == Addressing::stack_byte || addressing == Addressing::stack_word;
  e.high_byte = form.bytes == 1 && form.source == FormSource::general_register && random.chance(30);
  const unsigned registers = e.high_byte ? 8 : 16;
  e.base = is_stack ? rsp : any_but_rsp(random, registers);
  do e.index = any_but_rsp(random, registers);
  while (e.index == e.base);
  e.scale = 1u << random.below(4);
  e.source = e.high_byte ? static_cast<unsigned>(random.below(4)) : any_but_rsp(random, 16);
  while (form.source == FormSource::bit_register && (e.source == e.base || e.source == e.index)) {
    e.source = any_but_rsp(random, 16);
  }
  const bool keeps_source = form.opcode.size() == 1 && form.opcode[0] < 0x40;
  if (keeps_source && !e.high_byte && random.chance(5)) e.source = rsp;
  e.immediate = static_cast<std::uint32_t>(random.next()) | 1;
  switch (addressing) {
    case Addressing::base_byte:
      e.displacement = static_cast<std::int32_t>(random.between(0, 255)) - 128;
      break;
    case Addressing::stack_byte:
      e.displacement = 16 * static_cast<std::int32_t>(random.between(1, 7));
      break;
    case Addressing::stack_word:
      e.displacement = 16 * static_cast<std::int32_t>(random.between(8, 64));
      break;
    case Addressing::base_word:
      e.displacement = static_cast<std::int32_t>(random.next());
      break;
    case Addressing::base_index:
      e.displacement = static_cast<std::int32_t>(random.next());
      break;
    case Addressing::index_only:
      e.displacement = 8 * static_cast<std::int32_t>(random.between(0, 4096));
      break;
    case Addressing::absolute:
      e.displacement = static_cast<std::int32_t>(target);
      break;
    default:
      break;
  }
  return e;
}

}  // namespace

bool is_fixed(Addressing addressing) {
  return addressing == Addressing::absolute || addressing == Addressing::instruction_pointer;
}

std::vector<TestSite> choose_sites(Random& random, std::uint64_t shared_target,
                                   std::uint64_t private_target) {
  std::vector<TestSite> sites;
  for (const Form& form : all_forms()) {
    for (unsigned i = 0; i < addressing_count; ++i) {
      TestSite site{form, {}, random.chance(30), sites.size() * code_slot_bytes, 0};
      site.encoding = choose_encoding(random, form, static_cast<Addressing>(i),
                                      site.is_private ? private_target : shared_target);
      sites.push_back(site);
    }
  }
  return sites;
}

std::size_t write_code(const TestSite& site, std::uint8_t* buffer) {
  std::uint8_t* at = buffer + site.slot;
  std::vector<std::uint8_t> code = encode(site.form, site.encoding, address_of(at));
  const std::size_t length = code.size();
  // The following bytes may become the high bytes of a jump's distance.
  static constexpr std::uint8_t no_operations[][4] = {
      {0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0x40, 0x12}, {0x0f, 0x1f, 0x40, 0x98}};
  static constexpr std::size_t lengths[] = {1, 2, 4, 4, 0};
  const std::size_t choice = site.slot / code_slot_bytes % 5;
  if (choice < 4) code.insert(code.end(), no_operations[choice], no_operations[choice] + lengths[choice]);
  code.insert(code.end(), {0xff, 0x25, 0, 0, 0, 0});  // jmp *0(%rip)
  const std::uint64_t back = address_of(reinterpret_cast<const void*>(&machine_return));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&back);
  code.insert(code.end(), bytes, bytes + sizeof back);
  EXPECT_LE(code.size(), padding_offset);
  std::memcpy(at, code.data(), code.size());
  return length;
}

}  // namespace musubi::atomics
