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

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/posix/temporary_directory.h"
#include "base/text/name_escape.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/instant.h"
#include "cli/program/progress_bar.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/recording_copies.h"
#include "cli/trace/trace_input.h"
#include "cli/verbs/view_input.h"
#include "rmap/requests/join_rule.h"
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

struct ViewCommandLine {
  std::uint64_t port = 0, window_ns = kDefaultWindowNs;
  std::string at, beside, join;
  bool open_browser = false, live = false;
  std::vector<std::string> sources, rules;
};

// What does not go together; empty: nothing.
std::string Contradiction(const VerbParser& parser, const ViewCommandLine& line,
                          bool of_hosts) {
  if (of_hosts && (line.live || parser.is_given("--at") ||
                   parser.is_given("--beside") || !line.sources.empty())) {
    return "the traces of hosts are whole, in frames of one time: leave out "
           "--at, --beside, --live and --source";
  }
  if (!of_hosts && parser.is_given("--pairs")) {
    return "--pairs is between hosts: give each trace one, as in HOST=TRACE";
  }
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

void AddOptions(VerbParser& parser, ViewCommandLine& line,
                TraceOptions& options) {
  parser.AddReadTrace(options);
  parser.AddNumber("--port", line.port, 65535);
  parser.AddFlag("--open", line.open_browser);
  parser.AddFlag("--live", line.live);
  parser.AddText("--beside", line.beside);
  parser.AddText("--join", line.join);
  parser.AddText("--pairs", options.pairs);
  parser.AddText("--at", line.at);
  parser.AddDuration("--window", line.window_ns);
  parser.AddTexts("--source", line.sources);
  parser.AddTexts("--rules", line.rules);
  parser.AddNoProgress(options.no_progress);
}

// What is said while a page is served. The indexes are built on other threads.
class Terminal {
 public:
  Terminal(const std::string& traces, bool show_progress, bool open_browser)
      : progress_("indexing " + traces, show_progress),
        open_browser_(open_browser) {}
  ~Terminal() {
    if (page_.empty()) return;
    ::unlink(page_.c_str());
    ::rmdir(page_.substr(0, page_.rfind('/')).c_str());
  }

  void Join(viewer::ServeOptions& serve) {
    serve.progress =
        [this, draw = progress_.Callback()](const logformat::Progress& done) {
          const std::lock_guard lock(mutex_);
          return draw(done);
        };
    serve.on_whole = [this] { Clear(); };
    serve.on_ready = [this](const std::string& url) {
      const std::lock_guard lock(mutex_);
      progress_.Clear();
      PrintData(kViewVerb.name, url + "\n");
      Say(kViewVerb.name, "open this address in a browser; Ctrl-C ends");
      if (open_browser_) page_ = OpenBrowser(url);
    };
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    progress_.Clear();
  }

 private:
  std::mutex mutex_;
  ProgressBar progress_;
  const bool open_browser_;
  std::string page_;  // for the browser; empty: none
};

int Failed(const VerbParser& parser, const absl::Status& status) {
  if (!IsUsage(status)) return ReportFailure(kViewVerb.name, status);
  return parser.UsageError(std::string(status.message()));
}

int RunHosts(const VerbParser& parser, const std::vector<GivenHost>& hosts,
             const TraceOptions& options, const viewer::ServeOptions& all,
             TraceInput& input, Terminal& terminal) {
  auto served = HostsToView(hosts, options, all, input);
  if (!served.ok()) return Failed(parser, served.status());
  const absl::Status status = viewer::ServeHosts(*std::move(served));
  terminal.Clear();
  return status.ok() ? kExitOk : Failed(parser, status);
}

int RunTrace(const VerbParser& parser, const ViewCommandLine& line,
             const TraceOptions& options, viewer::ServeOptions& serve,
             TraceInput& input, Terminal& terminal) {
  const auto reader = input.Open(options.trace);
  if (!reader.ok()) return ReportFailure(kViewVerb.name, reader.status());
  const absl::Status fit = CheckFit(serve, (*reader)->info());
  if (!fit.ok()) return Failed(parser, fit);
  const auto directory = input.Directory(options.trace);
  if (!directory.ok()) return ReportFailure(kViewVerb.name, directory.status());
  serve.trace_path = *directory;
  serve.shown_as = options.trace;
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
  viewer::ServeOptions after;
  const absl::Status found = SetBeside(input, line, after);
  if (!found.ok()) return ReportFailure(kViewVerb.name, found);
  const absl::Status status = line.beside.empty()
                                  ? viewer::Serve(serve)
                                  : viewer::ServePair(serve, after);
  terminal.Clear();
  if (!wrong.empty()) return parser.UsageError("--at: " + wrong);
  if (!status.ok()) return ReportFailure(kViewVerb.name, status);
  return kExitOk;
}

int RunView(const Arguments& arguments) {
  VerbParser parser(kViewVerb);
  TraceOptions options;
  TraceInput input(kViewVerb.name, options);
  ViewCommandLine line;
  AddOptions(parser, line, options);
  if (const auto status = parser.Parse(arguments)) return *status;
  const auto hosts = GivenHosts(options);
  if (!hosts.ok()) return Failed(parser, hosts.status());
  const std::string contradiction =
      Contradiction(parser, line, !hosts->empty());
  if (!contradiction.empty()) return parser.UsageError(contradiction);

  Terminal terminal(hosts->empty() ? options.trace : "all hosts",
                    input.show_progress(), line.open_browser);
  viewer::ServeOptions serve;
  terminal.Join(serve);
  serve.port = static_cast<std::uint16_t>(line.port);
  serve.sources = line.sources;
  serve.rule_files = line.rules;
  if (!line.join.empty()) {
    auto rule = rmap::ReadJoinRule(line.join);
    if (!rule.ok()) {
      return parser.UsageError(
          absl::StrCat("--join: ", rule.status().message()));
    }
    serve.join = *std::move(rule);
  }
  if (!hosts->empty()) {
    return RunHosts(parser, *hosts, options, serve, input, terminal);
  }
  return RunTrace(parser, line, options, serve, input, terminal);
}

}  // namespace

const Verb kViewVerb = {"view", kViewHelp, RunView};

}  // namespace countrace::cli
