// Command line of one verb: CLI11 with our help text, and errors that name the
// argument and the nearest choice.
#ifndef COUNTRACE_CLI_PROGRAM_VERB_PARSER_H_
#define COUNTRACE_CLI_PROGRAM_VERB_PARSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cli/program/help_text.h"
#include "cli/program/trace_options.h"
#include "cli/program/verb.h"

// CLI11 takes seconds to compile: only verb_parser.cc includes it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace countrace::cli {

// Options are bound to variables; their short names, the names of their values
// and their descriptions are in the help text of the verb. `name` is
// "--output"; an option that the help text lacks ends the program. A variable
// keeps its value if the option is not given. All references must outlive
// Parse().
class VerbParser final {
 public:
  explicit VerbParser(const Verb& verb);
  ~VerbParser();
  VerbParser(const VerbParser&) = delete;
  VerbParser& operator=(const VerbParser&) = delete;

  void AddFlag(const char* name, bool& flag);
  // "--name" or "--name=TEXT", never "--name TEXT"; without a text the value
  // is `fallback`.
  void AddFlagWithText(const char* name, const char* fallback,
                       std::string& value);
  void AddText(const char* name, std::string& value);
  // May be given more than once.
  void AddTexts(const char* name, std::vector<std::string>& values);
  // One or more words after the option, up to the next option; may be given
  // more than once.
  void AddTextList(const char* name, std::vector<std::string>& values);
  // Two words: "--name A B".
  void AddTwoTexts(const char* name, std::vector<std::string>& values);
  // One of `choices`.
  void AddChoice(const char* name, std::string& value,
                 const std::vector<std::string>& choices);
  // At most `maximum`.
  void AddNumber(const char* name, std::uint64_t& value, std::uint64_t maximum);
  // A size ("64M"), not 0.
  void AddBytes(const char* name, std::uint64_t& bytes);
  // A duration ("10s"), not 0.
  void AddDuration(const char* name, std::uint64_t& duration_ns);
  // An argument that is not an option; filled in the order of these calls.
  void AddPositional(const char* name, std::string& value);
  void AddPositionals(const char* name, std::vector<std::string>& values);

  // Options that several verbs share.
  void AddTrace(std::string& trace) { AddPositional("trace", trace); }
  // For verbs that read traces of any tool: the trace, others that are read as
  // one with it, and AddImportOptions().
  void AddReadTrace(TraceOptions& options);
  void AddImportOptions(TraceOptions& options);
  // The first of `formats` is the default.
  void AddFormat(std::string& format, const std::vector<std::string>& formats);
  void AddColor(std::string& color);
  void AddFailOnLoss(bool& fail_on_loss);
  void AddNoProgress(bool& no_progress);

  // Accepts a command: parsing ends at the first argument that is not an
  // option; that one and all after it are `command`.
  void TakeCommand(std::vector<std::string>& command);

  // Returns: nullopt if the verb should continue; else its exit status, after
  // help or a usage error was printed.
  std::optional<int> Parse(const Arguments& arguments);
  // After Parse(): true if the option or positional was given.
  bool is_given(const char* name) const;

  // Prints `message` and how to get help. Returns: kExitUsage.
  int UsageError(std::string_view message) const;
  // Prints `status`, of wrong usage (IsUsage()) or of a failure. Returns: the
  // exit status.
  int Fail(const absl::Status& status) const;

 private:
  // "-o,--output", the form that CLI11 expects.
  std::string Names(const char* name) const;
  CLI::Option* WithValueName(const char* name, CLI::Option* option) const;
  std::string Hint(const std::string& unknown_option) const;

  const std::string_view verb_;
  const HelpText help_;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::string>* command_ = nullptr;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_VERB_PARSER_H_
