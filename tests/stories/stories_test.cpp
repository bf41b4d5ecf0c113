// Each story of told/ is played, and must produce the text of the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "story.h"
#include "told_world.h"

namespace musubi::stories {
namespace {

std::map<std::string, std::uint64_t> options_in(const std::string& heading) {
  std::map<std::string, std::uint64_t> options;
  const std::size_t begin = heading.find('['), end = heading.find(']');
  if (begin == std::string::npos || end == std::string::npos) return options;
  std::istringstream in(heading.substr(begin + 1, end - begin - 1));
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error(word + " is no option=number");
    options[word.substr(0, equals)] = std::stoull(word.substr(equals + 1));
  }
  return options;
}

}  // namespace

Story tell(const Story& story) {
  Story told = story;
  ToldWorld world(options_in(story.heading));
  for (Event& event : told.events) event.told = world.play(event.line);
  return told;
}

namespace {

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> result;
  for (const auto& entry : std::filesystem::directory_iterator(MUSUBI_STORIES)) {
    if (entry.path().extension() == ".txt") result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

class Stories : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Stories, AreAsTold) {
  const bool tells_anew = std::getenv("MUSUBI_TELL_STORIES") != nullptr;
  std::vector<Story> stories = read_stories(GetParam());
  ASSERT_FALSE(stories.empty());
  for (Story& story : stories) {
    const Story now = tell(story);
    if (!tells_anew) {
      EXPECT_EQ(text_of(now), text_of(story));
    }
    story = now;
  }
  if (tells_anew) write_stories(GetParam(), stories);
}

INSTANTIATE_TEST_SUITE_P(Of, Stories, testing::ValuesIn(files()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(StoriesThemselves, AreWrittenAsTheyAreRead) {
  for (const std::filesystem::path& file : files()) {
    std::ostringstream text;
    for (const Story& story : read_stories(file)) text << text_of(story);
    std::ostringstream whole;
    whole << std::ifstream(file).rdbuf();
    EXPECT_EQ(text.str(), whole.str()) << file;
  }
}

}  // namespace
}  // namespace musubi::stories
