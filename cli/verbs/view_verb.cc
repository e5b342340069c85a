#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/posix/temporary_directory.h"
#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/instant.h"
#include "cli/program/progress_bar.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/recording_copies.h"
#include "cli/trace/trace_input.h"
#include "rmap/metrics/tree_over_time.h"
#include "rmap/tables/input/report_events.h"
#include "runtime/recorder/directory/trace_directory.h"
#include "viewer/server.h"

extern char** environ;

namespace countrace::cli {
namespace {

// Copies of a running recording that stay for readers of them.
constexpr std::size_t kLiveCopies = 3;

// A page that leads to `url`, in a directory that only its user can read: every
// local user can read the arguments of a process. Empty: none could be made.
std::string PageThatOpens(const std::string& url) {
  const char* const place = std::getenv("XDG_RUNTIME_DIR");
  std::string directory =
      absl::StrFormat("%s/countrace-view-XXXXXX",
                      place != nullptr && place[0] == '/' ? place : "/tmp");
  if (::mkdtemp(directory.data()) == nullptr) return "";
  const std::string page = directory + "/open.html";
  const int file = ::open(
      page.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return "";
  const std::string text = absl::StrFormat(
      "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
      absl::StrReplaceAll(url, {{"&", "&amp;"}, {"\"", "&quot;"}}));
  const bool whole = ::write(file, text.data(), text.size()) ==
                     static_cast<ssize_t>(text.size());
  ::close(file);
  return whole ? page : "";
}

// Best effort: the address is printed in any case. Returns: the page to remove.
std::string OpenBrowser(const std::string& url) {
  const std::string page = PageThatOpens(url);
  if (page.empty()) {
    Say(kViewVerb.name, "cannot start a browser (no place for its page)");
    return page;
  }
  const char* const arguments[] = {"xdg-open", page.c_str(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, "xdg-open", nullptr, nullptr,
                   const_cast<char* const*>(arguments), environ) != 0) {
    Say(kViewVerb.name, "cannot start a browser (xdg-open is missing)");
  }
  return page;
}

// The page with `at` in the middle of `window_ns`.
absl::StatusOr<std::string> Place(const viewer::TimelineIndex& index,
                                  const logformat::TraceInfo& info,
                                  const std::string& at,
                                  std::uint64_t window_ns) {
  const std::uint64_t duration_ns = index.duration_ns();
  const auto time_ns =
      ParseInstant(at, ExtentOf(info, index.header().begin_ns, duration_ns));
  if (!time_ns.ok()) return time_ns.status();
  const TimeRange shown = WindowAround(*time_ns, window_ns, duration_ns);
  return absl::StrFormat("from=%d&to=%d&t=%d", shown.from_ns, shown.to_ns,
                         *time_ns);
}

// Errors: FAILED_PRECONDITION: this trace cannot be followed.
absl::Status CheckLive(const std::string& trace) {
  const std::string name = base::EscapeName(trace);
  const auto mode = runtime::ModeOfRecordingAt(trace);
  if (!mode) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is not being recorded: leave out --live, which follows a "
        "recording",
        name));
  }
  if (*mode == logformat::SessionMode::kFlight) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is a flight recording, which overwrites its begin: `countrace "
        "snapshot %s`, then view the snapshot",
        name, name));
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(std::unique_ptr<base::TemporaryDirectory>& folder) {
  auto made = base::TemporaryDirectory::Create("view");
  if (!made.ok()) return made.status();
  folder = *std::move(made);
  return absl::OkStatus();
}

// What `--join` says, if the trace has it.
absl::Status Join(const std::string& text, const logformat::TraceInfo& info,
                  viewer::ServeOptions& serve) {
  if (text.empty()) return absl::OkStatus();
  auto rule = rmap::ReadJoinRule(text);
  if (!rule.ok()) return rule.status();
  serve.join = *std::move(rule);
  return rmap::JoinValues::Bind(*serve.join, info).status();
}

struct ViewCommandLine {
  std::uint64_t port = 0, window_ns = kDefaultWindowNs;
  std::string at, beside, join;
  bool open_browser = false, live = false;
  std::vector<std::string> sources, rules;
};

// What does not go together; empty: nothing.
std::string Contradiction(const VerbParser& parser,
                          const ViewCommandLine& line) {
  if (line.at.empty() &&
      (parser.is_given("--at") || parser.is_given("--window"))) {
    return "--window needs --at, and --at an instant";
  }
  if (line.live && !line.at.empty()) {
    return "--live shows the end as it moves: leave out --at";
  }
  if (parser.is_given("--join") &&
      (line.join.empty() || line.live || !line.beside.empty())) {
    return "--join needs the name of a value, or a file, and one whole trace: "
           "leave out --live and --beside";
  }
  if (line.beside.empty() && parser.is_given("--beside")) {
    return "--beside needs a trace";
  }
  if (!line.beside.empty() &&
      (line.live || !line.at.empty() || !line.sources.empty())) {
    return "--beside shows two traces: leave out --at, --live and --source";
  }
  return "";
}

// The copies of a running recording that the page follows.
struct LiveCopies {
  std::unique_ptr<base::TemporaryDirectory> folder;
  std::optional<RecordingCopies> copies;

  absl::Status Begin(const std::string& trace) {
    absl::Status status = CheckLive(trace);
    if (status.ok()) status = MakeFolder(folder);
    if (!status.ok()) return status;
    copies.emplace(trace, folder->path(), kLiveCopies);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Next() {
    auto copy = copies->Next();
    if (!copy.ok()) return copy.status();
    return copy->path;
  }
};

// The other trace; empty: there is none.
void RemovePage(const std::string& page) {
  if (page.empty()) return;
  ::unlink(page.c_str());
  ::rmdir(page.substr(0, page.rfind('/')).c_str());
}

absl::Status CheckRules(const std::vector<std::string>& files,
                        const logformat::TraceInfo& info) {
  if (files.empty()) return absl::OkStatus();
  std::vector<std::string> events;
  for (const auto& event : rmap::PlanEvents(info)) events.push_back(event.name);
  return rmap::metrics::TreesOf(files, events).status();
}

// The second of two traces, if there is one.
absl::Status SetBeside(TraceInput& input, const ViewCommandLine& line,
                       viewer::ServeOptions& after) {
  if (line.beside.empty()) return absl::OkStatus();
  const auto opened = input.Open(line.beside);
  if (!opened.ok()) return opened.status();
  const auto other = input.Directory(line.beside);
  if (!other.ok()) return other.status();
  after.trace_path = *other;
  after.shown_as = line.beside;
  after.rule_files = line.rules;
  return absl::OkStatus();
}

void AddOptions(VerbParser& parser, ViewCommandLine& line) {
  parser.AddNumber("--port", line.port, 65535);
  parser.AddFlag("--open", line.open_browser);
  parser.AddFlag("--live", line.live);
  parser.AddText("--beside", line.beside);
  parser.AddText("--join", line.join);
  parser.AddText("--at", line.at);
  parser.AddDuration("--window", line.window_ns);
  parser.AddTexts("--source", line.sources);
  parser.AddTexts("--rules", line.rules);
}

int RunView(const Arguments& arguments) {
  VerbParser parser(kViewVerb);
  TraceOptions options;
  TraceInput input(kViewVerb.name, options);
  ViewCommandLine line;
  parser.AddReadTrace(options);
  AddOptions(parser, line);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  const std::string contradiction = Contradiction(parser, line);
  if (!contradiction.empty()) return parser.UsageError(contradiction);

  const auto reader = input.Open(options.trace);
  if (!reader.ok()) return ReportFailure(kViewVerb.name, reader.status());
  if (const absl::Status fit = CheckRules(line.rules, (*reader)->info());
      !fit.ok()) {
    return ReportFailure(kViewVerb.name, AsUsage(fit));
  }
  const auto directory = input.Directory(options.trace);
  if (!directory.ok()) return ReportFailure(kViewVerb.name, directory.status());
  ProgressBar progress("indexing " + options.trace, input.show_progress());
  // The index is built on another thread than the one that serves.
  std::mutex terminal;
  viewer::ServeOptions serve;
  serve.trace_path = *directory;
  serve.shown_as = options.trace;
  serve.sources = line.sources;
  serve.rule_files = line.rules;
  const absl::Status joined = Join(line.join, (*reader)->info(), serve);
  if (!joined.ok()) {
    return parser.UsageError("--join: " + std::string(joined.message()));
  }
  serve.port = static_cast<std::uint16_t>(line.port);
  serve.progress =
      [&, draw = progress.Callback()](const logformat::Progress& done) {
        const std::lock_guard lock(terminal);
        return draw(done);
      };
  serve.on_whole = [&] {
    const std::lock_guard lock(terminal);
    progress.Clear();
  };
  std::string wrong;  // what is wrong with --at
  if (!line.at.empty()) {
    serve.place = [&](const viewer::TimelineIndex& index) {
      auto place = Place(index, (*reader)->info(), line.at, line.window_ns);
      if (!place.ok()) wrong = std::string(place.status().message());
      return place;
    };
  }
  LiveCopies copies;
  if (line.live) {
    const absl::Status begun = copies.Begin(*directory);
    if (!begun.ok()) return ReportFailure(kViewVerb.name, begun);
    serve.next_copy = [&copies] { return copies.Next(); };
  }
  std::string page;
  serve.on_ready = [&](const std::string& url) {
    const std::lock_guard lock(terminal);
    progress.Clear();
    PrintData(kViewVerb.name, url + "\n");
    Say(kViewVerb.name, "open this address in a browser; Ctrl-C ends");
    if (line.open_browser) page = OpenBrowser(url);
  };
  viewer::ServeOptions after;
  const absl::Status found = SetBeside(input, line, after);
  if (!found.ok()) return ReportFailure(kViewVerb.name, found);
  const absl::Status status = line.beside.empty()
                                  ? viewer::Serve(serve)
                                  : viewer::ServePair(serve, after);
  RemovePage(page);
  progress.Clear();
  if (!wrong.empty()) return parser.UsageError("--at: " + wrong);
  if (!status.ok()) return ReportFailure(kViewVerb.name, status);
  return kExitOk;
}

}  // namespace

const Verb kViewVerb = {"view", kViewHelp, RunView};

}  // namespace countrace::cli
