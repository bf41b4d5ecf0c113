#include "command_line.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace musubi::wrapper {

namespace {

constexpr int kFilesDeepest = 8;  // @FILE inside of @FILE

template <size_t size>
bool is_among(std::string_view word, const std::array<std::string_view, size>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Options whose next argument is a value, of those that could be taken for an input. Everything else that
// begins with `-` stands alone, or its value does no harm as an input.
constexpr std::array<std::string_view, 22> kWithValue = {"-o",
                                                         "-I",
                                                         "-L",
                                                         "-D",
                                                         "-U",
                                                         "-include",
                                                         "-isystem",
                                                         "-idirafter",
                                                         "-iquote",
                                                         "-imacros",
                                                         "-MF",
                                                         "-MT",
                                                         "-MQ",
                                                         "-Xclang",
                                                         "-Xlinker",
                                                         "-Xassembler",
                                                         "-Xpreprocessor",
                                                         "-mllvm",
                                                         "-target",
                                                         "-arch",
                                                         "-module-dir",
                                                         "-J"};

// Modes that make no code, or none of a program.
constexpr std::array<std::string_view, 4> kNoCode = {"-E", "-M", "-MM", "-fsyntax-only"};
constexpr std::array<std::string_view, 3> kNoLink = {"-c", "-S", "-emit-llvm"};

constexpr std::array<std::string_view, 24> kSources = {
    ".c", ".i", ".cc",  ".cp",  ".cxx", ".cpp", ".CPP", ".c++", ".C",   ".ii",  ".m",   ".mm",
    ".f", ".F", ".for", ".FOR", ".fpp", ".FPP", ".f90", ".F90", ".f95", ".F95", ".f03", ".f08"};

// Splits the text of a file of arguments as compilers do: blanks separate, quotes join, `\` takes the next.
std::vector<std::string> words_of(std::istream& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (char letter; text.get(letter);) {
    if (letter == '\\' && text.get(letter)) {
      word += letter;
      in_word = true;
    } else if (quote != 0 && letter == quote) {
      quote = 0;
    } else if (quote == 0 && (letter == '"' || letter == '\'')) {
      quote = letter;
      in_word = true;
    } else if (quote == 0 && std::isspace(static_cast<unsigned char>(letter)) != 0) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += letter;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> expanded(const std::vector<std::string>& arguments, int depth) {
  std::vector<std::string> all;
  for (const std::string& argument : arguments) {
    std::ifstream file;
    if (argument.starts_with("@") && depth < kFilesDeepest) file.open(argument.substr(1));
    if (!file.is_open()) {
      all.push_back(argument);
      continue;
    }
    for (std::string& word : expanded(words_of(file), depth + 1)) all.push_back(std::move(word));
  }
  return all;
}

// Whether `-fsanitize=` names a sanitizer that has the memory of its process to itself.
bool is_refused_sanitizer(std::string_view argument) {
  constexpr std::string_view option = "-fsanitize=";
  if (!argument.starts_with(option)) return false;
  std::string_view names = argument.substr(option.size());
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    if (is_among(name, std::array<std::string_view, 4>{"address", "thread", "memory", "hwaddress"}))
      return true;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return false;
}

bool is_refused(std::string_view argument) {
  return is_refused_sanitizer(argument) || argument == "-mcmodel=large" || argument == "-m32" ||
         argument == "-mx32";
}

}  // namespace

Steps steps_of(const std::vector<std::string>& arguments) {
  const std::vector<std::string> all = expanded(arguments, 0);
  Steps steps;
  bool has_input = false, has_source = false, no_code = false, no_link = false, as_source = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string& argument = all[i];
    if (is_refused(argument) && steps.refused.empty()) steps.refused = argument;
    no_code |= is_among(argument, kNoCode) || argument.starts_with("-print-") ||
               argument.starts_with("-dump") || argument.starts_with("--print-") || argument == "--version" ||
               argument == "-###";
    no_link |= is_among(argument, kNoLink) || argument == "-r";
    steps.makes_library |= argument == "-shared";
    if (argument.starts_with("-x")) {
      const std::string language = argument == "-x" && i + 1 < all.size() ? all[++i] : argument.substr(2);
      as_source = language != "none" && !language.starts_with("assembler");
    } else if (is_among(argument, kWithValue)) {
      ++i;
    } else if (argument == "-" || !argument.starts_with("-")) {
      has_input = true;
      has_source |= as_source || is_among(std::filesystem::path(argument).extension().string(), kSources);
    } else if (argument.starts_with("-l")) {
      has_input = true;
    }
  }
  steps.compiles = has_source && !no_code;
  steps.links = has_input && !no_code && !no_link;
  return steps;
}

}  // namespace musubi::wrapper
