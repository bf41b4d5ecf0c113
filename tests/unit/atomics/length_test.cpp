// The tables of common instructions agree with the decoder: on the code of this process, from every byte of
// it, and on random bytes.
#include "atomics/x86_64_instruction.h"

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace musubi::atomics::x86_64 {
namespace {

struct Code {
  const std::uint8_t* begin;
  std::size_t bytes;
};

int add_segments(dl_phdr_info* object, std::size_t, void* result) {
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    static_cast<std::vector<Code>*>(result)->push_back(
        {reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + header.p_vaddr), header.p_filesz});
  }
  return 0;
}

std::vector<Code> code_of_process() {
  std::vector<Code> result;
  ::dl_iterate_phdr(add_segments, &result);
  return result;
}

class CommonLength : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
  }

  // Expects that the tables agree with the decoder or give no answer. Result: the decoder's length, 0 for
  // bytes that are no instruction.
  std::size_t compare(const std::uint8_t* code, std::size_t available) {
    ZydisDecoderContext context;
    ZydisDecodedInstruction decoded;
    const bool valid =
        ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, &context, code, available, &decoded));
    const std::size_t length = valid ? decoded.length : 0;
    const std::size_t common = common_length(code, available);
    if (common > 0) {
      ++known_;
      if (common != length || is_of_interest(decoded)) report(code, available, common, length);
    }
    return length;
  }

  static bool is_of_interest(const ZydisDecodedInstruction& decoded) {
    if ((decoded.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0) return true;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_MFENCE) return true;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_NOP && decoded.length > 1) return true;
    return decoded.mnemonic == ZYDIS_MNEMONIC_XCHG && (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
           decoded.raw.modrm.mod != 3;
  }

  static void report(const std::uint8_t* code, std::size_t available, std::size_t common,
                     std::size_t length) {
    std::string bytes;
    for (std::size_t i = 0; i < std::min<std::size_t>(available, 15); ++i) {
      char text[4];
      std::snprintf(text, sizeof text, "%02x ", code[i]);
      bytes += text;
    }
    ADD_FAILURE() << bytes << ": " << common << " by the tables, " << length << " by the decoder";
  }

  ZydisDecoder decoder_;
  std::size_t known_ = 0;
};

TEST_F(CommonLength, TheCodeOfThisProcessIsMostlyKnown) {
  std::size_t instructions = 0;
  for (const Code& code : code_of_process()) {
    for (std::size_t at = 0; at < code.bytes && !HasFailure(); ++instructions) {
      const std::size_t length = compare(code.begin + at, code.bytes - at);
      at += length > 0 ? length : 1;
    }
  }
  EXPECT_GT(instructions, 100'000u);
  EXPECT_GT(known_, instructions * 8 / 10);
}

TEST_F(CommonLength, SoIsWhatBeginsAtAnyByteOfIt) {
  constexpr std::size_t bytes_max = 400'000;  // read of each object
  for (const Code& code : code_of_process()) {
    for (std::size_t at = 0; at < std::min(code.bytes, bytes_max) && !HasFailure(); ++at) {
      compare(code.begin + at, code.bytes - at);
    }
  }
}

TEST_F(CommonLength, RandomBytesBehindPrefixes) {
  constexpr std::uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x0f, 0x40, 0x41, 0x48, 0x4f};
  Random random(11);
  for (int i = 0; i < 2'000'000 && !HasFailure(); ++i) {
    std::uint8_t code[16];
    for (std::uint8_t& byte : code) byte = static_cast<std::uint8_t>(random.below(256));
    std::size_t at = 0;
    for (int k = 0; k < 2; ++k) {
      if (random.below(2) == 0) code[at++] = prefixes[random.below(std::size(prefixes))];
    }
    if (random.below(3) == 0) code[at++] = 0x0f;
    // Includes bytes that end too early.
    compare(code, random.below(4) == 0 ? 1 + random.below(sizeof code) : sizeof code);
  }
  EXPECT_GT(known_, 200'000u);
}

TEST_F(CommonLength, WhatIsOfInterestIsLeftToTheDecoder) {
  const std::vector<std::vector<std::uint8_t>> all = {
      {0xf0, 0xff, 0x00, 0x90, 0x90},        // lock incl (%rax)
      {0x66, 0xf0, 0xff, 0x00, 0x90, 0x90},  // the prefixes in another order
      {0x87, 0x01, 0x90, 0x90},              // xchg %eax, (%rcx)
      {0x0f, 0xae, 0xf0, 0x90, 0x90},        // mfence
      {0x66, 0x90, 0x90, 0x90},              // a no-operation of two bytes
      {0x0f, 0x1f, 0x40, 0x00, 0x90, 0x90},  // and of four
      {0xc5, 0xf8, 0x77, 0x90, 0x90},        // vzeroupper
  };
  for (const auto& code : all) {
    EXPECT_EQ(common_length(code.data(), code.size()), 0u) << unsigned{code[0]};
    EXPECT_GT(compare(code.data(), code.size()), 0u);
  }
  EXPECT_EQ(common_length(nullptr, 0), 0u);
}

}  // namespace
}  // namespace musubi::atomics::x86_64
