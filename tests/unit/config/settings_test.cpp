// The settings: defaults, strict parsing of hostile text, precedence, suggestions, the reference page.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "config/configuration.h"
#include "config/environment.h"
#include "config/reference_page.h"
#include "config/value.h"

namespace musubi::config {
namespace {

const Declaration& declaration_of(std::string_view name) {
  const auto all = declarations();
  return *std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.name == name; });
}

bool accepted(std::string_view name, std::string_view text) {
  return parse_value(declaration_of(name), text).ok();
}

TEST(Settings, EveryDefaultIsReadBackFromItsOwnText) {
  const Settings defaults;
  for (const Declaration& entry : declarations()) {
    const Value value = value_of(defaults, entry);
    auto parsed = parse_value(entry, format_value(entry, value));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed.value(), value) << entry.name;
    EXPECT_FALSE(entry.documentation.empty());
    EXPECT_LE(entry.low, entry.high);
  }
}

TEST(Settings, DocumentedForms) {
  Configuration configuration;
  ASSERT_TRUE(configuration.set("heap_bytes", "2MiB", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().heap_bytes, 2 * MiB);
  ASSERT_TRUE(configuration.set("heap_block_bytes", "65536", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().heap_block_bytes, 64 * KiB);
  ASSERT_TRUE(configuration.set("abort_timeout", "1500us", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().abort_timeout, std::chrono::microseconds(1500));
  ASSERT_TRUE(configuration.set("stats", "true", Source::command_line).ok());
  EXPECT_TRUE(configuration.settings().stats);
  ASSERT_TRUE(configuration.set("spin_checks", "7", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().spin_checks, 7u);
  ASSERT_TRUE(configuration.set("spin_checks", "auto", Source::command_line).ok());
  EXPECT_FALSE(configuration.settings().spin_checks.has_value());
  EXPECT_FALSE(configuration.settings().memory_max.has_value());
  ASSERT_TRUE(configuration.set("memory_max", "3GiB", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().memory_max, 3 * GiB);
  const auto variables = configuration.environment();
  EXPECT_NE(std::find(variables.begin(), variables.end(), "MUSUBI_MEMORY_MAX=3GiB"), variables.end());
  EXPECT_FALSE(configuration.set("memory_max", "1KiB", Source::command_line).ok());
  ASSERT_TRUE(configuration.set("memory_max", "auto", Source::command_line).ok());
  EXPECT_FALSE(configuration.settings().memory_max.has_value());
  ASSERT_TRUE(configuration.set("bind", "core", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().bind, "core");
  ASSERT_TRUE(configuration.set("network", "fe80::1%eth0", Source::command_line).ok());
  EXPECT_EQ(configuration.settings().network, "fe80::1%eth0");
  ASSERT_TRUE(configuration.set("ports", "4000-4099", Source::command_line).ok());
  const auto ports = port_range(configuration.settings().ports);
  ASSERT_TRUE(ports.has_value());
  EXPECT_EQ(ports->first, 4000);
  EXPECT_EQ(ports->last, 4099);
  EXPECT_EQ(port_range("4000")->last, 4000);
  EXPECT_FALSE(port_range("").has_value());
}

TEST(Settings, RubbishIsRefused) {
  for (const char* text :
       {"", " ", "1 ", " 1", "+1", "-1", "0x10", "010", "1e3", "1.5", "1,000", "one", "1\n", "1B",
        "99999999999999999999999", "18446744073709551616", "0", "4097", "auto"}) {
    EXPECT_FALSE(accepted("threads_per_rank", text)) << text;
  }
  for (const char* text : {"64K", "64KB", "64kib", "64 KiB", "64KiBs", "KiB", "1.5GiB", "17TiB",
                           "16777216TiB", "18014398509481985KiB", "1KiB", "-1MiB", "64MiB64MiB"}) {
    EXPECT_FALSE(accepted("heap_bytes", text)) << text;
  }
  for (const char* text : {"0", "2KiB", "4MiB", "12KiB", "4097"}) {
    EXPECT_FALSE(accepted("heap_block_bytes", text)) << text;
  }
  for (const char* text : {"1", "ms", "1 ms", "1h", "1MS", "2s ", "601s", "-1ms"}) {
    EXPECT_FALSE(accepted("abort_timeout", text)) << text;
  }
  for (const char* text : {"1", "0", "yes", "on", "True", "TRUE", "", "true "}) {
    EXPECT_FALSE(accepted("stats", text)) << text;
  }
  for (const char* text : {"", "|", "auto|none|core", "cor", "core|", "NONE"})
    EXPECT_FALSE(accepted("bind", text)) << text;
  for (const std::string& text : {std::string("a\nb"), std::string("a\0b", 3), std::string(4096, 'a')})
    EXPECT_FALSE(accepted("trace", text)) << text;
  for (const char* text : {"0", "65536", "1-65536", "2-1", "-", "1-", "-1", "1-2-3", "1 - 2", "http", "auto"})
    EXPECT_FALSE(accepted("ports", text)) << text;
  for (const char* text : {"0", "4:", ":4", "4,4", "4:0", "4:x", "65536", "4: 4"})
    EXPECT_FALSE(accepted("threads_of_ranks", text)) << text;
  EXPECT_TRUE(accepted("threads_of_ranks", ""));
  EXPECT_EQ(counts_in("4:2:65535"), (std::vector<std::uint32_t>{4, 2, 65535}));
  for (const std::string& text : {std::string("a b"), std::string("a/24"), std::string(46, 'a')})
    EXPECT_FALSE(accepted("network", text)) << text;
  EXPECT_TRUE(accepted("trace", "../a trace/\xc3\xa9.json"));
  EXPECT_FALSE(accepted("threads_per_rank", std::string_view("1\0", 2)));
  EXPECT_FALSE(accepted("heap_bytes", std::string(1 << 20, '9')));
}

TEST(Settings, RandomTextNeverBreaksTheParserAndWhatItTakesIsInRange) {
  Random random(7);
  const std::string_view alphabet = "0123456789KMGTiBmnsu+-. xautoref\n";
  for (int round = 0; round < 200000; ++round) {
    std::string text;
    for (auto length = random.below(8); length > 0; --length) text += alphabet[random.below(alphabet.size())];
    const Declaration& entry = declarations()[random.below(declarations().size())];
    auto value = parse_value(entry, text);
    if (!value) {
      ASSERT_EQ(value.error().message.find('\n'), std::string::npos);
    } else if (const auto* number = std::get_if<std::uint64_t>(&value.value())) {
      ASSERT_TRUE(*number >= entry.low && *number <= entry.high) << entry.name << " " << text;
    }
  }
}

TEST(Settings, RefusalNamesSettingTextAndRange) {
  const auto refused = parse_value(declaration_of("heap_block_bytes"), "12KiB\x1b[31m");
  ASSERT_FALSE(refused.ok());
  const std::string& message = refused.error().message;
  EXPECT_NE(message.find("heap_block_bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("12KiB"), std::string::npos) << message;
  EXPECT_NE(message.find("4KiB to 2MiB, a power of two"), std::string::npos) << message;
  EXPECT_EQ(message.find('\x1b'), std::string::npos) << message;
}

TEST(Settings, UnknownNameGetsASuggestion) {
  Configuration configuration;
  const auto near = configuration.set("heap_byte", "1MiB", Source::command_line);
  ASSERT_FALSE(near.ok());
  EXPECT_NE(near.error().message.find("did you mean heap_bytes?"), std::string::npos) << near.error().message;
  const auto far = configuration.set("colour_of_the_sky", "1", Source::command_line);
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().message.find("did you mean"), std::string::npos) << far.error().message;
  EXPECT_FALSE(configuration.set(std::string(100000, 'x'), "1", Source::command_line).ok());
  EXPECT_FALSE(configuration.set_assignment("stats", Source::command_line).ok());
  EXPECT_FALSE(configuration.set_assignment("=true", Source::command_line).ok());
  EXPECT_TRUE(configuration.set_assignment("stats=true", Source::command_line).ok());
}

TEST(Settings, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(edit_distance("abc", "acb"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Settings, CommandLineBeatsEnvironmentInAnyOrder) {
  Configuration configuration;
  ASSERT_TRUE(configuration.set("lease_ticks", "3", Source::command_line).ok());
  ASSERT_TRUE(configuration.set("lease_ticks", "4", Source::environment).ok());
  EXPECT_EQ(configuration.settings().lease_ticks, 3u);
  EXPECT_EQ(configuration.environment(), std::vector<std::string>{"MUSUBI_LEASE_TICKS=3"});
}

TEST(Settings, EnvironmentIsReadAndMisspeltVariablesAreRefused) {
  setenv("MUSUBI_LEASE_TICKS", "5", 1);
  setenv("MUSUBI_JOB", "anything", 1);
  setenv("MUSUBI_CC_OPTIONS", "--musubi=off", 1);
  Configuration configuration;
  ASSERT_TRUE(read_environment(configuration).ok());
  EXPECT_EQ(configuration.settings().lease_ticks, 5u);
  EXPECT_NE(list_settings(configuration).find("environment"), std::string::npos);
  setenv("MUSUBI_LEASE_TICK", "5", 1);
  const auto misspelt = read_environment(configuration);
  ASSERT_FALSE(misspelt.ok());
  EXPECT_NE(misspelt.error().message.find("MUSUBI_LEASE_TICK"), std::string::npos);
  EXPECT_NE(misspelt.error().message.find("lease_ticks"), std::string::npos);
  unsetenv("MUSUBI_LEASE_TICK");
  setenv("MUSUBI_LEASE_TICKS", "five", 1);
  EXPECT_FALSE(read_environment(configuration).ok());
  unsetenv("MUSUBI_LEASE_TICKS");
  unsetenv("MUSUBI_JOB");
  unsetenv("MUSUBI_CC_OPTIONS");
}

TEST(Settings, CommittedReferencePageIsFresh) {
  std::ifstream file(MUSUBI_SOURCE_DIR "/docs/reference/settings.md");
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(committed.str(), reference_page())
      << "make it anew: musubi settings --markdown > docs/reference/settings.md";
}

}  // namespace
}  // namespace musubi::config
