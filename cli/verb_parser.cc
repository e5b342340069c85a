#include "cli/verb_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/nearest_name.h"
#include "base/text/quantity_parse.h"
#include "cli/exit_status.h"
#include "cli/foreign_choice.h"
#include "cli/quantity.h"
#include "logformat/import/program/import_process.h"

namespace countrace::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kDescriptionColumn = 26;

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

// "-o, --output DIR"
std::string Spelling(const CLI::Option& option) {
  std::string text = "  ";
  for (const std::string& name : option.get_snames()) text += "-" + name;
  if (!option.get_lnames().empty()) {
    text += option.get_snames().empty() ? "    --" : ", --";
    text += option.get_lnames().front();
  }
  const std::string type = option.get_type_name();
  return type.empty() ? text : text + " " + type;
}

// Words of `text` from kDescriptionColumn on, after `spelling`.
std::string OptionLines(std::string spelling, std::string_view text) {
  std::string out;
  std::string line = std::move(spelling);
  if (line.size() + 2 > kDescriptionColumn) {
    out += line + "\n";
    line.clear();
  }
  line.resize(kDescriptionColumn, ' ');
  bool first = true;
  for (const std::string& word : Split(text, ' ')) {
    if (!first && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line.assign(kDescriptionColumn, ' ');
      first = true;
    }
    line += first ? word : " " + word;
    first = false;
  }
  return out + line + "\n";
}

std::string Indented(std::string_view text) {
  std::string out;
  for (const std::string& line : Split(text, '\n')) {
    out += line.empty() ? "\n" : "  " + line + "\n";
  }
  return out;
}

class HelpText final : public CLI::FormatterBase {
 public:
  explicit HelpText(const VerbText& text) : text_(text) {}

  std::string make_help(const CLI::App* app, std::string,
                        CLI::AppFormatMode) const override {
    std::string out =
        absl::StrFormat("countrace %s: %s\n\n", text_.name, text_.summary);
    const char* lead = "usage: ";
    for (const std::string& line : Split(text_.usage, '\n')) {
      out += absl::StrFormat("%s%s\n", lead, CommandLine(line));
      lead = "       ";
    }
    out += "\noptions:\n";
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional() || option->get_group().empty()) continue;
      out += OptionLines(Spelling(*option), option->get_description());
    }
    if (*text_.details != '\0') out += absl::StrFormat("\n%s", text_.details);
    if (*text_.examples != '\0') {
      out += "\nexamples:\n" + Indented(text_.examples);
    }
    return out;
  }

 private:
  std::string CommandLine(const std::string& line) const {
    return absl::StrFormat("countrace %s %s", text_.name, line);
  }

  const VerbText& text_;
};

}  // namespace

VerbParser::VerbParser(const VerbText& text)
    : text_(text), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag("-h,--help", "show this text");
  app_->formatter(std::make_shared<HelpText>(text_));
  // What is left over is reported by Parse(), with a hint.
  app_->allow_extras();
}

VerbParser::~VerbParser() = default;

void VerbParser::AddFlag(const char* name, bool& flag,
                         const char* description) {
  app_->add_flag(name, flag, description);
}

void VerbParser::AddFlagWithText(const char* name, const char* fallback,
                                 std::string& value, const char* description) {
  app_->add_flag(absl::StrFormat("%s{%s}", name, fallback), value, description);
}

void VerbParser::AddText(const char* name, const char* type, std::string& value,
                         const char* description) {
  app_->add_option(name, value, description)->type_name(type);
}

void VerbParser::AddTexts(const char* name, const char* type,
                          std::vector<std::string>& values,
                          const char* description) {
  app_->add_option(name, values, description)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)  // the next word may be the command
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void VerbParser::AddTextList(const char* name, const char* type,
                             std::vector<std::string>& values,
                             const char* description) {
  app_->add_option(name, values, description)
      ->type_name(type)
      ->expected(1, -1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void VerbParser::AddChoice(const char* name, const char* type,
                           std::string& value,
                           const std::vector<std::string>& choices,
                           const std::string& description) {
  app_->add_option(name, value, description)
      ->type_name(type)
      ->check(CLI::IsMember(choices).description(""));
}

void VerbParser::AddNumber(const char* name, const char* type,
                           std::uint64_t& value, std::uint64_t maximum,
                           const char* description) {
  app_->add_option(name, value, description)
      ->type_name(type)
      ->check(CLI::Range(std::uint64_t{0}, maximum).description(""));
}

void VerbParser::AddBytes(const char* name, std::uint64_t& bytes,
                          const char* description) {
  const auto store = [&bytes, name](const std::string& text) {
    const auto value = base::ParseBytes(text);
    if (!value || *value == 0) {
      throw CLI::ValidationError(
          name, text + " is no size; write it like 4096, 64K or 64M");
    }
    bytes = *value;
  };
  app_->add_option_function<std::string>(name, store, description)
      ->type_name("SIZE");
}

void VerbParser::AddDuration(const char* name, std::uint64_t& duration_ns,
                             const char* description) {
  const auto store = [&duration_ns, name](const std::string& text) {
    const auto value = base::ParseDurationNs(text, "s");
    if (!value) {
      throw CLI::ValidationError(
          name, text + " is no duration; write it like 10s, 250ms or 2m");
    }
    duration_ns = *value;
  };
  app_->add_option_function<std::string>(name, store, description)
      ->type_name("DURATION");
}

void VerbParser::AddPositional(const char* name, std::string& value) {
  app_->add_option(name, value);
}

void VerbParser::AddReadTrace(std::string& trace) {
  const auto store = [&trace](const std::vector<std::string>& traces) {
    trace = traces.front();
    foreign_choice().first_trace = trace;
    foreign_choice().more_traces.assign(traces.begin() + 1, traces.end());
  };
  app_->add_option_function<std::vector<std::string>>("trace", store)
      ->expected(1, -1);
  AddForeign();
}

void VerbParser::AddForeign() {
  ForeignChoice& choice = foreign_choice();
  AddText("--map", "FILE", choice.mapping_file,
          "of traces of others (LTTng, CTF, perf.data): which events are "
          "segments, points "
          "and counters");
  const auto is_limit = [](const std::string& text) -> std::string {
    importer::ImportLimits unused;
    return std::string(importer::SetLimit(text, unused).message());
  };
  app_->add_option("--import-limit", choice.limits,
                   "of traces of others: memory=8G, cpu=10m, output=100G, "
                   "files=4096 or stall=5m, what reading them may take")
      ->type_name("WHAT=N")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(is_limit, "");
  // For tests: our own traces as babeltrace2 shows them.
  app_->add_flag("--via-babeltrace", choice.via_babeltrace)->group("");
}

void VerbParser::AddFormat(std::string& format,
                           const std::vector<std::string>& formats) {
  format = formats.front();
  std::string description = "output: ";
  for (const std::string& name : formats) {
    if (name != format) description += ", ";
    description += name;
  }
  description += absl::StrFormat(" (default %s)", format);
  AddChoice("--format", "FORMAT", format, formats, description);
}

void VerbParser::AddColor(std::string& color) {
  color = "auto";
  AddChoice("--color", "WHEN", color, {"auto", "always", "never"},
            "colour: auto, always, never (default auto: on a terminal, unless "
            "NO_COLOR is set)");
}

void VerbParser::AddFailOnLoss(bool& fail_on_loss) {
  AddFlag("--fail-on-loss", fail_on_loss,
          "exit with status 3 if event records were lost");
}

void VerbParser::AddNoProgress(bool& no_progress) {
  const auto store = [&no_progress](std::int64_t) {
    no_progress = true;
    foreign_choice().no_progress = true;
  };
  app_->add_flag_function("--no-progress", store, "draw no progress bar");
}

bool VerbParser::is_given(const char* name) const {
  return app_->count(name) > 0;
}

void VerbParser::TakeCommand(std::vector<std::string>& command) {
  command_ = &command;
  app_->prefix_command();
}

std::string VerbParser::Hint(const std::string& unknown_option) const {
  const std::string word =
      unknown_option.substr(0, unknown_option.find_first_of('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::string_view nearest = base::NearestName(word, names);
  if (nearest.empty()) return "";
  return absl::StrFormat("; did you mean %s?", nearest);
}

int VerbParser::UsageError(std::string_view message) const {
  Say(text_.name, message);
  std::fprintf(stderr, "See `countrace help %s`.\n", text_.name);
  return kExitUsage;
}

std::optional<int> VerbParser::Parse(const Arguments& arguments) {
  // After "--" everything belongs to the command, also what looks like ours.
  auto ours_end = arguments.end();
  if (command_ != nullptr) {
    ours_end = std::find(arguments.begin(), arguments.end(), "--");
  }
  // CLI11 wants them last first.
  std::vector<std::string> ours(arguments.begin(), ours_end);
  std::reverse(ours.begin(), ours.end());
  try {
    app_->parse(std::move(ours));
  } catch (const CLI::CallForHelp&) {
    return PrintData(text_.name, app_->help());
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }

  const std::vector<std::string> left = app_->remaining();
  if (command_ != nullptr) {
    if (!left.empty() && left.front().starts_with("-")) {
      return UsageError(absl::StrFormat("unknown option %s%s", left.front(),
                                        Hint(left.front())));
    }
    *command_ = left;
    // "countrace record ls -- -l": the dashes are an argument of ls.
    auto rest = ours_end;
    if (rest != arguments.end() && left.empty()) ++rest;
    command_->insert(command_->end(), rest, arguments.end());
    return std::nullopt;
  }
  if (left.empty()) return std::nullopt;
  const bool is_option = left.front().starts_with("-") && left.front() != "-";
  if (is_option) {
    return UsageError(absl::StrFormat("unknown option %s%s", left.front(),
                                      Hint(left.front())));
  }
  return UsageError(absl::StrFormat("unexpected argument: %s", left.front()));
}

}  // namespace countrace::cli
