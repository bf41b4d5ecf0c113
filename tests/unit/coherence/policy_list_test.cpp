// Settings and bindings name the policies of policies.def.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "coherence/policy.h"
#include "config/settings.h"

namespace musubi::coherence {
namespace {

std::string joined(auto&& text_of) {
  std::string all;
  for (const PolicyDeclaration& policy : policy_list) {
    if (!all.empty()) all += ", ";
    all += text_of(policy);
  }
  return all;
}

std::set<std::string> words_of(std::string_view setting) {
  std::set<std::string> words;
  for (const config::Declaration& declaration : config::declarations()) {
    if (declaration.name != setting) continue;
    std::istringstream list{std::string(declaration.words)};
    for (std::string word; std::getline(list, word, '|');) words.insert(word);
  }
  return words;
}

std::string text_of_file(const char* path) {
  std::ifstream file(std::string(MUSUBI_SOURCE_DIR "/") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The word is the last part of the C constant.
std::string python_entry(const PolicyDeclaration& policy) {
  std::string word(policy.c_name.substr(std::string_view("MUSUBI_POLICY_").size()));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return '"' + word + "\": " + std::to_string(number_of(policy.policy));
}

TEST(PolicyList, IsKnownByName) {
  for (const PolicyDeclaration& policy : policy_list) EXPECT_EQ(policy_named(policy.name), policy.policy);
  EXPECT_FALSE(policy_named("auto"));
}

TEST(PolicyList, NamesTheWordsOfTheSettings) {
  std::set<std::string> heap, sms{"auto"};
  for (const PolicyDeclaration& policy : policy_list) {
    sms.emplace(policy.name);
    if (policy.use == PolicyUse::heap) heap.emplace(policy.name);
  }
  EXPECT_EQ(words_of("heap_policy"), heap);
  EXPECT_EQ(words_of("sms_policy"), sms);
}

// After the policies comes home_only: home_based, with an attribute of the segment.
TEST(PolicyList, NumbersThePoliciesOfTheBindings) {
  const std::string python =
      "POLICIES = {" + joined(python_entry) + ", \"home_only\": " + std::to_string(policy_list.size()) + "}";
  EXPECT_NE(text_of_file("bindings/python/musubi/_memory.py").find(python), std::string::npos) << python;
  const auto fortran_entry = [](const PolicyDeclaration& policy) {
    return std::string(policy.c_name) + (number_of(policy.policy) == 0 ? " = 0" : "");
  };
  const std::string fortran = "enumerator :: " + joined(fortran_entry) + ", MUSUBI_POLICY_HOME_ONLY\n";
  EXPECT_NE(text_of_file("bindings/fortran/musubi.f90").find(fortran), std::string::npos) << fortran;
}

}  // namespace
}  // namespace musubi::coherence
