#include "cli/program/help_text.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::cli {
namespace {

constexpr std::string_view kTopicLine = "\ntopic ";
constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz-";

// Without blank lines at both ends, with one newline at the end.
std::string_view Trimmed(std::string_view text) {
  while (text.starts_with("\n")) text.remove_prefix(1);
  while (text.ends_with("\n\n")) text.remove_suffix(1);
  return text;
}

// Removes the first line from `text`. Returns: that line.
std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// "  -o, --output DIR" and "      --force" begin the description of an option;
// other lines return nullopt.
std::optional<OptionSpelling> ParseSpelling(std::string_view line) {
  constexpr std::string_view kNoShortName = "      ";
  if (line.size() <= kNoShortName.size()) return std::nullopt;
  const std::string_view lead = line.substr(0, kNoShortName.size());
  const bool has_short_name = lead.starts_with("  -") && lead.ends_with(", ");
  if (lead != kNoShortName && !has_short_name) return std::nullopt;
  line.remove_prefix(lead.size());
  if (!line.starts_with("--")) return std::nullopt;

  OptionSpelling spelling;
  if (has_short_name) spelling.short_name = lead.substr(2, 2);
  const std::size_t name_end =
      std::min(line.find_first_not_of(kNameCharacters), line.size());
  spelling.long_name = line.substr(0, name_end);
  line.remove_prefix(name_end);
  if (line.size() > 1 && line[0] == ' ' && line[1] != ' ') {
    spelling.value = line.substr(1, line.find("  ") - 1);
  }
  return spelling;
}

}  // namespace

HelpText::HelpText(std::string_view name, std::string_view text)
    : name_(name), text_(text) {
  std::size_t topic = text_.find(kTopicLine);
  page_ = Trimmed(text_.substr(0, topic));
  while (topic != text_.npos) {
    const std::size_t begin = topic + kTopicLine.size();
    topic = text_.find(kTopicLine, begin);
    std::string_view rest = text_.substr(begin, topic - begin);
    const std::string_view heading = TakeLine(rest);
    const std::size_t colon = heading.find(": ");
    topics_.push_back(
        {heading.substr(0, colon), heading.substr(colon + 2), Trimmed(rest)});
  }
}

std::string HelpText::Page() const {
  std::string page = absl::StrFormat("countrace %s: %s", name_, page_);
  if (topics_.empty()) return page;
  absl::StrAppendFormat(
      &page, "\ntopics (countrace help %s TOPIC, or `all`):\n", name_);
  for (const HelpTopic& topic : topics_) {
    absl::StrAppendFormat(&page, "  %-9s %s\n", topic.name, topic.title);
  }
  return page;
}

std::string HelpText::TopicPage(const HelpTopic& topic) const {
  return absl::StrFormat("countrace %s, %s: %s\n\n%s", name_, topic.name,
                         topic.title, topic.text);
}

std::string HelpText::AllPages() const {
  std::string pages = Page();
  for (const HelpTopic& topic : topics_) pages += "\n" + TopicPage(topic);
  return pages;
}

const HelpTopic* HelpText::FindTopic(std::string_view name) const {
  const auto found = std::find_if(
      topics_.begin(), topics_.end(),
      [name](const HelpTopic& topic) { return topic.name == name; });
  return found == topics_.end() ? nullptr : &*found;
}

std::optional<OptionSpelling> HelpText::FindOption(
    std::string_view long_name) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const auto spelling = ParseSpelling(TakeLine(rest));
    if (spelling && spelling->long_name == long_name) return spelling;
  }
  return std::nullopt;
}

}  // namespace countrace::cli
