#include <spawn.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/help_texts.h"
#include "cli/progress_bar.h"
#include "cli/trace_input.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "viewer/server.h"

extern char** environ;

namespace countrace::cli {
namespace {

// Best effort: the address is printed in any case.
void OpenBrowser(const std::string& url) {
  const char* const arguments[] = {"xdg-open", url.c_str(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, "xdg-open", nullptr, nullptr,
                   const_cast<char* const*>(arguments), environ) != 0) {
    Say(kViewVerb.name, "cannot start a browser (xdg-open is missing)");
  }
}

int RunView(const Arguments& arguments) {
  VerbParser parser(kViewVerb);
  TraceOptions options;
  TraceInput input(kViewVerb.name, options);
  std::uint64_t port = 0;
  bool open_browser = false;
  parser.AddReadTrace(options);
  parser.AddNumber("--port", port, 65535);
  parser.AddFlag("--open", open_browser);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;

  const auto directory = input.Directory(options.trace);
  if (!directory.ok()) return ReportFailure(kViewVerb.name, directory.status());
  ProgressBar progress("indexing " + options.trace, input.show_progress());
  viewer::ServeOptions serve;
  serve.trace_path = *directory;
  serve.shown_as = options.trace;
  serve.port = static_cast<std::uint16_t>(port);
  serve.progress = progress.Callback();
  serve.on_ready = [&](const std::string& url) {
    progress.Clear();
    PrintData(kViewVerb.name, url + "\n");
    Say(kViewVerb.name, "open this address in a browser; Ctrl-C ends");
    if (open_browser) OpenBrowser(url);
  };
  const absl::Status status = viewer::Serve(serve);
  progress.Clear();
  if (!status.ok()) return ReportFailure(kViewVerb.name, status);
  return kExitOk;
}

}  // namespace

const Verb kViewVerb = {"view", kViewHelp, RunView};

}  // namespace countrace::cli
