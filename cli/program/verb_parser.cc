#include "cli/program/verb_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/nearest_name.h"
#include "base/text/quantity_parse.h"
#include "cli/program/exit_status.h"
#include "logformat/import/program/import_process.h"

namespace countrace::cli {
namespace {

std::string DidYouMean(std::string_view word,
                       const std::vector<std::string>& candidates) {
  const std::string_view nearest = base::NearestName(word, candidates);
  if (nearest.empty()) return "";
  return absl::StrFormat("; did you mean %s?", nearest);
}

}  // namespace

VerbParser::VerbParser(const Verb& verb)
    : verb_(verb.name),
      help_(verb.name, verb.text),
      app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag("-h,--help");
  // Parse() reports the remaining arguments, with a hint.
  app_->allow_extras();
}

VerbParser::~VerbParser() = default;

std::string VerbParser::Names(const char* name) const {
  const auto spelling = help_.FindOption(name);
  if (!spelling) {
    std::fprintf(stderr, "countrace: help/%s.txt lacks %s\n",
                 std::string(verb_).c_str(), name);
    std::abort();
  }
  if (spelling->short_name.empty()) return name;
  return absl::StrFormat("%s,%s", spelling->short_name, name);
}

CLI::Option* VerbParser::WithValueName(const char* name,
                                       CLI::Option* option) const {
  // For "--output: 1 required DIR missing".
  return option->type_name(std::string(help_.FindOption(name)->value));
}

void VerbParser::AddFlag(const char* name, bool& flag) {
  app_->add_flag(Names(name), flag);
}

void VerbParser::AddFlagWithText(const char* name, const char* fallback,
                                 std::string& value) {
  app_->add_flag(absl::StrFormat("%s{%s}", Names(name), fallback), value);
}

void VerbParser::AddText(const char* name, std::string& value) {
  WithValueName(name, app_->add_option(Names(name), value));
}

void VerbParser::AddTexts(const char* name, std::vector<std::string>& values) {
  WithValueName(name, app_->add_option(Names(name), values))
      ->expected(1)
      ->allow_extra_args(false)  // the next word may be the command
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void VerbParser::AddTextList(const char* name,
                             std::vector<std::string>& values) {
  WithValueName(name, app_->add_option(Names(name), values))
      ->expected(1, -1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void VerbParser::AddTwoTexts(const char* name,
                             std::vector<std::string>& values) {
  WithValueName(name, app_->add_option(Names(name), values))
      ->expected(2)
      ->allow_extra_args(false)  // the next word may be the trace
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void VerbParser::AddChoice(const char* name, std::string& value,
                           const std::vector<std::string>& choices) {
  const auto is_choice = [choices](const std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
      return "";
    }
    return absl::StrFormat("`%s` is not one of %s%s", text,
                           absl::StrJoin(choices, ", "),
                           DidYouMean(text, choices));
  };
  WithValueName(name, app_->add_option(Names(name), value))
      ->check(is_choice, "");
}

void VerbParser::AddNumber(const char* name, std::uint64_t& value,
                           std::uint64_t maximum) {
  WithValueName(name, app_->add_option(Names(name), value))
      ->check(CLI::Range(std::uint64_t{0}, maximum).description(""));
}

void VerbParser::AddBytes(const char* name, std::uint64_t& bytes) {
  const auto store = [&bytes, name](const std::string& text) {
    const auto value = base::ParseBytes(text);
    if (!value || *value == 0) {
      throw CLI::ValidationError(
          name, text + " is no size; write it like 4096, 64K or 64M");
    }
    bytes = *value;
  };
  WithValueName(name,
                app_->add_option_function<std::string>(Names(name), store));
}

void VerbParser::AddDuration(const char* name, std::uint64_t& duration_ns) {
  const auto store = [&duration_ns, name](const std::string& text) {
    const auto value = base::ParseDurationNs(text, "s");
    if (!value) {
      throw CLI::ValidationError(
          name, text + " is no duration; write it like 10s, 250ms or 2m");
    }
    duration_ns = *value;
  };
  WithValueName(name,
                app_->add_option_function<std::string>(Names(name), store));
}

void VerbParser::AddPositional(const char* name, std::string& value) {
  app_->add_option(name, value);
}

void VerbParser::AddPositionals(const char* name,
                                std::vector<std::string>& values) {
  app_->add_option(name, values)->expected(0, -1);
}

void VerbParser::AddReadTrace(TraceOptions& options) {
  const auto store = [&options](const std::vector<std::string>& traces) {
    options.trace = traces.front();
    options.more_traces.assign(traces.begin() + 1, traces.end());
  };
  app_->add_option_function<std::vector<std::string>>("trace", store)
      ->expected(1, -1);
  AddImportOptions(options);
}

void VerbParser::AddImportOptions(TraceOptions& options) {
  AddText("--map", options.mapping_file);
  const auto is_limit = [](const std::string& text) -> std::string {
    importer::ImportLimits unused;
    return std::string(importer::SetLimit(text, unused).message());
  };
  WithValueName("--import-limit",
                app_->add_option(Names("--import-limit"), options.limits))
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(is_limit, "");
  // For tests: reads traces of countrace through babeltrace2.
  app_->add_flag("--via-babeltrace", options.via_babeltrace);
}

void VerbParser::AddFormat(std::string& format,
                           const std::vector<std::string>& formats) {
  format = formats.front();
  AddChoice("--format", format, formats);
}

void VerbParser::AddColor(std::string& color) {
  color = "auto";
  AddChoice("--color", color, {"auto", "always", "never"});
}

void VerbParser::AddFailOnLoss(bool& fail_on_loss) {
  AddFlag("--fail-on-loss", fail_on_loss);
}

void VerbParser::AddNoProgress(bool& no_progress) {
  AddFlag("--no-progress", no_progress);
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
  return DidYouMean(word, names);
}

int VerbParser::UsageError(std::string_view message) const {
  Say(verb_, message);
  std::fprintf(stderr, "See `countrace help %s`.\n",
               std::string(verb_).c_str());
  return kExitUsage;
}

std::optional<int> VerbParser::Parse(const Arguments& arguments) {
  // After "--" all arguments belong to the command, even known options.
  auto ours_end = arguments.end();
  if (command_ != nullptr) {
    ours_end = std::find(arguments.begin(), arguments.end(), "--");
  }
  // CLI11 expects the last argument first.
  std::vector<std::string> ours(arguments.begin(), ours_end);
  std::reverse(ours.begin(), ours.end());
  try {
    app_->parse(std::move(ours));
  } catch (const CLI::CallForHelp&) {
    return PrintData(verb_, help_.Page());
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

int VerbParser::Fail(const absl::Status& status) const {
  return IsUsage(status) ? UsageError(std::string(status.message()))
                         : ReportFailure(verb_, status);
}

}  // namespace countrace::cli
