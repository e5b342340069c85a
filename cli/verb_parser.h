// Command line of one verb: CLI11 with our help text, and errors that name the
// argument and the nearest thing that exists.
#ifndef COUNTRACE_CLI_VERB_PARSER_H_
#define COUNTRACE_CLI_VERB_PARSER_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/verb.h"

namespace countrace::cli {

// What `countrace help VERB` says around the options.
struct VerbText {
  const char* name;
  const char* summary;   // what it does, one sentence without a full stop
  const char* usage;     // lines after "countrace VERB "
  const char* details;   // paragraphs below the options; may be empty
  const char* examples;  // one command a line, with a comment above it
};

class VerbParser final {
 public:
  explicit VerbParser(const VerbText& text);

  // Options are added here; `app` must not be configured otherwise.
  CLI::App& app() { return app_; }

  // `trace` keeps its value if the argument is missing.
  void AddTrace(std::string& trace);
  // --format, one of `formats` ("text,json"); the first is the default.
  void AddFormat(std::string& format, std::string_view formats);
  void AddColor(std::string& color);
  void AddFailOnLoss(bool& fail_on_loss);
  // An option whose value is a size ("64M") or a duration ("10s").
  void AddBytes(const std::string& name, std::uint64_t& bytes,
                const std::string& description);
  void AddDuration(const std::string& name, std::uint64_t& duration_ns,
                   const std::string& description);

  // Lets a command follow: parsing ends at the first argument that is no
  // option; that one and all after it are `command`.
  void TakeCommand(std::vector<std::string>& command);

  // Returns: nothing if the verb should go on; else its exit status, help or
  // the usage error having been printed.
  std::optional<int> Parse(const Arguments& arguments);

  // Prints `message` and where help is. Returns: kExitUsage.
  int UsageError(std::string_view message) const;

 private:
  std::string Hint(const std::string& unknown_option) const;

  const VerbText& text_;
  CLI::App app_;
  std::vector<std::string>* command_ = nullptr;
};

// The candidate nearest to `word` if it is near enough to be meant, else "".
std::string_view NearestName(std::string_view word,
                             const std::vector<std::string>& candidates);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_VERB_PARSER_H_
