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

int RunView(const Arguments& arguments) {
  VerbParser parser(kViewVerb);
  TraceOptions options;
  TraceInput input(kViewVerb.name, options);
  std::uint64_t port = 0, window_ns = kDefaultWindowNs;
  std::string at;
  std::string beside;
  bool open_browser = false, live = false;
  parser.AddReadTrace(options);
  parser.AddNumber("--port", port, 65535);
  parser.AddFlag("--open", open_browser);
  parser.AddFlag("--live", live);
  parser.AddText("--beside", beside);
  parser.AddText("--at", at);
  parser.AddDuration("--window", window_ns);
  std::vector<std::string> sources;
  parser.AddTexts("--source", sources);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (at.empty() && (parser.is_given("--at") || parser.is_given("--window"))) {
    return parser.UsageError("--window needs --at, and --at an instant");
  }
  if (live && !at.empty()) {
    return parser.UsageError(
        "--live shows the end as it moves: leave out --at");
  }

  if (beside.empty() && parser.is_given("--beside")) {
    return parser.UsageError("--beside needs a trace");
  }
  if (!beside.empty() && (live || !at.empty() || !sources.empty())) {
    return parser.UsageError(
        "--beside shows two traces: leave out --at, --live and --source");
  }

  const auto reader = input.Open(options.trace);
  if (!reader.ok()) return ReportFailure(kViewVerb.name, reader.status());
  const auto directory = input.Directory(options.trace);
  if (!directory.ok()) return ReportFailure(kViewVerb.name, directory.status());
  ProgressBar progress("indexing " + options.trace, input.show_progress());
  // The index is built on another thread than the one that serves.
  std::mutex terminal;
  viewer::ServeOptions serve;
  serve.trace_path = *directory;
  serve.shown_as = options.trace;
  serve.sources = sources;
  serve.port = static_cast<std::uint16_t>(port);
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
  if (!at.empty()) {
    serve.place = [&](const viewer::TimelineIndex& index) {
      auto place = Place(index, (*reader)->info(), at, window_ns);
      if (!place.ok()) wrong = std::string(place.status().message());
      return place;
    };
  }
  std::unique_ptr<base::TemporaryDirectory> folder;
  std::optional<RecordingCopies> copies;
  if (live) {
    absl::Status status = CheckLive(*directory);
    if (status.ok()) status = MakeFolder(folder);
    if (!status.ok()) return ReportFailure(kViewVerb.name, status);
    copies.emplace(*directory, folder->path(), kLiveCopies);
    serve.next_copy = [&copies]() -> absl::StatusOr<std::string> {
      auto copy = copies->Next();
      if (!copy.ok()) return copy.status();
      return copy->path;
    };
  }
  std::string page;
  serve.on_ready = [&](const std::string& url) {
    const std::lock_guard lock(terminal);
    progress.Clear();
    PrintData(kViewVerb.name, url + "\n");
    Say(kViewVerb.name, "open this address in a browser; Ctrl-C ends");
    if (open_browser) page = OpenBrowser(url);
  };
  viewer::ServeOptions after;
  if (!beside.empty()) {
    const auto opened = input.Open(beside);
    if (!opened.ok()) return ReportFailure(kViewVerb.name, opened.status());
    const auto other = input.Directory(beside);
    if (!other.ok()) return ReportFailure(kViewVerb.name, other.status());
    after.trace_path = *other;
    after.shown_as = beside;
  }
  const absl::Status status =
      beside.empty() ? viewer::Serve(serve) : viewer::ServePair(serve, after);
  if (!page.empty()) {
    ::unlink(page.c_str());
    ::rmdir(page.substr(0, page.rfind('/')).c_str());
  }
  progress.Clear();
  if (!wrong.empty()) return parser.UsageError("--at: " + wrong);
  if (!status.ok()) return ReportFailure(kViewVerb.name, status);
  return kExitOk;
}

}  // namespace

const Verb kViewVerb = {"view", kViewHelp, RunView};

}  // namespace countrace::cli
