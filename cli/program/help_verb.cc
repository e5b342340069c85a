#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/nearest_name.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_text.h"
#include "cli/program/help_texts.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"

namespace countrace::cli {
namespace {

std::string_view FindText(std::string_view name) {
  if (name == "trace") return kTraceHelp;
  const Verb* const verb = FindVerb(name);
  return verb == nullptr ? "" : verb->text;
}

// "" if there is no such topic.
std::string FindPage(const HelpText& help, std::string_view topic) {
  if (topic.empty()) return help.Page();
  if (topic == "all") return help.AllPages();
  const HelpTopic* const found = help.FindTopic(topic);
  return found == nullptr ? "" : help.TopicPage(*found);
}

std::string NoSuchTopic(const HelpText& help, std::string_view verb,
                        std::string_view topic) {
  std::vector<std::string> names = {"all"};
  std::string listed;
  for (const HelpTopic& each : help.topics()) {
    names.emplace_back(each.name);
    absl::StrAppendFormat(&listed, "%s%s", listed.empty() ? "" : ", ",
                          each.name);
  }
  const std::string_view nearest = base::NearestName(topic, names);
  if (listed.empty()) return absl::StrFormat("`%s` has no topics", verb);
  return absl::StrFormat(
      "`%s` has no topic `%s`, only %s%s", verb, topic, listed,
      nearest.empty() ? "" : absl::StrFormat("; did you mean `%s`?", nearest));
}

int Refuse(const std::string& message, std::string_view see) {
  Say(kHelpVerb.name, message);
  Say(kHelpVerb.name, absl::StrFormat("see `countrace help%s`", see));
  return kExitUsage;
}

int RunHelp(const Arguments& arguments) {
  VerbParser parser(kHelpVerb);
  std::string name, topic;
  parser.AddPositional("verb", name);
  parser.AddPositional("topic", topic);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (name.empty()) {
    return PrintData(kHelpVerb.name,
                     absl::StrFormat("countrace: %s", kOverviewHelp));
  }
  const std::string_view text = FindText(name);
  if (text.empty()) return Refuse(NoSuchVerb(name), "");
  const HelpText help(name, text);
  const std::string page = FindPage(help, topic);
  if (page.empty()) return Refuse(NoSuchTopic(help, name, topic), " " + name);
  return PrintData(kHelpVerb.name, page);
}

}  // namespace

const Verb kHelpVerb = {"help", kHelpHelp, RunHelp};

}  // namespace countrace::cli
