// One help text: the summary of a verb, its page, its topics, its options.
//
//   help/VERB.txt --embed_help.py--> help_texts.h --> HelpText
//     --> `countrace help VERB [TOPIC]`; VerbParser takes the short names of
//         options and the names of their values from it
#ifndef COUNTRACE_CLI_PROGRAM_HELP_TEXT_H_
#define COUNTRACE_CLI_PROGRAM_HELP_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::cli {

struct HelpTopic {
  std::string_view name, title;
  std::string_view text;
};

// "  -o, --output DIR" is {"-o", "--output", "DIR"}.
struct OptionSpelling {
  std::string_view short_name;  // empty: none
  std::string_view long_name;
  std::string_view value;  // empty: a flag
};

class HelpText final {
 public:
  // `name` is the verb's. Both must outlive the object.
  HelpText(std::string_view name, std::string_view text);

  // Up to the first topic, with a list of the topics.
  std::string Page() const;
  std::string TopicPage(const HelpTopic& topic) const;
  // The page and those of all topics.
  std::string AllPages() const;

  const std::vector<HelpTopic>& topics() const { return topics_; }
  // Null if there is no topic of this name.
  const HelpTopic* FindTopic(std::string_view name) const;
  // `long_name` is "--output"; the page and the topics are searched.
  std::optional<OptionSpelling> FindOption(std::string_view long_name) const;

 private:
  std::string_view name_;
  std::string_view text_;  // all of it
  std::string_view page_;  // before the first topic
  std::vector<HelpTopic> topics_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_HELP_TEXT_H_
