#include "story.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace musubi::stories {
namespace {

void print(std::ostream& out, const Story& story) {
  for (const std::string& line : story.before) out << line << '\n';
  out << story.heading << '\n';
  for (const Event& event : story.events) {
    out << event.line << '\n';
    for (const std::string& line : event.told) out << "  " << line << '\n';
  }
}

}  // namespace

std::vector<Story> read_stories(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + " cannot be read");
  std::vector<Story> stories;
  std::vector<std::string> before;
  std::string line;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.starts_with('#')) {
      before.push_back(line);
    } else if (line.starts_with("story:")) {
      stories.push_back({std::move(before), line, {}});
      before.clear();
    } else if (stories.empty() || !before.empty()) {
      throw std::runtime_error(file.string() + ":" + std::to_string(number) + ": belongs to no story");
    } else if (!line.starts_with("  ")) {
      stories.back().events.push_back({line, {}});
    } else if (!stories.back().events.empty()) {
      stories.back().events.back().told.push_back(line.substr(2));
    } else {
      throw std::runtime_error(file.string() + ":" + std::to_string(number) + ": belongs to no event");
    }
  }
  return stories;
}

void write_stories(const std::filesystem::path& file, const std::vector<Story>& stories) {
  std::ofstream out(file);
  for (const Story& story : stories) print(out, story);
}

std::string text_of(const Story& story) {
  std::ostringstream out;
  print(out, story);
  return out.str();
}

}  // namespace musubi::stories
